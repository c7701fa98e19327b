#include "http/fields.h"

#include <doctest/doctest.h>

#include <string>

#include "base/characters.h"

namespace weir::http {
namespace {

TEST_CASE("names are known whatever their case, and only whole") {
    CHECK(identify("Content-Length") == FieldId::content_length);
    CHECK(identify("CONTENT-LENGTH") == FieldId::content_length);
    CHECK(identify("te") == FieldId::te);
    CHECK(identify("Content_Length") == FieldId::other);
    CHECK(identify("Content-Lengt") == FieldId::other);
    CHECK(identify("") == FieldId::other);
    CHECK(identify(std::string(200, 'a')) == FieldId::other);
}

TEST_CASE("one changed byte makes another name, unless it is the case of a letter") {
    for (const std::string name : {"te",
                                   "host",
                                   "accept",
                                   "expect",
                                   "upgrade",
                                   "forwarded",
                                   "connection",
                                   "keep-alive",
                                   "x-request-id",
                                   "content-length",
                                   "x-forwarded-for",
                                   "proxy-connection",
                                   "x-forwarded-host",
                                   "transfer-encoding",
                                   "x-forwarded-proto",
                                   "proxy-authenticate",
                                   "proxy-authorization",
                                   "x-real-ip",
                                   "x-forwarded-port",
                                   "x-original-forwarded-for"}) {
        const FieldId id = identify(name);
        REQUIRE(id != FieldId::other);
        for (std::size_t i = 0; i < name.size(); ++i) {
            for (int byte = 0; byte < 256; ++byte) {
                auto changed = name;
                changed[i] = static_cast<char>(byte);
                if ((identify(changed) == id) != equals_ignoring_case(changed, name)) {
                    FAIL_CHECK(name << " at " << i << " byte " << byte);
                }
            }
        }
        CHECK(identify(name + "x") != id);
        CHECK(identify(name.substr(1)) != id);
    }
}

TEST_CASE("every field in which proxies tell of a request is a claim") {
    for (const std::string name : {"forwarded",
                                   "x-forwarded-for",
                                   "x-forwarded-host",
                                   "x-forwarded-proto",
                                   "x-scheme",
                                   "x-real-ip",
                                   "x-client-ip",
                                   "true-client-ip",
                                   "front-end-https",
                                   "x-forwarded-by",
                                   "x-forwarded-ssl",
                                   "x-forwarded-uri",
                                   "x-forwarded-port",
                                   "cf-connecting-ip",
                                   "x-forwarded-method",
                                   "x-forwarded-prefix",
                                   "x-forwarded-scheme",
                                   "x-forwarded-server",
                                   "x-cluster-client-ip",
                                   "x-forwarded-protocol",
                                   "x-original-forwarded-for"}) {
        CAPTURE(name);
        CHECK((bit(identify(name)) & kForwardedClaims) != 0);
    }
}

TEST_CASE("an underscore is seen wherever it stands") {
    for (std::size_t size = 1; size <= 40; ++size) {
        for (std::size_t at = 0; at <= size; ++at) {
            std::string name(size, '^');  // the byte before it
            if (at < size) {
                name[at] = '_';
            }
            Fields fields;
            name += ':';
            fields.begin(name.data());
            REQUIRE(fields.add_line(0, name.size()));
            if (fields[0].holds_underscore != (at < size)) {
                FAIL_CHECK(size << ", " << at);
            }
        }
    }
}

TEST_CASE("a line is a name, a colon and a value without the blanks around it") {
    for (const std::string_view line :
         {"a:b", "a: b", "a:\tb \t", "a:  b", "a:b:", "a:", "a: ", "a:b c", "a:\x80"}) {
        Fields fields;
        fields.begin(line.data());
        REQUIRE(fields.add_line(0, line.size()));
        fields.end(line.size());
        CHECK(fields.name(0) == "a");
        CHECK(fields.value(0) == trim(line.substr(2)));
        CHECK(fields.lines() == line);
    }
    for (const std::string_view line :
         {"", ":", ":b", "a", "a b:c", "a :b", " a:b", "a\x80:b", "a;b", "(a):b", "a\t:b"}) {
        Fields fields;
        fields.begin(line.data());
        CHECK_FALSE(fields.add_line(0, line.size()));
        CHECK(fields.size() == 0);
    }
}

TEST_CASE("a name that is too long for the table is no field") {
    for (const std::size_t size : {65535U, 65536U}) {
        const std::string line = std::string(size, 'a') + ":b";
        Fields fields;
        fields.begin(line.data());
        CHECK(fields.add_line(0, line.size()) == (size == 65535));
    }
}

}  // namespace
}  // namespace weir::http
