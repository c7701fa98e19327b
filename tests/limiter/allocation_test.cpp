// What a worker asks the limiter for a request with names that it has met allocates nothing:
// find, check, obtain, refund, correct. This program counts by replacing operator new.
#include <doctest/doctest.h>

#include "counted_allocations.h"
#include "limiter/fixture.h"
#include "limiter/wait_queues.h"
#include "limiter/window_schedule.h"

namespace weir::limiter {
namespace {

using namespace testing;

struct Client final : RequestFields {
    [[nodiscard]] std::string_view value(std::string_view) const override { return "client-7"; }
};

std::vector<QuotaDefinition> all_kinds() {
    auto bytes = quota("tree/{key}", {per_second(100), per_second(1e6)}, "tree");
    bytes.limits[1].unit = Unit::response_bytes;
    auto shadow = quota("shadow", {per_second(1)});
    shadow.mode = Mode::shadow;
    auto off = quota("off", {per_second(1)});
    off.mode = Mode::off;
    auto some = quota("some", {per_second(0)});
    some.enforced_share = 0.5;
    QuotaOptions options;
    options.enforced_by = "x-client";
    some.options = options;
    auto capped = quota("capped/{key}", {per_minute(1000)});
    capped.max_instances = 2;
    return {quota("tree", {per_second(50)}), bytes, shadow, off, some, capped,
            quota("zero", {per_second(0)})};
}

/// One of each that a request can meet; how many were admitted.
int one_of_each(Fixture& fixture) {
    const Client fields;
    int admitted = 0;
    for (const char* name : {"tree/a", "tree/b", "tree", "shadow", "off", "some", "capped/1",
                             "capped/2", "capped/3", "zero", "nobody"}) {
        for (const auto mode :
             {CheckMode::charge, CheckMode::peek, CheckMode::charge_without_judging}) {
            const LeafId leaf = fixture.find(name);
            if (!leaf) {
                continue;
            }
            Decision decision =
                fixture.limiter.check(fixture.thread, leaf, {}, fixture.now, mode, &fields);
            admitted += decision.admitted ? 1 : 0;
            static_cast<void>(fixture.limiter.quota_name(decision));
            static_cast<void>(fixture.limiter.options(decision));
            fixture.limiter.correct(fixture.thread, decision.charge, Unit::response_bytes, 3000,
                                    fixture.now);
            fixture.limiter.refund(fixture.thread, decision.charge, fixture.now);
            Grant grant = fixture.limiter.obtain(fixture.thread, leaf, Wish{5, 0, {}}, fixture.now,
                                                 mode, &fields);
            fixture.limiter.give_back(fixture.thread, grant.decision.charge, 2, fixture.now);
        }
        fixture.limiter.quiescent(fixture.thread);
    }
    fixture.wait(0.003);
    return admitted;
}

TEST_CASE("find, check, obtain, correct and refund allocate nothing once a name is known") {
    Fixture fixture(all_kinds());
    REQUIRE(fixture.errors.empty());
    for (int i = 0; i < 3; ++i) {
        static_cast<void>(one_of_each(fixture));
    }
    const std::size_t before = allocations;
    int admitted = 0;
    for (int i = 0; i < 1000; ++i) {
        admitted += one_of_each(fixture);
    }
    CHECK(allocations == before);
    CHECK(admitted > 10'000);
    // The count counts.
    static_cast<void>(fixture.limiter.definitions());
    CHECK(allocations > before);
}

TEST_CASE("to wait for a turn, to be tried and to leave allocates nothing") {
    struct One final : Waiter {
        ~One() override = default;
        void called() override { ++calls; }
        int calls = 0;
    };
    auto definition = quota("queue", {borders(10, 2, 2)});
    QuotaOptions options;
    options.wait = {std::chrono::seconds(2), 10};
    definition.options = options;
    Fixture fixture({definition});
    WaitQueues queues;
    One one;
    int waited = 0;
    const auto round = [&] {
        Decision refusal = fixture.check("queue", {}, CheckMode::charge_or_wait);
        while (refusal.admitted) {
            refusal = fixture.check("queue", {}, CheckMode::charge_or_wait);
        }
        const WaitPlace place = fixture.limiter.begin_waiting(refusal);
        queues.join(one, place.slot, fixture.now);
        static_cast<void>(queues.serve(fixture.now));
        queues.rest(one, refusal, fixture.now, Instant::max());
        static_cast<void>(fixture.check("queue", {}, CheckMode::refuse_in_turn));
        fixture.wait(0.3);
        const Decision turn = fixture.check("queue", {}, CheckMode::charge_in_turn);
        waited += turn.admitted ? 1 : 0;
        queues.pass(one);
        fixture.limiter.end_waiting(place);
        fixture.limiter.give_up(fixture.thread, refusal);
        fixture.limiter.quiescent(fixture.thread);
    };
    round();
    const std::size_t before = allocations;
    for (int i = 0; i < 1000; ++i) {
        round();
    }
    CHECK(allocations == before);
    CHECK(waited == 1001);
    CHECK(one.calls == 1001);
}

TEST_CASE("to ask for the window of an instant allocates nothing") {
    std::vector<std::shared_ptr<const WindowSchedule>> schedules;
    for (const WindowStart from : {WindowStart::name, WindowStart::calendar, WindowStart::first}) {
        for (const char* zone : {"", "UTC", "Europe/Berlin", "Asia/Kolkata", "No/Where"}) {
            for (const Duration period :
                 {Duration(std::chrono::minutes(15)), Duration(std::chrono::hours(1)),
                  Duration(std::chrono::hours(12)), Duration(std::chrono::days(1)),
                  Duration(std::chrono::weeks(1)), kMonth}) {
                RateLimit limit = RateLimit::in_window(10, period);
                limit.from = from;
                limit.timezone = zone;
                schedules.push_back(WindowSchedule::make(limit));
            }
        }
    }
    const std::size_t before = allocations;
    std::int64_t total = 0;
    for (const auto& schedule : schedules) {
        // Until 2100: also where the file of the zone says nothing anymore.
        for (std::int64_t second = 0; second < 4'102'444'800; second += 10'000'019) {
            const WindowSpan span = schedule->at(second, 12'345);
            total += span.end - span.begin;
        }
    }
    CHECK(allocations == before);
    CHECK(total > 0);
}

}  // namespace
}  // namespace weir::limiter
