#include "proxy/download.h"

#include <algorithm>
#include <functional>

namespace weir::proxy {

Download::Download(ClientSide& client, const ActiveSnapshot& snapshot, Settlement& settlement,
                   std::string_view extra_fields)
    : client_(client),
      snapshot_(snapshot),
      settlement_(settlement),
      extra_fields_(extra_fields),
      buffer_(client.worker.buffers()),
      head_rest_(client.worker.buffers()),
      body_({}, snapshot.chunked) {}

void Download::begin(net::Stream& upstream) {
    upstream_ = &upstream;
    state_ = DownloadState::head;
}

bool Download::advance(bool request_sent) {
    if (!active()) {
        return false;
    }
    request_sent_ = request_sent;
    if (has_unsent()) {
        return send_unsent();
    }
    return read();
}

bool Download::read() {
    if (!upstream_->maybe_readable()) {
        if (buffer_.empty()) {
            buffer_.release();
        }
        return false;
    }
    const auto large = client_.worker.buffers().large();
    // Buffers have become smaller because of a reload or because memory is short.
    if (buffer_.empty() && buffer_.capacity() > large) {
        buffer_.release();
    }
    if (buffer_.capacity() == 0) {
        buffer_.reserve(client_.worker.relay_size());
    } else if (buffer_.room().empty()) {
        // Only a head can fill the buffer, because bytes of a body are sent before more are read.
        buffer_.reserve(std::max(buffer_.size() + 1, 2 * buffer_.capacity()));
    }
    const auto result = upstream_->read(buffer_.room());
    if (result.status == net::IoStatus::would_block) {
        if (buffer_.empty()) {
            buffer_.release();
        }
        return false;
    }
    if (result.status != net::IoStatus::ok) {
        ended(result.status);
        return true;
    }
    received_ += result.bytes;
    buffer_.filled(result.bytes);
    client_.worker.mutable_counters().add(Event::upstream_bytes_in, result.bytes);
    if (state_ == DownloadState::head) {
        parse_heads(request_sent_);
    } else {
        take_body();
        if (unsent_ > 0) {
            send_unsent();
        } else {
            finish_if_complete();
        }
    }
    return true;
}

void Download::ended(net::IoStatus status) {
    if (state_ == DownloadState::head) {
        state_ = DownloadState::closed;
    } else if (body_.kind() == http::BodyKind::until_close && status == net::IoStatus::end) {
        state_ = DownloadState::done;
    } else {
        state_ = DownloadState::truncated;
    }
    buffer_.release();
}

void Download::parse_heads(bool request_sent) {
    auto& head = client_.worker.response_head();
    while (state_ == DownloadState::head && !buffer_.empty()) {
        head.reset();
        const auto parsed = head.parse(
            buffer_.view(), {client_.head.method(), client_.head.upgrade()}, snapshot_.response);
        if (parsed == http::ParseState::need_more) {
            return;
        }
        if (parsed == http::ParseState::rejected) {
            state_ = DownloadState::invalid;
        } else if (head.is_interim()) {
            pass_interim();
        } else {
            pass_final(request_sent);
        }
    }
}

void Download::pass_interim() {
    auto& worker = client_.worker;
    worker.mutable_counters().count(Event::upstream_informational);
    if (++interim_ > kMaxInterim) {
        state_ = DownloadState::invalid;
        return;
    }
    const auto size = worker.response_head().size();
    if (client_.head.minor_version() > 0) {  // HTTP/1.0 has no interim responses
        worker.forwarded_head().build(worker.response_head(),
                                      {.via = snapshot_.settings.headers.via, .extra = {}});
        told_to_continue_ = told_to_continue_ || worker.response_head().status() == 100;
        written(write_gathered(client_.stream, worker.forwarded_head().pieces(), {}, head_rest_));
    }
    buffer_.consume(size);
}

void Download::pass_final(bool request_sent) {
    auto& worker = client_.worker;
    auto& head = worker.response_head();
    const auto kind = head.body().kind;
    unwraps_ = kind == http::BodyKind::chunked && client_.head.minor_version() == 0;
    body_ = BodyProgress(head.body(), snapshot_.chunked);
    buffer_.consume(head.size());  // the bytes stay in the buffer until the next read
    take_body();
    // Whoever switches before it has the whole request may take the rest for bytes of the other
    // protocol.
    if (state_ != DownloadState::head || (head.is_upgrade() && !request_sent)) {
        state_ = DownloadState::invalid;
        return;
    }
    upstream_stays_ = head.keep_alive() && request_sent;
    client_stays_ = client_.head.keep_alive() && request_sent && !worker.draining() &&
                    kind != http::BodyKind::until_close && !unwraps_;
    status_ = head.status();
    started_at_ = worker.loop().now();
    settlement_.response_begins(head);
    worker.forwarded_head().build(head, {.client_minor_version = client_.head.minor_version(),
                                         .keep_alive = client_stays_,
                                         .via = snapshot_.settings.headers.via,
                                         .date = worker.date(),
                                         .extra = extra_fields_});
    state_ = DownloadState::body;
    const auto body = buffer_.view().substr(0, unsent_);
    written(write_gathered(client_.stream, forwarded_pieces(), body, head_rest_));
}

std::span<const std::string_view> Download::forwarded_pieces() {
    const auto pieces = client_.worker.forwarded_head().pieces();
    const auto& fields = client_.worker.response_head().fields();
    const auto framing = fields.find(http::FieldId::transfer_encoding);
    if (client_.head.minor_version() > 0 || framing == http::Fields::kNone) {
        return pieces;
    }
    const auto line = fields.line(framing);
    pieces_.clear();
    for (const auto piece : pieces) {
        const bool inside = std::less_equal<>()(piece.data(), line.data()) &&
                            std::less<>()(line.data(), piece.data() + piece.size());
        if (!inside) {
            pieces_.push_back(piece);
            continue;
        }
        const auto before = static_cast<std::size_t>(line.data() - piece.data());
        pieces_.push_back(piece.substr(0, before));
        pieces_.push_back(piece.substr(before + line.size()));
    }
    return pieces_;
}

void Download::take_body() {
    if (unwraps_) {
        const auto unwrapped = body_.unwrap({buffer_.data(), buffer_.size()});
        if (unwrapped.bad) {
            state_ = DownloadState::truncated;
            return;
        }
        buffer_.drop_last(buffer_.size() - unwrapped.total);
        unsent_ = unwrapped.content;
        return;
    }
    const auto step = body_.pass(buffer_.view());
    if (step.bad) {
        state_ = DownloadState::truncated;
        return;
    }
    unsent_ = step.used;
}

bool Download::send_unsent() {
    const auto body = buffer_.view().substr(0, unsent_);
    return written(write_rest(client_.stream, head_rest_, body));
}

bool Download::written(const GatheredWrite& result) {
    if (result.status == net::IoStatus::failed) {
        state_ = DownloadState::client_failed;
        return true;
    }
    client_.worker.mutable_counters().add(Event::client_bytes_out, result.bytes);
    bytes_sent_ += result.bytes;
    buffer_.consume(result.body_bytes);
    unsent_ -= result.body_bytes;
    if (result.body_bytes > 0) {
        settlement_.response_sent(content_sent());
    }
    finish_if_complete();
    return result.status == net::IoStatus::ok;
}

void Download::finish_if_complete() {
    if (state_ != DownloadState::body || has_unsent() || !body_.done()) {
        return;
    }
    state_ = DownloadState::done;
    if (!buffer_.empty()) {
        client_.worker.mutable_counters().count(Event::upstream_extra_bytes);
        upstream_stays_ = false;
    }
    buffer_.release();
}

}  // namespace weir::proxy
