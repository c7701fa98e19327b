#include "proxy/upload.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::proxy {

Upload::Upload(ClientSide& client, const ActiveSnapshot& snapshot)
    : client_(client),
      snapshot_(snapshot),
      body_(client.head.body(), snapshot.chunked),
      head_rest_(client.worker.buffers()),
      relay_(client.worker.buffers()),
      source_(&client.in) {}

void Upload::begin(net::Stream& upstream) {
    upstream_ = &upstream;
    head_rest_.release();
    head_sent_ = false;
    state_ = UploadState::sending;
}

bool Upload::advance() {
    if (state_ != UploadState::sending) {
        return false;
    }
    if (!head_sent_) {
        return send_head();
    }
    if (has_unsent()) {
        return send_unsent();
    }
    if (body_.done()) {
        state_ = UploadState::done;
        relay_.shrink();
        return true;
    }
    return read_body();
}

bool Upload::check_what_came() { return take_body(); }

void Upload::switch_protocol() {
    WEIR_ASSERT(all_sent());
    before_switch_ = body_.payload();
    body_ = BodyProgress({http::BodyKind::until_close, 0}, snapshot_.chunked);
    state_ = UploadState::sending;
    take_body();
}

bool Upload::send_head() {
    auto& forwarded = client_.worker.forwarded_head();
    const auto& headers = snapshot_.settings.headers;
    forwarded.build(
        client_.head,
        {.client_address = client_.address,
         .keep_forwarded = config::passes_forwarded(snapshot_.settings, client_.endpoint),
         .forwarded = headers.forwarded,
         .via = headers.via,
         .request_id = headers.request_id,
         .host_line = snapshot_.host_line,
         .made_request_id = client_.request_id,
         .extra = announces_judged_ ? std::string_view(snapshot_.judged_line) : std::string_view()},
        client_.worker.random());
    head_sent_ = true;
    return written(write_gathered(*upstream_, forwarded.pieces(),
                                  source_->view().substr(0, unsent_), head_rest_));
}

bool Upload::send_unsent() {
    const auto body = source_->view().substr(0, unsent_);
    return written(write_rest(*upstream_, head_rest_, body));
}

bool Upload::written(const GatheredWrite& result) {
    auto& counters = client_.worker.mutable_counters();
    if (result.status == net::IoStatus::failed) {
        counters.count(Event::upstream_errors_write);
        state_ = UploadState::upstream_failed;
        return true;
    }
    counters.add(Event::upstream_bytes_out, result.bytes);
    source_->consume(result.body_bytes);
    unsent_ -= result.body_bytes;
    body_bytes_sent_ += result.body_bytes;
    return result.status == net::IoStatus::ok;
}

bool Upload::take_body() {
    const auto step = body_.pass(source_->view());
    if (step.bad) {
        state_ = UploadState::bad_body;
        return false;
    }
    unsent_ = step.used;
    return true;
}

bool Upload::read_body() {
    if (!client_.stream.maybe_readable()) {
        relay_.release();
        return false;
    }
    // All bytes that came with the head have been sent. If the buffer with the head has much room
    // behind it, it also serves for the body.
    if (source_ == &client_.in && client_.in.room().size() < client_.worker.buffers().large() / 2) {
        source_ = &relay_;
    }
    const auto large = client_.worker.buffers().large();
    // Buffers have become smaller because of a reload or because memory is short.
    if (relay_.empty() && relay_.capacity() > large) {
        relay_.release();
    }
    if (source_->capacity() == 0) {
        source_->reserve(client_.worker.relay_size());
    }
    auto room = source_->room();
    if (body_.kind() == http::BodyKind::length && body_.remaining() < room.size()) {
        // With one byte more the read that brings the last one also says that no other has come,
        // which would else take a read that finds nothing.
        room = room.first(static_cast<std::size_t>(body_.remaining()) + 1);
    }
    const auto result = client_.stream.read(room);
    switch (result.status) {
        case net::IoStatus::would_block:
            relay_.release();
            return false;
        case net::IoStatus::end:
            state_ = UploadState::client_ended;
            return true;
        case net::IoStatus::failed:
            state_ = UploadState::client_failed;
            return true;
        case net::IoStatus::ok:
            break;
    }
    client_.worker.mutable_counters().add(Event::client_bytes_in, result.bytes);
    source_->filled(result.bytes);
    take_body();
    return true;
}

void Upload::discard_unsent() {
    source_->consume(unsent_);
    unsent_ = 0;
}

void Upload::leave_rest_to_client() {
    if (!relay_.empty()) {
        client_.in.swap(relay_);
    }
}

}  // namespace weir::proxy
