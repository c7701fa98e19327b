#include "http/forwarded_head.h"

#include <cstring>

#include "base/assert.h"
#include "http/words.h"

namespace weir::http {
namespace {

/// What weir adds to Via: the version of the message that it received (RFC 9110, 7.6.3).
constexpr std::string_view via(unsigned minor_version) {
    return minor_version == 0 ? "Via: 1.0 weir\r\n" : "Via: 1.1 weir\r\n";
}
constexpr std::string_view kListSeparator = ", ";
constexpr std::size_t kMaxAddress = 64;
constexpr std::size_t kMaxScheme = 8;
constexpr std::size_t kMaxMadeId = 64;

/// The hop-by-hop fields of RFC 9110, 7.6.1, and those of earlier practice.
constexpr FieldIds kHopByHop = bit(FieldId::connection) | bit(FieldId::keep_alive) |
                               bit(FieldId::proxy_connection) | bit(FieldId::proxy_authenticate) |
                               bit(FieldId::proxy_authorization) | bit(FieldId::te) |
                               bit(FieldId::upgrade);

/// The client's fields that weir replaces with its own.
FieldIds replaced(const RequestForwarding& forwarding) {
    if (!forwarding.forwarded) {
        return 0;
    }
    const FieldIds appended_to = bit(FieldId::x_forwarded_for);
    if (forwarding.keep_forwarded) {
        return appended_to;
    }
    return appended_to | bit(FieldId::x_forwarded_host) | bit(FieldId::x_forwarded_proto) |
           bit(FieldId::forwarded) | bit(FieldId::forwarded_claim);
}

/// Content-Length and Transfer-Encoding of responses that must not announce a body (RFC 9110, 8.6;
/// RFC 9112, 6.1): a client could wait for it.
FieldIds misplaced_framing(unsigned status) {
    FieldIds misplaced = 0;
    if (status < 200 || status == 204 || status == 304) {
        misplaced = bit(FieldId::transfer_encoding);
    }
    if (status < 200 || status == 204) {
        misplaced |= bit(FieldId::content_length);
    }
    return misplaced;
}

/// Whether a field of this identity is passed on, and not dropped because Connection names it.
bool passes(const Fields& fields, FieldId id) {
    auto i = fields.find(id);
    while (i != Fields::kNone && fields[i].dropped) {
        i = fields.find(id, i + 1);
    }
    return i != Fields::kNone;
}

}  // namespace

void ForwardedHead::begin() {
    pieces_.clear();
    text_size_ = 0;
    text_start_ = 0;
}

void ForwardedHead::flush() {
    if (text_size_ == text_start_) {
        return;
    }
    pieces_.emplace_back(text_.data() + text_start_, text_size_ - text_start_);
    text_start_ = text_size_;
}

void ForwardedHead::original(std::string_view piece) {
    if (piece.empty()) {
        return;
    }
    if (text_size_ == text_start_ && !pieces_.empty()) {
        auto& last = pieces_.back();
        if (last.data() + last.size() == piece.data()) {
            last = {last.data(), last.size() + piece.size()};
            return;
        }
    }
    flush();
    pieces_.push_back(piece);
}

/// Only for texts of bounded length. A longer text is a piece of its own.
void ForwardedHead::add(std::string_view text) {
    WEIR_ASSERT(text.size() <= text_.size() - text_size_);
    copy_bytes(text_.data() + text_size_, text);
    text_size_ += text.size();
}

/// Adds all fields that are not left out, in as few pieces as possible.
void ForwardedHead::original_fields(const Fields& fields, FieldIds left_out) {
    if (!fields.any_dropped() && !fields.contains_any(left_out)) {
        return original(fields.lines());
    }
    const auto lines = fields.lines();
    std::size_t kept = 0;  // offset in `lines` of the first line that is not in a piece yet
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto& field = fields[i];
        if (!field.dropped && (bit(field.id) & left_out) == 0) {
            continue;
        }
        const auto line = fields.line(i);
        const auto begin = static_cast<std::size_t>(line.data() - lines.data());
        original(lines.substr(kept, begin - kept));
        kept = begin + line.size();
    }
    original(lines.substr(kept));
}

