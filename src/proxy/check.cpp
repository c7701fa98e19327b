// The part of ClientConnection that answers questions of other proxies (/check) about requests that
// these proxies hold. An answer never has a status of 5xx, because such a proxy would take it for a
// failure of weir.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "http/answer.h"
#include "http/first_line.h"
#include "proxy/check_question.h"
#include "proxy/client_connection.h"
#include "proxy/rejection_ending.h"

namespace weir::proxy {
namespace {

constexpr std::string_view kVersion = "HTTP/1.1 ";
constexpr std::size_t kStatusSize = 3;

/// Changes the status line to that of a 403, adds a field with the true status, and removes the
/// body. This is for nginx's auth_request: it takes any status but 2xx, 401 and 403 for a failure,
/// but can pass on a field; and it never reads a body, so it could not keep the connection.
void show_as_403(std::string& text) {
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    text.resize(text.find("\r\n\r\n") + 4);
    const auto length = text.find(kLength) + kLength.size();
    text.replace(length, text.find("\r\n", length) - length, "0");
    const auto meant = text.substr(kVersion.size(), kStatusSize);
    text.replace(0, text.find("\r\n"), "HTTP/1.1 403 Forbidden\r\nX-Weir-Status: " + meant);
}

/// The highest status of a refusal here, although a quota may ask for a 5xx.
constexpr unsigned kHighestStatus = 499;

constexpr std::string_view kTooMuch =
    "The minimum is more than a limit of this quota ever has free at once.";
constexpr std::size_t kLongestGrant = 128;

/// What was obtained, as the body of an answer; empty if the question was another one.
std::string_view describe_grant(const Judgement& judgement, std::array<char, kLongestGrant>& text) {
    if (judgement.granted <= 0) {
        return {};
    }
    const auto& decision = judgement.decision;
    const bool limited = judgement.verdict == Verdict::admitted && decision.instance != 0;
    const int size =
        limited
            ? std::snprintf(text.data(), text.size(),
                            "{\"granted\":%.12g,\"remaining\":%.12g,\"reset_seconds\":%.3f}\n",
                            judgement.granted, decision.remaining, to_seconds(decision.reset))
            : std::snprintf(text.data(), text.size(), "{\"granted\":%.12g}\n", judgement.granted);
    return {text.data(), static_cast<std::size_t>(size)};
}

unsigned shown_status(unsigned status) { return status >= 500 ? 400 : status; }

}  // namespace

struct ClientConnection::CheckAnswer {
    Ending ending = Ending::unlimited;
    unsigned status = 200;
};

net::Task<bool> ClientConnection::serve_check() {
    client_.in.pin(client_.head.size());
    const bool keep =
        client_.head.keep_alive() && !client_.worker.draining() && body_can_be_drained();
    BodyProgress body(client_.head.body(), snapshot_->chunked);
    bool stays = false;
    if (body.pass(client_.in.view()).bad) {
        stays = co_await answer_rejection(body.rejection());
    } else {
        const auto answer = judge_check(keep);
        if (answer.status != 200) {
            deny_as_asked();
        }
        const bool sent = co_await send_text();
        finish_request(answer.ending, answer.status);
        stays = sent && keep && co_await drain_body();
    }
    client_.in.unpin();
    if (client_.in.empty()) {
        client_.in.release();
    }
    co_return stays;
}

ClientConnection::CheckAnswer ClientConnection::judge_check(bool keep_alive) {
    const auto& clients = snapshot_->settings.check_clients;
    if (!clients.empty() && !contains(clients, client_.endpoint)) {
        return check_error(Ending::rejected_client, 403,
                           "This address is not one of check.clients.", keep_alive);
    }
    const auto question = client_.worker.check_reader().read(client_.head, snapshot_->gate);
    const auto answer = judge_question(question, keep_alive);
    if (question.peek) {
        client_.worker.mutable_counters().count(Event::check_peeked);
    }
    return answer;
}

ClientConnection::CheckAnswer ClientConnection::judge_question(const CheckQuestion& question,
                                                               bool keep_alive) {
    const auto mode = question.peek ? limiter::CheckMode::peek : limiter::CheckMode::charge;
    Judgement judgement;
    switch (question.kind) {
        case CheckQuestion::Kind::unclear:
            return check_error(Ending::rejected_question, question.status, question.explanation,
                               keep_alive);
        case CheckQuestion::Kind::malformed:
            return check_error(ending_of(question.rejection),
                               shown_status(http::status_of(question.rejection)),
                               http::explanation(question.rejection), keep_alive);
        case CheckQuestion::Kind::named:
            judgement = judge_named(question, mode);
            note_unknown(question.lists, judgement);
            break;
        case CheckQuestion::Kind::routed: {
            const auto& original = client_.worker.check_reader().original();
            const auto routed = route(client_, original, *snapshot_, client_trusted());
            judgement = admit(client_, original, routed, mode);
            break;
        }
    }
    switch (judgement.verdict) {
        case Verdict::ambiguous:
            return check_error(judgement.doubted, 400, judgement.explanation, keep_alive);
        case Verdict::refused: {
            if (judgement.decision.reason == limiter::Reason::too_much) {
                return check_error(Ending::refused_limit, 400, kTooMuch, keep_alive);
            }
            const auto status =
                write_refusal(client_, *snapshot_, judgement, keep_alive, kHighestStatus);
            return {.ending = ending_of(judgement.decision.reason), .status = status};
        }
        case Verdict::admitted:
        case Verdict::unlimited:
            break;
    }
    // Nobody says when the request ends, so limits of requests in flight only judge it.
    if (!judgement.decision.charge.places.empty()) {
        client_.worker.mutable_counters().count(Event::check_only_judged);
    }
    client_.worker.limiter().finish(client_.worker.limiter_context(), judgement.decision.charge);
    if (question.obtains) {
        settle_obtained(question, judgement);
    }
    write_check_allowed(judgement, keep_alive);
    const bool limited = judgement.verdict == Verdict::admitted;
    return {.ending = limited ? Ending::admitted : Ending::unlimited, .status = 200};
}

/// Counts and keeps the names of lists that name no quota.
void ClientConnection::note_unknown(const routing::NameLists& lists, const Judgement& judgement) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
        if ((judgement.lists_without_quota >> i & 1) != 0) {
            client_.worker.mutable_counters().count(Event::check_unknown_quota);
            client_.worker.unknown_names().note(lists[i].front());
        }
    }
}

