// The numbers and words of docs/protocol.md against the constants and defaults of the code.

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <set>
#include <sstream>

#include "cluster/bulk.h"
#include "cluster/protocol_bytes.h"
#include "definitions/codec.h"
#include "definitions/map.h"
#include "definitions/messages.h"
#include "definitions/snapshot.h"
#include "definitions/stream.h"
#include "gossip/rejection.h"
#include "gossip/seal.h"
#include "gossip/session.h"
#include "limiter/definition.h"
#include "membership/owners.h"
#include "membership/settings.h"
#include "membership/transport.h"
#include "sync/messages.h"
#include "sync/tagged_messages.h"

namespace weir {
namespace {

using test::grouped;
using test::page;

std::string plain(double number) {
    std::ostringstream text;
    text << number;
    return text.str();
}

std::string milliseconds(Duration duration) { return plain(to_seconds(duration) * 1000) + " ms"; }
std::string seconds(Duration duration) { return plain(to_seconds(duration)) + " s"; }

#define CHECK_SAYS(text) CHECK_MESSAGE(page().says(text), (text))

TEST_CASE("sizes of datagrams, frames and what they hold are those of the code") {
    CHECK_SAYS("At most " + grouped(gossip::kMaximumDatagram) + " bytes");
    CHECK_SAYS("# The gossip protocol, version " + std::to_string(gossip::kProtocolVersion));
    CHECK_SAYS("A frame is 4 bytes length (at most " + grouped(gossip::kMaximumFrame) + ")");
    CHECK_SAYS("with up to " + grouped(gossip::kMaximumFrameContent) + " bytes of content");
    CHECK_SAYS("hot limits up to the end (below), at most " + grouped(membership::kMaximumHints) +
               " bytes");
    CHECK_SAYS("string name (" + std::to_string(sync::kMaximumNameSize) +
               " at most); f64 rate, low, high, debt");
    CHECK_SAYS("Entry: {string name (" + std::to_string(limiter::kMaxNameBytes) + " at most)");
    CHECK_SAYS("string who (" + std::to_string(definitions::kMaximumWriterName) +
               "); string why (" + std::to_string(definitions::kMaximumReason) + ")");
    CHECK_SAYS("whose entry exceeds one datagram (" + grouped(definitions::kMaximumEntry) +
               " bytes)");
    CHECK_SAYS("varint number of limits, at most " + std::to_string(limiter::kMaxLimitsPerQuota) +
               ";");
    CHECK_SAYS("sent in pages of " + grouped(definitions::kPageBytes) + " bytes or in bulk");
    CHECK_SAYS("1 number of versions, at most " +
               std::to_string(definitions::DefinitionMap::kWriters));
    CHECK_SAYS("block | 4 length of the content, at most " +
               grouped(definitions::kMaximumSnapshotBlock) + ";");
}

TEST_CASE("windows, memories and leaps are those of the code") {
    CHECK_SAYS("a window of " + grouped(gossip::SequenceWindow::kSize) + " per member");
    CHECK_SAYS("in the last " + plain(to_seconds(gossip::PacketAge::kHalfWindow)) + " to " +
               plain(2 * to_seconds(gossip::PacketAge::kHalfWindow)) + " seconds");
    CHECK_SAYS("Totals older than " + seconds(membership::TransportSettings{}.oldest_total) +
               " are refused.");
    using Deltas = sync::TaggedMessages<sync::SaidCounts, gossip::MessageType::delta>;
    CHECK_SAYS("At most " + std::to_string(Deltas::kWindow) + " messages of one kind");
    CHECK_SAYS("An origin remembers its last " + std::to_string(Deltas::kRemembered) +
               " delta messages");
    CHECK_SAYS("The shard is the hash modulo " + std::to_string(membership::kShards));
    CHECK(membership::kOwnersPerShard == 3);
    CHECK(definitions::DefinitionMap::kEpochLeap == std::uint64_t{1} << 32U);
    CHECK_SAYS(
        "An epoch more than 2^32 above the highest known is refused; tombstones are kept "
        "for " +
        plain(to_seconds(definitions::DefinitionMap::kTombstoneTime) / 3600) + " hours.");
    CHECK_SAYS("The ring holds two keys");
    CHECK(gossip::kMaximumKeys == 2);
}

TEST_CASE("membership's dials are those of the code") {
    const membership::MembershipSettings settings;
    std::map<std::string, std::string> rows;
    for (const auto& row : page().table("## Membership messages", "value")) {
        rows[row[0]] = row[1];
    }
    const std::map<std::string, std::string> expected = {
        {"probe period, direct answer within", milliseconds(settings.probe_period) + ", " +
                                                   milliseconds(settings.probe_timeout) +
                                                   "; both × (1 + local health), health 0 to " +
                                                   std::to_string(settings.maximum_local_health)},
        {"indirect probes", std::to_string(settings.indirect_probes) + ", and one ping"},
        {"suspicion", plain(settings.suspicion_factor) + " × max(1, log10 N) × period with " +
                          std::to_string(settings.confirmations) + " confirmations, " +
                          plain(settings.suspicion_spread) + " times that with none"},
        {"rumours", "to " + std::to_string(settings.rumour_fanout) + " members every " +
                        milliseconds(settings.rumour_interval) + " while there are any; each " +
                        std::to_string(settings.rumour_factor) + " × ⌈log10(N + 1)⌉ times"},
        {"seeds", std::to_string(settings.seeds_at_once) +
                      " at a time, for ever, where no live member is: after " +
                      seconds(settings.seed_interval) + ", then every " +
                      seconds(settings.seed_interval_limit)},
        {"addresses of the lately dead",
         "pinged for ever where no live member is: " + plain(settings.lost_pings_per_second) +
             " times a second by all together, each every " +
             plain(to_seconds(settings.lost_interval)) + " to " + seconds(settings.seed_interval)},
        {"member lists", "compared by a hash in pings; fetched where they differ, at most every " +
                             seconds(settings.list_interval)},
        {"members", grouped(membership::kMaximumMembers)}};
    for (const auto& row : expected) {
        CAPTURE(row.second);
        REQUIRE(rows.contains(row.first));
        CHECK(rows.at(row.first).starts_with(row.second));
    }
    CHECK(rows.size() == expected.size());
    CHECK_SAYS("A member sends at most " +
               grouped(static_cast<std::uint64_t>(settings.answers_per_second)) +
               " answers a second to members. To senders that are no members it sends at most " +
               plain(settings.open_answers_per_second) + " a second and " +
               plain(settings.open_answers_per_member) + " more for each member, " +
               plain(settings.open_answers_limit) + " in all;");
    CHECK_SAYS(std::to_string(settings.challenges) +
               " under way, or a quarter of the members up to " +
               std::to_string(settings.challenges_limit));
    CHECK_SAYS("Answers carry rumours for at most " +
               grouped(static_cast<std::uint64_t>(settings.answered_news_per_second)) +
               " bytes a second.");
    CHECK_SAYS("A state machine that was not ticked for " + seconds(settings.pause_threshold));
    CHECK_SAYS("with chance " + std::to_string(settings.suspicion_probers) + "/N");
    CHECK_SAYS("more than " + grouped(membership::kMaximumMembers) + " members |");
}

TEST_CASE("every reason of a refusal is explained, and no other") {
    std::set<std::string> docs;
    for (const auto& row : page().table("## What is refused", "reason")) {
        std::istringstream names(row[0]);
        for (std::string name; std::getline(names >> std::ws, name, ',');) {
            CHECK(docs.insert(name).second);
        }
    }
    std::set<std::string> code;
    for (std::size_t reason = 0; reason < gossip::kRejections; ++reason) {
        code.insert(std::string(to_string(static_cast<gossip::DatagramRejection>(reason))));
    }
    CHECK(docs == code);
}

TEST_CASE("lanes have the types and the budgets that the page says") {
    const membership::TransportSettings settings;
    const std::array<std::pair<const char*, gossip::BudgetSettings>, gossip::kLanes> lanes = {
        {{"membership", settings.membership_budget},
         {"counters", settings.counter_budget},
         {"definitions", settings.definition_budget}}};
    const auto rows = page().table("## Budgets", "lane");
    REQUIRE(rows.size() == lanes.size());
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        const auto& [name, budget] = lanes[lane];
        const auto& row = rows[lane];
        CAPTURE(row[0]);
        CHECK(row[0] == name);
        const std::string rate = grouped(static_cast<std::uint64_t>(budget.bytes_per_second));
        CHECK(
            (row[2] == rate || row[2].starts_with(rate + ";") || row[2].starts_with(rate + " (")));
        CHECK(row[3] == grouped(static_cast<std::uint64_t>(budget.burst)));
        const auto dash = row[1].find("–");
        REQUIRE(dash != std::string::npos);
        const unsigned long first = std::stoul(row[1]);
        const unsigned long last = std::stoul(row[1].substr(dash + std::string("–").size()));
        for (unsigned long type = 0; type < 256; ++type) {
            const bool here =
                lane_of(static_cast<gossip::MessageType>(type)) == static_cast<gossip::Lane>(lane);
            if (type == static_cast<unsigned long>(gossip::MessageType::clock)) {
                CHECK(here == (std::string_view(name) == "counters"));
                CHECK(page().says("`clock` is in the lane of counters"));
            } else if (type > 0 && type < 64) {
                CHECK(here == (first <= type && type <= last));
            }
        }
    }
}

TEST_CASE("the bounds of bulk are those of the code") {
    const cluster::BulkLimits limits;
    std::map<std::string, std::string> rows;
    for (const auto& row : page().table("### In bulk: TCP", "bound")) {
        rows[row[0]] = row[1];
    }
    CHECK(rows["connections in, out"] == std::to_string(limits.incoming) +
                                             " (more are closed at once), " +
                                             std::to_string(limits.outgoing));
    CHECK(rows["to connect, to greet, without progress, in all"] ==
          seconds(limits.connect) + ", " + seconds(limits.greeting) + ", " + seconds(limits.idle) +
              ", " + seconds(limits.total));
    CHECK(rows["questions of one connection"] ==
          std::to_string(definitions::DefinitionStream::kMostQuestions));
}

#undef CHECK_SAYS

}  // namespace
}  // namespace weir
