// What is asked on /check, read from heads as the hosts send them.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "proxy/check_question.h"

using namespace weir;
using namespace weir::proxy;

namespace {

using Kind = CheckQuestion::Kind;

/// Keeps alive what a question refers to.
struct Asked {
    explicit Asked(std::string_view target, const std::vector<std::string>& fields = {},
                   std::string_view method = "GET") {
        text = std::string(method) + ' ' + std::string(target) + " HTTP/1.1\r\nHost: own.test\r\n";
        for (const auto& field : fields) {
            text += field + "\r\n";
        }
        text += "\r\n";
        http::GatePolicy policy;
        REQUIRE(head.parse(text, policy) == http::ParseState::complete);
        question = reader.read(head, policy);
    }
    [[nodiscard]] std::string original() const {
        const auto& found = reader.original();
        return std::string(found.method_text()) + ' ' + std::string(found.host()) + ' ' +
               std::string(found.target());
    }
    std::string text;
    http::RequestHead head;
    CheckReader reader;
    CheckQuestion question;
};

}  // namespace

TEST_CASE(
    "fields of Caddy and Traefik, of nginx, of ingress-nginx; a path behind /check of Envoy") {
    const Asked caddy("/check", {"X-Forwarded-Method: PUT", "X-Forwarded-Uri: /a?b=c",
                                 "X-Forwarded-Host: shop.test"});
    CHECK(caddy.question.kind == Kind::routed);
    CHECK(caddy.original() == "PUT shop.test /a?b=c");
    const Asked nginx("/check?deny=403", {"X-Original-Method: POST", "X-Original-URI: /a"});
    CHECK(nginx.original() == "POST own.test /a");
    const Asked ingress("/check",
                        {"X-Original-URL: https://shop.test:444/a?b", "X-Original-Method: HEAD"});
    CHECK(ingress.original() == "HEAD shop.test:444 /a?b");
    CHECK(Asked("/check", {"X-Original-URL: http://shop.test"}).original() == "GET shop.test /");
    const Asked envoy("/check/a/b?peek=1&quota=q", {}, "DELETE");
    CHECK(envoy.question.kind == Kind::routed);
    CHECK(!envoy.question.peek);
    CHECK(envoy.original() == "DELETE own.test /a/b?peek=1&quota=q");
    CHECK(Asked("/check/?").original() == "GET own.test /?");
    const Asked peeking("/peek/a");
    CHECK(peeking.question.peek);
    CHECK(peeking.original() == "GET own.test /a");
}

TEST_CASE("without a stated method it is the check's own") {
    CHECK(Asked("/check", {"X-Forwarded-Uri: /a"}, "POST").original() == "POST own.test /a");
}

TEST_CASE("behind /check/ no field of the client's is believed") {
    const Asked asked("/check/real", {"X-Forwarded-Uri: /free", "X-Forwarded-Method: PUT",
                                      "X-Forwarded-Host: other.test", "X-Original-URI: /free"});
    CHECK(asked.original() == "GET own.test /real");
}

TEST_CASE("the other fields stay, those about the connection and the body do not") {
    const Asked asked("/check",
                      {"X-Forwarded-Uri: /a", "X-Plan: gold", "Connection: X-Hop", "X-Hop: 1",
                       "Content-Length: 5", "Expect: 100-continue", "TE: trailers"},
                      "POST");
    REQUIRE(asked.question.kind == Kind::routed);
    const auto& original = asked.reader.original();
    CHECK(original.fields().first("X-Plan") == "gold");
    CHECK(original.fields().size() == 2);
    CHECK(original.body().kind == http::BodyKind::none);
    CHECK(!original.expects_continue());
}

TEST_CASE("quotas by name") {
    const Asked one("/check?quota=api%2Falice&weight=2.5&peek=1");
    REQUIRE(one.question.kind == Kind::named);
    CHECK(one.question.lists.names.size() == 1);
    CHECK(one.question.lists.names[0] == "api/alice");
    CHECK(one.question.weight == 2.5);
    CHECK(one.question.peek);
    const Asked two("/check?quota=first&quota=second", {"X-Forwarded-Uri: /a"});
    REQUIRE(two.question.kind == Kind::named);
    REQUIRE(two.question.lists.names.size() == 2);
    CHECK(two.question.lists.names[0] == "first");
    CHECK(two.question.lists.names[1] == "second");
}

