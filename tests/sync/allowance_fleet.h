#pragma once
// A fleet of members that share one limit of requests in flight, over a network with delays, losses
// and splits, on a virtual clock. Each has a real limiter, and its requests take time. What the
// fleet does is counted from outside: how many requests are in flight in all members together.

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "limiter/limiter.h"
#include "sim/quota_set.h"
#include "sync/allowance_origin.h"
#include "sync/allowance_owner.h"

namespace weir::sync::test {

using namespace std::chrono_literals;

class AllowanceFleet {
  public:
    struct Load {
        double rate = 0;      // requests per second
        double duration = 1;  // mean time in flight, exponentially distributed
    };

    AllowanceFleet(std::size_t members, double most, std::uint64_t seed)
        : random_(seed), most_(most) {
        for (std::size_t i = 0; i < members; ++i) {
            add();
        }
    }

    double loss = 0;   // the share of the messages that are lost
    double delay = 0;  // seconds that each takes in addition
    /// Which side of a split a member is on.
    std::vector<int> side;
    std::vector<Load> load;

    std::size_t add() {
        const auto index = members_.size();
        members_.push_back(std::make_unique<Member>(*this, index, random_.next()));
        side.push_back(0);
        load.push_back({});
        for (auto& member : members_) {
            member->reached.resize(members_.size(), now_);
            member->known.resize(members_.size(), true);
        }
        put(*members_.back());
        return index;
    }
    void edit(double most) {
        most_ = most;
        for (auto& member : members_) {
            put(*member);
        }
    }
    /// Begins requests that do not end by themselves.
    void begin(std::size_t index, int requests) {
        Seen seen;
        for (int i = 0; i < requests; ++i) {
            offer(*members_[index], std::chrono::hours(1), seen);
        }
    }
    void end_all() {
        for (auto& member : members_) {
            for (Running& one : member->running) {
                one.end = now_;
            }
        }
    }
    void kill(std::size_t index) {
        members_[index]->dead = true;
        members_[index]->running.clear();
    }
    /// How many requests are in flight, in all living members or in one.
    [[nodiscard]] double in_flight() const {
        double sum = 0;
        for (const auto& member : members_) {
            sum += static_cast<double>(member->running.size());
        }
        return sum;
    }
    [[nodiscard]] double in_flight(std::size_t index) const {
        return static_cast<double>(members_[index]->running.size());
    }
    /// What the limiter of a member counts.
    [[nodiscard]] double counted(std::size_t index) const {
        const auto status = members_[index]->limiter.inspect("q", now_);
        return status.empty() ? 0 : status[0].counted.count;
    }
    [[nodiscard]] double allowance(std::size_t index) const {
        const auto status = members_[index]->limiter.inspect("q", now_);
        return status.empty() ? 0 : status[0].counted.allowance;
    }
    /// Of how many limits a member was told its allowance.
    [[nodiscard]] std::size_t told(std::size_t index) const {
        return members_[index]->origin.told();
    }
    /// What members that started within the last seconds may have admitted before they were told.
    [[nodiscard]] double started_lately() const {
        double sum = 0;
        for (const auto& member : members_) {
            sum += now_ - member->started < 6s ? most_ / 4 + 1 : 0;
        }
        return sum;
    }
    [[nodiscard]] std::size_t granted() const {
        std::size_t sum = 0;
        for (const auto& member : members_) {
            sum += member->owner.size();
        }
        return sum;
    }
    /// Which member owns the limit, as the first one sees it.
    [[nodiscard]] std::size_t owner() const {
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (members_[i]->id == first_owner(*members_[living()])) {
                return i;
            }
        }
        return members_.size();
    }
    [[nodiscard]] std::uint64_t messages() const { return messages_; }