void ForwardedHead::build(const RequestHead& head, const RequestForwarding& forwarding,
                          Random& random) {
    begin();
    keep_request_id_ = true;
    request_id_ = {};
    if (forwarding.request_id) {
        choose_request_id(head.fields(), forwarding.made_request_id, random);
    }
    const bool old = head.minor_version() == 0;
    request_line(head);
    if (old && !head.fields().contains(FieldId::host)) {
        host_of_old_client(head, forwarding.host_line);
    }
    const FieldIds own_id = keep_request_id_ ? 0 : bit(FieldId::x_request_id);
    // An expectation means nothing in HTTP/1.0 (RFC 9110, 10.1.1), but would in what is sent here.
    const FieldIds expectation = old ? bit(FieldId::expect) : 0;
    original_fields(head.fields(), kHopByHop | replaced(forwarding) | own_id | expectation);
    if (forwarding.forwarded) {
        forwarded_fields(head, forwarding);
    }
    if (forwarding.via) {
        add(via(head.minor_version()));
    }
    if (!forwarding.extra.empty()) {
        flush();
        original(forwarding.extra);
    }
    if (!keep_request_id_) {
        add("X-Request-Id: ");
        add(request_id_);
        add("\r\n");
    }
    connection_of(head);
    add("\r\n");
    flush();
}

/// Fields between weir and the upstream only.
void ForwardedHead::connection_of(const RequestHead& head) {
    const bool trailers = head.minor_version() == 1 && head.accepts_trailers();
    if (trailers) {
        add("TE: trailers\r\n");
    }
    if (!head.upgrade().empty()) {
        add("Upgrade: ");
        flush();
        original(head.upgrade());
        add(trailers ? "\r\nConnection: Upgrade, TE\r\n" : "\r\nConnection: Upgrade\r\n");
    } else if (trailers) {
        add("Connection: TE\r\n");
    }
}

void ForwardedHead::request_line(const RequestHead& head) {
    // A proxy sends its own version (RFC 9112, 2.3). With the client's 1.0 the upstream would close
    // its connection after each response.
    constexpr std::string_view kEnd = "1\r\n";
    const bool old = head.minor_version() == 0;
    const auto line_end = head.start() + head.first_line_size() - (old ? kEnd.size() : 0);
    const auto line = head.bytes().substr(head.start(), line_end - head.start());
    if (!head.is_absolute_form()) {
        original(line);
    } else {
        // An origin server is sent the origin form (RFC 9112, 3.2.1).
        original(line.substr(0, head.method_text().size() + 1));
        const auto rest = head.bytes().substr(head.path_offset(), line_end - head.path_offset());
        if (!rest.starts_with('/')) {
            add("/");
        }
        original(rest);
    }
    if (old) {
        add(kEnd);
    }
}

/// HTTP/1.1 requires Host (RFC 9112, 3.2), which a client of HTTP/1.0 need not send. A target in
/// absolute form names the host as well.
void ForwardedHead::host_of_old_client(const RequestHead& head, std::string_view host_line) {
    if (head.host().empty()) {
        flush();
        return original(host_line);
    }
    add("Host: ");
    add(head.host());
    add("\r\n");
}

void ForwardedHead::forwarded_fields(const RequestHead& head, const RequestForwarding& forwarding) {
    const auto& fields = head.fields();
    forwarded_for(fields, forwarding);
    if (!forwarding.keep_forwarded || !passes(fields, FieldId::x_forwarded_proto)) {
        add("X-Forwarded-Proto: ");
        add(forwarding.scheme.substr(0, kMaxScheme));
        add("\r\n");
    }
    const bool kept = forwarding.keep_forwarded && passes(fields, FieldId::x_forwarded_host);
    if (!kept && !head.host().empty()) {
        add("X-Forwarded-Host: ");
        add(head.host());
        add("\r\n");
    }
}

