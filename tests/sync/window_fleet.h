#pragma once
// A fleet of members that share one limit of windows, over a network with delays, losses and
// splits, on a virtual clock. Each has a real limiter. What the fleet does is counted from outside:
// how much all members together have admitted in each minute of the clock.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "base/random.h"
#include "limiter/limiter.h"
#include "sim/quota_set.h"
#include "sync/kept_counts.h"
#include "sync/window_origin.h"
#include "sync/window_owner.h"

namespace weir::sync::test {

using namespace std::chrono_literals;

class WindowFleet {
  public:
    WindowFleet(std::size_t members, const limiter::RateLimit& limit, std::uint64_t seed)
        : random_(seed), limit_(limit) {
        for (std::size_t i = 0; i < members; ++i) {
            add();
        }
        run(3);  // they meet
    }

    double loss = 0;               // the share of the messages that are lost
    std::vector<int> side;         // which side of a split a member is on
    std::vector<double> load;      // requests per second
    std::vector<double> admitted;  // by each member
    /// What all have admitted, by the second in which the limit's window ended.
    std::map<std::int64_t, double> windows;
    double offered = 0;

    using Blocks = std::vector<std::vector<std::byte>>;
    /// A new process at a new address; `kept` is what an earlier one has written to its disk.
    std::size_t add(const Blocks& kept = {}, bool anchor = false) {
        const auto index = members_.size();
        members_.push_back(std::make_unique<Member>(*this, index, random_.next()));
        members_.back()->anchor = anchor;
        for (const auto& block : kept) {
            members_.back()->kept.read(block);
        }
        members_.back()->kept.foretell();
        side.push_back(0);
        load.push_back(0);
        admitted.push_back(0);
        for (auto& member : members_) {
            member->reached.resize(members_.size(), now_);
            member->known.resize(members_.size(), true);
            member->left.resize(members_.size(), false);
        }
        for (std::size_t i = 0; i < index; ++i) {
            members_.back()->left[i] = members_[i]->dead;  // nobody tells it of those
        }
        for (auto& member : members_) {
            member->silence.joined(members_.back()->id, !anchor);
            members_.back()->silence.joined(member->id, !member->anchor);
        }
        put(*members_.back());
        return index;
    }
    [[nodiscard]] std::uint64_t kept_news(std::size_t index) const {
        return members_[index]->kept.news();
    }
    /// What a snapshot of this member holds, in blocks of so many bytes.
    [[nodiscard]] Blocks keep(std::size_t index, std::size_t size = 1000) {
        Blocks blocks;
        KeptCounts::Cursor cursor;
        for (;;) {
            std::vector<std::byte> block(size);
            ByteWriter writer(block);
            if (members_[index]->kept.write(writer, cursor) == 0) {
                return blocks;
            }
            block.resize(writer.size());
            blocks.push_back(std::move(block));
        }
    }
    void edit(const limiter::RateLimit& limit) {
        limit_ = limit;
        for (auto& member : members_) {
            put(*member);
        }
    }
    void kill(std::size_t index) { members_[index]->dead = true; }
    /// The member says goodbye, and tells before what it has admitted.
    void leave(std::size_t index) {
        Member& member = *members_[index];
        member.origin.tell_all(now_, member.owners, member);
        run(0.01);
        member.dead = true;
        for (auto& other : members_) {
            other->left[index] = true;
            other->silence.gone(member.id, now_);
            other->owner.members_changed();
        }
    }
    /// Requests that come at one moment; returns how many are admitted.
    double offer(std::size_t index, int requests) {
        const double before = admitted[index];
        for (int i = 0; i < requests; ++i) {
            ask(*members_[index]);
        }
        return admitted[index] - before;
    }
    void run(double seconds) {
        const Instant end = now_ + from_seconds(seconds);
        for (; now_ < end; now_ += kStep) {
            deliver();
            for (auto& member : members_) {
                serve(*member);
            }
            if (++step_ % kStepsPerTick == 0) {
                tick();
            }
        }
    }
    [[nodiscard]] std::int64_t second() const {
        return std::chrono::floor<std::chrono::seconds>(now_.time_since_epoch() + kWall).count();
    }
    /// Runs until so many seconds after the beginning of a minute.
    void run_to(int second_of_minute) {
        do {
            run(0.5);
        } while (second() % 60 != second_of_minute % 60);
    }
    [[nodiscard]] double sum() const {
        double all = 0;
        for (const double one : admitted) {
            all += one;
        }
        return all;
    }
    /// What an owner knows to have been admitted in the present window.
    [[nodiscard]] double known(std::size_t index) const {
        LimitKey key{quota_hash("q"), static_cast<std::uint8_t>(limit_.kind), 0,
                     static_cast<std::uint64_t>(
                         std::chrono::floor<std::chrono::milliseconds>(limit_.period).count())};
        return static_cast<double>(members_[index]->owner.admitted(key).value_or(0));
    }
    [[nodiscard]] std::vector<std::size_t> owners() const {
        std::vector<std::size_t> result;
        for (const auto& id : members_[living()]->owners.of(shard())) {
            result.push_back(index_of(id));
        }
        return result;
    }
    [[nodiscard]] std::uint64_t messages() const { return messages_; }
    [[nodiscard]] limiter::LimitStatus status(std::size_t index) const {
        return members_[index]->limiter.inspect("q", now_).at(0);
    }

