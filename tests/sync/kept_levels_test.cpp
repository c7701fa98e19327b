// Long levels as the blocks of a snapshot, and what a process without a fleet does with them.
#include "sync/kept_levels.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "sample_messages.h"
#include "sim/quota_set.h"
#include "sync/silence.h"
#include "sync/synced_limit.h"
#include "tolerance.h"

namespace weir::sync {
namespace {

using namespace std::chrono_literals;
using testing::plus_minus;
using Blocks = std::vector<std::vector<std::byte>>;

constexpr Duration kUnix = std::chrono::hours(24 * 365 * 50);

/// A process without a fleet, whose quotas allow 60 requests in an hour each.
struct LoneProcess {
    explicit LoneProcess(const Blocks& blocks = {}, Duration later = {}) : now(1h + later) {
        for (int i = 0; i < 40; ++i) {
            limiter::QuotaDefinition quota;
            quota.name = "q" + std::to_string(i);
            quota.limits = {{.amount = 60, .period = 1h}};
            REQUIRE(sim::put_quota(limiter, quota, now).empty());
        }
        levels.set_alone(true);
        for (const auto& block : blocks) {
            levels.read(block, now, unix_now());
        }
        levels.foretell();
        tick();
    }
    [[nodiscard]] Duration unix_now() const { return kUnix + now.time_since_epoch(); }
    void tick() {
        limiter.drain_active([this](limiter::LimitRef limit) { levels.note_used(limit); });
    }
    int use(const std::string& name, int requests) {
        int admitted = 0;
        for (int i = 0; i < requests; ++i) {
            const auto leaf = limiter.find(thread, name, now);
            const auto mode = limiter::CheckMode::charge;
            admitted += limiter.check(thread, leaf, {}, now, mode).admitted ? 1 : 0;
        }
        limiter.quiescent(thread);
        return admitted;
    }
    Blocks written(std::size_t size = 4096) {
        Blocks blocks;
        KeptLevels::Cursor cursor;
        for (;;) {
            std::vector<std::byte> block(size);
            ByteWriter writer(block);
            if (!levels.write(writer, cursor, now, unix_now())) {
                return blocks;
            }
            block.resize(writer.size());
            blocks.push_back(std::move(block));
        }
    }

