// The part of ClientConnection that writes weir's own answers (refusals and errors), drops bodies,
// and waits at the end until the client has read its last answer.
#include <algorithm>

#include "http/answer.h"
#include "proxy/client_connection.h"
#include "proxy/rejection_ending.h"

namespace weir::proxy {
namespace {

/// How long the connection lingers so that the client can read weir's last answer: in all, and
/// since the client last sent something. It ends at whichever bound is reached first.
constexpr Duration kLingerTotal = std::chrono::seconds(5);
constexpr Duration kLingerIdle = std::chrono::seconds(1);
/// The Retry-After that clients are told when memory is short.
constexpr Duration kRetryAfterShedding = std::chrono::seconds(1);
constexpr std::string_view kMemoryShort =
    "This proxy is short of memory and serves no request now; this is not the client's doing.";

}  // namespace

bool ClientConnection::body_can_be_drained() const {
    const auto& head = client_.head;
    if (head.body().kind == http::BodyKind::none) {
        return true;
    }
    // The body of a client that waits for "100 Continue" may never come.
    if (head.expects_continue()) {
        return false;
    }
    return head.body().kind == http::BodyKind::chunked ||
           head.body().length <= snapshot_->settings.limits.refused_body;
}

net::Task<bool> ClientConnection::refuse(Judgement& judgement) {
    const bool keep =
        client_.head.keep_alive() && !client_.worker.draining() && body_can_be_drained();
    const auto status = write_refusal(client_, *snapshot_, judgement, keep);
    if (std::array<char, kWaitedLine> line; waited_ > Duration::zero()) {
        auto& text = client_.worker.text();
        text.insert(text.find("\r\n\r\n") + 2, waited_line(line));
    }
    // Most refusals fit into the socket, and most refused requests have no body.
    const auto progress = send_at_once();
    bool sent = progress == net::IoStatus::ok && client_.out.empty();
    if (!sent) [[unlikely]] {
        sent = co_await send_rest_of_text(progress);
    }
    finish_request(ending_of(judgement.decision.reason), status);
    if (!sent || !keep) {
        co_return false;
    }
    if (client_.head.body().kind == http::BodyKind::none) {
        co_return true;
    }
    co_return co_await drain_body();
}

/// The request is not routed, charged or forwarded. The connection is closed, which frees its
/// memory.
net::Task<bool> ClientConnection::refuse_for_memory() {
    auto& worker = client_.worker;
    worker.text().clear();
    http::append_refusal(worker.text(),
                         {.status = 503,
                          .own_reasons = true,
                          .body = {},
                          .detail = kMemoryShort,
                          .limit = {},
                          .retry_after = kRetryAfterShedding,
                          .headers = {}},
                         {.head_request = client_.head.method() == http::Method::head,
                          .keep_alive = false,
                          .client_minor_version = client_.head.minor_version(),
                          .accept = client_.head.fields().first(http::FieldId::accept),
                          .date = worker.date(),
                          .request_id = answer_id()},
                         worker.random());
    co_await send_text();
    finish_request(Ending::memory_short, 503);
    co_return false;
}

net::Task<bool> ClientConnection::answer_error(unsigned status, std::string_view detail,
                                               bool keep_alive) {
    const bool known = client_.head.size() > 0;
    const bool keep = keep_alive && !client_.worker.draining();
    auto& text = client_.worker.text();
    text.clear();
    http::append_error(text, status, detail,
                       {.head_request = known && client_.head.method() == http::Method::head,
                        .keep_alive = keep,
                        .client_minor_version = known ? client_.head.minor_version() : 1,
                        .accept = {},
                        .date = client_.worker.date(),
                        .request_id = answer_id()});
    if (is_check()) {
        deny_as_asked();
    }
    const bool sent = co_await send_text();
    co_return sent&& keep;
}

net::Task<bool> ClientConnection::answer_rejection(http::Rejection rejection) {
    auto& text = client_.worker.text();
    text.clear();
    if (is_check()) {
        reject_check(rejection);
    } else {
        http::append_rejection(text, rejection,
                               {.keep_alive = false,
                                .accept = {},
                                .date = client_.worker.date(),
                                .request_id = answer_id()});
    }
    co_await send_text();
    finish_request(ending_of(rejection), http::status_of(rejection));
    co_return false;
}

net::IoStatus ClientConnection::send_at_once() {
    bytes_out_ = client_.worker.text().size();
    return client_.send(client_.worker.text());
}

net::Task<bool> ClientConnection::send_text() { return send_rest_of_text(send_at_once()); }

net::Task<bool> ClientConnection::send_rest_of_text(net::IoStatus status) {
    const auto deadline =
        client_.worker.loop().now() + client_.worker.snapshot()->settings.timeouts.body_idle;
    while (status != net::IoStatus::failed && !client_.out.empty()) {
        const auto waited = co_await wait_for_client(net::Stream::kWrite, deadline);
        if (waited != net::WaitResult::ready) {
            reset_ = true;
            co_return false;
        }
        status = client_.send_rest();
    }
    co_return status != net::IoStatus::failed;
}

net::Task<bool> ClientConnection::drain_body() {
    auto& counters = client_.worker.mutable_counters();
    BodyProgress body(client_.head.body(), snapshot_->chunked);
    if (body.done()) {
        co_return true;
    }
    // The head is not needed any more.
    client_.in.unpin();
    std::size_t read_away = 0;
    const auto deadline = client_.worker.loop().now() + snapshot_->settings.timeouts.body_idle;
    for (;;) {
        const auto step = body.pass(client_.in.view());
        read_away += step.used;
        client_.in.consume(step.used);
        if (step.bad || read_away > snapshot_->settings.limits.refused_body) {
            break;
        }
        if (body.done()) {
            counters.count(Event::request_bodies_drained);
            co_return true;
        }
        const auto got = client_.read_more();
        if (got.status == net::IoStatus::ok) {
            continue;
        }
        if (got.status != net::IoStatus::would_block) {
            break;
        }
        if (co_await wait_for_client(net::Stream::kRead, deadline) != net::WaitResult::ready) {
            break;
        }
    }
    counters.count(Event::request_bodies_abandoned);
    co_return false;
}

net::Task<void> ClientConnection::linger() {
    client_.in.unpin();
    client_.stream.shut_down_sending();
    auto& loop = client_.worker.loop();
    auto& idle = client_.worker.idle_connections();
    const auto last = loop.now() + kLingerTotal;
    const auto closable_from = loop.now() + client_.worker.patience();
    while (loop.now() < last) {
        client_.in.release();
        const auto got = client_.read_more();
        if (got.status == net::IoStatus::ok) {
            co_await loop.next_turn();
            if (client_.worker.aborting()) {
                break;
            }
            continue;
        }
        if (got.status != net::IoStatus::would_block) {
            break;
        }
        const auto deadline = std::min(last, loop.now() + kLingerIdle);
        idle.add(*this, closable_from);
        const auto waited = co_await wait_for_client(net::Stream::kRead, deadline);
        idle.remove(*this);
        if (waited != net::WaitResult::ready) {
            break;
        }
    }
}

}  // namespace weir::proxy