TEST_CASE("lists of quotas by name") {
    const Asked two("/check?quota=user%2Fa&quota=anonymous&also=space%2F1&quota=all");
    REQUIRE(two.question.kind == Kind::named);
    const auto& lists = two.question.lists;
    REQUIRE(lists.size() == 2);
    CHECK(lists[0].size() == 2);
    CHECK(lists[0][1] == "anonymous");
    CHECK(lists[1].size() == 2);
    CHECK(lists[1][0] == "space/1");
    CHECK(lists[1][1] == "all");
    CHECK(Asked("/check?quota=a&also=b&also=c&also=d").question.lists.size() == 4);
    for (const char* bad :
         {"also=a", "also=a&quota=b", "quota=a&also=", "quota=a&also=b&also=c&also=d&also=e"}) {
        CAPTURE(bad);
        CHECK(Asked("/check?" + std::string(bad)).question.kind == Kind::unclear);
    }
    std::string many = "/check?quota=a";
    for (int i = 1; i < 16; ++i) {
        many += "&quota=a";
    }
    CHECK(Asked(many).question.lists.names.size() == 16);
    CHECK(Asked(many + "&quota=a").question.kind == Kind::unclear);
}

TEST_CASE("contradictions are refused: one of the two may be the client's own") {
    for (const auto& fields : std::vector<std::vector<std::string>>{
             {"X-Forwarded-Uri: /a", "X-Original-URI: /b"},
             {"X-Forwarded-Uri: /a", "X-Forwarded-Uri: /b"},
             {"X-Forwarded-Uri: /a", "X-Original-URL: https://own.test/b"},
             {"X-Forwarded-Uri: /a", "X-Original-Method: GET", "X-Forwarded-Method: PUT"},
             {"X-Forwarded-Host: a.test", "X-Original-URL: https://b.test/a"}}) {
        const Asked asked("/check", fields);
        CHECK(asked.question.kind == Kind::unclear);
        CHECK(asked.question.status == 400);
    }
    CHECK(Asked("/check", {"X-Forwarded-Uri: /a", "X-Original-URI: /a"}).original() ==
          "GET own.test /a");
}

TEST_CASE("a client's query is never taken for options, whatever the host in front copies") {
    for (const char* options : {"peek=1", "quota=free", "deny=403&peek=1"}) {
        CAPTURE(options);
        const Asked asked(std::string("/check?") + options,
                          {std::string("X-Forwarded-Uri: /none/x?") + options});
        CHECK(asked.question.kind == Kind::unclear);
        CHECK(asked.question.status == 400);
    }
    const Asked own("/check?peek=1", {"X-Forwarded-Uri: /none/x?a=b"});
    CHECK(own.question.kind == Kind::routed);
    CHECK(own.question.peek);
}

TEST_CASE("what cannot be understood is said") {
    for (const char* target :
         {"/check", "/check?quota=", "/check?quota=a%zz", "/check?quota=%7Bid%7D",
          "/check?quota=a%0Ab", "/check?weight=2", "/check?quota=a&weight=many",
          "/check?quota=a&weight=-1", "/check?quota=a&weight=", "/check?peek=yes&quota=a",
          "/check?deny=500&quota=a", "/check?qouta=a", "/check?quota"}) {
        CAPTURE(target);
        const Asked asked(target);
        CHECK(asked.question.kind == Kind::unclear);
        CHECK(asked.question.status == 400);
        CHECK(!asked.question.explanation.empty());
    }
    for (const char* target : {"/", "/checks", "/check2?quota=a", "/v1/check", "/peeking"}) {
        CAPTURE(target);
        CHECK(Asked(target).question.status == 404);
    }
    CHECK(Asked("/check?quota=" + std::string(513, 'a')).question.kind == Kind::unclear);
    CHECK(Asked("/check?quota=" + std::string(512, 'a')).question.kind == Kind::named);
}

