#include "http/chunked_scanner.h"

#include <doctest/doctest.h>

#include <ostream>
#include <string>

namespace weir::http {
namespace {

using namespace std::string_literals;
using State = ChunkedScanner::State;

struct Ending {
    State state;
    std::size_t consumed;
    std::uint64_t payload;
    Rejection rejection;
    friend bool operator==(const Ending&, const Ending&) = default;
};

std::ostream& operator<<(std::ostream& out, const Ending& ending) {
    return out << static_cast<int>(ending.state) << " after " << ending.consumed << ", payload "
               << ending.payload << ", " << explanation(ending.rejection);
}

Ending scan_in_steps(std::string_view text, std::size_t first, std::size_t step,
                     const ChunkedLimits& limits) {
    ChunkedScanner scanner(limits);
    std::size_t consumed = 0;
    auto result = scanner.scan(text.substr(0, first));
    consumed += result.consumed;
    for (std::size_t at = first; at < text.size() && result.state == State::need_more; at += step) {
        result = scanner.scan(text.substr(at, step));
        consumed += result.consumed;
    }
    return {result.state, consumed, scanner.payload_bytes(), scanner.rejection()};
}

Ending scan(std::string_view text, const ChunkedLimits& limits = {}) {
    const Ending whole = scan_in_steps(text, text.size(), 1, limits);
    for (std::size_t cut = 0; cut < text.size() && text.size() < 2000; ++cut) {
        CHECK(scan_in_steps(text, cut, text.size(), limits) == whole);
    }
    CHECK(scan_in_steps(text, 0, 1, limits) == whole);
    return whole;
}

TEST_CASE("a chunked body ends where it says, whatever follows") {
    const auto body = "5\r\nhello\r\nA;n=v;q=\"a\\\"b\"\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n"s;
    const Ending ending = scan(body + "GET / HTTP/1.1\r\n");
    CHECK(ending == Ending{State::complete, body.size(), 15, Rejection::none});
    CHECK(scan("0\r\n\r\n").state == State::complete);
    CHECK(scan("000000000000000a\r\n0123456789\r\n0\r\n\r\n").payload == 10);
    for (std::size_t size = 0; size < body.size(); ++size) {
        CHECK(scan(std::string_view(body).substr(0, size)).state == State::need_more);
    }
}

TEST_CASE("7: malformed sizes and line ends") {
    for (const auto* size :
         {"+5", "-5", "0x5", " 5", "5 ", "", "g", "5,", "00000000000000005", "\t5", "5\n", "_5"}) {
        CAPTURE(size);
        CHECK(scan(size + "\r\nhello\r\n0\r\n\r\n"s).rejection == Rejection::bad_chunk_size);
    }
    CHECK(scan("5\nhello\r\n0\r\n\r\n").rejection == Rejection::bad_chunk_size);
    CHECK(scan("5\rhello\r\n0\r\n\r\n").rejection == Rejection::bad_chunk_size);
    CHECK(scan("5\r\r\nhello\r\n").rejection == Rejection::bad_chunk_size);
    CHECK(scan("5\r\nhello\n0\r\n\r\n").rejection == Rejection::bad_chunk_end);
    CHECK(scan("5\r\nhello!\r\n0\r\n\r\n").rejection == Rejection::bad_chunk_end);
    CHECK(scan("5\r\nhello\rX").rejection == Rejection::bad_chunk_end);
    CHECK(scan("0\r\n\rX").rejection == Rejection::bad_chunk_end);
    CHECK(scan("ffffffffffffffff\r\nx").state == State::need_more);
}

TEST_CASE("8: extensions") {
    for (const auto& extension : {";"s, ";=x"s, ";a="s, ";a b"s, ";a=\x01"s, ";a=\"\n\""s,
                                  ";a=\"\x00\""s, "; a"s, ";a =b"s, ";a=\"b\"c"s, ";a==b"s}) {
        CAPTURE(extension);
        CHECK(scan("1" + extension + "\r\nx\r\n0\r\n\r\n").rejection ==
              Rejection::bad_chunk_extension);
    }
    CHECK(scan("1;a\n\r\n").rejection == Rejection::bad_chunk_extension);
    const auto sized = [](std::size_t size) {
        return "1;" + std::string(size, 'a') + "\r\nx\r\n0\r\n\r\n";
    };
    CHECK(scan(sized(4095)).state == State::complete);  // the line's CR counts
    CHECK(scan(sized(4097)).rejection == Rejection::bad_chunk_extension);
}

TEST_CASE("8: extensions may not outweigh the content for ever; small chunks alone are fine") {
    std::string heavy;
    std::string light;
    for (int i = 0; i < 100'000; ++i) {
        heavy += "1;aaaaaaaa\r\nx\r\n";
        light += "1\r\nx\r\n";
    }
    CHECK(scan_in_steps(heavy, heavy.size(), 1, {}).rejection == Rejection::chunk_overhead);
    const Ending ending = scan_in_steps(light + "0\r\n\r\n", light.size(), 100, {});
    CHECK(ending.state == State::complete);
    CHECK(ending.payload == 100'000);
}

TEST_CASE("trailers are checked, bounded, and may not frame") {
    CHECK(scan("0\r\nA: b\r\nC:\r\n\r\n").state == State::complete);
    for (const auto* line : {"Content-Length: 5", "transfer_encoding: x", "Host: a", "Trailer: x",
                             " A: b", ": b", "A b: c", "nocolon", "A: b\x01", "Set-Cookie: x"}) {
        CAPTURE(line);
        CHECK(scan("0\r\n"s + line + "\r\n\r\n").rejection == Rejection::bad_trailer);
    }
    CHECK(scan("0\r\nA: b\n\r\n").rejection == Rejection::bad_trailer);
    ChunkedLimits limits;
    limits.max_trailer = 20;
    CHECK(scan("0\r\nA: " + std::string(15, 'b') + "\r\n\r\n", limits).state == State::complete);
    CHECK(scan("0\r\nA: " + std::string(16, 'b') + "\r\n\r\n", limits).rejection ==
          Rejection::trailer_too_large);
    std::string many = "0\r\n";
    for (int i = 0; i < 33; ++i) {
        many += "A:\r\n";
    }
    CHECK(scan(many).rejection == Rejection::trailer_too_large);
    CHECK(scan("0\r\nA: " + std::string(9000, 'b') + "\r\n\r\n").rejection ==
          Rejection::trailer_too_large);
}

TEST_CASE("a scanner that has come to an end stays there") {
    ChunkedScanner scanner;
    CHECK(scanner.scan("x").state == State::rejected);
    CHECK(scanner.scan("0\r\n\r\n").state == State::rejected);
    scanner = ChunkedScanner();
    CHECK(scanner.scan("0\r\n\r\n").state == State::complete);
    CHECK(scanner.scan("more").consumed == 0);
}

}  // namespace
}  // namespace weir::http
