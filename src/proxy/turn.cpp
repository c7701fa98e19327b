// The part of ClientConnection that has a request wait for its turn, because a quota refuses it
// that has a queue. The request is decided again when it is the first of its queue; the head stays
// in its buffer meanwhile, and nothing more is read.

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "limiter/wait_queues.h"
#include "proxy/client_connection.h"

namespace weir::proxy {
namespace {

/// For so long before a stopping server cuts connections off, nobody waits any more.
constexpr Duration kBeforeCutOff = std::chrono::milliseconds(250);

}  // namespace

/// A request's place in a queue of its worker, and among the places of all workers.
class ClientConnection::Turn final : public limiter::Waiter {
  public:
    explicit Turn(ClientConnection& connection)
        : connection_(connection), since_(connection.client_.worker.loop().now()) {}
    ~Turn() override { leave(); }

    /// Goes to the queue of the quota that refused, unless it is in it. False: that is full.
    [[nodiscard]] bool join(const limiter::Decision& refusal) {
        auto& worker = connection_.client_.worker;
        if (place_ && place_.instance == refusal.instance) {
            return true;
        }
        leave();
        place_ = worker.limiter().begin_waiting(refusal);
        if (place_) {
            worker.wait_queues().join(*this, place_.slot, since_);
            worker.serve_queues_soon();
        }
        return static_cast<bool>(place_);
    }
    void leave() {
        auto& worker = connection_.client_.worker;
        if (place_) {
            worker.wait_queues().leave(*this);
            worker.limiter().end_waiting(std::exchange(place_, {}));
        }
    }
    /// Until when it waits, if this quota refuses.
    [[nodiscard]] Instant last(const limiter::Decision& refusal) const {
        const auto* options = connection_.client_.worker.limiter().options(refusal);
        const bool waits = options != nullptr && options->wait.longest;
        const auto own = since_ + (waits ? *options->wait.longest : Duration::zero());
        return std::min(own, connection_.client_.worker.cut_off_at() - kBeforeCutOff);
    }
    [[nodiscard]] Duration waited() const {
        return connection_.client_.worker.loop().now() - since_;
    }
    /// Whether its turn has come: it was called, or would be now.
    [[nodiscard]] bool take_turn() {
        auto& worker = connection_.client_.worker;
        return std::exchange(called_, false) ||
               worker.wait_queues().is_due(*this, worker.loop().now());
    }
    /// It was admitted, so that the next one may be as well.
    void pass() {
        if (place_) {
            connection_.client_.worker.wait_queues().pass(*this);
            connection_.client_.worker.limiter().end_waiting(std::exchange(place_, {}));
        }
    }
    void rest(const limiter::Decision& refusal) {
        auto& worker = connection_.client_.worker;
        if (worker.wait_queues().is_first(*this)) {
            worker.wait_queues().rest(*this, refusal, worker.loop().now(), last(refusal));
        }
    }

  private:
    void called() override {
        called_ = true;
        connection_.client_.waiting->interrupt();
    }

    ClientConnection& connection_;
    Instant since_;
    limiter::WaitPlace place_;
    bool called_ = false;
};

net::Task<bool> ClientConnection::wait_for_turn(Judgement& judgement) {
    auto& worker = client_.worker;
    auto& counters = worker.mutable_counters();
    Turn turn(*this);
    // A client that has shut down its sending half may be gone, so it is answered at once.
    const bool ended = client_.stream.other_side_ended();
    if (ended || !turn.join(judgement.decision)) {
        if (!ended) {
            counters.count(Event::quota_waits_full);
        }
        worker.limiter().give_up(worker.limiter_context(), judgement.decision);
        co_return true;
    }
    counters.count(Event::quota_waits);
    waits_for_turn_ = true;
    bool gone = false;
    for (bool over = false; !over && judgement.decision.can_wait;) {
        turn.rest(judgement.decision);
        const auto result =
            co_await ClientWait(client_, turn.last(judgement.decision),
                                {&client_.stream, net::Stream::kFailure | net::Stream::kEnd});
        gone = worker.aborting() || client_.stream.failed();
        if (gone) {
            break;
        }
        const bool its_turn = turn.take_turn();
        const bool ended_early = client_.stream.other_side_ended();
        over = result == net::WaitResult::timed_out || ended_early;
        if (!its_turn && !over) {
            continue;  // the server stops: `last` is earlier now
        }
        judgement = judge_again(its_turn ? limiter::CheckMode::charge_in_turn
                                         : limiter::CheckMode::refuse_in_turn);
        over = over || (judgement.decision.can_wait && !turn.join(judgement.decision));
    }
    if (judgement.decision.admitted && !gone) {
        turn.pass();
    }
    waits_for_turn_ = false;
    waited_ = turn.waited();
    counters.record_wait(waited_);
    if (gone) {
        counters.count(Event::quota_waits_left);
        if (logs()) {
            // The decision's own name may be of a quota that has been dropped since.
            quota_ = worker.limiter().quota_name(judgement.decision);
        }
        co_return false;
    }
    const bool refused = judgement.verdict == Verdict::refused;
    counters.count(refused ? Event::quota_waits_refused : Event::quota_waits_admitted);
    if (refused) {
        worker.limiter().give_up(worker.limiter_context(), judgement.decision);
    }
    co_return true;
}

Judgement ClientConnection::judge_again(limiter::CheckMode mode) {
    const auto routed = route(client_, client_.head, *snapshot_, client_trusted());
    return admit(client_, client_.head, routed, mode);
}

std::string_view ClientConnection::waited_line(std::array<char, kWaitedLine>& text) const {
    if (waited_ == Duration::zero()) {
        return {};
    }
    const int size =
        std::snprintf(text.data(), text.size(), "X-Weir-Waited: %.3f\r\n", to_seconds(waited_));
    return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace weir::proxy
