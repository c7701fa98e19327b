#include "proxy/exchange.h"

#include <algorithm>
#include <utility>

#include "proxy/restart_pauses.h"

namespace weir::proxy {
namespace {

/// The status of the answer when there is no connection to the upstream; 0 for no answer.
unsigned status_of(Ending failure) {
    switch (failure) {
        case Ending::client_closed:
            return 0;
        case Ending::upstream_connect_timeout:
            return 504;
        case Ending::upstream_exhausted:
            return 503;
        default:
            return 502;
    }
}

/// Whether there may be a connection a little later, when the upstream has restarted. One that has
/// just come back may be slow to accept, and others that have waited may have taken all places.
bool may_pass(Ending failure) {
    return failure == Ending::upstream_refused || failure == Ending::upstream_connect_timeout ||
           failure == Ending::upstream_exhausted;
}

}  // namespace

Exchange::Exchange(ClientSide& client, const SnapshotReference& snapshot, Upload& upload,
                   Settlement& settlement, std::string_view extra_fields)
    : client_(client),
      snapshot_(snapshot),
      upload_(upload),
      settlement_(settlement),
      download_(client, *snapshot_, settlement, extra_fields) {}

bool Exchange::idempotent() const {
    switch (client_.head.method()) {
        case http::Method::get:
        case http::Method::head:
        case http::Method::put:
        case http::Method::delete_:
        case http::Method::options:
            return true;
        default:
            return false;
    }
}

bool Exchange::may_retry() const {
    const bool nothing_came =
        !download_.anything_came() && (download_.state() == DownloadState::closed ||
                                       upload_.state() == UploadState::upstream_failed);
    const bool can_be_repeated = idempotent() && upload_.body_bytes_sent() == 0 &&
                                 upload_.state() != UploadState::client_ended &&
                                 interrupted_ == Interrupted::no;
    return nothing_came && upstream_->reused && !retried_ && can_be_repeated;
}

net::Task<ExchangeResult> Exchange::run() {
    auto& worker = client_.worker;
    for (;;) {
        if (!take_idle()) {
            auto failure = co_await connect(Instant::max());
            if (failure == Ending::upstream_refused) {
                failure = co_await wait_for_restart();
            }
            if (failure != Ending::admitted) {
                co_return ExchangeResult{.ending = failure,
                                         .error_status = status_of(failure),
                                         .reached_upstream = reached_upstream_};
            }
        }
        co_await transfer();
        if (download_.switched()) {
            settlement_.hold();
            settlement_.tunnel_begins(upload_.payload());
            Tunnel tunnel(client_, *snapshot_, upload_, download_, settlement_, upstream_->stream);
            tunnel_ended_ = co_await tunnel.run();
            break;
        }
        if (!may_retry()) {
            break;
        }
        retried_ = true;
        worker.mutable_counters().count(Event::upstream_retried);
        worker.upstreams().discard(std::move(upstream_));
    }
    part_with_upstream();
    co_return result();
}

bool Exchange::take_idle() {
    if (retried_) {
        return false;
    }
    // A request that cannot be sent twice is worth a system call that asks whether the connection
    // stands.
    const bool once = !idempotent() || !upload_.body().done() || upload_.body().payload() > 0;
    upstream_ = client_.worker.upstreams().take(once);
    return upstream_ != nullptr;
}

net::Task<Ending> Exchange::wait_for_restart() {
    auto& worker = client_.worker;
    auto& counters = worker.mutable_counters();
    const auto longest = snapshot_->settings.timeouts.upstream_restart;
    if (longest == Duration::zero()) {
        co_return Ending::upstream_refused;
    }
    if (!worker.begin_waiting(snapshot_->settings.limits.waiting)) {
        counters.count(Event::upstream_waits_full);
        co_return Ending::upstream_refused;
    }
    counters.count(Event::upstream_waits);
    settlement_.hold();
    const auto last = worker.loop().now() + longest;
    const auto bound = last + snapshot_->settings.timeouts.connect;
    auto ending = Ending::upstream_refused;
    RestartPauses pauses;
    while (may_pass(ending)) {
        const auto left = last - worker.loop().now();
        if (left <= Duration::zero() || client_.stream.other_side_ended()) {
            break;
        }
        const auto addresses = worker.snapshot()->settings.upstream.size();
        if (!co_await pause(std::min(left, pauses.next(addresses)))) {
            ending = Ending::client_closed;
        } else {
            ending = take_idle() ? Ending::admitted : co_await connect(bound);
        }
    }
    worker.end_waiting();
    if (ending == Ending::admitted) {
        counters.count(Event::upstream_waits_served);
    }
    co_return ending;
}

net::Task<bool> Exchange::pause(Duration time) {
    const auto waited =
        co_await ClientWait(client_, client_.worker.loop().now() + time,
                            {&client_.stream, net::Stream::kFailure | net::Stream::kEnd});
    co_return waited != net::WaitResult::interrupted && !client_.stream.failed();
}

net::Task<Ending> Exchange::connect(Instant bound) {
    auto& worker = client_.worker;
    // The addresses of now: an upstream that restarted may have come back at another one.
    const SnapshotReference current = worker.snapshot();
    const auto& addresses = current->settings.upstream;
    const auto version = current->upstream_version;
    auto& memory = worker.address_memory();
    AddressMemory::Tried tried;
    auto ending = Ending::upstream_refused;
    bool refused = false;
    // However many addresses are silent, connecting takes at most twice the timeout: each address
    // may take half of the time that is left.
    const auto last = worker.loop().now() + 2 * current->settings.timeouts.connect;
    while (const auto choice = memory.next(version, addresses.size(), tried, worker.loop().now())) {
        const auto index = choice->index;
        const auto now = worker.loop().now();
        tried.add(index);
        const auto deadline = std::min(now + (last - now) / 2, bound);
        ending = co_await connect_to(addresses[index], version, deadline);
        refused = refused || ending == Ending::upstream_refused;
        if (ending == Ending::admitted) {
            memory.succeeded(version, index);
        }
        const bool timed_out = ending == Ending::upstream_connect_timeout;
        if (ending != Ending::upstream_refused && !timed_out) {
            break;
        }
        memory.failed(version, index, worker.loop().now());
        // All others have failed just now and would probably be silent as well.
        if (timed_out && (choice->last_resort || worker.loop().now() >= bound)) {
            break;
        }
    }
    // One that refuses may be restarting, whatever the others do.
    co_return refused&& may_pass(ending) ? Ending::upstream_refused : ending;
}

net::Task<Ending> Exchange::connect_to(const net::SocketAddress& address, std::uint64_t version,
                                       Instant deadline) {
    auto& worker = client_.worker;
    auto& counters = worker.mutable_counters();
    upstream_ = worker.upstreams().make(
        version, worker.most_upstreams(snapshot_->settings.limits.upstream_connections));
    if (!upstream_) {
        co_return Ending::upstream_exhausted;
    }
    auto& stream = upstream_->stream;
    auto status = stream.connect(worker.loop(), address, snapshot_->settings.limits.socket_buffer);
    auto ending = Ending::upstream_refused;
    if (status == net::IoStatus::would_block) {
        settlement_.hold();
        const auto waited = co_await ClientWait(client_, deadline, {&stream, net::Stream::kWrite},
                                                {&client_.stream, net::Stream::kFailure});
        if (waited == net::WaitResult::timed_out) {
            counters.count(Event::upstream_connect_timeouts);
            ending = Ending::upstream_connect_timeout;
        } else if (waited == net::WaitResult::interrupted || client_.stream.failed()) {
            ending = Ending::client_closed;
        } else if (stream.finish_connect()) {
            status = net::IoStatus::ok;
        }
    }
    if (status == net::IoStatus::ok) {
        co_return Ending::admitted;
    }
    if (ending == Ending::upstream_refused) {
        counters.count(Event::upstream_connect_errors);
    }
    worker.upstreams().discard(std::move(upstream_));
    co_return ending;
}

net::Task<void> Exchange::transfer() {
    auto& loop = client_.worker.loop();
    upload_.begin(upstream_->stream);
    download_.begin(upstream_->stream);
    last_progress_ = last_from_client_ = loop.now();
    for (int steps = 0; !finished() && !download_.switched();) {
        settlement_.hold_if_due(loop.now());
        const bool from_client = upload_.advance();
        settlement_.request_came(upload_.payload());
        if (from_client && upload_.state() == UploadState::client_ended) {
            co_await hear_upstream_out();
        }
        if (upload_.head_sent() && !std::exchange(reached_upstream_, true)) {
            sent_at_ = loop.now();
        }
        const bool told_before = download_.told_to_continue();
        const bool from_upstream = !finished() && download_.advance(upload_.all_sent());
        const bool just_told = download_.told_to_continue() && !told_before;
        if (from_client || just_told) {
            last_from_client_ = loop.now();
        }
        if (from_client || from_upstream) {
            last_progress_ = loop.now();
            if (++steps % kStepsPerTurn == 0) {
                co_await loop.next_turn();
                if (client_.worker.aborting()) {
                    interrupted_ = Interrupted::aborted;
                }
            }
            continue;
        }
        // An end may mean that the client has left, or only that it has sent everything.
        if (client_.stream.other_side_ended()) {
            client_ended();
            if (interrupted_ != Interrupted::no) {
                break;
            }
        }
        const auto until = deadline();
        const auto waited = co_await ClientWait(client_, std::min(until, settlement_.hold_at()),
                                                client_item(), upstream_item());
        // Before that it was only time to hold the charge.
        if (waited == net::WaitResult::timed_out && loop.now() >= until) {
            timed_out();
        }
        if (waited == net::WaitResult::interrupted) {
            interrupted_ = Interrupted::aborted;
        }
    }
}

void Exchange::client_ended() {
    const auto& cancelled = snapshot_->settings.cancel_on_fin;
    const bool cancels = std::ranges::find(cancelled, client_.head.method()) != cancelled.end();
    // What has come of the response already is still passed on.
    if (cancels && !client_.stream.failed() && download_.waits_for_upstream()) {
        client_.worker.mutable_counters().count(Event::cancelled_on_fin);
        interrupted_ = Interrupted::aborted;
    } else if (!probing_) {
        probing_ = true;
        client_.stream.probe_often();
    }
}

net::Task<void> Exchange::hear_upstream_out() {
    auto& loop = client_.worker.loop();
    if (!download_.started()) {
        // The response may have come as well, although the event of the client was served first.
        co_await loop.next_turn();
        if (client_.worker.aborting()) {
            interrupted_ = Interrupted::aborted;
        }
        const bool goes_on = interrupted_ == Interrupted::no && !client_.stream.failed();
        if (goes_on) {
            download_.advance(false);
        }
    }
    // The upstream is told that the rest of the request will not come, as it would be without weir.
    // The rest of its response is passed on.
    if (download_.started()) {
        upstream_->stream.shut_down_sending();
    }
}

bool Exchange::finished() const {
    if (interrupted_ != Interrupted::no || client_.stream.failed()) {
        return true;
    }
    switch (upload_.state()) {
        case UploadState::client_ended:
            // After an early response nobody needs the rest of the request.
            return !download_.started() || !download_.active();
        case UploadState::client_failed:
        case UploadState::bad_body:
            return true;
        default:
            return !download_.active();
    }
}

net::Wait::Item Exchange::client_item() {
    std::uint8_t interest = net::Stream::kFailure;
    if (!probing_) {
        interest |= net::Stream::kEnd;
    }
    if (upload_.waits_for_client()) {
        interest |= net::Stream::kRead;
    }
    if (download_.waits_for_client()) {
        interest |= net::Stream::kWrite;
    }
    return {&client_.stream, interest};
}

net::Wait::Item Exchange::upstream_item() {
    std::uint8_t interest = net::Stream::kNothing;
    if (download_.waits_for_upstream()) {
        interest |= net::Stream::kRead;
    }
    if (upload_.waits_for_upstream()) {
        interest |= net::Stream::kWrite;
    }
    return {&upstream_->stream, interest};
}

Instant Exchange::deadline() const {
    const auto& timeouts = snapshot_->settings.timeouts;
    const auto idle = last_progress_ + timeouts.stream_idle;
    // A client that waits for "100 Continue" is not slow.
    const bool waits_to_continue = client_.head.expects_continue() &&
                                   !download_.told_to_continue() && upload_.body_bytes_sent() == 0;
    // A client that has been answered already is not slow either.
    const bool body_due = upload_.waits_for_client() && !waits_to_continue && !download_.started();
    return body_due ? std::min(idle, last_from_client_ + timeouts.body_idle) : idle;
}

void Exchange::timed_out() {
    const auto idle = last_progress_ + snapshot_->settings.timeouts.stream_idle;
    const bool nothing_moves = client_.worker.loop().now() >= idle;
    if (nothing_moves && download_.waits_for_client()) {
        interrupted_ = Interrupted::client_stalled;
    } else if (!nothing_moves || (!download_.started() && upload_.waits_for_client())) {
        interrupted_ = Interrupted::client_slow;
    } else {
        interrupted_ = Interrupted::upstream_slow;
    }
}

ExchangeResult Exchange::result() const {
    ExchangeResult result{.status = download_.status(), .reached_upstream = reached_upstream_};
    if (download_.switched()) {
        result.broken_off = tunnel_ended_ != TunnelEnd::both_ended;
        return result;
    }
    const auto end = [&](Ending ending, unsigned error_status) {
        result.ending = ending;
        result.error_status = download_.leaves_room_for_answer() ? error_status : 0;
        return result;
    };
    switch (interrupted_) {
        case Interrupted::aborted:
            return end(Ending::client_closed, 0);
        case Interrupted::client_slow:
            return end(Ending::rejected_body_timeout, 408);
        case Interrupted::client_stalled:
            return end(Ending::client_stalled, 0);
        case Interrupted::upstream_slow:
            return download_.started() ? end(Ending::upstream_truncated, 0)
                                       : end(Ending::upstream_response_timeout, 504);
        case Interrupted::no:
            break;
    }
    if (download_.state() == DownloadState::done) {
        result.client_stays = download_.client_stays();
        return result;
    }
    const auto upload = upload_.state();
    if (client_.stream.failed() || upload == UploadState::client_failed ||
        download_.state() == DownloadState::client_failed) {
        return end(Ending::client_closed, 0);
    }
    if (upload == UploadState::bad_body) {
        return end(Ending::rejected_body, 400);
    }
    if (upload == UploadState::client_ended && !download_.started()) {
        return end(Ending::client_closed, 400);
    }
    switch (download_.state()) {
        case DownloadState::invalid:
            return end(Ending::upstream_invalid_response, 502);
        case DownloadState::truncated:
            return end(Ending::upstream_truncated, 502);
        default:
            return end(Ending::upstream_closed, 502);
    }
}

void Exchange::part_with_upstream() {
    auto& worker = client_.worker;
    if (download_.started()) {
        worker.mutable_counters().record_upstream(download_.started_at() - sent_at_);
    }
    const bool stays = download_.state() == DownloadState::done && download_.upstream_stays() &&
                       interrupted_ == Interrupted::no;
    if (stays) {
        auto& pool = worker.upstreams();
        const auto& limits = snapshot_->settings.limits;
        // At the bound an idle connection here would keep another worker from opening one.
        const bool full =
            pool.open_everywhere() >= worker.most_upstreams(limits.upstream_connections);
        const bool wanted = full && worker.shares_upstreams();
        const auto keep = wanted ? 0 : limits.upstream_idle_connections;
        pool.give_back(std::move(upstream_), keep, worker.loop().now());
    } else {
        if (download_.switched() && tunnel_ended_ != TunnelEnd::both_ended) {
            upstream_->stream.reset();
        }
        worker.upstreams().discard(std::move(upstream_));
    }
}

}  // namespace weir::proxy