    /// What was seen while time passed.
    struct Seen {
        double mean = 0;
        double most = 0;
        std::uint64_t offered = 0;
        std::uint64_t admitted = 0;
    };
    Seen run(double seconds) {
        Seen seen;
        const Instant end = now_ + from_seconds(seconds);
        std::uint64_t steps = 0;
        for (; now_ < end; now_ += kStep, ++steps) {
            deliver();
            for (auto& member : members_) {
                serve(*member, seen);
            }
            if (++step_ % kStepsPerTick == 0) {
                tick();
            }
            seen.mean += in_flight();
            seen.most = std::max(seen.most, in_flight());
        }
        seen.mean /= static_cast<double>(std::max<std::uint64_t>(1, steps));
        return seen;
    }

  private:
    static constexpr Duration kStep = 1ms;
    static constexpr std::uint64_t kStepsPerTick = 10;
    /// Who is not reached for so long is given up.
    static constexpr Duration kGivenUp = 1500ms;

    struct Running {
        Instant end;
        limiter::Charge charge;
    };
    struct Member final : AllowanceSink {
        Member(AllowanceFleet& of, std::size_t number, std::uint64_t seed)
            : fleet(of),
              index(number),
              id{Endpoint::v4(0x0a000000 + static_cast<std::uint32_t>(number), 7946), number + 1},
              limiter({.seed = seed}),
              thread(limiter.register_thread(seed + 1)),
              owner(
                  settings, silence, [this] { return fleet.live(*this); }, statistics),
              started(fleet.now_),
              next(fleet.now_) {
            limiter.drain_active([](limiter::LimitRef) {});
        }
        void send_report(const gossip::MemberId& to, const AllowanceReport& report) override {
            if (to == id) {
                owner.receive(id, silence.number(id, fleet.now_), report, fleet.now_, *this);
            } else {
                fleet.post(*this, to, report);
            }
        }
        void send_grant(const gossip::MemberId& to, const AllowanceGrant& grant) override {
            if (to == id) {
                origin.receive(grant, fleet.now_);
            } else {
                fleet.post(*this, to, grant);
            }
        }

        AllowanceFleet& fleet;
        std::size_t index;
        gossip::MemberId id;
        SyncSettings settings;
        SyncStatistics statistics;
        limiter::Limiter limiter;
        limiter::ThreadContext& thread;
        Silence silence{settings, statistics};
        AllowanceOrigin origin{limiter, statistics};
        AllowanceOwner owner;
        membership::Owners owners;
        std::vector<Instant> reached;  // by the number of the other member
        std::vector<bool> known;
        std::vector<Running> running;
        Instant started;
        Instant next;  // when the next request arrives
        bool dead = false;
    };
    struct Packet {
        Instant at;
        std::size_t from;
        gossip::MemberId to;
        std::variant<AllowanceReport, AllowanceGrant> message;
    };

