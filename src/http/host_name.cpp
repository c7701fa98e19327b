#include "http/host_name.h"

#include "http/characters.h"

namespace weir::http {
namespace {

constexpr std::size_t kMaxName = 255;

bool is_valid_port(std::string_view port) {
    if (port.empty() || port.size() > 5) return false;
    unsigned value = 0;
    for (const char c : port) {
        if (!is_digit(c)) return false;
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value <= 65535;
}

bool is_bracketed_address(std::string_view name) {
    if (name.size() < 4 || name.front() != '[' || name.back() != ']') return false;
    for (const char c : name.substr(1, name.size() - 2)) {
        const char lower = to_lower(c);
        if (!is_digit(c) && (lower < 'a' || lower > 'f') && c != ':' && c != '.') return false;
    }
    return true;
}

bool is_name(std::string_view name) {
    if (name.empty() || name.size() > kMaxName || name.front() == '.') return false;
    char before = '\0';
    for (const char c : name) {
        if (!is_alphanumeric(c) && c != '-' && c != '.' && c != '_') return false;
        if (c == '.' && before == '.') return false;
        before = c;
    }
    return true;
}

}  // namespace

bool is_valid_host(std::string_view host) {
    const auto bracket = host.rfind(']');
    const auto colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon != std::string_view::npos && !is_valid_port(host.substr(colon + 1))) return false;
    const auto name = host.substr(0, colon);
    return is_name(name) || is_bracketed_address(name);
}

}  // namespace weir::http
