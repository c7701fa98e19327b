// What an origin tells that its share or its rounds would let wait: everything when it leaves, and
// what follows the first use of a limit that drains for long.

#include <doctest/doctest.h>

#include "sync/origin_fixture.h"
#include "sync/reporter.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;
using test::every;
using test::key_of;
using test::Origin;

struct OwnedOrigin : Origin {
    OwnedOrigin() { static_cast<void>(owners.recompute({&owner, 1})); }
    void acknowledge(const DeltaEntry& delta) {
        TotalEntry total;
        total.key = delta.key;
        total.life = 3;
        total.run = delta.run;
        total.admitted = delta.admitted;
        total.offered = delta.offered;
        REQUIRE(reporter.receive(owner.id, total, now) == Reporter::TotalVerdict::taken);
    }
    const membership::OwnerCandidate owner{{Endpoint::v4(0x0a000001, 7946), 1}, {}};
};

TEST_CASE_FIXTURE(OwnedOrigin, "on leaving, what was admitted is told, also what is not due") {
    for (const char* name : {"known", "told", "used"}) {
        edit(every(name, 1s));
        tick();
        wake(name);
        tick();
    }
    for (const DeltaEntry& delta : std::vector(deltas)) {
        if (delta.key == key_of("known", 1s)) {
            acknowledge(delta);
        }
    }
    use("used");  // while its first delta waits for an answer
    deltas.clear();
    tick();
    REQUIRE(deltas.empty());
    SUBCASE("with room for it") {
        reporter.tell_all(now, *this);
        REQUIRE(deltas.size() == 2);
        CHECK(deltas[0].key == key_of("told", 1s));
        CHECK(deltas[0].admitted == 1);
        CHECK(deltas[1].key == key_of("used", 1s));
        CHECK(deltas[1].admitted == 2);
        reporter.tell_all(now, *this);
        CHECK(deltas.size() == 2);
    }
    SUBCASE("with room for one") {
        room = 1;
        const std::uint64_t before = statistics.deltas_put_off;
        reporter.tell_all(now, *this);
        CHECK(deltas.size() == 1);
        CHECK(statistics.deltas_put_off == before + 1);
    }
}

TEST_CASE_FIXTURE(OwnedOrigin, "on leaving, quiet limits are told so that the owner counts them") {
    edit(every("q", 1s));
    tick();
    use("q");
    tick();
    REQUIRE(told.empty());
    quiet.tell_all(owners, now, *this);
    REQUIRE(told.size() == 1);
    CHECK(told[0].admitted == 1);
    CHECK(told[0].no_room);  // an order to wake would come too late
    quiet.tell_all(owners, now, *this);
    CHECK(told.size() == 1);
}

TEST_CASE_FIXTURE(OwnedOrigin,
                  "what follows the first use of a long limit is told after a second") {
    int requests = 1;
    SUBCASE("one request") {}
    SUBCASE("a leap of the load") { requests = 12; }
    edit(every("q", 1h));
    tick();
    for (int i = 0; i < requests; ++i) {
        use("q");
    }
    tick();
    REQUIRE(told.size() == 1);
    CHECK(told[0].admitted == requests);
    use("q");
    for (int i = 0; i < 90; ++i) {
        tick();
    }
    CHECK(told.size() == 1);
    for (int i = 0; i < 20; ++i) {
        tick();
    }
    REQUIRE(told.size() == 2);
    CHECK(told[1].admitted == requests + 1);
}

}  // namespace
}  // namespace weir::sync
