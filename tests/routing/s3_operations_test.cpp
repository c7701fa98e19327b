#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "routing/routes.h"
#include "routing/s3_operations.h"

namespace weir::routing {
namespace {

/// Deprecated operations and those that took their place send the same request.
const std::map<std::string, std::string> kSuccessors{
    {"GetBucketLifecycle", "GetBucketLifecycleConfiguration"},
    {"GetBucketNotification", "GetBucketNotificationConfiguration"},
    {"PutBucketLifecycle", "PutBucketLifecycleConfiguration"},
    {"PutBucketNotification", "PutBucketNotificationConfiguration"},
};

struct Sample {
    std::string operation;
    bool deprecated = false;
    std::string form;
    std::string bucket;
    std::string head;
};

std::vector<Sample> samples() {
    std::vector<Sample> all;
    std::ifstream file(WEIR_S3_REQUESTS);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        Sample sample;
        words >> sample.operation >> sample.deprecated >> sample.form >> sample.bucket >> std::ws;
        std::string head;
        std::getline(words, head);
        for (const char c : head) {
            sample.head += c == '|' ? "\r\n" : std::string(1, c);
        }
        all.push_back(sample);
    }
    return all;
}

TEST_CASE("every operation of S3 is recognised under its own name, in both URL forms") {
    RoutingSettings settings;
    settings.routes.emplace_back();
    settings.routes[0].preset = "s3";
    settings.routes[0].domains = {"s3.example.net"};
    const auto router = compile(settings);
    std::set<std::string> operations;
    std::set<std::string> recognised;
    for (const auto& sample : samples()) {
        CAPTURE(sample.head);
        const Routed routed(*router, sample.head);
        REQUIRE(routed.result.outcome == RouteOutcome::routed);
        operations.insert(sample.operation);
        const auto successor = kSuccessors.find(sample.operation);
        CHECK((successor != kSuccessors.end()) == sample.deprecated);
        const auto expected = successor != kSuccessors.end() ? successor->second : sample.operation;
        CHECK(routed.result.operation == expected);
        recognised.insert(std::string(routed.result.operation));
        if (sample.bucket == "-") {
            CHECK(routed.names() == "s3");
        } else {
            CHECK(routed.result.names.size() == 4);
            CHECK(routed.result.names[0] == "s3/" + sample.bucket + "/" + expected);
            CHECK(routed.result.names[2] == "s3/" + sample.bucket);
        }
    }
    CHECK(operations.size() >= 97);
    CHECK(recognised.size() == operations.size() - kSuccessors.size());
    CHECK(recognised.size() == s3_operations().size());
}

}  // namespace
}  // namespace weir::routing
