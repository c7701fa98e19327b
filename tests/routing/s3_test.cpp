#include <doctest/doctest.h>

#include "routing/routes.h"

namespace weir::routing {
namespace {

std::shared_ptr<const Router> s3_router(std::vector<std::string> domains = {"s3.example.net"}) {
    RoutingSettings settings;
    settings.routes.emplace_back();
    settings.routes[0].preset = "s3";
    settings.routes[0].domains = std::move(domains);
    settings.routes[0].weight = {WeightSource::table, 1, {{"ListObjectsV2", 10}}, ""};
    return compile(settings);
}

std::string names(const std::string& target, const std::string& host = "s3.example.net",
                  const std::string& method = "GET") {
    static const auto router = s3_router();
    return Routed(*router, request(target, method, host)).names();
}

TEST_CASE("buckets in the host and in the path get the same names") {
    const auto* const expected = "s3/b1/GetObject, s3/b1/read, s3/b1, s3";
    CHECK(names("/b1/key") == expected);
    CHECK(names("/key", "b1.s3.example.net") == expected);
    CHECK(names("/key", "B1.S3.Example.Net.:8080") == expected);
    CHECK(names("/%62%31/key") == expected);
    CHECK(names("/b1/a/../b") == expected);
    CHECK(names("/b1//") == expected);
    CHECK(names("/b1/%2e%2e/x%2Fy") == expected);
    CHECK(names("/b1?list-type=2") == "s3/b1/ListObjectsV2, s3/b1/read, s3/b1, s3");
    CHECK(names("/b1/?list%2Dtype=2&prefix=") == "s3/b1/ListObjectsV2, s3/b1/read, s3/b1, s3");
    CHECK(names("/?list-type=2", "b1.s3.example.net") ==
          "s3/b1/ListObjectsV2, s3/b1/read, s3/b1, s3");
    CHECK(names("/") == "s3");
    CHECK(names("/b1/k", "s3.example.net", "PUT") == "s3/b1/PutObject, s3/b1/write, s3/b1, s3");
    CHECK(names("/b1/k?acl&tagging=", "s3.example.net", "PUT") ==
          "s3/b1/PutObjectAcl, s3/b1/write, s3/b1, s3");
}

TEST_CASE("an operation cannot hide behind parameters, however many, empty or not") {
    const auto* const expected = "s3/b1/ListObjectsV2, s3/b1/read, s3/b1, s3";
    const auto repeated = [](std::string_view text, int times) {
        std::string all;
        for (int i = 0; i < times; ++i) {
            all += text;
        }
        return all;
    };
    for (const int count : {127, 128, 129, 4000}) {
        for (const auto* parameter : {"&", "x&"}) {
            CAPTURE(count);
            CAPTURE(parameter);
            const auto others = repeated(parameter, count);
            CHECK(names("/b1?" + others + "list-type=2") == expected);
            CHECK(names("/b1?" + others + "list%2Dtype=%32&y") == expected);
        }
    }
    CHECK(names("/b1?" + repeated("list-type=1&", 600) + "list-type=2") == expected);
}

TEST_CASE("unknown operations still have bucket and access") {
    CHECK(names("/b1/k", "s3.example.net", "PATCH") == "s3/b1/write, s3/b1, s3");
    CHECK(names("/b1/k", "s3.example.net", "OPTIONS") == "s3/b1/read, s3/b1, s3");
}

TEST_CASE("a bucket has one spelling or the request is ambiguous") {
    for (const auto* target :
         {"//b1/key", "/%2e%2e/b1", "/../b1", "/a%2Fb1/key", "/%zz/key", "/%00/k", "/a%5cb/k"}) {
        CAPTURE(target);
        CHECK(names(target) == "(ambiguous)");
    }
}

TEST_CASE("a bucket told by the host cannot be talked away") {
    CHECK(names("/WriteGetObjectResponse?uploads", "b1.s3.example.net", "POST") ==
          "s3/b1/CreateMultipartUpload, s3/b1/write, s3/b1, s3");
    CHECK(names("/WriteGetObjectResponse", "b1.s3.example.net", "POST") ==
          "s3/b1/WriteGetObjectResponse, s3/b1/write, s3/b1, s3");
}

TEST_CASE("other hosts are not S3's; the longest domain counts; none means all") {
    CHECK(names("/b1/key", "s3.example.org") == "(unrouted)");
    const auto nested = s3_router({"example.net", "s3.example.net"});
    CHECK(Routed(*nested, request("/k", "GET", "b1.s3.example.net")).names() ==
          "s3/b1/GetObject, s3/b1/read, s3/b1, s3");
    const auto any = s3_router({});
    CHECK(Routed(*any, request("/b1/k", "GET", "127.0.0.1:9000")).names() ==
          "s3/b1/GetObject, s3/b1/read, s3/b1, s3");
}

TEST_CASE("weights by operation") {
    const auto router = s3_router();
    CHECK(Routed(*router, request("/b?list-type=2", "GET", "s3.example.net")).result.weight == 10);
    CHECK(Routed(*router, request("/b/k", "GET", "s3.example.net")).result.weight == 1);
}

}  // namespace
}  // namespace weir::routing
