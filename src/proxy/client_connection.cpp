#include "proxy/client_connection.h"

#include <algorithm>
#include <utility>

#include "http/first_line.h"
#include "proxy/access_log.h"

namespace weir::proxy {
namespace {

/// How long a finishing server waits for the first request of a connection that it has accepted.
constexpr Duration kFirstRequest = std::chrono::seconds(1);
/// A longer request id is cut in the access log, so that clients cannot fill it.
constexpr std::size_t kMaxLoggedId = 128;

std::string_view explanation_of(Ending ending) {
    switch (ending) {
        case Ending::upstream_refused:
            return "The service behind this proxy cannot be reached.";
        case Ending::upstream_connect_timeout:
            return "The service behind this proxy did not accept a connection in time.";
        case Ending::upstream_exhausted:
            return "This proxy has no connection to the service behind it to spare.";
        case Ending::upstream_response_timeout:
            return "The service behind this proxy did not answer in time.";
        case Ending::upstream_invalid_response:
            return "The service behind this proxy sent an invalid response.";
        case Ending::rejected_body_timeout:
            return "The request's body did not arrive in time.";
        case Ending::client_closed:
            return "The request ended before its body was complete.";
        default:
            return "The service behind this proxy closed the connection without an answer.";
    }
}

}  // namespace

void ClientConnection::start(Worker& worker, Role role, net::FileDescriptor descriptor,
                             const Endpoint& client) {
    auto* connection = new ClientConnection(worker, role, client);  // deletes itself in serve()
    if (connection->client_.stream.adopt(worker.loop(), std::move(descriptor))) {
        connection->serve();
    } else {
        delete connection;
    }
}

ClientConnection::ClientConnection(Worker& worker, Role role, const Endpoint& client)
    : client_(worker, client), role_(role) {
    worker.add(*this);
}

ClientConnection::~ClientConnection() {
    auto& worker = client_.worker;
    if (reset_) {
        worker.mutable_counters().count(Event::client_reset);
        client_.stream.reset();
    }
    client_.stream.close();
    client_.in.release();
    client_.out.release();
    worker.remove(*this);
}

void ClientConnection::wake() {
    if (client_.waiting == nullptr) {
        return;
    }
    const bool ends = idle_ || waits_for_turn_;
    if (client_.worker.aborting() || (ends && client_.worker.finishing())) {
        client_.waiting->interrupt();
    }
}

void ClientConnection::evict() {
    evicted_ = true;
    auto& counters = client_.worker.mutable_counters();
    counters.count(half_head_ ? Event::client_evicted_head : Event::client_evicted);
    if (client_.waiting != nullptr) {
        client_.waiting->interrupt();
    }
}

net::Flow ClientConnection::serve() {
    bool more = true;
    while (more && !client_.worker.aborting()) {
        const auto result = co_await read_head();
        client_.worker.half_heads().remove(*this);
        half_head_ = false;
        switch (result) {
            case HeadResult::complete:
                begin_request();
                more = is_check() ? co_await serve_check() : co_await serve_request();
                if (turn_is_over()) {
                    co_await client_.worker.loop().next_turn();
                }
                break;
            case HeadResult::rejected:
                begin_request();
                more = co_await answer_rejection(client_.head.rejection());
                break;
            case HeadResult::timed_out:
                begin_request();
                more =
                    co_await answer_error(408, "The request's head did not arrive in time.", false);
                finish_request(Ending::rejected_head_timeout, 408);
                break;
            case HeadResult::closed:
                more = false;
                linger_ = false;
                break;
        }
    }
    if (linger_ && !reset_ && !client_.worker.aborting()) {
        co_await linger();
    }
    delete this;
}

Instant ClientConnection::head_deadline(bool begun) {
    const auto& timeouts = client_.worker.snapshot()->settings.timeouts;
    const bool idle = !begun && !first_request_;
    return client_.worker.loop().now() + (idle ? timeouts.keep_alive_idle : timeouts.request_head);
}

bool ClientConnection::worth_waiting(Instant& deadline) {
    auto& worker = client_.worker;
    if (worker.aborting()) {
        return false;
    }
    // Bytes that wait in the kernel belong to a request that was sent in time.
    if (!first_request_) {
        return client_.stream.has_input();
    }
    // The connection may have been accepted a moment ago, with its request still on its way.
    deadline = std::min(deadline, worker.loop().now() + kFirstRequest);
    return true;
}

bool ClientConnection::turn_is_over() {
    auto& worker = client_.worker;
    if (++requests_in_row_ < worker.snapshot()->settings.limits.pipelined_requests) {
        return false;
    }
    requests_in_row_ = 0;
    worker.mutable_counters().count(Event::request_turn_ended);
    return true;
}

net::Task<ClientConnection::HeadResult> ClientConnection::read_head() {
    auto& counters = client_.worker.mutable_counters();
    client_.head.reset();
    bool begun = !client_.in.empty();
    if (begun) {
        counters.count(Event::request_pipelined);
    }
    auto deadline = head_deadline(begun);
    for (bool fresh = begun;;) {
        if (fresh) {
            // Each head is parsed with the snapshot in force now, and its request is served with
            // it.
            snapshot_ = client_.worker.snapshot();
            const auto parsed = client_.head.parse(client_.in.view(), snapshot_->gate);
            if (parsed == http::ParseState::complete) {
                co_return HeadResult::complete;
            }
            if (parsed == http::ParseState::rejected) {
                co_return HeadResult::rejected;
            }
            if (!std::exchange(begun, true)) {
                deadline = head_deadline(true);
            }
        }
        const auto got = client_.read_more();
        fresh = got.status == net::IoStatus::ok;
        if (fresh) {
            continue;
        }
        if (got.status != net::IoStatus::would_block) {
            co_return HeadResult::closed;
        }
        idle_ = !begun;
        if (idle_ && client_.worker.finishing() && !worth_waiting(deadline)) {
            co_return HeadResult::closed;
        }
        requests_in_row_ = 0;
        const auto waited = co_await wait_for_bytes(begun, deadline);
        if (client_.worker.aborting() || evicted_) {
            co_return HeadResult::closed;
        }
        if (waited != net::WaitResult::timed_out) {
            continue;
        }
        if (begun) {
            co_return HeadResult::timed_out;
        }
        counters.count(Event::client_idle_timeout);
        co_return HeadResult::closed;
    }
}

net::Task<net::WaitResult> ClientConnection::wait_for_bytes(bool begun, Instant deadline) {
    auto& worker = client_.worker;
    const auto now = worker.loop().now();
    half_head_ = begun;
    if (begun) {
        // It keeps its place while further bytes come, because its timeout stays the same.
        worker.half_heads().add_once(*this, now + worker.patience());
    } else {
        worker.idle_connections().add(*this, first_request_ ? now + worker.patience() : now);
    }
    const auto result = co_await wait_for_client(net::Stream::kRead, deadline);
    if (!begun) {
        worker.idle_connections().remove(*this);
    }
    idle_ = false;
    co_return result;
}

void ClientConnection::begin_request() {
    started_ = client_.worker.loop().now();
    first_request_ = false;
    body_bytes_in_ = bytes_out_ = 0;
    waited_ = {};
    quota_.clear();
    client_.request_id = {};
    linger_ = true;
    if (!is_check()) {
        client_.worker.mutable_counters().count(Event::request_started);
    }
}

void ClientConnection::finish_request(Ending ending, unsigned status) {
    auto& worker = client_.worker;
    auto& counters = worker.mutable_counters();
    if (is_check()) {
        return counters.count_check(ending);
    }
    const auto duration = worker.loop().now() - started_;
    if (logs()) {
        log_request(ending, status, duration);
    }
    counters.record_request(status, duration);
    counters.count(ending);
    // This is counted last, so that a request that is counted as finished has its ending counted
    // and is logged.
    counters.count(Event::request_finished);
}

bool ClientConnection::logs() const {
    return client_.worker.access_log() != nullptr && snapshot_ &&
           snapshot_->settings.access_log != AccessLogMode::off;
}

std::string_view ClientConnection::answer_id() {
    const auto& headers = client_.worker.snapshot()->settings.headers;
    return client_.choose_request_id(headers.request_id, head_is_readable());
}

void ClientConnection::log_request(Ending ending, unsigned status, Duration duration) {
    const auto mode = snapshot_->settings.access_log;
    if (mode == AccessLogMode::limited && outcome(ending) != "refused") {
        return;
    }
    const auto& head = client_.head;
    const bool readable = head_is_readable();
    // Of a head that was rejected, or did not come whole, the log has what the first line says.
    const auto line = readable ? http::FirstLine{head.method_text(), head.target()}
                               : http::first_line_of(client_.in.view());
    const auto path = line.target.substr(0, line.target.find_first_of("?#"));
    const auto own_id = readable ? head.fields().first(http::FieldId::x_request_id) : "";
    client_.worker.access_log()->record(
        {.method = line.method,
         .target = snapshot_->settings.access_log_query ? line.target : path,
         .host = readable ? head.host() : std::string_view(),
         .quota = quota_,
         .request_id =
             client_.request_id.empty() ? own_id.substr(0, kMaxLoggedId) : client_.request_id,
         .client = client_.endpoint,
         .status = status,
         .ending = ending,
         .duration = duration,
         .waited = waited_,
         .bytes_in = (readable ? head.size() : 0) + body_bytes_in_,
         .bytes_out = bytes_out_});
}

bool ClientConnection::client_trusted() const {
    return config::trusts(snapshot_->settings, client_.endpoint);
}

net::Task<bool> ClientConnection::serve_request() {
    // The head stays in the buffer, where views point at it; the bytes behind it are the body or
    // the next head.
    client_.in.pin(client_.head.size());
    const bool trusted = client_trusted();
    // Long before the decision, because the limiter's memory takes a while to come.
    const auto routed = route(client_, client_.head, *snapshot_, trusted);
    Upload upload(client_, *snapshot_);
    bool stays = false;
    if (!upload.check_what_came()) {
        stays = co_await answer_rejection(upload.body().rejection());
    } else if (client_.worker.shedding()) {
        stays = co_await refuse_for_memory();
    } else {
        const auto mode = check_mode(client_, *snapshot_);
        client_.choose_request_id(snapshot_->settings.headers.request_id, true);
        auto judgement = admit(client_, client_.head, routed, mode);
        if (judgement.decision.can_wait && !co_await wait_for_turn(judgement)) [[unlikely]] {
            finish_request(Ending::client_closed, 0);
            client_.in.unpin();
            co_return false;
        }
        if (logs()) {
            quota_ = quota_name(client_, judgement);
        }
        // The upstream may be a sidecar that trusts this one, and must not believe the client's
        // weight.
        if (!trusted && !judgement.weight_field.empty()) {
            client_.head.drop(judgement.weight_field);
        }
        const bool judged =
            mode == limiter::CheckMode::peek && judgement.verdict == Verdict::admitted;
        if (judged) {
            upload.announce_judged();
        }
        switch (judgement.verdict) {
            case Verdict::ambiguous:
                stays = co_await answer_error(400, judgement.explanation, false);
                finish_request(judgement.doubted, 400);
                break;
            case Verdict::refused:
                stays = co_await refuse(judgement);
                break;
            case Verdict::admitted:
            case Verdict::unlimited:
                stays = co_await forward(judgement, upload);
                break;
        }
    }
    client_.in.unpin();
    upload.leave_rest_to_client();
    if (client_.in.empty()) {
        client_.in.release();
    }
    co_return stays;
}

net::Task<bool> ClientConnection::forward(Judgement& judgement, Upload& upload) {
    std::string extra_fields;
    append_success_fields(extra_fields, client_, *snapshot_, judgement);
    std::array<char, kWaitedLine> waited;
    std::string_view extra = waited_line(waited);
    if (!extra_fields.empty()) {
        extra = extra_fields += extra;
    }
    Settlement settlement(client_, *snapshot_, judgement);
    Exchange exchange(client_, snapshot_, upload, settlement, extra);
    const auto result = co_await exchange.run();
    body_bytes_in_ = upload.payload();
    bytes_out_ = exchange.download().bytes_sent();
    settlement.finish(result.reached_upstream, result.error_status, body_bytes_in_,
                      exchange.download().content_sent());
    const bool unlimited = judgement.verdict == Verdict::unlimited;
    const auto ending =
        result.ending == Ending::admitted && unlimited ? Ending::unlimited : result.ending;
    if (result.error_status == 0) {
        // What broke off must not look complete to the client.
        reset_ = reset_ || result.ending != Ending::admitted || result.broken_off;
        finish_request(ending, result.status);
        co_return result.client_stays;
    }
    if (result.ending == Ending::rejected_body) {
        co_return co_await answer_rejection(upload.body().rejection());
    }
    const bool keep = upload.body().done() && client_.head.keep_alive();
    upload.discard_unsent();
    const bool stays =
        co_await answer_error(result.error_status, explanation_of(result.ending), keep);
    finish_request(ending, result.error_status);
    co_return stays;
}

ClientWait ClientConnection::wait_for_client(std::uint8_t interest, Instant deadline) {
    return {client_, deadline, {&client_.stream, interest}};
}

}  // namespace weir::proxy
