#include "http/forwarded_head.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "http/characters.h"
#include "http/framing.h"

namespace weir::http {
namespace {

constexpr std::string_view kVia = "Via: 1.1 weir\r\n";
constexpr std::size_t kMaxAddress = 64;
constexpr std::size_t kMaxScheme = 8;
constexpr std::size_t kMaxRequestId = 128;

bool is_valid_request_id(std::string_view id) {
    if (id.empty() || id.size() > kMaxRequestId) return false;
    return std::all_of(id.begin(), id.end(), [](char c) {
        return is_alphanumeric(c) ||
               std::string_view("-_.:/+=@~").find(c) != std::string_view::npos;
    });
}

/// RFC 9562, 5.4: a random UUID.
void write_uuid(std::array<char, 36>& out, Random& random) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::uint64_t bits = 0;
    unsigned left = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            out[i] = '-';
            continue;
        }
        if (left == 0) {
            bits = random.next();
            left = 16;
        }
        unsigned digit = bits & 15U;
        bits >>= 4U;
        --left;
        if (i == 14) digit = 4;                  // version
        if (i == 19) digit = 8U | (digit & 3U);  // variant
        out[i] = kDigits[digit];
    }
}

/// RFC 9110, 7.6.1, and what others took for hop-by-hop before it.
bool is_hop_by_hop(FieldId id) {
    switch (id) {
        case FieldId::connection:
        case FieldId::keep_alive:
        case FieldId::proxy_connection:
        case FieldId::proxy_authenticate:
        case FieldId::proxy_authorization:
        case FieldId::te:
        case FieldId::upgrade:
            return true;
        default:
            return false;
    }
}

bool is_named_by_connection(const Fields& fields, std::size_t index) {
    return fields.contains(FieldId::connection) && is_connection_option(fields, fields.name(index));
}

/// Is this field of the client replaced by ours?
bool is_replaced(FieldId id, const RequestForwarding& forwarding) {
    if (!forwarding.forwarded) return false;
    switch (id) {
        case FieldId::x_forwarded_for:
            return true;  // appended to, if trusted
        case FieldId::x_forwarded_host:
        case FieldId::x_forwarded_proto:
        case FieldId::forwarded:
            return !forwarding.client_trusted;
        default:
            return false;
    }
}

/// Content-Length and Transfer-Encoding where no body may be announced (RFC 9110, 8.6; RFC 9112,
/// 6.1): a client could wait for one.
bool is_misplaced_framing(FieldId id, unsigned status) {
    if (id == FieldId::transfer_encoding) return status < 200 || status == 204 || status == 304;
    return id == FieldId::content_length && (status < 200 || status == 204);
}

}  // namespace

void ForwardedHead::begin() {
    pieces_.clear();
    text_size_ = 0;
    text_start_ = 0;
}

void ForwardedHead::flush() {
    if (text_size_ == text_start_) return;
    pieces_.emplace_back(text_.data() + text_start_, text_size_ - text_start_);
    text_start_ = text_size_;
}

void ForwardedHead::original(std::string_view piece) {
    if (piece.empty()) return;
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

/// Only for texts whose length is bounded; everything longer is a piece of its own.
void ForwardedHead::add(std::string_view text) {
    WEIR_ASSERT(text.size() <= text_.size() - text_size_);
    std::memcpy(text_.data() + text_size_, text.data(), text.size());
    text_size_ += text.size();
}

std::size_t ForwardedHead::size() const {
    std::size_t sum = 0;
    for (const auto& piece : pieces_) sum += piece.size();
    return sum;
}

void ForwardedHead::build(const RequestHead& head, const RequestForwarding& forwarding,
                          Random& random) {
    begin();
    keep_request_id_ = true;
    request_id_ = {};
    if (forwarding.request_id) choose_request_id(head.fields(), random);
    request_line(head);
    request_fields(head, forwarding);
    if (forwarding.forwarded) forwarded_fields(head, forwarding);
    if (forwarding.via) add(kVia);
    if (!keep_request_id_) {
        add("X-Request-Id: ");
        add(request_id_);
        add("\r\n");
    }
    if (head.minor_version() == 0) {
        add("Connection: keep-alive\r\n");
    } else if (head.accepts_trailers()) {
        add("TE: trailers\r\nConnection: TE\r\n");
    }
    add("\r\n");
    flush();
}

void ForwardedHead::request_line(const RequestHead& head) {
    const auto line = head.bytes().substr(head.start(), head.first_line_size());
    if (!head.is_absolute_form()) {
        original(line);
        return;
    }
    // RFC 9112, 3.2.1: origin form towards an origin server.
    const auto line_end = head.start() + head.first_line_size();
    original(line.substr(0, head.method_text().size() + 1));
    const auto rest = head.bytes().substr(head.path_offset(), line_end - head.path_offset());
    if (!rest.starts_with('/')) add("/");
    original(rest);
}

void ForwardedHead::request_fields(const RequestHead& head, const RequestForwarding& forwarding) {
    const auto& fields = head.fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto& field = fields[i];
        if (field.dropped || is_hop_by_hop(field.id) || is_replaced(field.id, forwarding)) continue;
        if (field.id == FieldId::x_request_id && !keep_request_id_) continue;
        if (is_named_by_connection(fields, i)) continue;
        original(fields.line(i));
    }
}

