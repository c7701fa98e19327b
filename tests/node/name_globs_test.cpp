// Which names with captures can stand for the same name.
#include "node/name_globs.h"

#include <doctest/doctest.h>

#include <vector>

#include "base/random.h"

namespace weir::node {
namespace {

/// Whether the name falls under the text with captures, tried letter by letter.
bool falls_under(std::string_view name, std::string_view text) {
    if (text.empty()) {
        return name.empty();
    }
    if (text.front() != '{') {
        return !name.empty() && name.front() == text.front() &&
               falls_under(name.substr(1), text.substr(1));
    }
    const bool catch_all = text.starts_with("{r**}");
    const std::string_view rest = text.substr(text.find('}') + 1);
    for (std::size_t size = 1; size <= name.size(); ++size) {
        if (!catch_all && name[size - 1] == '/') {
            return false;
        }
        if (falls_under(name.substr(size), rest)) {
            return true;
        }
    }
    return false;
}

/// All names of up to `most` letters.
std::vector<std::string> all_names(std::size_t most) {
    std::vector<std::string> names = {""};
    for (std::size_t begin = 0; names.back().size() < most; ++begin) {
        for (const char letter : {'a', 'b', '/'}) {
            names.push_back(names[begin] + letter);
        }
    }
    return names;
}

std::string random_name(Random& random) {
    static constexpr std::string_view kParts[] = {"a", "b", "/", "{c}", "{d}"};
    std::string name;
    for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
        name += kParts[random.below(5)];
    }
    return random.below(4) == 0 ? name + "/{r**}" : name;
}

TEST_CASE("two names meet exactly if some name falls under both") {
    // Two names of up to five parts have a common one of eight letters if they have any.
    const std::vector<std::string> names = all_names(8);
    Random random(20261127);
    int met = 0;
    for (int round = 0; round < 300; ++round) {
        const std::string left = random_name(random);
        const std::string right = random_name(random);
        CAPTURE(left);
        CAPTURE(right);
        bool expected = false;
        for (const std::string& name : names) {
            expected = expected || (falls_under(name, left) && falls_under(name, right));
        }
        CHECK(can_meet(to_glob(left), to_glob(right)) == expected);
        met += expected ? 1 : 0;
    }
    CHECK(met > 20);
}

}  // namespace
}  // namespace weir::node
