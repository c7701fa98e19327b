#include "admin/request_target.h"

#include <utility>

namespace weir::admin {
namespace {

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return static_cast<unsigned>(c - '0');
    }
    if (c >= 'a' && c <= 'f') {
        return static_cast<unsigned>(c - 'a' + 10);
    }
    if (c >= 'A' && c <= 'F') {
        return static_cast<unsigned>(c - 'A' + 10);
    }
    return std::nullopt;
}

/// Decodes a part of a query, in which a plus sign stands for a space (the encoding of forms).
std::optional<std::string> query_decode(std::string_view text) {
    std::string spaced(text);
    for (char& c : spaced) {
        if (c == '+') {
            c = ' ';
        }
    }
    return percent_decode(spaced);
}

bool add_parameter(std::map<std::string, std::string>& query, std::string_view parameter) {
    if (parameter.empty()) {
        return true;
    }
    const auto equals = parameter.find('=');
    auto key = query_decode(parameter.substr(0, equals));
    auto value = query_decode(equals == std::string_view::npos ? std::string_view()
                                                               : parameter.substr(equals + 1));
    return key && value && query.emplace(std::move(*key), std::move(*value)).second;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded.push_back(text[i]);
            continue;
        }
        if (text.size() - i < 3) {
            return std::nullopt;
        }
        const auto high = hex_digit(text[i + 1]);
        const auto low = hex_digit(text[i + 2]);
        if (!high || !low) {
            return std::nullopt;
        }
        decoded.push_back(static_cast<char>(*high * 16 + *low));
        i += 2;
    }
    return decoded;
}

std::optional<RequestTarget> parse_target(std::string_view target) {
    if (target.empty() || target.front() != '/') {
        return std::nullopt;
    }
    const auto mark = target.find('?');
    RequestTarget parsed{.raw_path = std::string(target.substr(0, mark)), .query = {}};
    if (!percent_decode(parsed.raw_path)) {
        return std::nullopt;
    }
    auto rest = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
    while (!rest.empty()) {
        const auto end = rest.find('&');
        if (!add_parameter(parsed.query, rest.substr(0, end))) {
            return std::nullopt;
        }
        if (end == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(end + 1);
    }
    return parsed;
}

}  // namespace weir::admin
