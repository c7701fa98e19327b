#include "base/closest.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/random.h"

using weir::closest;

namespace {

/// The number of differences, by the whole table: slow, and plain to see that it is right.
std::size_t differences(const std::string& left, const std::string& right) {
    std::vector<std::vector<std::size_t>> table(left.size() + 1,
                                                std::vector<std::size_t>(right.size() + 1));
    for (std::size_t i = 0; i <= left.size(); ++i) {
        for (std::size_t j = 0; j <= right.size(); ++j) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            const std::size_t change = left[i - 1] == right[j - 1] ? 0 : 1;
            table[i][j] =
                std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
                table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
            }
        }
    }
    return table[left.size()][right.size()];
}

std::string random_text(weir::Random& random) {
    std::string text(random.below(14), ' ');
    for (char& letter : text) {
        letter = static_cast<char>('a' + random.below(3));
    }
    return text;
}

/// The only name that begins with the text, which must have three letters.
std::string_view only_longer_one(const std::string& text,
                                 std::vector<std::string_view> candidates) {
    std::erase_if(candidates,
                  [&](std::string_view one) { return one.substr(0, text.size()) != text; });
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    return text.size() >= 3 && candidates.size() == 1 ? candidates[0] : std::string_view();
}

}  // namespace

TEST_CASE("the nearest name is meant, if it is near") {
    const std::array<std::string_view, 4> names{"limits", "parent", "mode", "s3/{bucket}/write"};
    CHECK(closest("limts", names) == "limits");
    CHECK(closest("lmiits", names) == "limits");
    CHECK(closest("parents", names) == "parent");
    CHECK(closest("s3/{bukcet}/wirte", names) == "s3/{bucket}/write");
    CHECK(closest("quota", names).empty());
    CHECK(closest("", names).empty());
    CHECK(closest("m", names).empty());
    CHECK(closest("mode", {}).empty());
}

TEST_CASE("of a short name one letter in three may differ, of a long one three letters") {
    const std::array<std::string_view, 3> names{"abc", "abcdef", "abcdefghijklmnop"};
    CHECK(closest("abx", names) == "abc");
    CHECK(closest("axx", names).empty());
    CHECK(closest("abcdxx", names) == "abcdef");
    CHECK(closest("abcxxx", names).empty());
    CHECK(closest("abcdefghijklmxxx", names) == "abcdefghijklmnop");
    CHECK(closest("abcdefghijklxxxx", names).empty());
}

TEST_CASE("a beginning of three letters stands for the only name that begins so") {
    const std::array<std::string_view, 4> names{"status", "content_type", "content_length", "low"};
    CHECK(closest("stat", names) == "status");
    CHECK(closest("sta", names) == "status");
    CHECK(closest("st", names).empty());
    CHECK(closest("content_", names).empty());
    CHECK(closest("lows", names) == "low");
    CHECK(closest("statistics", names).empty());
}

TEST_CASE("it finds what a plain search with the whole table finds") {
    weir::Random random(20261123);
    for (int round = 0; round < 2000; ++round) {
        const std::string text = random_text(random);
        std::vector<std::string> names(4);
        std::generate(names.begin(), names.end(), [&] { return random_text(random); });
        std::string_view expected;
        std::size_t least = std::clamp<std::size_t>(text.size() / 3, 1, 3) + 1;
        for (const std::string& name : names) {
            if (text.size() >= 2 && differences(text, name) < least) {
                least = differences(text, name);
                expected = name;
            }
        }
        const std::vector<std::string_view> candidates(names.begin(), names.end());
        if (expected.empty()) {
            expected = only_longer_one(text, candidates);
        }
        CAPTURE(round);
        CHECK(closest(text, candidates) == expected);
    }
}

TEST_CASE("a search ends when the letters are used up") {
    const std::array<std::string_view, 3> names{"limit1", "limit2", "limits"};
    std::size_t letters_left = 12;
    CHECK(closest("limitz", names, letters_left) == "limit1");
    CHECK(letters_left == 0);
    CHECK(closest("limits", names, letters_left).empty());
}

TEST_CASE("texts of any length are compared without leaving the table") {
    for (const std::size_t size : {511U, 512U, 513U}) {
        const std::string name(size, 'n');
        const std::array<std::string_view, 1> names{name};
        CHECK((closest(name.substr(1) + "x", names) == name) == (size <= 512));
    }
}
