#include "sync/kept_counts.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "window_fleet.h"

using namespace weir;
using namespace weir::sync;
using namespace weir::sync::test;

namespace {

limiter::RateLimit kept_minute(double amount) {
    limiter::RateLimit limit = limiter::RateLimit::in_window(amount, 1min);
    limit.from = limiter::WindowStart::calendar;
    return limit;
}

/// Goes on to the beginning of a minute.
void next_minute(WindowFleet& fleet) {
    fleet.run_to(0);
    fleet.run(1);
}

/// Both sides of one member, without a fleet.
struct Lone final : WindowSink {
    Lone() {
        origin.set_run(7);
        tick();
    }
    void tick() {
        owner.tick(now, kSecond, {1, false}, id, owners, *this);
        origin.tick(now, kSecond, owners, *this);
        now += 10ms;
    }
    [[nodiscard]] bool has_room_for_windows(bool /*urgent*/) override { return true; }
    void send_window_report(const gossip::MemberId& /*to*/, const WindowReport&) override {}
    void send_window_grant(const gossip::MemberId& /*to*/, const WindowGrant&) override {}

    static constexpr std::int64_t kSecond = 1'795'867'200;
    Instant now{1h};
    gossip::MemberId id{Endpoint::v4(0x0a000001, 7946), 1};
    SyncSettings settings;
    SyncStatistics statistics;
    limiter::Limiter limiter{{.seed = 1}};
    Silence silence{settings, statistics};
    WindowOrigin origin{limiter, statistics};
    WindowOwner owner{silence, [this] { return std::vector{id}; }, statistics};
    membership::Owners owners;
    KeptCounts kept{origin, owner};
};

WindowReport count_of_run(std::uint64_t quota, std::uint64_t run, std::uint64_t admitted) {
    WindowReport count;
    count.key = {quota, static_cast<std::uint8_t>(limiter::LimitKind::window), 0, 60'000};
    count.run = run;
    count.end = static_cast<std::uint32_t>(Lone::kSecond + 30);
    count.number = 3;
    count.gone = true;
    count.most = 1000;
    count.allowance = count.admitted = count.wanted = admitted;
    return count;
}

std::vector<std::byte> block_of(const std::vector<WindowReport>& counts) {
    std::vector<std::byte> block(counts.size() * KeptCounts::kLargestCount);
    ByteWriter writer(block);
    for (const WindowReport& count : counts) {
        encode(writer, count);
    }
    REQUIRE(writer.ok());
    block.resize(writer.size());
    return block;
}

/// Reads all that a member keeps, in blocks of so many bytes.
std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> all_kept(KeptCounts& kept,
                                                                          std::size_t size) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> all;
    KeptCounts::Cursor cursor;
    std::vector<std::byte> block(size);
    for (;;) {
        ByteWriter writer(block);
        const std::size_t written = kept.write(writer, cursor);
        ByteReader reader(writer.written());
        for (std::size_t i = 0; i < written; ++i) {
            const WindowReport count = decode_window_report(reader);
            REQUIRE(reader.ok());
            CHECK(all.emplace(std::pair(count.key.quota, count.run), count.admitted).second);
        }
        CHECK(reader.remaining() == 0);
        if (written == 0) {
            return all;
        }
    }
}

}  // namespace

