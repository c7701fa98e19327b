#include "http/first_line.h"

#include <algorithm>

#include "base/characters.h"

namespace weir::http {
namespace {

/// Leaves out what stands before the path: it may hold a name and a password.
std::string_view without_authority(std::string_view target) {
    const std::string_view front = target.substr(0, target.find_first_of("?#"));
    if (front.starts_with('/')) {
        return target;
    }
    const std::size_t sign = front.rfind('@');
    const std::size_t scheme = front.find("://");
    if (sign == std::string_view::npos && scheme == std::string_view::npos) {
        return target;
    }
    const std::size_t host = sign != std::string_view::npos ? sign + 1 : scheme + 3;
    return target.substr(std::min(target.find_first_of("/?#", host), target.size()));
}

}  // namespace

FirstLine first_line_of(std::string_view buffered) {
    // Empty lines in front are skipped, as they are when a head is parsed.
    buffered.remove_prefix(std::min(buffered.find_first_not_of("\r\n"), buffered.size()));
    const std::string_view line = buffered.substr(0, buffered.find_first_of("\r\n"));
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view method = line.substr(0, space);
    if (method.empty() || !std::all_of(method.begin(), method.end(), is_token_character)) {
        return {};
    }
    const std::string_view rest = line.substr(std::min(space + 1, line.size()));
    return {method, without_authority(rest.substr(0, rest.find(' ')))};
}

}  // namespace weir::http
