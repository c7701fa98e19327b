// How soon what origins tell is at the owners, by what the owners have been told: every delta is
// opened as it is sent and as it is read.

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "gossip/seal.h"
#include "gossip/wire.h"
#include "sim/fleet.h"
#include "sync/messages.h"

namespace weir::sim {
namespace {

using namespace test;

constexpr double kLimit = 1000;
constexpr double kFrom = 3;
constexpr double kEnd = 23;
constexpr double kWithin = 1;

/// Of the simulator's fleets.
gossip::Key shared_key() {
    gossip::Key key;
    for (std::size_t i = 0; i < key.size(); ++i) {
        key[i] = std::byte(i * 7 + 3);
    }
    return key;
}

/// What one origin has told one owner, and what that owner has of it. Counts only grow, so that a
/// later delta brings all that is in a lost one.
struct Line {
    struct Told {
        double at = 0;
        double offered = 0;
    };
    std::deque<Told> under_way;
    double told = 0;
    double held = 0;
};

class Watch {
  public:
    explicit Watch(World& world) : world_(world), keys_{shared_key()}, opener_(keys_, nonces_) {
        world.tap([this](std::uint32_t from, std::uint32_t to, ByteSpan bytes) {
            for_each_delta(bytes, [&](const sync::DeltaEntry& delta) { send(from, to, delta); });
        });
        world.delivered([this](std::uint32_t from, std::uint32_t to, ByteSpan bytes) {
            for_each_delta(bytes, [&](const sync::DeltaEntry& delta) { hold(from, to, delta); });
        });
    }
    /// What has not arrived by the end.
    void finish() {
        for (const auto& [between, line] : lines_) {
            for (const Line::Told& told : line.under_way) {
                note(told, kEnd + kWithin);
            }
        }
    }
    [[nodiscard]] std::size_t read() const { return read_; }
    [[nodiscard]] std::size_t deltas() const { return latencies_.size(); }
    /// Of the deltas that told something new.
    [[nodiscard]] double share_within(double seconds) const {
        const auto soon = std::count_if(latencies_.begin(), latencies_.end(),
                                        [&](double each) { return each <= seconds; });
        return static_cast<double>(soon) / static_cast<double>(std::max<std::size_t>(1, deltas()));
    }
    [[nodiscard]] double quantile(double share) {
        REQUIRE(!latencies_.empty());
        std::sort(latencies_.begin(), latencies_.end());
        return latencies_[static_cast<std::size_t>(share * static_cast<double>(deltas() - 1))];
    }

  private:
    template <class Visit>
    void for_each_delta(ByteSpan bytes, const Visit& visit) {
        const auto opened = opener_.open(bytes);
        REQUIRE(!opened.rejection);
        ByteReader reader(opened.content);
        static_cast<void>(gossip::decode_envelope(reader));
        while (const auto message = gossip::next_message(reader)) {
            if (message->type != gossip::MessageType::delta) {
                continue;
            }
            ByteReader entries(message->payload);
            static_cast<void>(sync::read_delta_head(entries));
            while (entries.remaining() > 0) {
                visit(sync::decode_delta(entries));
            }
            REQUIRE(entries.ok());
        }
    }
    void send(std::uint32_t from, std::uint32_t to, const sync::DeltaEntry& delta) {
        Line& line = lines_[{from, to}];
        if (delta.offered <= line.told) {
            return;  // said before
        }
        line.told = delta.offered;
        line.under_way.push_back({world_.now(), delta.offered});
    }
    void hold(std::uint32_t from, std::uint32_t to, const sync::DeltaEntry& delta) {
        ++read_;
        Line& line = lines_[{from, to}];
        line.held = std::max(line.held, delta.offered);
        while (!line.under_way.empty() && line.under_way.front().offered <= line.held) {
            note(line.under_way.front(), world_.now());
            line.under_way.pop_front();
        }
    }
    void note(const Line::Told& told, double held_at) {
        if (told.at >= kFrom && told.at < kEnd - kWithin) {
            latencies_.push_back(held_at - told.at);
        }
    }

    World& world_;
    std::vector<gossip::Key> keys_;
    gossip::SystemNonces nonces_;
    gossip::Sealer opener_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Line> lines_;
    std::vector<double> latencies_;
    std::size_t read_ = 0;
};

/// Owners took all that they read, but for datagrams of a member that they did not know yet: of one
/// limit each of these has one delta at most.
void check_taken(World& world, const Watch& watch) {
    std::uint64_t taken = 0;
    std::uint64_t unknown = 0;
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        const engine::EngineStatistics statistics = world.sidecar(i).engine().statistics();
        const sync::SyncStatistics& sync = statistics.sync;
        unknown += statistics.rejected.at("unknown_sender");
        taken += sync.deltas_received;
        CHECK(sync.refused_values + sync.refused_falling + sync.refused_leaps +
                  sync.refused_not_owner + sync.dropped_cells + sync.dropped_owned_limits ==
              0);
    }
    CHECK(taken <= watch.read());
    CHECK(taken + unknown >= watch.read());
}

TEST_CASE("0.99 of all deltas are at their owners within a second, whatever is lost") {
    for (const std::uint32_t sidecars : {3u, 10u, 50u}) {
        for (const double loss : {0.0, 0.05, 0.3}) {
            for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
                CAPTURE(sidecars);
                CAPTURE(loss);
                CAPTURE(seed);
                WorldPlan plan = plan_of({.sidecars = sidecars,
                                          .limit = kLimit,
                                          .offered = 2 * kLimit,
                                          .seconds = kEnd,
                                          .seed = seed});
                plan.faults.loss = loss;
                World world(plan);
                Watch watch(world);
                REQUIRE(world.run(kMeeting));
                watch.finish();
                MESSAGE(watch.deltas()
                        << " deltas: within 1 s " << watch.share_within(kWithin)
                        << ", within 0.1 s " << watch.share_within(0.1) << ", 0.99 of them within "
                        << watch.quantile(0.99) << " s, the last " << watch.quantile(1) << " s");
                check_taken(world, watch);
                CHECK(watch.deltas() > 300);  // else it says nothing
                CHECK(watch.share_within(kWithin) >= 0.99);
                // Loss is there: what is lost takes longer than the way there.
                CHECK((watch.share_within(0.01) < 0.99) == (loss > 0));
            }
        }
    }
}

}  // namespace
}  // namespace weir::sim