/// Writes one line with all addresses, because applications often read only the first or the last
/// line.
void ForwardedHead::forwarded_for(const Fields& fields, const RequestForwarding& forwarding) {
    const auto address = forwarding.client_address.substr(0, kMaxAddress);
    bool any = false;
    const auto separate = [&] {
        if (any) {
            flush();
            original(kListSeparator);  // a piece, because the client decides how many there are
        } else {
            add("X-Forwarded-For: ");
        }
        any = true;
    };
    if (forwarding.keep_forwarded) {
        for (auto i = fields.find(FieldId::x_forwarded_for); i != Fields::kNone;
             i = fields.find(FieldId::x_forwarded_for, i + 1)) {
            if (fields.value(i).empty() || fields[i].dropped) {
                continue;
            }
            separate();
            original(fields.value(i));
        }
    }
    if (!address.empty()) {
        separate();
        add(address);
    }
    if (any) {
        add("\r\n");
    }
}

void ForwardedHead::choose_request_id(const Fields& fields, std::string_view made, Random& random) {
    request_id_ = own_request_id(fields);
    keep_request_id_ = !request_id_.empty();
    if (keep_request_id_) {
        return;
    }
    request_id_ = made.empty() ? make_request_id(made_id_, random) : made.substr(0, kMaxMadeId);
}

void ForwardedHead::status_line(const ResponseHead& head) {
    constexpr std::string_view kVersion = "HTTP/1.1";
    constexpr std::string_view kWithoutPhrase = "HTTP/1.1 200";
    const auto line = head.bytes().substr(0, head.first_line_size());
    const bool shortened = line.size() == kWithoutPhrase.size() + 2;
    if (head.minor_version() == 1 && !shortened) {
        return original(line);
    }
    add(kVersion);
    if (!shortened) {
        return original(line.substr(kVersion.size()));
    }
    // Clients may insist on the blank before the phrase, although that may be empty.
    add(line.substr(kVersion.size(), kWithoutPhrase.size() - kVersion.size()));
    add(" \r\n");
}

/// A 426 says in Upgrade which protocols it wants, a 101 which one follows; they would mean nothing
/// without (RFC 9110, 15.5.22 and 15.2.2). Connection, which names the field, was not passed on.
void ForwardedHead::offered_upgrade(const Fields& fields) {
    if (!fields.contains(FieldId::upgrade)) {
        return;
    }
    flush();
    for (auto i = fields.find(FieldId::upgrade); i != Fields::kNone;
         i = fields.find(FieldId::upgrade, i + 1)) {
        original(fields.line(i));
    }
    add("Connection: Upgrade\r\n");
}

void ForwardedHead::build(const ResponseHead& head, const ResponseForwarding& forwarding) {
    begin();
    status_line(head);
    original_fields(head.fields(), kHopByHop | misplaced_framing(head.status()));
    if (head.status() == 426 || head.is_upgrade()) {
        offered_upgrade(head.fields());
    }
    if (forwarding.via) {
        add(via(head.minor_version()));
    }
    if (!head.is_interim()) {
        // RFC 9110, 6.6.1. Caches behind weir reckon an answer's age from it.
        const bool dated = !head.is_upgrade() && !forwarding.date.empty();
        if (dated && !passes(head.fields(), FieldId::date)) {
            add("Date: ");
            add(forwarding.date);
            add("\r\n");
        }
        flush();
        original(forwarding.extra);
        // After a 101 the connection stays, although no other response follows on it.
        const bool closes = !forwarding.keep_alive || head.body().kind == BodyKind::until_close;
        if (closes && !head.is_upgrade()) {
            add("Connection: close\r\n");
        } else if (!closes && forwarding.client_minor_version == 0) {
            add("Connection: keep-alive\r\n");
        }
    }
    add("\r\n");
    flush();
}

}  // namespace weir::http
