// Levels of limits that take hours to drain, in fleets whose members are restarted: what each has
// on its disk is given to the next process at its address. Time is virtual, and datagrams are
// handed over at once.

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine_member.h"
#include "sim/quota_set.h"
#include "sync/counter_exchange.h"
#include "sync/kept_levels.h"
#include "tolerance.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using testing::plus_minus;
using Disk = std::vector<std::vector<std::byte>>;

class LevelFleet {
  public:
    /// A fleet of so many sidecars that have met; none yet if there are to be none.
    explicit LevelFleet(double an_hour, int sidecars = 0) {
        definition_.limits = {{.amount = an_hour, .period = 1h}};
        definition_.name = "q";
        for (int i = 0; i < sidecars; ++i) {
            add(false);
        }
        run(sidecars > 0 ? Duration(3s) : Duration::zero());
    }
    std::size_t add(bool anchor) {
        anchors_.push_back(anchor);
        members_.emplace_back();
        begin(members_.size() - 1, {});
        return members_.size() - 1;
    }
    /// A new process at the member's address; `disk` is what it finds on its disk.
    void begin(std::size_t index, const Disk& disk) {
        auto& member = members_[index];
        member = std::make_unique<test::EngineMember>(static_cast<std::uint32_t>(index),
                                                      anchors_[index], now_, ++runs_);
        REQUIRE(sim::put_quota(member->limiter, definition_, now_).empty());
        for (const auto& block : disk) {
            member->engine->kept_levels().read(block, now_, wall());
        }
        member->engine->kept_levels().foretell();
        member->engine->start(now_);
    }
    void kill(std::size_t index) { members_[index]->lives = false; }
    void goodbye(std::size_t index) {
        members_[index]->engine->goodbye(now_);
        test::deliver(members_, *members_[index], now_);
        kill(index);
    }
    /// All say goodbye, and nobody is there any more to hear it.
    void all_leave() {
        for (std::size_t i = 0; i < members_.size(); ++i) {
            members_[i]->engine->goodbye(now_);
            (void)members_[i]->engine->take_outgoing();
            kill(i);
        }
    }
    /// What the member would have on its disk now.
    Disk disk(std::size_t index) {
        Disk blocks;
        sync::KeptLevels::Cursor cursor;
        for (;;) {
            std::vector<std::byte> block(4096);
            ByteWriter writer(block);
            if (!members_[index]->engine->kept_levels().write(writer, cursor, now_, wall())) {
                return blocks;
            }
            block.resize(writer.size());
            blocks.push_back(std::move(block));
        }
    }
    test::EngineMember& operator[](std::size_t index) { return *members_[index]; }
    [[nodiscard]] Instant now() const { return now_; }
    void run(Duration time) {
        for (const Instant end = now_ + time; now_ < end; now_ += 10ms) {
            for (auto& member : members_) {
                if (member->lives) {
                    member->engine->tick(now_);
                    test::deliver(members_, *member, now_);
                }
            }
        }
    }
    /// A request every 20 ms. Returns how many are admitted.
    int offer(std::size_t index, int requests, Duration between = 20ms) {
        test::EngineMember& at = *members_[index];
        int admitted = 0;
        for (int i = 0; i < requests; ++i, run(between)) {
            admitted += test::admits(at, now_) ? 1 : 0;
            at.limiter.quiescent(*at.thread);
        }
        return admitted;
    }
    /// So many requests to each of the first members, one after another.
    int offer_each(std::size_t members, int requests) {
        int admitted = 0;
        for (std::size_t i = 0; i < members; ++i) {
            admitted += offer(i, requests);
        }
        return admitted;
    }
    /// The highest level that an owner has of the limit.
    [[nodiscard]] double level() {
        double highest = 0;
        for (auto& member : members_) {
            if (member->lives) {
                member->engine->counters().owner().for_each([&](const sync::OwnedLimit& limit) {
                    highest = std::max(highest, limit.bucket.level);
                });
            }
        }
        return highest;
    }
    Duration clock_ahead{};  // the wall clock is set by so much

  private:
    [[nodiscard]] Duration wall() const {
        return Duration(1'700'000'000s) + now_.time_since_epoch() + clock_ahead;
    }
    limiter::QuotaDefinition definition_;
    Instant now_{1h};
    std::uint64_t runs_ = 0;
    std::vector<bool> anchors_;
    std::vector<std::unique_ptr<test::EngineMember>> members_;
};

/// Kills all members at once, and begins them again with what was on their disks.
void restart_all(LevelFleet& fleet, std::size_t members, Duration pause) {
    std::vector<Disk> disks;
    for (std::size_t i = 0; i < members; ++i) {
        disks.push_back(fleet.disk(i));
    }
    for (std::size_t i = 0; i < members; ++i) {
        fleet.kill(i);
    }
    fleet.run(pause);
    for (std::size_t i = 0; i < members; ++i) {
        fleet.begin(i, disks[i]);
    }
}

}  // namespace

TEST_CASE(
    "a fleet that is killed as a whole admits the rest of a bucket, whatever was used of it") {
    for (const int used : {3, 8, 13, 17}) {
        CAPTURE(used);
        LevelFleet fleet(60, 3);
        int admitted = fleet.offer_each(3, used);
        CHECK(admitted == 3 * used);
        fleet.run(2s);
        restart_all(fleet, 3, 1s);
        fleet.run(3s);
        admitted += fleet.offer_each(3, 60);
        CHECK(admitted >= 57);
        CHECK(admitted <= 63);
        fleet.run(2s);
        CHECK(fleet.level() <= 64);
    }
}

