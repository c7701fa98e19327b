#include "proxy/client_side.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace weir::proxy {
namespace {

/// Heads of more pieces than this are rare; their pieces are first copied into one.
constexpr std::size_t kMaxPieces = 48;

std::string address_text(const Endpoint& client) {
    if (client == Endpoint{}) {
        return {};
    }
    auto text = to_string(client);
    text.resize(text.rfind(':'));
    if (text.starts_with('[')) {
        text = text.substr(1, text.size() - 2);
    }
    return text;
}

iovec piece_of(std::string_view text) {
    return {.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
}

void append(Buffer& buffer, std::string_view text, std::size_t total) {
    if (buffer.room().size() < text.size()) {
        buffer.reserve(std::max(kSmallBuffer, buffer.size() + total));
    }
    std::memcpy(buffer.room().data(), text.data(), text.size());
    buffer.filled(text.size());
}

/// Appends the part of the pieces that was not sent to `rest`.
void keep_unsent(std::span<const std::string_view> pieces, std::size_t sent, Buffer& rest) {
    std::size_t left = 0;
    for (const auto piece : pieces) {
        left += piece.size();
    }
    left -= sent;
    for (const auto piece : pieces) {
        const auto skipped = std::min(sent, piece.size());
        sent -= skipped;
        if (skipped == piece.size()) {
            continue;
        }
        append(rest, piece.substr(skipped), left);
        left -= piece.size() - skipped;
    }
}

}  // namespace

ClientSide::ClientSide(Worker& owner, const Endpoint& client)
    : worker(owner),
      endpoint(client),
      address(address_text(client)),
      in(owner.buffers()),
      out(owner.buffers()) {}

std::string_view ClientSide::choose_request_id(bool enabled, bool readable) {
    if (!enabled || !request_id.empty()) {
        return request_id;
    }
    if (readable) {
        request_id = http::own_request_id(head.fields());
    }
    if (request_id.empty()) {
        request_id = http::make_request_id(made_id_, worker.random());
    }
    return request_id;
}

net::IoResult ClientSide::read_more() {
    if (!stream.maybe_readable()) {
        return {};
    }
    const bool fresh = in.capacity() == 0;
    if (fresh) {
        in.reserve(worker.relay_size());
    } else if (in.room().empty()) {
        in.compact();
        if (in.room().empty()) {
            in.reserve(std::max(worker.relay_size(), 2 * in.size()));
        }
    }
    const auto result = stream.read(in.room());
    if (result.status == net::IoStatus::ok) {
        in.filled(result.bytes);
        worker.mutable_counters().add(Event::client_bytes_in, result.bytes);
    }
    if (fresh) {
        in.shrink();
    }
    return result;
}

net::IoStatus ClientSide::send(std::string_view text) {
    const std::array pieces{text};
    const auto written = write_gathered(stream, pieces, {}, out);
    worker.mutable_counters().add(Event::client_bytes_out, written.bytes);
    return written.status;
}

net::IoStatus ClientSide::send_rest() {
    const auto written = write_rest(stream, out, {});
    worker.mutable_counters().add(Event::client_bytes_out, written.bytes);
    return written.status;
}

GatheredWrite write_gathered(net::Stream& stream, std::span<const std::string_view> pieces,
                             std::string_view body, Buffer& rest) {
    GatheredWrite result;
    if (pieces.size() > kMaxPieces || !rest.empty()) {
        keep_unsent(pieces, 0, rest);
        return write_rest(stream, rest, body);
    }
    std::array<iovec, kMaxPieces + 1> vectors;
    std::size_t count = 0;
    std::size_t head = 0;
    for (const auto piece : pieces) {
        vectors[count++] = piece_of(piece);
        head += piece.size();
    }
    if (!body.empty()) {
        vectors[count++] = piece_of(body);
    }
    const auto written = stream.write({vectors.data(), count});
    result.status = written.status;
    result.bytes = written.bytes;
    if (written.status == net::IoStatus::failed) {
        return result;
    }
    if (written.bytes < head) {
        keep_unsent(pieces, written.bytes, rest);
    } else {
        result.body_bytes = written.bytes - head;
    }
    return result;
}

GatheredWrite write_rest(net::Stream& stream, Buffer& rest, std::string_view body) {
    std::array<iovec, 2> vectors{piece_of(rest.view()), piece_of(body)};
    const auto written = stream.write(vectors);
    GatheredWrite result{.status = written.status, .bytes = written.bytes};
    if (written.status != net::IoStatus::ok) {
        return result;
    }
    const auto head = std::min(rest.size(), written.bytes);
    rest.consume(head);
    if (rest.empty()) {
        rest.release();
    }
    result.body_bytes = written.bytes - head;
    return result;
}

}  // namespace weir::proxy
