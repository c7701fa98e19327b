#include "proxy/tunnel.h"

#include <algorithm>
#include <utility>

namespace weir::proxy {
namespace {

Event event_of(TunnelEnd end) {
    switch (end) {
        case TunnelEnd::client_failed:
            return Event::tunnel_client_failed;
        case TunnelEnd::upstream_failed:
            return Event::tunnel_upstream_failed;
        case TunnelEnd::idle:
            return Event::tunnel_idle_timeout;
        case TunnelEnd::aborted:
            return Event::tunnel_cut_off;
        case TunnelEnd::both_ended:
            break;
    }
    return Event::tunnel_ended;
}

}  // namespace

net::Task<TunnelEnd> Tunnel::run() {
    auto& counters = client_.worker.mutable_counters();
    counters.count(Event::tunnel_opened);
    upload_.switch_protocol();
    const auto end = co_await relay();
    counters.count(event_of(end));
    co_return end;
}

net::Task<TunnelEnd> Tunnel::relay() {
    auto& loop = client_.worker.loop();
    upload_progress_ = download_progress_ = loop.now();
    for (int steps = 0; !over();) {
        const bool from_client = upload_.advance();
        settlement_.request_came(upload_.payload());
        const bool from_upstream = download_.advance(true);
        pass_ends_on();
        if (from_client || from_upstream) {
            if (from_client) {
                upload_progress_ = loop.now();
            }
            if (from_upstream) {
                download_progress_ = loop.now();
            }
            if (++steps % kStepsPerTurn == 0) {
                co_await loop.next_turn();
                if (client_.worker.aborting()) {
                    co_return TunnelEnd::aborted;
                }
            }
            continue;
        }
        // An abort may have come while nobody waited here, also just before the switch.
        if (client_.worker.aborting()) {
            co_return TunnelEnd::aborted;
        }
        const auto waited =
            co_await ClientWait(client_, deadline(), client_item(), upstream_item());
        if (waited == net::WaitResult::interrupted) {
            co_return TunnelEnd::aborted;
        }
        if (waited == net::WaitResult::timed_out) {
            co_return TunnelEnd::idle;
        }
    }
    co_return end();
}

/// An end is read only when all bytes before it have been sent. That of a side that has failed in
/// the other direction is not passed on, since a reset follows at once: an end before it would say
/// that all is well.
void Tunnel::pass_ends_on() {
    const bool client_lost = download_.state() == DownloadState::client_failed;
    const bool upstream_lost = upload_.state() == UploadState::upstream_failed;
    if (upload_.state() == UploadState::client_ended && !client_lost &&
        !std::exchange(client_end_passed_, true)) {
        upstream_.shut_down_sending();
        // The client may have closed the connection, which nothing else would show.
        client_.stream.probe_often();
    }
    if (download_.state() == DownloadState::done && !upstream_lost &&
        !std::exchange(upstream_end_passed_, true)) {
        client_.stream.shut_down_sending();
        upstream_.probe_often();
    }
}

bool Tunnel::client_gone() const {
    return upload_.state() == UploadState::client_failed ||
           (client_end_passed_ && client_.stream.failed());
}

bool Tunnel::upstream_gone() const {
    return download_.state() == DownloadState::truncated ||
           (upstream_end_passed_ && upstream_.failed());
}

/// A side that takes no more bytes may have sent some before, which are still passed on: both
/// directions have to end, unless a side is certainly gone and all its bytes have been read.
bool Tunnel::over() const {
    const bool both = upload_.state() != UploadState::sending && !download_.active();
    return both || client_gone() || upstream_gone();
}

TunnelEnd Tunnel::end() const {
    if (client_end_passed_ && upstream_end_passed_) {
        return TunnelEnd::both_ended;
    }
    const bool client = client_gone() || download_.state() == DownloadState::client_failed;
    return client ? TunnelEnd::client_failed : TunnelEnd::upstream_failed;
}

net::Wait::Item Tunnel::client_item() const {
    std::uint8_t interest = net::Stream::kNothing;
    if (upload_.waits_for_client()) {
        interest |= net::Stream::kRead;
    }
    if (download_.waits_for_client()) {
        interest |= net::Stream::kWrite;
    }
    if (client_end_passed_) {
        interest |= net::Stream::kFailure;
    }
    return {&client_.stream, interest};
}

net::Wait::Item Tunnel::upstream_item() const {
    std::uint8_t interest = net::Stream::kNothing;
    if (download_.waits_for_upstream()) {
        interest |= net::Stream::kRead;
    }
    if (upload_.waits_for_upstream()) {
        interest |= net::Stream::kWrite;
    }
    if (upstream_end_passed_) {
        interest |= net::Stream::kFailure;
    }
    return {&upstream_, interest};
}

/// A tunnel may rest for long only while both sides can go on: a side that takes no bytes, or waits
/// alone for an end, is given the time of any exchange. A side that takes none is not excused by
/// bytes that it sends.
Instant Tunnel::deadline() const {
    const auto& timeouts = snapshot_.settings.timeouts;
    const bool one_way = upload_.state() != UploadState::sending || !download_.active();
    const auto stall = std::min(timeouts.stream_idle, timeouts.tunnel_idle);
    auto until =
        std::max(upload_progress_, download_progress_) + (one_way ? stall : timeouts.tunnel_idle);
    if (upload_.waits_for_upstream()) {
        until = std::min(until, upload_progress_ + stall);
    }
    if (download_.waits_for_client()) {
        until = std::min(until, download_progress_ + stall);
    }
    return until;
}

}  // namespace weir::proxy