    Instant now;
    SyncSettings settings;
    SyncStatistics statistics;
    Silence silence{settings, statistics};
    limiter::Limiter limiter{{.seed = 1}};
    limiter::ThreadContext& thread = limiter.register_thread(2);
    Owner owner{settings, silence, Random(3),
                [](const LimitKey&, std::string&, limiter::LimitParameters&, limiter::Isolation&) {
                    return false;
                },
                statistics};
    KeptLevels levels{limiter, owner};
};

/// All levels in these blocks, each of which has to be one that can be.
std::vector<KeptLevel> all_in(const Blocks& blocks) {
    std::vector<KeptLevel> found;
    for (const auto& block : blocks) {
        ByteReader reader(block);
        (void)reader.varint();
        while (reader.remaining() > 0) {
            found.push_back(decode_kept_level(reader));
            REQUIRE(reader.ok());
            CHECK(plausible(found.back()));
        }
    }
    return found;
}

std::map<std::string, double> levels_in(const Blocks& blocks) {
    std::map<std::string, double> found;
    for (const KeptLevel& kept : all_in(blocks)) {
        CHECK(found.emplace(kept.name, kept.level).second);
    }
    return found;
}

KeptLevel some_level() {
    return {.key = key_of("q", limiter::Unit::requests, 1h),
            .name = "q",
            .parameters = {.rate = 60.0 / 3600, .low = 60, .high = 60, .debt = 3},
            .level = 30,
            .sum = 12,
            .full = 10};
}

/// A block that holds these levels as of that time.
std::vector<std::byte> block_of_levels(Duration unix_time, const std::vector<KeptLevel>& levels) {
    std::vector<std::byte> block(10 + levels.size() * 160);
    ByteWriter writer(block);
    writer.varint(static_cast<std::uint64_t>(unix_time / 1ms));
    for (const KeptLevel& kept : levels) {
        encode(writer, kept);
    }
    REQUIRE(writer.ok());
    block.resize(writer.size());
    return block;
}

}  // namespace

TEST_CASE("a level comes back as it was written, and every cut of it is refused") {
    test::check_codec(some_level(), decode_kept_level);
    KeptLevel nameless = some_level();
    nameless.name.clear();
    test::check_codec(nameless, decode_kept_level);
    CHECK(plausible(some_level()));
    CHECK(plausible(nameless));
    const auto bad = [](auto change) {
        KeptLevel kept = some_level();
        change(kept);
        CHECK_FALSE(plausible(kept));
    };
    bad([](KeptLevel& kept) { kept.level = -1; });
    bad([](KeptLevel& kept) { kept.full = std::numeric_limits<double>::quiet_NaN(); });
    bad([](KeptLevel& kept) { kept.sum = 1e300; });
    bad([](KeptLevel& kept) { kept.name = "other"; });
    bad([](KeptLevel& kept) { kept.parameters.rate = 0; });
    bad([](KeptLevel& kept) { kept.parameters.low = 61; });
    bad([](KeptLevel& kept) { kept.key.unit = 200; });
    bad([](KeptLevel& kept) { kept.key.period_ms = ~std::uint64_t{0}; });
    bad([](KeptLevel& kept) {
        kept.key.kind = static_cast<std::uint8_t>(limiter::LimitKind::window);
    });
}

TEST_CASE("levels are written in blocks of any size, each once, and drain until they are read") {
    LoneProcess process;
    for (int i = 0; i < 40; ++i) {
        (void)process.use("q" + std::to_string(i), i);
    }
    for (const std::size_t size :
         {KeptLevels::kLargestBlock, std::size_t{2000}, std::size_t{65'000}}) {
        CAPTURE(size);
        const auto found = levels_in(process.written(size));
        CHECK(found.size() == 37);  // those above a twentieth: of 3 requests and more
        CHECK(found.at("q3") == plus_minus(3, 0.01));
        CHECK(found.at("q39") == plus_minus(39, 0.01));
    }
    LoneProcess later(process.written(), 600s);
    CHECK(later.levels.taken() == 29);  // ten requests have drained
    CHECK(later.levels.refused() == 0);
    CHECK(later.use("q39", 60) == 31);
    CHECK(later.use("q20", 60) == 50);
    CHECK(later.use("q2", 60) == 60);
}

TEST_CASE("what a process begins with is not told to the fleet as its own") {
    LoneProcess process;
    (void)process.use("q1", 30);
    LoneProcess next(process.written());
    CHECK(next.use("q1", 5) == 5);
    std::vector<limiter::LimitRef> used;
    next.limiter.drain_active([&](limiter::LimitRef limit) { used.push_back(limit); });
    REQUIRE(used.size() == 1);
    CHECK(next.limiter.take_unviewed(used[0], next.now)->level == plus_minus(5, 0.01));
    const auto counts = next.limiter.read(used[0], next.now);
    REQUIRE(counts);
    CHECK(counts->local_level == plus_minus(5, 0.01));
    CHECK(counts->level == plus_minus(35, 0.01));
    next.now += 3600s;  // all has drained
    CHECK(next.use("q1", 60) == 60);
    CHECK(next.limiter.read(used[0], next.now)->local_level == plus_minus(60, 0.01));
}

TEST_CASE(
    "levels of limits that are not used stay for the next restart, and count once when used") {
    LoneProcess first;
    (void)first.use("q1", 30);
    (void)first.use("q2", 40);
    LoneProcess second(first.written(), 60s);
    CHECK(second.use("q1", 10) == 10);
    const auto found = levels_in(second.written());
    REQUIRE(found.size() == 2);
    CHECK(found.at("q1") == plus_minus(39, 0.01));
    CHECK(found.at("q2") == plus_minus(39, 0.01));
    CHECK(second.levels.waiting() == 1);
    second.now += 3600s;
    CHECK(second.written().empty());
    CHECK(second.levels.waiting() == 0);
}

TEST_CASE("a clock that was set back counts as no time, and no level is above a full bucket") {
    KeptLevel over = some_level();
    over.name = "q1";
    over.key = key_of("q1", limiter::Unit::requests, 1h);
    over.level = 1e9;
    LoneProcess probe;
    const Duration in_an_hour = probe.unix_now() + 1h;
    LoneProcess process({block_of_levels(in_an_hour, {over})});
    CHECK(process.levels.taken() == 1);
    CHECK(process.use("q1", 100) == 0);
    process.now += 3600s + 240s;  // the debt has drained as well
    CHECK(process.use("q1", 100) >= 60);
}

TEST_CASE("levels that cannot be are passed over, and blocks that are cut off are read as far") {
    LoneProcess process;
    KeptLevel bad = some_level();
    bad.parameters.rate = -1;
    std::vector<std::byte> block =
        block_of_levels(process.unix_now(), {some_level(), bad, some_level()});
    process.levels.read(block, process.now, process.unix_now());
    CHECK(process.levels.taken() == 2);
    CHECK(process.levels.refused() == 1);
    block.pop_back();
    process.levels.read(block, process.now, process.unix_now());
    CHECK(process.levels.taken() == 3);
    CHECK(process.levels.refused() == 3);
    process.levels.read({}, process.now, process.unix_now());
    CHECK(process.levels.refused() == 4);
}

TEST_CASE("whatever is in a block, no level is above a full bucket") {
    LoneProcess process;
    Random random(11);
    const std::vector<std::byte> good =
        block_of_levels(process.unix_now(), {some_level(), some_level(), some_level()});
    for (int i = 0; i < 3000; ++i) {
        std::vector<std::byte> altered = good;
        for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
            altered[random.below(altered.size())] = static_cast<std::byte>(random.below(256));
        }
        process.levels.read(altered, process.now, process.unix_now());
    }
    CHECK(process.levels.refused() > 1000);
    CHECK(process.levels.taken() > 1000);
    process.levels.foretell();
    for (const KeptLevel& kept : all_in(process.written(65'000))) {
        CHECK(kept.whole() <= limiter::ceiling(kept.parameters, 1, 0));
    }
}

TEST_CASE("when there are too many levels the emptiest are left out") {
    LoneProcess process;
    Blocks blocks;
    for (std::size_t i = 0; i < KeptLevels::kMostLevels; i += 1000) {
        std::vector<KeptLevel> some;
        for (std::size_t j = i; j < std::min(i + 1000, KeptLevels::kMostLevels); ++j) {
            KeptLevel kept = some_level();
            kept.name = "unused" + std::to_string(j);
            kept.key = key_of(kept.name, limiter::Unit::requests, 1h);
            kept.level = j % 2 == 0 ? 4 : 30;
            kept.sum = kept.full = 0;
            some.push_back(std::move(kept));
        }
        blocks.push_back(block_of_levels(process.unix_now(), some));
    }
    for (const auto& block : blocks) {
        process.levels.read(block, process.now, process.unix_now());
    }
    CHECK(process.levels.taken() == KeptLevels::kMostLevels);
    (void)process.use("q1", 10);
    CHECK(levels_in(process.written(65'000)).size() == KeptLevels::kMostLevels);
    const auto next = levels_in(process.written(65'000));
    CHECK(next.size() == KeptLevels::kMostLevels / 2 + 1);
    CHECK(next.contains("q1"));
}

TEST_CASE("there is news when a long limit is used, and none of a short one") {
    LoneProcess process;
    limiter::QuotaDefinition quick;
    quick.name = "quick";
    quick.limits = {{.amount = 100, .period = 1s}};
    REQUIRE(sim::put_quota(process.limiter, quick, process.now).empty());
    const std::uint64_t before = process.levels.news();
    (void)process.use("quick", 50);
    process.tick();
    CHECK(process.levels.news() == before);
    (void)process.use("q1", 1);
    process.tick();
    CHECK(process.levels.news() > before);
    CHECK(process.written().empty());
}

}  // namespace weir::sync
