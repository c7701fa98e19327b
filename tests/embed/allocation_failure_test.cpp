// Memory runs out at the allocations that opening, checking, administration and closing make on the
// calling thread: each time there must be a code and a way on, never an exception or a lost
// decision.

#include <doctest/doctest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "fleet.h"

namespace {

/// How many allocations of this thread still succeed; below 0: all.
thread_local long allocations_left = -1;

void* allocate(std::size_t size) {
    if (allocations_left == 0) {
        allocations_left = -1;
        throw std::bad_alloc();
    }
    if (allocations_left > 0) {
        --allocations_left;
    }
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

}  // namespace

// What Asio takes its memory from.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
    if (allocations_left == 0) {
        allocations_left = -1;
        return nullptr;
    }
    if (allocations_left > 0) {
        --allocations_left;
    }
    void* memory = nullptr;
    return ::posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir::embed {
namespace {

/// Fails the allocation after `successes` others in `call`; whether one failed.
template <class Call>
bool failing_after(long successes, Call call) {
    allocations_left = successes;
    call();
    const bool failed = allocations_left < 0;
    allocations_left = -1;
    return failed;
}

}  // namespace

TEST_CASE("opening fails cleanly whichever allocation fails") {
    long codes = 0;
    bool failed = true;
    // Every one of the first, then in wider and wider steps: there are thousands.
    for (long n = 0; failed; n += 1 + n / 16) {
        weir_options options = WEIR_OPTIONS_INIT;
        options.settings = "cluster.insecure = true\ncluster.listen = 127.0.0.1:0";
        options.quota_document = kQuotas;
        weir_error error = WEIR_ERROR_INIT;
        weir_fleet* fleet = nullptr;
        std::int32_t code = WEIR_OK;
        failed = failing_after(n, [&] { code = weir_open(&options, &fleet, &error); });
        CAPTURE(n);
        CHECK((fleet != nullptr) == (code == WEIR_OK));
        if (code != WEIR_OK) {
            CHECK(failed);
            CHECK(error.message[0] != '\0');
            ++codes;
        }
        weir_close(fleet);
    }
    CHECK(codes > 50);
}

TEST_CASE("closing ends without memory for the goodbye") {
    weir_options options = WEIR_OPTIONS_INIT;
    options.settings = "cluster.insecure = true\ncluster.listen = 127.0.0.1:0";
    options.quota_document = kQuotas;
    weir_error error = WEIR_ERROR_INIT;
    weir_fleet* fleet = nullptr;
    REQUIRE(weir_open(&options, &fleet, &error) == WEIR_OK);
    // The first one is for what the control thread is told to do.
    CHECK(failing_after(0, [&] { weir_close(fleet); }));
}

TEST_CASE("a check whose instance cannot be made is admitted, told, and works the next time") {
    const TestFleet fleet;
    long failures = 0;
    for (long n = 0; n < 200; ++n) {
        weir_decision decision{};
        decision.size = sizeof(decision);
        const std::string name = "b/" + std::to_string(n);
        std::int32_t code = WEIR_OK;
        const bool failed = failing_after(n % 20, [&] {
            code = weir_check(fleet.worker, name.data(), name.size(), nullptr, &decision);
        });
        CHECK(decision.admitted == 1);
        if (code != WEIR_OK) {
            CHECK(failed);
            CHECK(code == WEIR_EXHAUSTED);
            CHECK(decision.reason == WEIR_REASON_ERROR);
            ++failures;
        }
        CHECK(fleet.check(name).reason == WEIR_REASON_NONE);
    }
    CHECK(failures > 0);
}

TEST_CASE("a known name takes no memory") {
    const TestFleet fleet;
    CHECK(fleet.check("b/known").admitted == 1);
    weir_decision decision{};
    decision.size = sizeof(decision);
    const bool failed = failing_after(0, [&] {
        for (int i = 0; i < 1000; ++i) {
            weir_check(fleet.worker, "b/known", 7, nullptr, &decision);
            weir_finish(fleet.worker, &decision.charge);
            const weir_name names[] = {{"unheard/of", 10}, {"b/known", 7}, {"all", 3}};
            const weir_name_list lists[] = {{names, 2}, {names + 2, 1}};
            weir_check_many(fleet.worker, lists, 2, nullptr, &decision);
            weir_check(fleet.worker, "unheard/of", 10, nullptr, &decision);
            weir_refund(fleet.worker, &decision.charge);
        }
    });
    CHECK_FALSE(failed);
}

TEST_CASE("administration fails with a code when memory runs out") {
    const TestFleet fleet;
    weir_error error = WEIR_ERROR_INIT;
    for (long n = 0; n < 30; ++n) {
        std::int32_t code = WEIR_OK;
        const bool failed = failing_after(n, [&] {
            code = weir_quota_set(fleet.fleet, R"({"name": "x", "limits": [{"rate": "1r/s"}]})",
                                  "me", "why", 0, &error);
        });
        CHECK((code == WEIR_OK || (failed && code == WEIR_EXHAUSTED)));
    }
}

}  // namespace weir::embed