TEST_CASE("the original request passes the same gate") {
    struct Case {
        const char* field;
        http::Rejection rejection;
    };
    for (const Case& one :
         {Case{"X-Forwarded-Method: CONNECT", http::Rejection::method_not_allowed},
          Case{"X-Forwarded-Method: get", http::Rejection::bad_method},
          Case{"X-Forwarded-Host: a.test, b.test", http::Rejection::host_invalid},
          Case{"X-Forwarded-Host: user@a.test", http::Rejection::host_invalid}}) {
        CAPTURE(one.field);
        const Asked asked("/check", {"X-Forwarded-Uri: /a", one.field});
        CHECK(asked.question.kind == Kind::malformed);
        CHECK(asked.question.rejection == one.rejection);
    }
    for (const char* uri : {"/a#b", "/a\xff", "*"}) {
        CAPTURE(uri);
        const Asked asked("/check", {std::string("X-Forwarded-Uri: ") + uri});
        CHECK(asked.question.kind == Kind::malformed);
        CHECK(asked.question.rejection == http::Rejection::bad_target);
    }
    CHECK(Asked("/check", {"X-Forwarded-Uri: *", "X-Forwarded-Method: OPTIONS"}).question.kind ==
          Kind::routed);
    CHECK(Asked("/check", {"X-Forwarded-Uri: /" + std::string(9000, 'a')}).question.rejection ==
          http::Rejection::target_too_long);
}

TEST_CASE("no word of a field becomes a line of the head") {
    for (const char* field : {"X-Forwarded-Uri: /free HTTP/1.1", "X-Forwarded-Uri: /a\tb",
                              "X-Forwarded-Uri: free", "X-Forwarded-Uri: https://own.test/a"}) {
        CAPTURE(field);
        CHECK(Asked("/check", {field}).question.kind == Kind::unclear);
    }
    CHECK(Asked("/check", {"X-Forwarded-Uri: /a", "X-Forwarded-Method: GET /free HTTP/1.1"})
              .question.kind == Kind::unclear);
}

TEST_CASE("/v1/obtain says how many of what are wanted, and at least how many") {
    const auto ask = [](std::string_view query, std::string_view method = "POST") {
        return Asked("/v1/obtain?" + std::string(query), {}, method).question;
    };
    const Asked plain("/v1/obtain?quota=a%2fb&quota=c&n=10", {}, "POST");
    REQUIRE(plain.question.kind == Kind::named);
    CHECK(plain.question.obtains);
    CHECK(plain.question.lists.names.size() == 2);
    CHECK(plain.question.lists.names[0] == "a/b");
    CHECK(plain.question.wish.wanted == 10);
    CHECK(plain.question.wish.minimum == 0);
    CHECK(plain.question.wish.each.requests == 1);
    CHECK(plain.question.wish.each.cost == 1);
    CHECK_FALSE(plain.question.peek);
    const auto bytes = ask("n=1.5&minimum=1.5&of=request-bytes&peek=1&quota=q");
    CHECK(bytes.kind == Kind::named);
    CHECK(bytes.peek);
    CHECK(bytes.wish.minimum == 1.5);
    CHECK(bytes.wish.each.request_bytes == 1);
    CHECK(bytes.wish.each.requests == 0);
    CHECK(bytes.wish.each.cost == 0);
    CHECK(ask("quota=q&n=1&of=cost").wish.each.cost == 1);
    for (const char* wrong :
         {"", "quota=q", "n=1", "quota=q&n=0", "quota=q&n=-1", "quota=q&n=x", "quota=q&n=inf",
          "quota=q&n=2&minimum=3", "quota=q&n=2&minimum=-1", "quota=q&n=2&of=response-bytes",
          "quota=q&n=2&weight=1", "quota=q&n=2&deny=403", "quota=q&n=2&peek=2", "quota=&n=2"}) {
        CAPTURE(wrong);
        const auto question = ask(wrong);
        CHECK(question.kind == Kind::unclear);
        CHECK(question.status == 400);
    }
    CHECK(ask("quota=q&n=1", "GET").kind == Kind::unclear);
    CHECK(Asked("/v1/obtain/x?quota=q&n=1", {}, "POST").question.status == 404);
}