    void put(Member& member) {
        limiter::QuotaDefinition definition;
        definition.name = "q";
        definition.limits = {limiter::RateLimit::in_flight(most_)};
        REQUIRE(sim::put_quota(member.limiter, definition, now_).empty());
    }
    [[nodiscard]] bool connected(const Member& one, const Member& other) const {
        return !one.dead && !other.dead && side[one.index] == side[other.index];
    }
    [[nodiscard]] std::size_t living() const {
        std::size_t index = 0;
        while (members_[index]->dead) {
            ++index;
        }
        return index;
    }
    [[nodiscard]] std::vector<gossip::MemberId> live(const Member& member) const {
        std::vector<gossip::MemberId> ids;
        for (const auto& other : members_) {
            if (other.get() == &member || member.known[other->index]) {
                ids.push_back(other->id);
            }
        }
        return ids;
    }
    [[nodiscard]] gossip::MemberId first_owner(const Member& member) const {
        const auto& list = member.owners.of(membership::shard_of(quota_hash("q")));
        return list.empty() ? gossip::MemberId{} : list.front();
    }
    void post(Member& from, const gossip::MemberId& to,
              std::variant<AllowanceReport, AllowanceGrant> message) {
        ++messages_;
        if (random_.unit() >= loss) {
            const Duration takes = from_seconds(delay + 0.0005 + random_.unit() * 0.004);
            packets_.push_back({now_ + takes, from.index, to, message});
        }
    }
    void deliver() {
        std::vector<Packet> due;
        std::erase_if(packets_, [&](const Packet& packet) {
            const bool is_due = packet.at <= now_;
            if (is_due) {
                due.push_back(packet);
            }
            return is_due;
        });
        for (const Packet& packet : due) {
            Member& from = *members_[packet.from];
            for (auto& to : members_) {
                if (to->id == packet.to && connected(from, *to) && to->known[packet.from]) {
                    take(*to, from, packet);
                }
            }
        }
    }
    void take(Member& to, const Member& from, const Packet& packet) {
        const MemberNumber number = to.silence.number(from.id, now_);
        to.silence.heard(number, now_);
        if (const auto* report = std::get_if<AllowanceReport>(&packet.message)) {
            to.owner.receive(from.id, number, *report, now_, to);
        } else if (first_owner(to) == from.id) {
            to.origin.receive(std::get<AllowanceGrant>(packet.message), now_);
        }
    }
    /// What membership would find out.
    void follow_members(Member& member) {
        std::size_t others = 0;
        std::vector<membership::OwnerCandidate> candidates;
        for (auto& other : members_) {
            const bool self = other.get() == &member;
            const MemberNumber number = member.silence.number(other->id, now_);
            if (self || connected(member, *other)) {
                member.reached[other->index] = now_;
                member.silence.heard(number, now_);
            }
            const bool given_up = now_ - member.reached[other->index] > kGivenUp;
            if (given_up && member.known[other->index]) {
                member.silence.died(other->id, now_);
            }
            member.known[other->index] = !given_up;
            if (!given_up) {
                candidates.push_back({other->id, {}});
                others += self ? 0U : 1U;
            }
        }
        member.silence.set_live_others(others, now_, now_);
        (void)member.owners.recompute(candidates);
    }
    void tick() {
        for (auto& member : members_) {
            if (member->dead) {
                continue;
            }
            follow_members(*member);
            const auto held = static_cast<std::uint32_t>(member->silence.count_held(now_));
            const auto count = static_cast<std::uint32_t>(live(*member).size()) + held;
            member->limiter.set_members(count);
            member->limiter.drain_active([](limiter::LimitRef) { FAIL("a rate is in use"); });
            member->owner.tick(now_, count, held, member->id, member->owners, *member);
            member->origin.tick(now_, count, member->owners, *member);
            member->limiter.quiescent(member->thread);
        }
    }
    void serve(Member& member, Seen& seen) {
        std::erase_if(member.running, [&](Running& one) {
            const bool ended = one.end <= now_;
            if (ended) {
                member.limiter.finish(member.thread, one.charge);
            }
            return ended;
        });
        const Load& offered = load[member.index];
        if (member.dead || offered.rate <= 0) {
            member.next = now_;
            return;
        }
        while (member.next <= now_) {
            member.next += from_seconds(random_.exponential(offered.rate));
            offer(member, from_seconds(random_.exponential(1 / offered.duration)), seen);
        }
    }
    void offer(Member& member, Duration time, Seen& seen) {
        ++seen.offered;
        const auto leaf = member.limiter.find(member.thread, "q", now_);
        auto decision =
            member.limiter.check(member.thread, leaf, {}, now_, limiter::CheckMode::charge);
        if (decision.admitted) {
            ++seen.admitted;
            member.running.push_back({now_ + time, decision.charge});
        }
    }

    Random random_;
    double most_;
    Instant now_{1h};
    std::uint64_t step_ = 0;
    std::uint64_t messages_ = 0;
    std::vector<std::unique_ptr<Member>> members_;
    std::deque<Packet> packets_;
};

}  // namespace weir::sync::test
