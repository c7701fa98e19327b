#pragma once
// Requests to switch to another protocol, and an upstream that does so. For tests.

#include <optional>
#include <string>

#include "proxy/fixture.h"

namespace weir::proxy::testing {

inline const std::string kAsk =
    "GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n";
inline const std::string kSwitched =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Accept: a\r\n\r\n";
inline const std::string kPlain = "GET /plain HTTP/1.1\r\nHost: a.test\r\n\r\n";

/// Switches, sends everything back, and ends when the client has ended.
inline void echo(FakeUpstream::Session& session) {
    if (!session.head() || !session.send(kSwitched)) {
        return;
    }
    for (;;) {
        const auto came = session.io.take(session.io.buffered().size()).value_or("");
        if (!came.empty() && !session.send(came)) {
            return;
        }
        if (session.io.buffered().empty() && !session.io.receive_more()) {
            return;
        }
    }
}

/// Asks for the switch, and sends these bytes right behind the request. The head of the answer.
inline std::string ask_to_switch(SocketIo& client, const std::string& behind = {}) {
    client.send(kAsk + behind);
    return client.take_until("\r\n\r\n").value_or("");
}

}  // namespace weir::proxy::testing
