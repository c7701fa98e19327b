#include "tools/message_reader.h"

#include <doctest/doctest.h>

#include <string>

namespace weir::tools {
namespace {

using Kind = MessageReader::Kind;

/// Feeds in pieces of every length: what was taken must not depend on the cut.
void check_length(Kind kind, const std::string& message) {
    const std::string stream = message + "NEXT";
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        MessageReader reader(kind);
        std::size_t taken = 0;
        while (!reader.complete() && !reader.failed() && taken < stream.size()) {
            taken += reader.feed(std::string_view(stream).substr(taken, piece));
        }
        CAPTURE(piece);
        CHECK(reader.complete());
        CHECK(taken == message.size());
    }
}

TEST_CASE("a message ends where its framing says, however it is cut") {
    check_length(Kind::request, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    check_length(Kind::request, "PUT / HTTP/1.1\r\ncontent-LENGTH: 5\r\n\r\nhello");
    check_length(Kind::response, "HTTP/1.1 204 No Content\r\n\r\n");
    check_length(Kind::response,
                 "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"
                 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    check_length(Kind::response,
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: t\r\n\r\n");
}

TEST_CASE("an answer to HEAD has no body whatever its length says") {
    MessageReader reader(Kind::response);
    reader.next(false);
    reader.feed("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n");
    CHECK(reader.complete());
}

TEST_CASE("status, fields and keep-alive") {
    MessageReader reader(Kind::response);
    reader.feed(
        "HTTP/1.1 429 Too Many\r\nConnection: Close\r\nContent-Length: 0\r\nX-A:  b \r\n\r\n");
    CHECK(reader.status() == 429);
    CHECK_FALSE(reader.keep_alive());
    CHECK(reader.field("x-a") == "b");
    CHECK(reader.field("x-b").empty());
    reader.next();
    CHECK_FALSE(reader.begun());
    CHECK(reader.keep_alive());
}

TEST_CASE("a response without length runs until the end, a cut one fails") {
    MessageReader open(Kind::response);
    open.feed("HTTP/1.1 200 OK\r\n\r\nsome");
    CHECK_FALSE(open.complete());
    open.finish();
    CHECK(open.complete());
    CHECK_FALSE(open.keep_alive());
    MessageReader cut(Kind::response);
    cut.feed("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome");
    cut.finish();
    CHECK(cut.failed());
}

TEST_CASE("nonsense fails") {
    MessageReader length(Kind::response);
    length.feed("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n");
    CHECK(length.failed());
    MessageReader chunk(Kind::response);
    chunk.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    CHECK(chunk.failed());
    MessageReader endless(Kind::request);
    while (!endless.failed()) {
        REQUIRE(endless.feed(std::string(1000, 'a')) > 0);
    }
}

}  // namespace
}  // namespace weir::tools
