#include "base/mapped_memory.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <numeric>

namespace weir {
namespace {

/// The pages that this process has in memory.
std::size_t resident_pages() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0;
    std::size_t resident = 0;
    file >> all >> resident;
    REQUIRE(resident > 0);
    return resident;
}

constexpr std::size_t kMany = 4'000'000;
constexpr std::size_t kPage = 4096;

TEST_CASE("a vector that has shrunk gives its memory back to the system") {
    const std::size_t before = resident_pages();
    MappedVector<std::size_t> numbers(kMany);
    std::iota(numbers.begin(), numbers.end(), 0);
    const std::size_t most = resident_pages();
    CHECK(most - before >= kMany * sizeof(std::size_t) / kPage);
    numbers.resize(kMany / 2);
    give_back(numbers);
    CHECK(numbers.capacity() == kMany);  // that may be needed again soon
    while (numbers.size() > 100'000) {
        numbers.pop_back();
        give_back(numbers);
    }
    CHECK(numbers.capacity() <= 400'000);
    CHECK(numbers.front() == 0);
    CHECK(numbers.back() == 99'999);
    CHECK(resident_pages() - before < (most - before) / 8);
}

TEST_CASE("a small vector keeps its memory") {
    MappedVector<std::size_t> numbers(100, 7);
    numbers.resize(1);
    give_back(numbers);
    CHECK(numbers.capacity() == 100);
    CHECK(numbers[0] == 7);
}

TEST_CASE("a vector in chunks grows and shrinks at its end, and nothing else moves") {
    struct Large {
        std::size_t number = 0;
        char more[248] = {};
    };
    constexpr std::size_t kElements = 100'000;
    ChunkedVector<Large> elements;
    CHECK(elements.empty());
    elements.emplace_back().number = 0;
    const Large* first = &elements[0];
    for (std::size_t i = 1; i < kElements; ++i) {
        elements.emplace_back().number = i;
    }
    const std::size_t most = resident_pages();
    CHECK(elements.memory() >= kElements * sizeof(Large));
    CHECK(&elements[0] == first);
    while (elements.size() > 2'000) {
        elements.pop_back();
    }
    for (std::size_t i = 0; i < elements.size(); ++i) {
        REQUIRE(elements[i].number == i);
    }
    CHECK(elements.memory() <= 4'096 * sizeof(Large));
    CHECK(most - resident_pages() >= (kElements - 5'000) * sizeof(Large) / kPage);
    while (!elements.empty()) {
        elements.pop_back();
    }
    CHECK(elements.emplace_back().number == 0);
}

TEST_CASE("a vector in chunks ends the life of what it gives up") {
    const auto shared = std::make_shared<int>(1);
    {
        ChunkedVector<std::shared_ptr<int>> elements;
        for (int i = 0; i < 3'000; ++i) {
            elements.emplace_back() = shared;
        }
        CHECK(shared.use_count() == 3'001);
        for (int i = 0; i < 1'000; ++i) {
            elements.pop_back();
        }
        CHECK(shared.use_count() == 2'001);
    }
    CHECK(shared.use_count() == 1);
}

}  // namespace
}  // namespace weir
