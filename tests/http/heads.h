#pragma once
// Parses texts for tests: in one piece and divided at every byte, which must give the same result;
// and so must the oracle.

#include <doctest/doctest.h>

#include <ostream>

#include <string>
#include <string_view>

#include "http/oracle.h"
#include "http/request_head.h"
#include "http/response_head.h"

namespace weir::http {

/// The result of a parse, in a form that can be compared.
struct Ending {
    ParseState state = ParseState::need_more;
    Rejection rejection = Rejection::none;
    std::size_t size = 0;
    BodyFraming body;

    friend bool operator==(const Ending&, const Ending&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Ending& ending) {
    return out << "state " << static_cast<int>(ending.state) << " " << explanation(ending.rejection)
               << " size " << ending.size << " body " << static_cast<int>(ending.body.kind) << "/"
               << ending.body.length;
}

template <class Head>
Ending ending_of(const Head& head, ParseState state) {
    if (state != ParseState::complete) {
        return {state, head.rejection(), 0, {}};
    }
    return {state, Rejection::none, head.size(), head.body()};
}

inline Ending parse_whole(RequestHead& head, std::string_view text, const GatePolicy& policy = {}) {
    head.reset();
    const auto state = head.parse(text, policy);
    const auto difference = HeadOracle::difference(text, policy, head, state);
    if (!difference.empty()) {
        FAIL(difference << ": " << std::string(text.substr(0, 200)));
    }
    return ending_of(head, state);
}

/// Gives the parser one byte more at each call, each time at another address, as a growing buffer
/// does.
inline Ending parse_bytewise(RequestHead& head, std::string_view text,
                             const GatePolicy& policy = {}) {
    head.reset();
    auto state = ParseState::need_more;
    std::string copy;
    for (std::size_t size = 1; size <= text.size() && state == ParseState::need_more; ++size) {
        copy = std::string(text.substr(0, size));
        state = head.parse(copy, policy);
    }
    return ending_of(head, state);
}

/// Checks that the text, divided in two at every place and given byte by byte, gives the same
/// result as in one piece.
inline Ending parse_all_ways(RequestHead& head, std::string_view text,
                             const GatePolicy& policy = {}) {
    const Ending whole = parse_whole(head, text, policy);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        RequestHead other;
        const std::string first(text.substr(0, cut));
        auto state = other.parse(first, policy);
        if (state == ParseState::need_more) {
            state = other.parse(text, policy);
        }
        const Ending ending = ending_of(other, state);
        if (!(ending == whole)) {
            FAIL("cut at " << cut << " gives " << ending << ", whole " << whole << ": "
                           << std::string(text.substr(0, 200)));
        }
    }
    RequestHead other;
    CHECK(parse_bytewise(other, text, policy) == whole);
    return whole;
}

inline Ending parse_response_all_ways(ResponseHead& head, std::string_view text,
                                      const Asked& asked = Method::get,
                                      const ResponsePolicy& policy = {}) {
    head.reset();
    const auto parsed = head.parse(text, asked, policy);
    const auto difference = HeadOracle::difference(text, asked, policy, head, parsed);
    if (!difference.empty()) {
        FAIL(difference << ": " << std::string(text.substr(0, 200)));
    }
    const Ending whole = ending_of(head, parsed);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        ResponseHead other;
        const std::string first(text.substr(0, cut));
        auto state = other.parse(first, asked, policy);
        if (state == ParseState::need_more) {
            state = other.parse(text, asked, policy);
        }
        const Ending ending = ending_of(other, state);
        if (!(ending == whole)) {
            FAIL("cut at " << cut << ": " << ending << ", whole " << whole);
        }
    }
    return whole;
}

inline std::string with(std::string_view lines) {
    return "GET / HTTP/1.1\r\nHost: a.example\r\n" + std::string(lines) + "\r\n";
}

}  // namespace weir::http