TEST_CASE("members that restart one after another count nothing twice") {
    for (const bool killed : {false, true}) {
        for (const int used : {4, 12}) {
            CAPTURE(killed);
            CAPTURE(used);
            LevelFleet fleet(60, 3);
            int admitted = fleet.offer_each(3, used);
            fleet.run(2s);
            for (std::size_t i = 0; i < 3; ++i) {
                const Disk before = fleet.disk(i);
                killed ? fleet.kill(i) : fleet.goodbye(i);
                fleet.run(killed ? 12s : 1s);
                fleet.begin(i, killed ? before : fleet.disk(i));
                fleet.run(4s);
            }
            CHECK(fleet.level() <= admitted + 1);
            admitted += fleet.offer_each(3, 60);
            CHECK(admitted >= 57);
            CHECK(admitted <= 64);
        }
    }
}

TEST_CASE("what a fleet used that was stopped in order as a whole is on its disks") {
    for (const bool at_once : {false, true}) {
        CAPTURE(at_once);
        LevelFleet fleet(60, 3);
        int admitted = fleet.offer_each(3, 5);
        fleet.run(2s);
        std::vector<Disk> disks;
        if (at_once) {
            fleet.all_leave();
        }
        for (std::size_t i = 0; i < 3; ++i) {
            at_once ? fleet.kill(i) : fleet.goodbye(i);
            disks.push_back(fleet.disk(i));
        }
        fleet.run(1s);
        for (std::size_t i = 0; i < 3; ++i) {
            fleet.begin(i, disks[i]);
        }
        fleet.run(3s);
        admitted += fleet.offer_each(3, 60);
        CHECK(admitted >= 57);
        CHECK(admitted <= 63);
        CHECK(fleet.level() <= 64);
    }
}

TEST_CASE("a sidecar without a fleet keeps what it admitted before its first tick") {
    limiter::Limiter limiter({.seed = 1});
    limiter::ThreadContext& thread = limiter.register_thread(2);
    EngineOptions options;
    options.clustered = false;
    Engine engine(std::move(options), limiter, 3);
    engine.kept_counts().want();
    limiter::QuotaDefinition definition;
    definition.name = "q";
    definition.limits = {{.amount = 12, .period = 1h}};
    const Instant now{1h};
    REQUIRE(sim::put_quota(limiter, definition, now).empty());
    engine.start(now);
    for (int i = 0; i < 6; ++i) {
        const auto leaf = limiter.find(thread, "q", now);
        CHECK(limiter.check(thread, leaf, {}, now, limiter::CheckMode::charge).admitted);
    }
    limiter.quiescent(thread);
    engine.goodbye(now);
    CHECK(engine.kept_levels().news() > 0);
    sync::KeptLevels::Cursor cursor;
    std::vector<std::byte> block(65536);
    ByteWriter writer(block);
    CHECK(engine.kept_levels().write(writer, cursor, now, 1'700'000'000s) == 1);
}

TEST_CASE("anchors that are lost together bring levels back that no sidecar knows any more") {
    LevelFleet fleet(60);
    for (int i = 0; i < 3; ++i) {
        fleet.add(true);
    }
    const std::size_t sidecar = fleet.add(false);
    fleet.run(3s);
    int admitted = fleet.offer(sidecar, 40);
    CHECK(admitted == 40);
    fleet.run(2s);
    restart_all(fleet, 4, 2s);
    CHECK(fleet.disk(sidecar).empty());
    fleet.run(3s);
    CHECK(fleet.level() == plus_minus(40, 0.5));
    admitted += fleet.offer(sidecar, 80);
    CHECK(admitted >= 57);
    CHECK(admitted <= 63);
}

TEST_CASE("a level of an old file adds nothing to what owners that went on have counted") {
    LevelFleet fleet(60, 3);
    (void)fleet.offer(0, 40);
    fleet.run(2s);
    const Disk old = fleet.disk(1);
    REQUIRE_FALSE(old.empty());
    (void)fleet.offer(0, 10);
    fleet.run(1s);
    const double before = fleet.level();
    fleet.kill(1);
    fleet.run(12s);
    fleet.begin(1, old);
    fleet.run(5s);
    CHECK(fleet.level() <= before);
    CHECK(fleet.level() == plus_minus(before, 1));
}

TEST_CASE("members at other addresses tell the owners what they have read") {
    LevelFleet fleet(60, 3);
    int admitted = fleet.offer_each(3, 12);
    fleet.run(2s);
    const Disk disk = fleet.disk(0);
    for (std::size_t i = 0; i < 3; ++i) {
        fleet.kill(i);
    }
    fleet.run(1s);
    // Only one of nine has the file, whoever the owners are.
    for (std::size_t i = 0; i < 9; ++i) {
        if (i < 3) {
            fleet.begin(i, {});
        } else {
            fleet.add(false);
        }
    }
    fleet.begin(5, disk);
    fleet.run(6s);
    CHECK(fleet.level() == plus_minus(admitted, 1));
}

TEST_CASE("a level drains while nothing runs, and not at all when the clock was set back") {
    struct Case {
        Duration gone, clock;
        double left;
    };
    for (const Case& each :
         {Case{1200s, 0s, 20}, Case{7200s, 0s, 0}, Case{1200s, -7200s, 40}, Case{10s, 7200s, 0}}) {
        CAPTURE(each.left);
        LevelFleet fleet(60);
        fleet.add(false);
        fleet.run(3s);
        (void)fleet.offer(0, 40);
        fleet.run(2s);
        const Disk disk = fleet.disk(0);
        fleet.kill(0);
        fleet.run(each.gone);
        fleet.clock_ahead = each.clock;
        fleet.begin(0, disk);
        fleet.run(1s);
        CHECK(fleet.level() == plus_minus(each.left, 0.3));
        const int admitted = fleet.offer(0, 80, 10ms);
        CHECK(admitted == plus_minus(60 - each.left, 2.5));
    }
}

}  // namespace weir::engine