void ForwardedHead::forwarded_fields(const RequestHead& head, const RequestForwarding& forwarding) {
    const auto& fields = head.fields();
    forwarded_for(fields, forwarding);
    if (!forwarding.client_trusted || !fields.contains(FieldId::x_forwarded_proto)) {
        add("X-Forwarded-Proto: ");
        add(forwarding.scheme.substr(0, kMaxScheme));
        add("\r\n");
    }
    const bool kept = forwarding.client_trusted && fields.contains(FieldId::x_forwarded_host);
    if (!kept && !head.host().empty()) {
        add("X-Forwarded-Host: ");
        add(head.host());
        add("\r\n");
    }
}

/// One line with all addresses: applications often read the first or last line only.
void ForwardedHead::forwarded_for(const Fields& fields, const RequestForwarding& forwarding) {
    const auto address = forwarding.client_address.substr(0, kMaxAddress);
    bool any = false;
    const auto separate = [&] {
        add(any ? ", " : "X-Forwarded-For: ");
        any = true;
    };
    if (forwarding.client_trusted) {
        for (auto i = fields.find(FieldId::x_forwarded_for); i != Fields::kNone;
             i = fields.find(FieldId::x_forwarded_for, i + 1)) {
            if (fields.value(i).empty()) continue;
            separate();
            original(fields.value(i));
        }
    }
    if (!address.empty()) {
        separate();
        add(address);
    }
    if (any) add("\r\n");
}

void ForwardedHead::choose_request_id(const Fields& fields, Random& random) {
    const auto index = fields.find(FieldId::x_request_id);
    if (index != Fields::kNone && fields.find(FieldId::x_request_id, index + 1) == Fields::kNone &&
        is_valid_request_id(fields.value(index)) && !is_named_by_connection(fields, index)) {
        request_id_ = fields.value(index);
        return;
    }
    keep_request_id_ = false;
    write_uuid(made_id_, random);
    request_id_ = {made_id_.data(), made_id_.size()};
}

void ForwardedHead::build(const ResponseHead& head, const ResponseForwarding& forwarding) {
    constexpr std::string_view kVersion = "HTTP/1.1";
    begin();
    if (head.minor_version() == 1) {
        original(head.bytes().substr(0, head.first_line_size()));
    } else {
        add(kVersion);
        original(head.bytes().substr(kVersion.size(), head.first_line_size() - kVersion.size()));
    }
    const auto& fields = head.fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto id = fields[i].id;
        if (is_hop_by_hop(id) || is_misplaced_framing(id, head.status())) continue;
        if (is_named_by_connection(fields, i)) continue;
        original(fields.line(i));
    }
    if (forwarding.via) add(kVia);
    if (!head.is_interim()) {
        flush();
        original(forwarding.extra);
        const bool keep = forwarding.keep_alive && head.body().kind != BodyKind::until_close;
        if (!keep) {
            add("Connection: close\r\n");
        } else if (forwarding.client_minor_version == 0) {
            add("Connection: keep-alive\r\n");
        }
    }
    add("\r\n");
    flush();
}

}  // namespace weir::http
