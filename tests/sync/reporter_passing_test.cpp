// Limits that pass between the table of those that are told in turn and that of quiet ones, while
// workers use them.

#include <doctest/doctest.h>

#include "sync/origin_fixture.h"
#include "sync/reporter.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;
using definitions::test::quota;
using test::every;
using test::key_of;
using test::Origin;

TEST_CASE_FIXTURE(Origin, "a limit falls quiet when its owners can be told so") {
    const membership::OwnerCandidate owner{{Endpoint::v4(0x0a000001, 7946), 1}, {}};
    static_cast<void>(owners.recompute({&owner, 1}));
    edit(quota("a", 100));
    tick();
    wake("a");
    tick();
    const LimitKey key = key_of("a", 1s);
    REQUIRE(reporter.find(key) != nullptr);
    now += 3s;
    const QuietOrder order{
        .key = key, .kind = OrderKind::fall_quiet, .run = reporter.find(key)->run};
    room = 0;
    reporter.let_fall_quiet(owner.id, order, now);
    tick();
    CHECK(quiet.find(key) == nullptr);
    room = 10;
    reporter.let_fall_quiet(owner.id, order, now);
    tick();
    REQUIRE_FALSE(deltas.empty());
    CHECK(quiet.find(key) != nullptr);
}

TEST_CASE_FIXTURE(Origin, "what workers admit while a limit passes between the tables is told") {
    const membership::OwnerCandidate owner{{Endpoint::v4(0x0a000001, 7946), 1}, {}};
    static_cast<void>(owners.recompute({&owner, 1}));
    edit(every("a", 1h));
    tick();
    const LimitKey key = key_of("a", 1h);
    const auto use_twice = [this] {
        use("a");
        use("a");
    };
    use_twice();
    tick();
    REQUIRE(quiet.find(key) != nullptr);
    use("a");
    meanwhile.act = use_twice;
    reporter.wake_quiet(key, quiet.find(key)->run, 2, now, owners);
    CHECK(meanwhile.act == nullptr);
    tick();
    REQUIRE(!deltas.empty());
    CHECK(deltas.back().admitted == 3);  // and two were known

    now += 3s;
    meanwhile.act = use_twice;
    reporter.let_fall_quiet(
        owner.id, {.key = key, .kind = OrderKind::fall_quiet, .run = reporter.find(key)->run}, now);
    tick();
    CHECK(meanwhile.act == nullptr);
    REQUIRE(quiet.find(key) != nullptr);
    CHECK(quiet.find(key)->share.untold == doctest::Approx(2).epsilon(0.02));
    CHECK(quiet.find(key)->share.own == doctest::Approx(7).epsilon(0.02));
}

TEST_CASE_FIXTURE(Origin, "what workers only give back while a limit wakes ends nothing") {
    const membership::OwnerCandidate owner{{Endpoint::v4(0x0a000001, 7946), 1}, {}};
    static_cast<void>(owners.recompute({&owner, 1}));
    edit(every("a", 1h));
    tick();
    const auto leaf = limiter.find(thread, "a", now);
    limiter::Decision first = limiter.check(thread, leaf, {}, now, limiter::CheckMode::charge);
    REQUIRE(first.admitted);
    const limiter::Charge charge = first.charge;
    limiter.quiescent(thread);
    tick();
    const LimitKey key = key_of("a", 1h);
    REQUIRE(quiet.find(key) != nullptr);
    meanwhile.act = [&] { limiter.refund(thread, charge, now); };
    use("a");
    reporter.wake_quiet(key, quiet.find(key)->run, 1, now, owners);
    CHECK(meanwhile.act == nullptr);
    tick();
    REQUIRE(!deltas.empty());
    CHECK(deltas.back().admitted >= 0);
}

}  // namespace
}  // namespace weir::sync
