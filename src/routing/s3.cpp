#include "routing/s3.h"

#include <algorithm>

#include "http/fields.h"
#include "routing/escapes.h"
#include "routing/s3_index.h"

namespace weir::routing {
namespace {

/// The bucket in front of the longest domain that the host ends with. Empty if the bucket is in the
/// path; nothing if the host belongs to no domain.
std::optional<std::string_view> bucket_in_host(std::string_view host,
                                               std::span<const std::string> domains) {
    if (domains.empty()) {
        return std::string_view();
    }
    std::optional<std::string_view> bucket;
    for (const auto& domain : domains) {
        if (!host.ends_with(domain)) {
            continue;
        }
        const auto rest = host.substr(0, host.size() - domain.size());
        if (!rest.empty() && (rest.size() < 2 || rest.back() != '.')) {
            continue;
        }
        const auto candidate = rest.substr(0, rest.empty() ? 0 : rest.size() - 1);
        if (!bucket || candidate.size() < bucket->size()) {
            bucket = candidate;
        }
    }
    return bucket;
}

/// The markers in a query. All parameters are read: if their number were bounded, a client could
/// hide one from weir that the service still reads. The work is bounded by the length of the
/// request line.
std::uint64_t markers_in(std::string_view query) {
    std::uint64_t bits = 0;
    while (!query.empty()) {
        const auto ampersand = std::min(query.find('&'), query.size());
        const auto parameter = query.substr(0, ampersand);
        const auto equals = std::min(parameter.find('='), parameter.size());
        bits |= s3_markers_of(parameter.substr(0, equals),
                              parameter.substr(std::min(equals + 1, parameter.size())));
        query.remove_prefix(std::min(ampersand + 1, query.size()));
    }
    return bits;
}

std::uint8_t headers_in(const http::Fields& fields) {
    const auto headers = s3_headers();
    unsigned bits = 0;
    for (std::size_t i = 0; i < headers.size(); ++i) {
        if (fields.find(headers[i]) != http::Fields::kNone) {
            bits |= 1U << i;
        }
    }
    return static_cast<std::uint8_t>(bits);
}

/// Decodes the bucket, which is the path's first segment. `ambiguity` says whether it can be read
/// in several ways.
std::string_view decode_bucket(std::string_view segment, std::string& buffer,
                               Ambiguity& ambiguity) {
    if (segment.find_first_of("%\\") == std::string_view::npos) {  // the usual case
        if (segment == "." || segment == "..") {
            ambiguity = Ambiguity::escaped_dot_segment;
        }
        return segment;
    }
    buffer.clear();
    const bool good = append_decoded(buffer, segment);
    const bool control = std::any_of(buffer.begin(), buffer.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (!good || control) {
        ambiguity = Ambiguity::bad_escape;
    }
    if (buffer == "." || buffer == ".." || buffer.find('/') != std::string::npos) {
        ambiguity = Ambiguity::escaped_dot_segment;
    }
    if (buffer.find('\\') != std::string::npos) {
        ambiguity = Ambiguity::escaped_backslash;
    }
    return buffer;
}

}  // namespace

std::optional<S3Request> recognise_s3(const http::RequestHead& head, std::string_view host,
                                      std::span<const std::string> domains, std::string& buffer) {
    const auto in_host = bucket_in_host(host, domains);
    if (!in_host) {
        return std::nullopt;
    }
    S3Request request;
    auto path = head.path();
    S3Facts facts{.method = head.method(),
                  .level = S3Level::service,
                  .path = path,
                  .markers = head.has_query() ? markers_in(head.query()) : 0,
                  .headers = headers_in(head.fields())};
    // A few operations without bucket have a path of their own and are tried before the path is
    // read as a bucket. They do not apply when the host names a bucket.
    const bool own_path = path == "/" ? in_host->empty() : facts.markers == 0;
    request.operation = own_path ? find_s3_operation(facts) : nullptr;
    request.bucket = *in_host;
    if (request.operation == nullptr) {
        if (path.starts_with('/')) {
            path.remove_prefix(1);
        }
        if (request.bucket.empty()) {
            // "//key" has an empty bucket, but a service that merges slashes reads "key" as the
            // bucket.
            if (path.starts_with('/')) {
                request.ambiguity = Ambiguity::escaped_dot_segment;
            }
            const auto slash = std::min(path.find('/'), path.size());
            request.bucket = decode_bucket(path.substr(0, slash), buffer, request.ambiguity);
            path.remove_prefix(std::min(slash + 1, path.size()));
        }
        facts.level = path.empty() ? S3Level::bucket : S3Level::object;
        if (!request.bucket.empty()) {
            request.operation = find_s3_operation(facts);
        }
    }
    const auto method = head.method();
    request.read = request.operation != nullptr
                       ? request.operation->read
                       : method == http::Method::get || method == http::Method::head ||
                             method == http::Method::options;
    return request;
}

}  // namespace weir::routing
