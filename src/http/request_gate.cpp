#include "http/request_gate.h"

#include <algorithm>
#include <array>

#include "base/characters.h"
#include "base/planted.h"
#include "http/element_list.h"
#include "http/framing.h"
#include "http/host_name.h"
#include "http/target_characters.h"

namespace weir::http {
namespace {

bool is_conventional_method(std::string_view name) {
    for (const char c : name) {
        if (!is_upper(c) && c != '-' && c != '_') {
            return false;
        }
    }
    return true;
}

/// Removes the port if it is the one that the scheme implies.
std::string_view without_default_port(std::string_view host, std::string_view port) {
    if (host.ends_with(port)) {
        host.remove_suffix(port.size());
    }
    return host;
}

/// Whether an application may take the name for a field that weir writes or that frames the
/// message.
bool imitates_known_field(std::string_view name) {
    std::array<char, 32> dashed{};
    if (name.size() > dashed.size()) {
        return false;
    }
    for (std::size_t i = 0; i < name.size(); ++i) {
        dashed[i] = name[i] == '_' ? '-' : name[i];
    }
    return identify({dashed.data(), name.size()}) != FieldId::other;
}

bool imitates_any(std::string_view name, const std::vector<std::string>& known) {
    return std::any_of(known.begin(), known.end(),
                       [&](const std::string& each) { return imitates(name, each); });
}

}  // namespace

Rejection RequestGate::judge_version(std::string_view line) {
    line.remove_suffix(2);
    constexpr std::string_view kPattern = "HTTP/1.1";
    const bool short_line = line.size() < kPattern.size();
    if (short_line && !planted(Planted::request_version)) {
        return Rejection::bad_version;
    }
    const auto version = line.substr(line.size() - kPattern.size());
    if (!version.starts_with("HTTP/") || !is_digit(version[5]) || version[6] != '.' ||
        !is_digit(version[7])) {
        return Rejection::bad_version;
    }
    if (version[5] == '1' && version[7] <= '1') {
        return Rejection::none;
    }
    return Rejection::unsupported_version;
}

Rejection RequestGate::judge() {
    // In this order: RFC 9110, 9 (method); RFC 9110, 7.2 (host); RFC 9112, 3.2 (target); RFC 9112,
    // 6 (framing); RFC 9110, 7.6.1 (connection) and 10.1.1 (expectation). No RFC speaks of
    // underscores.
    Rejection rejection = method();
    if (rejection == Rejection::none) {
        rejection = host();
    }
    if (rejection == Rejection::none) {
        rejection = target();
    }
    if (rejection == Rejection::none) {
        rejection = framing();
    }
    if (rejection == Rejection::none) {
        rejection = connection();
    }
    if (rejection == Rejection::none) {
        rejection = expectation();
    }
    if (rejection == Rejection::none) {
        rejection = underscores();
    }
    return rejection;
}

Rejection RequestGate::method() {
    const auto name = head_.method_text();
    if (!policy_.any_token_as_method && !is_conventional_method(name)) {
        return Rejection::bad_method;
    }
    head_.method_ = method_of(name);
    const bool refused = head_.method_ == Method::other && (name == "CONNECT" || name == "TRACE");
    return refused ? Rejection::method_not_allowed : Rejection::none;
}

Rejection RequestGate::host() {
    const auto index = head_.fields_.find(FieldId::host);
    if (index == Fields::kNone) {
        const bool optional = policy_.host_optional_in_http_1_0 && head_.minor_version_ == 0;
        return optional ? Rejection::none : Rejection::host_missing;
    }
    if (head_.fields_.repeats(FieldId::host)) {
        return Rejection::host_repeated;
    }
    if (!is_valid_host(head_.fields_.value(index))) {
        return Rejection::host_invalid;
    }
    head_.host_offset_ = head_.fields_[index].value_offset;
    head_.host_size_ = head_.fields_[index].value_length;
    return Rejection::none;
}

Rejection RequestGate::target() {
    const auto target = head_.target();
    if (target.front() == '/') {
        return split_target(head_.target_offset_);
    }
    if (target != "*") {
        return absolute_target();
    }
    head_.path_offset_ = head_.target_offset_;
    head_.path_size_ = 1;
    return head_.method_ == Method::options ? Rejection::none : Rejection::bad_target;
}

/// A target in absolute form (RFC 9112, 3.2.2). Its authority must be the same as Host, because
/// nobody knows which of the two the upstream would ignore.
Rejection RequestGate::absolute_target() {
    const auto target = head_.target();
    const auto colon = target.find("://");
    if (colon == std::string_view::npos) {
        return Rejection::bad_target;
    }
    const bool http = equals_ignoring_case(target.substr(0, colon), "http");
    if (!http && !equals_ignoring_case(target.substr(0, colon), "https")) {
        return Rejection::bad_target;
    }
    const auto rest = target.substr(colon + 3);
    const auto size = std::min(rest.find_first_of("/?"), rest.size());
    const auto authority = rest.substr(0, size);
    if (!is_valid_host(authority)) {
        return Rejection::bad_target;
    }
    if (head_.host().empty()) {  // only of HTTP/1.0; the target says what Host would
        head_.host_offset_ = static_cast<std::uint32_t>(head_.target_offset_ + colon + 3);
        head_.host_size_ = static_cast<std::uint32_t>(size);
    }
    const std::string_view port = http ? ":80" : ":443";
    if (!equals_ignoring_case(without_default_port(authority, port),
                              without_default_port(head_.host(), port))) {
        return Rejection::host_mismatch;
    }
    head_.absolute_form_ = true;
    return split_target(head_.target_offset_ + colon + 3 + size);
}

Rejection RequestGate::split_target(std::size_t path_offset) {
    const std::size_t end = head_.target_offset_ + head_.target_size_;
    const auto whole = head_.text(path_offset, end - path_offset);
    const auto question = whole.find('?');
    const auto path = whole.substr(0, question);
    head_.path_offset_ = static_cast<std::uint32_t>(path_offset);
    head_.path_size_ = static_cast<std::uint32_t>(path.size());
    if (!is_valid_path(path, policy_.browser_characters_in_target)) {
        return Rejection::bad_target;
    }
    if (question == std::string_view::npos) {
        return Rejection::none;
    }
    const auto query = whole.substr(question + 1);
    head_.has_query_ = true;
    head_.query_offset_ = static_cast<std::uint32_t>(path_offset + question + 1);
    head_.query_size_ = static_cast<std::uint32_t>(query.size());
    return is_valid_query(query, policy_.browser_characters_in_target) ? Rejection::none
                                                                       : Rejection::bad_target;
}

Rejection RequestGate::framing() {
    const auto declared =
        declared_framing(head_.fields_, head_.minor_version_, RepeatedLength::rejected);
    if (declared.rejection != Rejection::none) {
        return declared.rejection;
    }
    if (declared.chunked) {
        head_.body_ = {BodyKind::chunked, 0};
    } else if (declared.length.value_or(0) > 0) {
        head_.body_ = {BodyKind::length, *declared.length};
    }
    return Rejection::none;
}

Rejection RequestGate::connection() {
    const auto options = connection_options(head_.fields_);
    if (!options.valid) {
        return Rejection::bad_connection_option;
    }
    head_.keep_alive_ = !options.close && (head_.minor_version_ == 1 || options.keep_alive);
    for_each_element(head_.fields_.first(FieldId::te), [this](std::string_view coding) {
        if (equals_ignoring_case(coding, "trailers")) {
            head_.accepts_trailers_ = true;
        }
    });
    return options.upgrade && head_.minor_version_ == 1 ? upgrade() : Rejection::none;
}

/// Chooses the first permitted protocol: the client names the one that it likes best first. A
/// server may ignore Upgrade (RFC 9110, 7.8). weir ignores it for h2c, which some clients offer
/// with every first request; a client that asks for another protocol could not go on, so it is
/// rejected.
Rejection RequestGate::upgrade() {
    const auto permitted = [this](std::string_view protocol) {
        return std::ranges::any_of(policy_.upgrades, [&](const std::string& each) {
            return equals_ignoring_case(protocol, each);
        });
    };
    bool other = false;
    const auto judge_protocol = [&](std::string_view protocol) {
        other = other || !equals_ignoring_case(protocol, "h2c");
        if (head_.upgrade_size_ == 0 && permitted(protocol)) {
            head_.upgrade_offset_ = static_cast<std::uint32_t>(protocol.data() - head_.base_);
            head_.upgrade_size_ = static_cast<std::uint32_t>(protocol.size());
        }
    };
    for (auto i = head_.fields_.find(FieldId::upgrade); i != Fields::kNone;
         i = head_.fields_.find(FieldId::upgrade, i + 1)) {
        for_each_element(head_.fields_.value(i), judge_protocol);
    }
    return other && head_.upgrade_size_ == 0 ? Rejection::upgrade_unsupported : Rejection::none;
}

Rejection RequestGate::expectation() {
    for (auto i = head_.fields_.find(FieldId::expect); i != Fields::kNone;
         i = head_.fields_.find(FieldId::expect, i + 1)) {
        if (head_.minor_version_ == 0) {
            head_.fields_.drop(i);  // to be ignored, and the upstream gets another version
            continue;
        }
        if (!equals_ignoring_case(head_.fields_.value(i), "100-continue")) {
            return Rejection::bad_expectation;
        }
        head_.expects_continue_ = true;
    }
    return Rejection::none;
}

Rejection RequestGate::underscores() {
    if (!head_.fields_.any_underscore()) {
        return Rejection::none;
    }
    for (std::size_t i = 0; i < head_.fields_.size(); ++i) {
        if (!head_.fields_[i].holds_underscore) {
            continue;
        }
        const auto name = head_.fields_.name(i);
        if (policy_.underscores == Underscores::reject) {
            return Rejection::underscore_field;
        }
        if (policy_.underscores == Underscores::drop || imitates_known_field(name) ||
            imitates_any(name, policy_.read_names)) {
            head_.fields_.drop(i);
        }
    }
    return Rejection::none;
}

}  // namespace weir::http
