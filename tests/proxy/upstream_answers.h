#pragma once
// The shortest request, and an upstream that gives the same answer to every request.

#include <string>

#include "proxy/fixture.h"

namespace weir::proxy::testing {

inline constexpr const char* kGet = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

inline void answer_with(Fixture& proxy, const std::string& text) {
    proxy.upstream.set_script([text](FakeUpstream::Session& session) {
        session.request();
        session.send(text);
        session.io.closed_within(kPatience);
    });
}

}  // namespace weir::proxy::testing
