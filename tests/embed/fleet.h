#pragma once
// A fleet of the C interface that is closed at the end of the test.

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <string_view>

#include "weir/weir.h"

namespace weir::embed {

inline std::string quota_of(const weir_decision& decision) {
    return {decision.quota, decision.quota_length};
}

inline const char* const kQuotas = R"({"apiVersion": "weir/v1", "kind": "QuotaSet", "name": "t",
    "quotas": [{"name": "all", "limits": [{"rate": "1000r/s"}]},
               {"name": "few", "limits": [{"rate": "3r/m"}]},
               {"name": "none", "limits": [{"rate": "0r/s"}]},
               {"name": "bytes", "limits": [{"rate": "1MiB/s", "of": "response-bytes"}]},
               {"name": "b/{name}", "parent": "all", "limits": [{"rate": "5r/m"}]}]})";

class TestFleet {
  public:
    explicit TestFleet(const char* settings = nullptr, const char* quotas = kQuotas) {
        weir_options options = WEIR_OPTIONS_INIT;
        options.settings = settings;
        options.quota_document = quotas;
        weir_error error = WEIR_ERROR_INIT;
        REQUIRE_MESSAGE(weir_open(&options, &fleet, &error) == WEIR_OK, error.message);
        REQUIRE(weir_worker_open(fleet, &worker, &error) == WEIR_OK);
    }
    ~TestFleet() { weir_close(fleet); }
    TestFleet(const TestFleet&) = delete;
    TestFleet& operator=(const TestFleet&) = delete;

    [[nodiscard]] weir_decision check(std::string_view name, std::int32_t mode = WEIR_CHARGE,
                                      double weight = 1) const {
        weir_request request = WEIR_REQUEST_INIT;
        request.mode = mode;
        request.requests = weight;
        weir_decision decision{};
        decision.size = sizeof(decision);
        REQUIRE(weir_check(worker, name.data(), name.size(), &request, &decision) == WEIR_OK);
        return decision;
    }

    weir_fleet* fleet = nullptr;
    weir_worker* worker = nullptr;
};

/// Copies a text of the library and frees the original.
inline std::string taken(char* text) {
    std::string copy = text == nullptr ? "" : text;
    weir_free(text);
    return copy;
}

}  // namespace weir::embed
