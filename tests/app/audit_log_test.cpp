#include "app/audit_log.h"

#include <doctest/doctest.h>

namespace weir::app {
namespace {

constexpr Instant kBegin{std::chrono::seconds(100)};
using Lines = std::vector<std::string>;

struct Audited {
    AuditLog log{[this](std::string_view message, const LogFields& fields) {
        lines.push_back(render(config::LogFormat::text, message, fields));
    }};
    Lines lines;
    Lines take() { return std::exchange(lines, {}); }
};

engine::PeerReport peer(std::uint64_t incarnation, std::string_view state, int gone_s = 1) {
    engine::PeerReport report;
    report.address.port = 7946;
    report.incarnation = incarnation;
    report.state = state;
    report.silence = std::chrono::seconds(gone_s);
    return report;
}

}  // namespace

TEST_CASE("of each kind a second has a number of lines, the rest is counted") {
    Audited audited;
    for (int i = 0; i < 15; ++i) {
        audited.log.note(AuditKind::quota, "set", {{"who", "ann"}}, kBegin);
    }
    audited.log.note(AuditKind::peer, "joined", {}, kBegin);
    REQUIRE(audited.lines.size() == AuditLog::kMostPerSecond + 1);
    CHECK(audited.take().front() == "set audit=quota who=ann");
    audited.log.flush(kBegin + std::chrono::milliseconds(999));
    CHECK(audited.take().empty());
    audited.log.flush(kBegin + std::chrono::seconds(1));
    CHECK(audited.take() ==
          Lines{"more changes of this kind were not logged audit=quota changes=5"});
    audited.log.flush(kBegin + std::chrono::seconds(2));
    CHECK(audited.take().empty());
}

TEST_CASE("peers that join, die, return and leave have a line each") {
    Audited audited;
    FleetAudit fleet(audited.log);
    const auto told = [&](std::vector<engine::PeerReport> peers) {
        fleet.look(peers, {}, {}, kBegin);
        std::string words;
        for (const std::string& line : audited.take()) {
            words += line.substr(0, line.find(" audit=")) + ";";
        }
        return words;
    };
    CHECK(told({}).empty());
    CHECK(told({peer(1, "dead")}).empty());
    CHECK(told({peer(1, "alive")}) == "a peer returned;");
    CHECK(told({peer(1, "suspect")}).empty());
    CHECK(told({peer(1, "dead")}) == "a peer died;");
    CHECK(told({peer(1, "dead"), peer(2, "alive")}) == "a peer returned;");
    CHECK(told({peer(1, "replaced"), peer(3, "alive"), peer(2, "replaced")}) == "a peer returned;");
    CHECK(told({peer(2, "replaced", 9), peer(3, "left"), peer(7, "dead", 8)}) == "a peer left;");
    CHECK(told({peer(9, "left", 9), peer(2, "alive")}) == "a peer returned;");
    CHECK(told({peer(9, "left", 9), peer(2, "dead")}) == "a peer died;");
    CHECK(told({}).empty());
    CHECK(told({peer(4, "alive")}) == "a peer joined;");
}

TEST_CASE("sets that come, change and go have a line each") {
    Audited audited;
    FleetAudit fleet(audited.log);
    fleet.look({}, {{"shop", 1, 7, 3}}, {}, kBegin);
    CHECK(audited.take() == Lines{"a quota set is in force audit=set set=shop generation=1 "
                                  "before=nothing quotas=3"});
    fleet.look({}, {{"shop", 1, 7, 3}}, {}, kBegin);
    CHECK(audited.take().empty());
    fleet.look({}, {{"shop", 2, 8, 4}}, {}, kBegin);
    CHECK(audited.take() ==
          Lines{"a quota set is in force audit=set set=shop generation=2 before=1 quotas=4"});
    fleet.look({}, {}, {}, kBegin);
    CHECK(audited.take() ==
          Lines{"a quota set is not in force any more audit=set set=shop generation=2"});
}

TEST_CASE("overrides that expire have a line, and those that are not listed are counted") {
    Audited audited;
    FleetAudit fleet(audited.log);
    definitions::ExpiredOverrides expired;
    expired.listed.push_back({"shop", "ann", "sale"});
    expired.more = 7;
    fleet.look({}, {}, expired, kBegin);
    CHECK(audited.take() ==
          Lines{"an override of the API expired audit=quota quota=shop who=ann why=sale"});
    audited.log.flush(kBegin + std::chrono::seconds(1));
    CHECK(audited.take() ==
          Lines{"more changes of this kind were not logged audit=quota changes=7"});
}

}  // namespace weir::app
