#include "http/first_line.h"

#include <doctest/doctest.h>

#include <string>

namespace weir::http {
namespace {

std::string read(std::string_view buffered) {
    const FirstLine line = first_line_of(buffered);
    return std::string(line.method) + "|" + std::string(line.target);
}

TEST_CASE("the first line of a request that cannot be served") {
    CHECK(read("GET /a?b HTTP/3.0\r\nHost: x\r\n\r\n") == "GET|/a?b");
    CHECK(read("\r\n\r\nPOST /a HTTP/1.1\r\n") == "POST|/a");
    CHECK(read("brew /pot HTTP/1.1\nHost: x\n\n") == "brew|/pot");
    CHECK(read("CONNECT a:1 HTTP/1.1\r\n\r\n") == "CONNECT|a:1");
    CHECK(read("GET  /two HTTP/1.1\r\n\r\n") == "GET|");
}

TEST_CASE("what stands before the path is left out, because it may hold a password") {
    CHECK(read("GET http://user:secret@host/a?b HTTP/1.1\r\n") == "GET|/a?b");
    CHECK(read("GET http://user:sec/ret@host/a HTTP/1.1\r\n") == "GET|/a");
    CHECK(read("GET http://host/a HTTP/3.0\r\n") == "GET|/a");
    CHECK(read("GET http://user:secret@host HTTP/1.1\r\n") == "GET|");
    CHECK(read("GET http://user:secret@host?b HTTP/1.1\r\n") == "GET|?b");
    CHECK(read("CONNECT user:secret@host:1 HTTP/1.1\r\n") == "CONNECT|");
    CHECK(read("GET /users/@me HTTP/3.0\r\n") == "GET|/users/@me");
}

TEST_CASE("as far as it came") {
    CHECK(read("") == "|");
    CHECK(read("\r\n") == "|");
    CHECK(read("GE") == "GE|");
    CHECK(read("GET ") == "GET|");
    CHECK(read("GET /lo") == "GET|/lo");
    CHECK(read("GET /lo\r") == "GET|/lo");
}

TEST_CASE("another protocol has no first line") {
    CHECK(read("\x16\x03\x01\x02 GET /") == "|");
    CHECK(read(" GET / HTTP/1.1\r\n") == "|");
    CHECK(read("\"quoted\" /") == "|");
    CHECK(read(std::string_view("\0\0\0", 3)) == "|");
}

}  // namespace
}  // namespace weir::http