void ClientConnection::settle_obtained(const CheckQuestion& question, Judgement& judgement) {
    if (judgement.verdict == Verdict::unlimited) {
        judgement.granted = question.wish.wanted;
    }
    auto& counters = client_.worker.mutable_counters();
    if (!question.peek) {
        counters.count(Event::check_obtained);
        if (judgement.granted < question.wish.wanted) {
            counters.count(Event::check_obtained_part);
        }
    }
}

Judgement ClientConnection::judge_named(const CheckQuestion& question, limiter::CheckMode mode) {
    if (question.obtains) {
        return obtain_by_name(client_, question.lists, question.wish, mode, client_trusted());
    }
    return admit_by_name(client_, question.lists,
                         {.requests = question.weight, .request_bytes = 0, .cost = question.weight},
                         mode, client_trusted());
}

void ClientConnection::reject_check(http::Rejection rejection) {
    static_cast<void>(check_error(ending_of(rejection), shown_status(http::status_of(rejection)),
                                  http::explanation(rejection), false));
    deny_as_asked();
}

/// Shows the written answer, which is no admission, in the way that the question asks for.
void ClientConnection::deny_as_asked() {
    // The first line also has it of a head that was rejected or did not come whole.
    const auto line = head_is_readable() ? client_.head.bytes() : client_.in.view();
    if (asks_for_403(http::first_line_of(line).target)) {
        show_as_403(client_.worker.text());
    }
}

void ClientConnection::write_check_allowed(const Judgement& judgement, bool keep_alive) {
    auto& text = client_.worker.text();
    text = "HTTP/1.1 200 OK\r\nDate: ";
    text += client_.worker.date();
    text += "\r\nCache-Control: no-store\r\n";
    std::array<char, kLongestGrant> body;
    const auto grant = describe_grant(judgement, body);
    text +=
        grant.empty() ? "Content-Length: " : "Content-Type: application/json\r\nContent-Length: ";
    std::array<char, 8> length;
    text.append(length.data(),
                std::to_chars(length.data(), length.data() + length.size(), grant.size()).ptr);
    text += "\r\n";
    if (!keep_alive) {
        text += "Connection: close\r\n";
    } else if (client_.head.minor_version() == 0) {
        text += "Connection: keep-alive\r\n";
    }
    append_success_fields(text, client_, *snapshot_, judgement);
    text += "\r\n";
    text += grant;
}

ClientConnection::CheckAnswer ClientConnection::check_error(Ending ending, unsigned status,
                                                            std::string_view detail,
                                                            bool keep_alive) {
    auto& text = client_.worker.text();
    text.clear();
    http::append_error(text, status, detail,
                       {.head_request = client_.head.method() == http::Method::head,
                        .keep_alive = keep_alive,
                        .client_minor_version = client_.head.minor_version(),
                        .accept = {},
                        .date = client_.worker.date(),
                        .request_id = answer_id()});
    return {.ending = ending, .status = status};
}

}  // namespace weir::proxy
