#pragma once
// What the tests of malformed requests share: requests, a proxy in which a charge would be noticed,
// and checks of the answer.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/fixture.h"

namespace weir::proxy::testing {

using namespace std::chrono_literals;

inline const std::string kHost = "Host: a.test\r\n";

inline std::string get(std::string_view fields) {
    return "GET / HTTP/1.1\r\n" + std::string(fields) + "\r\n";
}

inline std::string post(std::string_view fields, std::string_view body = "hello") {
    return "POST / HTTP/1.1\r\n" + kHost + std::string(fields) + "\r\n" + std::string(body);
}

inline Fixture::Options limited() {
    Fixture::Options options;
    options.quotas = {quota("q", 100, 1s)};
    options.routing = route_all_to("q");
    return options;
}

struct Case {
    const char* what;
    std::string bytes;
    std::vector<int> statuses;
    Ending ending;  ///< the ending that is counted
};

/// Checks that there is one error answer, that the connection is closed, that a request behind it
/// is never served, that nothing is charged, and that the right reason is counted.
inline void check_refused(Fixture& proxy, const Case& fault) {
    INFO(std::string(fault.what));
    const auto before = proxy[fault.ending];
    auto client = proxy.connect();
    client.send(fault.bytes);
    client.send("GET /behind HTTP/1.1\r\nHost: a.test\r\n\r\n");
    const auto answer = read_response(client);
    REQUIRE(answer);
    const int status = answer->status();
    CHECK_MESSAGE(std::count(fault.statuses.begin(), fault.statuses.end(), status) == 1, status);
    CHECK(answer->field("Connection") == "close");
    CHECK(answer->complete);
    CHECK(client.closed_within(kPatience));
    CHECK(client.buffered().empty());
    CHECK(proxy.upstream.connections() == 0);
    CHECK(proxy.admitted("q") == 0);
    INFO(std::string(reason(fault.ending)));
    REQUIRE(eventually([&] { return proxy.statistics()[fault.ending] == before + 1; }));
}

inline void check_all_refused(const std::vector<Case>& cases) {
    Fixture proxy(limited());
    for (const auto& fault : cases) {
        check_refused(proxy, fault);
    }
    REQUIRE(proxy.finished(cases.size()));
    const auto statistics = proxy.statistics();
    std::uint64_t rejected = 0;
    for (std::size_t i = 0; i < kEndings; ++i) {
        if (outcome(static_cast<Ending>(i)) == "rejected") {
            rejected += statistics.requests[i];
        }
    }
    CHECK(rejected == cases.size());
    CHECK(statistics.inflight_requests() == 0);
}

}  // namespace weir::proxy::testing
