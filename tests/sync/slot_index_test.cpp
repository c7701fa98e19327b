#include "sync/slot_index.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"

namespace weir::sync {
namespace {

/// A table without gaps, whose slots hold numbers.
struct NumberTable {
    explicit NumberTable(std::uint64_t different_hashes) : hashes(different_hashes) {}
    [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t number) const {
        return index.find(hash_of(number),
                          [&](std::uint32_t slot) { return numbers[slot] == number; });
    }
    void add(std::uint64_t number) {
        index.add(hash_of(number), static_cast<std::uint32_t>(numbers.size()));
        numbers.push_back(number);
    }
    void remove(std::uint32_t slot) {
        const auto last = static_cast<std::uint32_t>(numbers.size() - 1);
        index.remove(hash_of(numbers[slot]), slot);
        if (slot != last) {
            index.move(hash_of(numbers[last]), last, slot);
            numbers[slot] = numbers[last];
        }
        numbers.pop_back();
    }
    [[nodiscard]] std::uint64_t hash_of(std::uint64_t number) const { return number % hashes; }

    std::uint64_t hashes;
    SlotIndex index{Random(11)};
    std::vector<std::uint64_t> numbers;
};

/// Adds and removes numbers at random, and compares with a list of them.
void compare_with_list(std::uint64_t hashes, std::size_t most) {
    constexpr std::uint64_t kNumbers = 4'000;
    CAPTURE(hashes);
    NumberTable table(hashes);
    std::vector<bool> model(kNumbers);
    Random random(3);
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t number = random.below(kNumbers);
        const auto slot = table.find(number);
        REQUIRE(slot.has_value() == model[number]);
        if (slot) {
            REQUIRE(table.numbers[*slot] == number);
            table.remove(*slot);
            model[number] = false;
        } else if (table.numbers.size() < most) {
            table.add(number);
            model[number] = true;
        }
        REQUIRE(table.index.size() == table.numbers.size());
    }
    for (std::uint64_t number = 0; number < kNumbers; ++number) {
        REQUIRE(table.find(number).has_value() == model[number]);
    }
}

TEST_CASE("slots are found by what they hold, whatever else comes and goes") {
    compare_with_list(1'000'000, 2'000);
}

TEST_CASE("slots with the same hash are told apart") {
    compare_with_list(40, 300);
    compare_with_list(1, 60);
}

TEST_CASE("an index that was large is small again when its entries are gone") {
    NumberTable table(~std::uint64_t{0});
    const std::size_t least = table.index.memory();
    for (std::uint64_t number = 0; number < 100'000; ++number) {
        table.add(number);
    }
    const std::size_t most = table.index.memory();
    CHECK(most >= 100'000 * 8);
    CHECK(most <= 100'000 * 8 * 16 / 5);
    for (std::uint32_t left = 100'000; left > 0; --left) {
        table.remove(left / 2);
    }
    CHECK(table.index.size() == 0);
    CHECK(table.index.memory() == least);
}

TEST_CASE("what is not there is neither removed nor moved") {
    SlotIndex index(Random(5));
    index.add(1, 10);
    index.remove(1, 11);
    index.remove(2, 10);
    index.move(1, 11, 12);
    CHECK(index.size() == 1);
    const auto any = [](std::uint32_t) { return true; };
    CHECK(index.find(1, any) == std::optional<std::uint32_t>(10));
    CHECK(index.find(2, any) == std::nullopt);
    index.move(1, 10, 12);
    CHECK(index.find(1, any) == std::optional<std::uint32_t>(12));
}

}  // namespace
}  // namespace weir::sync
