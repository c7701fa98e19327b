// Generated attack heads: each is a good head spoilt in one place, in a way by which two readers
// may come to see different requests. None may pass the gate, in one piece or byte by byte; and
// the heads that they were made from must pass, or refusing all would be as good.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "http/heads.h"

#include "base/characters.h"

namespace weir::http {
namespace {

/// What an attacker hopes to have read as a request of its own.
const std::string kSmuggled = "GET /admin HTTP/1.1\r\nHost: a.example\r\n\r\n";

class Attacks {
  public:
    explicit Attacks(std::string family) : family_(std::move(family)) {}

    void add(const std::string& head) {
        ++count_;
        const std::string text = head + "0\r\n\r\n" + kSmuggled;
        RequestHead parser;
        const Ending whole = parse_whole(parser, text);
        CAPTURE(head);
        if (whole.state != ParseState::rejected) {
            FAIL_CHECK(family_ << " passed: " << whole);
        }
        if (!(parse_bytewise(parser, text) == whole)) {
            FAIL_CHECK(family_ << " differs bytewise");
        }
    }

    /// Each byte that `harmless` does not let pass, put between two texts.
    template <class Harmless>
    void add_bytes(const std::string& before, const std::string& after, Harmless harmless) {
        for (int byte = 0; byte < 256; ++byte) {
            const char c = static_cast<char>(byte);
            if (!harmless(c)) {
                add(before + c + after);
            }
        }
    }

    /// At least so many were made.
    void finish(std::size_t least) const {
        CAPTURE(family_);
        CHECK(count_ >= least);
    }

