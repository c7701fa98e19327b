#pragma once
// Requests with bodies of any framing, and an upstream that returns the body it receives. For
// tests.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "proxy/fixture.h"

namespace weir::proxy::testing {

inline std::string request(std::string_view line, std::string_view more = {}) {
    return std::string(line) + " HTTP/1.1\r\nHost: a.test\r\n" + std::string(more) + "\r\n";
}

/// A text of so many bytes in which no two parts are alike.
inline std::string pattern(std::size_t bytes) {
    std::string text;
    for (std::uint32_t i = 0; text.size() < bytes; ++i) {
        text += std::to_string(i * 2654435761U);
    }
    text.resize(bytes);
    return text;
}

inline std::string chunked(std::string_view body, std::size_t chunk) {
    std::string text;
    while (!body.empty()) {
        const auto part = body.substr(0, chunk);
        char size[20];
        std::snprintf(size, sizeof(size), "%zx\r\n", part.size());
        text += size + std::string(part) + "\r\n";
        body.remove_prefix(part.size());
    }
    return text;
}

/// Answers each request with the request's body, framed by length.
inline void echo(FakeUpstream::Session& session) {
    while (const auto got = session.request()) {
        if (!got->complete || !session.answer(200, got->body)) {
            return;
        }
    }
}

}  // namespace weir::proxy::testing