  private:
    static constexpr Duration kStep = 2ms;
    static constexpr std::uint64_t kStepsPerTick = 5;
    /// 2026-11-28 12:00:00 UTC less the hour at which the virtual clock begins.
    static constexpr Duration kWall = std::chrono::seconds(1'795'867'200 - 3600);
    /// Who is not reached for so long is given up.
    static constexpr Duration kGivenUp = 1500ms;

    struct Member final : WindowSink {
        Member(WindowFleet& of, std::size_t number, std::uint64_t seed)
            : fleet(of),
              index(number),
              id{Endpoint::v4(0x0a000000 + static_cast<std::uint32_t>(number), 7946), number + 1},
              limiter({.seed = seed}),
              thread(limiter.register_thread(seed + 1)),
              owner(
                  silence, [this] { return fleet.live(*this); }, statistics),
              started(fleet.now_),
              next(fleet.now_) {
            limiter.set_wall_clock(kWall);
            limiter.share_windows(2, INT64_MAX);
            limiter.drain_active([](limiter::LimitRef) {});
            origin.set_run(seed | 1);
        }
        [[nodiscard]] bool has_room_for_windows(bool /*urgent*/) override { return true; }
        void send_window_report(const gossip::MemberId& to, const WindowReport& report) override {
            if (to == id) {
                owner.receive(id, silence.number(id, fleet.now_), report, fleet.now_, *this);
            } else {
                fleet.post(*this, to, report);
            }
        }
        void send_window_grant(const gossip::MemberId& to, const WindowGrant& grant) override {
            if (to == id) {
                origin.receive(id, grant, fleet.now_);
            } else {
                fleet.post(*this, to, grant);
            }
        }

        WindowFleet& fleet;
        std::size_t index;
        gossip::MemberId id;
        SyncSettings settings;
        SyncStatistics statistics;
        limiter::Limiter limiter;
        limiter::ThreadContext& thread;
        Silence silence{settings, statistics};
        WindowOrigin origin{limiter, statistics};
        WindowOwner owner;
        KeptCounts kept{origin, owner};
        bool anchor = false;
        membership::Owners owners;
        std::vector<Instant> reached;  // by the number of the other member
        std::vector<bool> known;
        std::vector<bool> left;
        std::int64_t since = 0;
        std::size_t others = 0;  // live members besides this one
        Instant started;
        Instant next;  // when the next request arrives
        bool dead = false;
    };
    struct Packet {
        Instant at;
        std::size_t from;
        gossip::MemberId to;
        std::variant<WindowReport, WindowGrant> message;
    };

    [[nodiscard]] static membership::Shard shard() { return membership::shard_of(quota_hash("q")); }
    void put(Member& member) {
        limiter::QuotaDefinition definition;
        definition.name = "q";
        definition.limits = {limit_};
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
    [[nodiscard]] std::size_t index_of(const gossip::MemberId& id) const {
        return static_cast<std::size_t>(id.incarnation - 1);
    }
    [[nodiscard]] std::vector<gossip::MemberId> live(const Member& member) const {
        std::vector<gossip::MemberId> ids;
        for (const auto& other : members_) {
            if (!other->anchor && (other.get() == &member || member.known[other->index])) {
                ids.push_back(other->id);
            }
        }
        return ids;
    }
    void post(Member& from, const gossip::MemberId& to,
              std::variant<WindowReport, WindowGrant> message) {
        ++messages_;
        if (random_.unit() >= loss) {
            const Duration takes = from_seconds(0.0005 + random_.unit() * 0.004);
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
            Member& to = *members_[index_of(packet.to)];
            if (connected(from, to) && to.known[packet.from]) {
                take(to, from, packet);
            }
        }
    }
    void take(Member& to, const Member& from, const Packet& packet) {
        const MemberNumber number = to.silence.number(from.id, now_);
        to.silence.heard(number, now_);
        if (const auto* report = std::get_if<WindowReport>(&packet.message)) {
            to.owner.receive(from.id, number, *report, now_, to);
            return;
        }
        const auto& grant = std::get<WindowGrant>(packet.message);
        const auto& list = to.owners.of(shard());
        if (!grant.granted || (!list.empty() && list.front() == from.id)) {
            to.owner.noted(from.id, grant);
            to.origin.receive(from.id, grant, now_);
        }
    }
    /// What membership would find out.
    void follow_members(Member& member) {
        std::size_t others = 0;
        std::vector<membership::OwnerCandidate> candidates;
        for (auto& other : members_) {
            const bool self = other.get() == &member;
            const std::size_t i = other->index;
            if (member.left[i]) {
                member.known[i] = false;
                continue;
            }
            const MemberNumber number = member.silence.number(other->id, now_);
            if (self || connected(member, *other)) {
                member.reached[i] = now_;
                member.silence.heard(number, now_);
            }
            const bool given_up = now_ - member.reached[i] > kGivenUp;
            if (given_up && member.known[i]) {
                member.silence.died(other->id, now_);
                member.owner.members_changed();
            }
            member.known[i] = !given_up;
            if (!given_up) {
                candidates.push_back({other->id, {.anchor = other->anchor}});
                others += self ? 0U : 1U;
            }
        }
        member.since = others > 0 && member.since == 0 ? second() + 1 : member.since;
        member.others = others;
        member.silence.set_live_others(others, now_, now_);
        (void)member.owners.recompute(candidates);
    }
    void tick() {
        for (auto& member : members_) {
            if (member->dead) {
                continue;
            }
            follow_members(*member);
            const auto count = static_cast<std::uint32_t>(
                std::max<std::size_t>(1, live(*member).size() + member->silence.count_held(now_)));
            const bool others = member->others + member->silence.count_held(now_) > 0;
            const bool waits = member->since == 0 && now_ - member->started < 2s;
            member->limiter.share_windows(waits || others ? std::max(2U, count) : count,
                                          waits ? INT64_MAX : member->since);
            member->limiter.drain_active([](limiter::LimitRef) { FAIL("a rate is in use"); });
            member->owner.tick(now_, second(), {count, others}, member->id, member->owners,
                               *member);
            if (!waits) {
                member->kept.restore(now_);
                member->origin.tick(now_, second(), member->owners, *member);
            }
            member->limiter.quiescent(member->thread);
        }
    }
    void serve(Member& member) {
        const double rate = load[member.index];
        if (member.dead || rate <= 0) {
            member.next = now_;
            return;
        }
        while (member.next <= now_) {
            member.next += from_seconds(random_.exponential(rate));
            ask(member);
        }
    }
    void ask(Member& member) {
        ++offered;
        const auto leaf = member.limiter.find(member.thread, "q", now_);
        const auto decision =
            member.limiter.check(member.thread, leaf, {}, now_, limiter::CheckMode::charge);
        if (decision.admitted) {
            admitted[member.index] += 1;
            windows[member.limiter.inspect("q", now_).at(0).window_end] += 1;
        }
    }

    Random random_;
    limiter::RateLimit limit_;
    Instant now_{1h};
    std::uint64_t step_ = 0;
    std::uint64_t messages_ = 0;
    std::vector<std::unique_ptr<Member>> members_;
    std::deque<Packet> packets_;
};

}  // namespace weir::sync::test
