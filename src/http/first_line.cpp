#include "http/first_line.h"

#include <algorithm>

#include "http/characters.h"

namespace weir::http {

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
    return {method, rest.substr(0, rest.find(' '))};
}

}  // namespace weir::http