  private:
    std::string family_;
    std::size_t count_ = 0;
};

const std::string kStart = "POST /a HTTP/1.1\r\n";
const std::string kHost = "Host: a.example\r\n";
const std::string kLength = "Content-Length: 5\r\n";
const std::string kChunked = "Transfer-Encoding: chunked\r\n";
const std::string kEnd = "\r\n";

void passes(const std::string& head) {
    CAPTURE(head);
    RequestHead parser;
    const Ending ending = parse_whole(parser, head + kSmuggled);
    CHECK(ending.state == ParseState::complete);
    CHECK(ending.size == head.size());
}

TEST_CASE("the heads that attacks are made from pass") {
    passes(kStart + kHost + kLength + kEnd);
    passes(kStart + kHost + kChunked + kEnd);
    passes(kStart + kHost + "Content-Length: \t5\t \r\n" + kEnd);
    passes(kStart + kHost + "Transfer-Encoding: \tchunked\t \r\n" + kEnd);
    passes(kStart + "Host:a.example:80\r\n" + kEnd);
    passes(kStart + kHost + "Connection: close, x-other\r\n" + kEnd);
    passes("POST http://a.example/a HTTP/1.1\r\n" + kHost + kEnd);
}

TEST_CASE("attack: Content-Length beside any Transfer-Encoding") {
    Attacks attacks("length and encoding");
    for (const auto* name :
         {"Transfer-Encoding", "transfer-encoding", "TRANSFER-ENCODING", "tRANSFER-eNCODING"}) {
        for (const auto* value : {"chunked", "Chunked", "CHUNKED", "gzip", "identity", "", "x",
                                  "chunked, chunked", "gzip, chunked", "chunked, gzip",
                                  "chunked;q=1", "\"chunked\"", "'chunked'", "cow", "chunk"}) {
            const std::string encoding = std::string(name) + ": " + value + "\r\n";
            attacks.add(kStart + kHost + kLength + encoding + kEnd);
            attacks.add(kStart + kHost + encoding + kLength + kEnd);
            attacks.add(kStart + encoding + kHost + "content-length: 0\r\n" + kEnd);
            attacks.add(kStart + kHost + encoding + encoding + kEnd);
            attacks.add("POST /a HTTP/1.0\r\n" + kHost + encoding + kEnd);
        }
    }
    attacks.finish(300);
}

TEST_CASE("attack: Transfer-Encoding disguised by one byte") {
    Attacks attacks("disguised encoding");
    const auto blank = [](char c) { return is_blank(c); };
    attacks.add_bytes(kStart + kHost + "Transfer-Encoding: ", "chunked\r\n" + kEnd, blank);
    attacks.add_bytes(kStart + kHost + "Transfer-Encoding: chunked", "\r\n" + kEnd, blank);
    attacks.add_bytes(kStart + kHost + "Transfer-Encoding: chun", "ked\r\n" + kEnd,
                      [](char) { return false; });
    // Beside a Content-Length not even a blank.
    attacks.add_bytes(kStart + kHost + kLength + "Transfer-Encoding:", "chunked\r\n" + kEnd,
                      [](char) { return false; });
    const auto token = [](char c) { return is_token_character(c); };
    attacks.add_bytes(kStart + kHost + kLength + "Transfer-Encoding", ": chunked\r\n" + kEnd,
                      token);
    attacks.add_bytes(kStart + kHost + kLength, "Transfer-Encoding: chunked\r\n" + kEnd, token);
    attacks.add_bytes(kStart + kHost + kLength + "X: y\r", "Transfer-Encoding: chunked\r\n" + kEnd,
                      [](char c) { return c == '\n'; });
    attacks.finish(1400);
}

TEST_CASE("attack: Content-Length that is no plain number, or there twice") {
    Attacks attacks("length");
    const auto harmless = [](char c) { return is_digit(c) || is_blank(c); };
    attacks.add_bytes(kStart + kHost + "Content-Length: ", "5\r\n" + kEnd, harmless);
    attacks.add_bytes(kStart + kHost + "Content-Length: 5", "\r\n" + kEnd, harmless);
    attacks.add_bytes(kStart + kHost + "Content-Length: 5", "5\r\n" + kEnd,
                      [](char c) { return is_digit(c); });
    attacks.add_bytes(kStart + kHost + "Content-Length", ": 5\r\n" + kEnd,
                      [](char c) { return is_token_character(c) || c == ':'; });
    for (const auto* value :
         {"", "5,5", "5, 5", "5,6", "0x5", "5e0", "5.0", "-0", "+0", "1_0", "9223372036854775808",
          "18446744073709551615", "18446744073709551621", "00000000000000000005", "5;", "\"5\""}) {
        attacks.add(kStart + kHost + "Content-Length: " + value + "\r\n" + kEnd);
    }
    for (const auto* first : {"Content-Length", "content-length", "CONTENT-LENGTH"}) {
        for (const auto* second : {"Content-Length", "content-length", "cONTENT-lENGTH"}) {
            for (const auto* value : {"5", "6", "0", "05", ""}) {
                attacks.add(kStart + first + ": 5\r\n" + kHost + second + ": " + value + "\r\n" +
                            kEnd);
            }
        }
    }
    attacks.finish(900);
}

TEST_CASE("attack: Host missing, more than one, not a host, not the target's") {
    Attacks attacks("host");
    attacks.add(kStart + kEnd);
    attacks.add(kStart + kLength + kEnd);
    for (const auto* first : {"Host", "host", "HOST"}) {
        for (const auto* second : {"Host", "hOST", "host"}) {
            for (const auto* value : {"a.example", "b.example", "", "A.EXAMPLE"}) {
                const std::string other = std::string(second) + ": " + value + "\r\n";
                attacks.add(kStart + first + ": a.example\r\n" + other + kEnd);
                attacks.add(kStart + other + kLength + first + ": a.example\r\n" + kEnd);
            }
        }
    }
    const auto in_name = [](char c) {
        return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
    };
    attacks.add_bytes(kStart + "Host: a.exa", "mple\r\n" + kEnd, in_name);
    attacks.add_bytes(kStart + "Host: ", "a.example\r\n" + kEnd,
                      [&](char c) { return is_blank(c) || (in_name(c) && c != '.'); });
    attacks.add_bytes(kStart + "Host: a.example", "\r\n" + kEnd,
                      [&](char c) { return is_blank(c) || in_name(c); });
    for (const auto* host :
         {"a..b", "..",  ".",      "a:b",     "a:",     "a:80:80", "a:65536", "a:-1",
          ":80",  "u@a", "u:p@a",  "a/",      "a/b",    "a,b",     "a, a",    "[::1",
          "::1]", "[]",  "[::1]x", "[::1]:x", "[g::1]", "a%2eb",   "http://a"}) {
        attacks.add(kStart + "Host: " + host + "\r\n" + kEnd);
    }
    for (const std::size_t size : {40U, 46U, 255U, 1000U, 4000U}) {  // no address is that long
        for (const std::string_view unit : {"a", ":", "a:", "1."}) {
            std::string host;
            while (host.size() < size) {
                host += unit;
            }
            attacks.add(kStart + "Host: [" + host + "]\r\n" + kEnd);
            attacks.add(kStart + "Host: [" + host + "]:80\r\n" + kEnd);
            attacks.add("GET http://[" + host + "]/ HTTP/1.1\r\n" + kHost + kEnd);
        }
    }
    for (const auto* target : {"http://b.example/", "http://a.example:81/", "http://u@a.example/",
                               "http:///a", "http://", "http:a.example", "//a.example", "a.example",
                               "https://a.example:80/", "ftp://a.example/", "http://a.example,b/",
                               "*", "a.example:80", "://a.example/", "http://a.example.b/"}) {
        if (std::string_view(target).starts_with("//")) {
            continue;  // a path, however odd
        }
        attacks.add("GET " + std::string(target) + " HTTP/1.1\r\n" + kHost + kEnd);
    }
    attacks.finish(600);
}

TEST_CASE("attack: request lines with other blanks, methods and versions") {
    Attacks attacks("request line");
    const auto blank = [](char c) { return c == ' '; };
    attacks.add_bytes("GET", "/a HTTP/1.1\r\n" + kHost + kEnd, blank);
    attacks.add_bytes("GET /a", "HTTP/1.1\r\n" + kHost + kEnd, blank);
    attacks.add_bytes("GET /a HTTP/1.1", "\r\n" + kHost + kEnd, [](char) { return false; });
    attacks.add_bytes("", "GET /a HTTP/1.1\r\n" + kHost + kEnd,
                      [](char c) { return is_upper(c) || c == '-' || c == '_'; });
    for (const auto* line : {"GET  /a HTTP/1.1",
                             "GET /a  HTTP/1.1",
                             "GET /a HTTP/1.1 ",
                             "GET /a",
                             "GET /a b HTTP/1.1",
                             "GET HTTP/1.1",
                             "/a HTTP/1.1",
                             "GET",
                             "",
                             "get /a HTTP/1.1",
                             "CONNECT a:1 HTTP/1.1",
                             "TRACE / HTTP/1.1",
                             "PRI * HTTP/2.0",
                             "GET /a http/1.1",
                             "GET /a HTTP/1",
                             "GET /a HTTP/1.",
                             "GET /a HTTP/01.1",
                             "GET /a HTTP/1.01",
                             "GET /a HTTP/1.10",
                             "GET /a HTTP/ 1.1",
                             "GET /a HTTP /1.1",
                             "GET /a HTTP/+1.1",
                             "GET /a HTTPS/1.1",
                             "GET /a XHTTP/1.1x",
                             "GET /a HTTP/1,1",
                             "GET /a HTTP/1.1, HTTP/1.1",
                             "GET /a HTTP/1.1 HTTP/1.1"}) {
        attacks.add(std::string(line) + "\r\n" + kHost + kEnd);
    }
    for (char major = '0'; major <= '9'; ++major) {
        for (char minor = '0'; minor <= '9'; ++minor) {
            if (major == '1' && minor <= '1') {
                continue;
            }
            attacks.add(std::string("GET /a HTTP/") + major + "." + minor + "\r\n" + kHost + kEnd);
        }
    }
    attacks.finish(1000);
}

TEST_CASE("attack: folded lines, blanks before colons, lines without names") {
    Attacks attacks("lines");
    for (const auto* field : {"Host: a.example", "Content-Length: 5", "Transfer-Encoding: chunked",
                              "Connection: close", "X-Other: 1", "Cookie: a"}) {
        const std::string line = field;
        const auto colon = line.find(':');
        for (const auto* blank : {" ", "\t", "  ", " \t", "\t "}) {
            const std::string host = line.starts_with("Host") ? "" : kHost;
            attacks.add(kStart + blank + line + "\r\n" + host + kEnd);
            attacks.add(kStart + host + blank + line + "\r\n" + kEnd);
            attacks.add(kStart + host + line + "\r\n" + blank + "more\r\n" + kEnd);
            attacks.add(kStart + host + line + "\r\n" + blank + "\r\n" + kEnd);
            attacks.add(kStart + host + line.substr(0, colon + 1) + "\r\n" + blank +
                        line.substr(colon + 1) + "\r\n" + kEnd);
            attacks.add(kStart + host + line.substr(0, colon) + blank + line.substr(colon) +
                        "\r\n" + kEnd);
            attacks.add(kStart + host + line.substr(0, colon) + "\r\n" + blank +
                        line.substr(colon) + "\r\n" + kEnd);
        }
    }
    for (const auto* line : {":", ": x", "x", "x y: z", "Content-Length", "\"X\": y", "X(): y",
                             "X\\: y", "{X}: y", "X@: y", "X/: y", "<X>: y", "X=: y", "X,Y: z"}) {
        attacks.add(kStart + kHost + line + "\r\n" + kEnd);
    }
    attacks.finish(200);
}

TEST_CASE("attack: line endings and control bytes") {
    Attacks attacks("endings");
    const std::vector<std::string> lines{"POST /a HTTP/1.1", "Host: a.example", "Content-Length: 5",
                                         "X: y", ""};
    for (std::size_t spoilt = 0; spoilt < lines.size(); ++spoilt) {
        for (const std::string ending : {"\n", "\r", "\r\r\n", "\n\r", "\r \n", "\r\t\n", "\x0b\n",
                                         "\x0c\r\n", "\x85\n", "\r\x0b\n", "\n\n", "\r\n\n"}) {
            std::string head;
            for (std::size_t i = 0; i < lines.size(); ++i) {
                head += lines[i] + (i == spoilt ? ending : "\r\n");
            }
            // CRLF LF at the very end is a good head; the LF spoils what comes behind it.
            if (spoilt + 1 < lines.size() || ending != "\r\n\n") {
                attacks.add(head);
            }
        }
    }
    for (int byte = 0; byte < 128; ++byte) {
        const char c = static_cast<char>(byte);
        if ((byte >= 0x20 && byte != 0x7f)) {
            continue;
        }
        attacks.add(std::string("PO") + c + "ST /a HTTP/1.1\r\n" + kHost + kEnd);
        attacks.add(std::string("POST /") + c + " HTTP/1.1\r\n" + kHost + kEnd);
        attacks.add(std::string("POST /a?") + c + " HTTP/1.1\r\n" + kHost + kEnd);
        attacks.add(std::string("POST /a HT") + c + "TP/1.1\r\n" + kHost + kEnd);
        attacks.add(kStart + kHost + "X" + c + "Y: z\r\n" + kEnd);
        if (c == '\t') {
            continue;
        }
        attacks.add(kStart + kHost + "X: y" + c + "z\r\n" + kEnd);
        attacks.add(kStart + kHost + "X: " + c + "\r\n" + kEnd);
    }
    for (int byte = 0x80; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        attacks.add(std::string("POST /") + c + " HTTP/1.1\r\n" + kHost + kEnd);
        attacks.add(kStart + kHost + c + "X: y\r\n" + kEnd);
    }
    attacks.finish(500);
}

TEST_CASE("attack: Connection takes away what frames or routes") {
    Attacks attacks("connection");
    for (const auto* option : {"Host", "host", "Content-Length", "content-length",
                               "Transfer-Encoding", "TRANSFER-ENCODING"}) {
        for (const auto* around : {"", "close, ", "keep-alive,", ",", " ,\t"}) {
            const std::string line = std::string("Connection: ") + around + option + "\r\n";
            attacks.add(kStart + kHost + kLength + line + kEnd);
            attacks.add(kStart + line + kHost + kChunked + kEnd);
            attacks.add(kStart + kHost + "Connection: close\r\n" + line + kEnd);
        }
    }
    for (const auto* value : {"a b", "a;b", "\"close\"", "close\\", "a=b", "(close)"}) {
        attacks.add(kStart + kHost + "Connection: " + value + "\r\n" + kEnd);
        attacks.add(kStart + kHost + "Proxy-Connection: " + value + "\r\n" + kEnd);
        attacks.add(kStart + "Proxy-Connection: close\r\nProxy-Connection: " + value + "\r\n" +
                    kHost + kEnd);
    }
    attacks.finish(90);
}

}  // namespace
}  // namespace weir::http