TEST_CASE("counts are written in blocks of any size, and each once") {
    Lone member;
    std::vector<WindowReport> counts;
    for (std::uint64_t quota = 1; quota <= 20; ++quota) {
        for (std::uint64_t run = 1; run <= quota; ++run) {
            counts.push_back(count_of_run(quota, 100 * quota + run, quota + run));
        }
    }
    member.kept.read(block_of(counts));
    CHECK(member.kept.taken() == counts.size());
    for (const bool restored : {false, true}) {
        CAPTURE(restored);
        if (restored) {
            member.kept.restore(member.now);
            CHECK(member.kept.waiting() == 0);
        }
        for (const std::size_t size :
             {KeptCounts::kLargestCount, std::size_t{300}, std::size_t{65'000}}) {
            CAPTURE(size);
            const auto all = all_kept(member.kept, size);
            CHECK(all.size() == counts.size());
            for (const WindowReport& count : counts) {
                CHECK(all.at({count.key.quota, count.run}) == count.admitted);
            }
        }
    }
    CHECK(member.owner.admitted(counts.front().key) == counts.front().admitted);
}

TEST_CASE("of several counts of one run the newest is taken, also before the first request") {
    Lone member;
    WindowReport old = count_of_run(quota_hash("q"), 11, 200);
    WindowReport newer = count_of_run(quota_hash("q"), 11, 300);
    newer.number = 9;
    WindowReport other = count_of_run(quota_hash("q"), 12, 100);
    member.kept.read(block_of({newer, other, old}));
    member.kept.set_alone(true);
    member.kept.foretell();
    CHECK(member.kept.waiting() == 2);
    member.limiter.set_wall_clock(std::chrono::seconds(Lone::kSecond) -
                                  member.now.time_since_epoch());
    limiter::QuotaDefinition definition;
    definition.name = "q";
    definition.limits = {kept_minute(1000)};
    REQUIRE(sim::put_quota(member.limiter, definition, member.now).empty());
    auto& thread = member.limiter.register_thread(1);
    int admitted = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto leaf = member.limiter.find(thread, "q", member.now);
        const auto mode = limiter::CheckMode::charge;
        admitted += member.limiter.check(thread, leaf, {}, member.now, mode).admitted ? 1 : 0;
    }
    CHECK(admitted == 600);
}

TEST_CASE("counts that cannot be are passed over, and those of ended windows are not kept") {
    Lone member;
    WindowReport good = count_of_run(1, 11, 5);
    WindowReport ended = count_of_run(2, 12, 5);
    ended.end = static_cast<std::uint32_t>(Lone::kSecond - 1);
    WindowReport alive = count_of_run(3, 13, 5);
    alive.gone = false;
    WindowReport later = count_of_run(4, 14, 5);
    later.end = static_cast<std::uint32_t>(Lone::kSecond + 400 * 86'400);
    member.kept.read(block_of({good, ended, alive, later}));
    std::vector<std::byte> cut = block_of({good});
    cut.pop_back();
    member.kept.read(cut);
    CHECK(member.kept.taken() == 3);
    CHECK(member.kept.refused() == 2);
    member.kept.restore(member.now);
    const auto all = all_kept(member.kept, 1000);
    REQUIRE(all.size() == 1);
    CHECK(all.begin()->first == std::pair<std::uint64_t, std::uint64_t>(1, 11));
}

TEST_CASE("there is news when a count has grown, and none when nothing has happened") {
    WindowFleet fleet(3, kept_minute(3000), 5);
    next_minute(fleet);
    const std::uint64_t rest = fleet.kept_news(0);
    fleet.run(2);
    CHECK(fleet.kept_news(0) == rest);
    (void)fleet.offer(0, 20);
    fleet.run(1);
    const std::uint64_t used = fleet.kept_news(0);
    CHECK(used > rest);
    (void)fleet.keep(0);
    fleet.run(2);
    CHECK(fleet.kept_news(0) == used);
}

TEST_CASE("a fleet that stops as a whole goes on with what its members have kept") {
    for (const double amount : {90.0, 1000.0}) {
        for (const std::uint64_t seed : {1U, 2U, 3U}) {
            CAPTURE(amount);
            CAPTURE(seed);
            WindowFleet fleet(3, kept_minute(amount), seed);
            next_minute(fleet);
            const int part = static_cast<int>(amount / 6);
            for (std::size_t i = 0; i < 3; ++i) {
                CHECK(fleet.offer(i, part) == part);
            }
            fleet.run(1);
            std::vector<WindowFleet::Blocks> disks;
            for (std::size_t i = 0; i < 3; ++i) {
                disks.push_back(fleet.keep(i));
            }
            for (std::size_t i = 0; i < 3; ++i) {
                fleet.kill(i);
            }
            fleet.run(3);
            for (const auto& disk : disks) {
                fleet.load[fleet.add(disk)] = amount / 3;
            }
            fleet.run(20);
            CHECK(fleet.sum() <= amount + 2);
            CHECK(fleet.sum() >= std::min(amount - 1, amount * 0.99));
            for (std::size_t i = 3; i < 6; ++i) {
                CHECK(fleet.known(i) == fleet.sum());
            }
        }
    }
}

TEST_CASE("a sidecar that restarts alone again and again admits no window twice") {
    WindowFleet fleet(1, kept_minute(200), 3);
    next_minute(fleet);
    CHECK(fleet.offer(0, 150) == 150);
    fleet.run(0.5);
    std::size_t last = 0;
    for (int restart = 0; restart < 8; ++restart) {
        const auto disk = fleet.keep(last);
        fleet.kill(last);
        last = fleet.add(disk);
        fleet.load[last] = 100;
        fleet.run(3);
    }
    CHECK(fleet.sum() == 200);
}

TEST_CASE("anchors that are lost together know after their restart what gone sidecars admitted") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        CAPTURE(seed);
        WindowFleet fleet(3, kept_minute(1000), seed);
        for (int anchor = 0; anchor < 3; ++anchor) {
            (void)fleet.add({}, true);
        }
        next_minute(fleet);
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(fleet.offer(i, 100) == 100);
        }
        fleet.run(1);
        for (const std::size_t owner : fleet.owners()) {
            CHECK(owner >= 3);
        }
        fleet.kill(0);  // only the anchors know what it had admitted
        fleet.run(4);
        std::vector<WindowFleet::Blocks> disks;
        for (std::size_t i = 3; i < 6; ++i) {
            disks.push_back(fleet.keep(i));
        }
        CHECK(fleet.offer(1, 50) == 50);  // told, but not on the disks
        fleet.run(0.5);
        for (std::size_t i = 3; i < 6; ++i) {
            fleet.kill(i);
        }
        fleet.run(0.3);
        for (const auto& disk : disks) {
            (void)fleet.add(disk, true);
        }
        fleet.run(4);
        for (std::size_t i = 6; i < 9; ++i) {
            CHECK(fleet.known(i) == 350);
        }
        fleet.load[1] = fleet.load[2] = 300;
        fleet.run(20);
        CHECK(fleet.sum() <= 1002);
        CHECK(fleet.sum() >= 990);
    }
}

TEST_CASE("an old snapshot of a member does not count what it and others know twice") {
    WindowFleet fleet(3, kept_minute(1000), 9);
    next_minute(fleet);
    CHECK(fleet.offer(0, 30) == 30);
    fleet.run(1);
    const auto old = fleet.keep(0);
    CHECK(fleet.offer(0, 30) == 30);
    CHECK(fleet.offer(1, 30) == 30);
    fleet.run(1);
    fleet.kill(2);
    fleet.run(3);
    const std::size_t again = fleet.add(old);  // of the member 0, which lives
    fleet.run(3);
    for (const std::size_t owner : fleet.owners()) {
        CHECK(fleet.known(owner) == 90);
    }
    fleet.kill(0);
    fleet.run(3);
    CHECK(fleet.known(again) == 90);
    CHECK(fleet.known(1) == 90);
}
