// Laws: whatever the bytes are, cutting them differently changes nothing.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

#include "http/chunked_scanner.h"
#include "http/heads.h"

namespace weir::http {
namespace {

/// Texts made of what heads are made of, so that many of them are nearly valid.
rc::Gen<std::string> head_like() {
    const std::vector<std::string> parts{"GET / HTTP/1.1\r\n",
                                         "Host: a\r\n",
                                         "\r\n",
                                         "\r",
                                         "\n",
                                         " ",
                                         ":",
                                         "a",
                                         "Content-Length: 5\r\n",
                                         "Transfer-Encoding: chunked\r\n",
                                         "POST http://a/ HTTP/1.0\r\n",
                                         "X: y\r\n",
                                         "\t",
                                         "HTTP/1.1",
                                         std::string(1, '\0'),
                                         "\x80",
                                         "Expect: 100-continue\r\n",
                                         "Connection: close\r\n"};
    return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts)),
                        [](const std::vector<std::string>& chosen) {
                            std::string text =
                                chosen.size() % 3 == 0 ? "" : "GET / HTTP/1.1\r\nHost: a\r\n";
                            for (const auto& part : chosen) {
                                text += part;
                            }
                            return text;
                        });
}

template <class Parse>
auto in_steps(const std::string& text, const std::vector<std::uint8_t>& steps, Parse parse) {
    auto state = parse(std::string_view(text).substr(0, 0));
    std::size_t size = 0;
    for (std::size_t i = 0; state == ParseState::need_more && size < text.size(); ++i) {
        size = std::min(text.size(), size + 1 + (steps.empty() ? 0 : steps[i % steps.size()] % 40));
        state = parse(std::string_view(text).substr(0, size));
    }
    return state;
}

TEST_CASE("heads end the same however they are cut") {
    GatePolicy policy;
    policy.max_head = 200;
    policy.max_request_line = 60;
    policy.max_fields = 8;
    CHECK(rc::check("requests", [&](const std::vector<std::uint8_t>& steps) {
        const auto text = *head_like();
        RequestHead whole;
        const Ending expected = parse_whole(whole, text, policy);
        RequestHead head;
        const auto state =
            in_steps(text, steps, [&](std::string_view part) { return head.parse(part, policy); });
        RC_ASSERT(ending_of(head, state) == expected);
        if (state == ParseState::complete) {
            RC_ASSERT(head.target() == whole.target());
            RC_ASSERT(head.host() == whole.host());
            RC_ASSERT(head.fields().size() == whole.fields().size());
        }
    }));
}

TEST_CASE("chunked bodies end the same however they are cut, and what is accepted is consumed") {
    const std::vector<std::string> parts{
        "5\r\nhello\r\n", "0\r\n\r\n", "\r\n", "1",  "f",         ";a=b", "\r", "\n",
        "0\r\n",          "A: b\r\n",  "x",    "\"", "1\r\nx\r\n"};
    CHECK(rc::check("chunked", [&](const std::vector<std::uint8_t>& steps) {
        const auto chosen =
            *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts));
        std::string text;
        for (const auto& part : chosen) {
            text += part;
        }
        ChunkedScanner whole;
        const auto expected = whole.scan(text);
        ChunkedScanner scanner;
        std::size_t consumed = 0;
        auto state = ChunkedScanner::State::need_more;
        for (std::size_t i = 0; consumed < text.size() && state == ChunkedScanner::State::need_more;
             ++i) {
            const auto size = 1 + (steps.empty() ? 0U : steps[i % steps.size()] % 9U);
            const auto result = scanner.scan(std::string_view(text).substr(consumed, size));
            consumed += result.consumed;
            state = result.state;
        }
        RC_ASSERT(state == expected.state);
        RC_ASSERT(consumed == expected.consumed);
        RC_ASSERT(scanner.payload_bytes() == whole.payload_bytes());
        RC_ASSERT(scanner.rejection() == whole.rejection());
    }));
}

}  // namespace
}  // namespace weir::http
