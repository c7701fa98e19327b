#pragma once
// What the tests of docs/protocol.md share: the page, and functions that encode values with weir's
// own code.

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "cluster/protocol_page.h"
#include "gossip/wire.h"

namespace weir::test {

using Bytes = std::vector<std::byte>;

inline const ProtocolPage& page() {
    static const ProtocolPage one;
    return one;
}

inline Bytes written(const std::function<void(ByteWriter&)>& write) {
    Bytes buffer(64 * 1024);
    ByteWriter writer(buffer);
    write(writer);
    REQUIRE(writer.ok());
    buffer.resize(writer.size());
    return buffer;
}

template <class T>
Bytes encoded(const T& value) {
    return written([&](ByteWriter& writer) { encode(writer, value); });
}

/// Keeps the last message of each type that was sent.
struct Sink final : gossip::MessageSink {
    bool send(const gossip::MemberId&, gossip::MessageType type, ByteSpan payload) override {
        sent[type].assign(payload.begin(), payload.end());
        return true;
    }
    std::map<gossip::MessageType, Bytes> sent;
};

/// How the value's bytes differ from the message's row in the page; empty if they do not.
template <class T>
std::string unlike(const std::string& message, const T& value, const Fields& fields) {
    return difference(page().layout(message), encoded(value), fields);
}

}  // namespace weir::test
