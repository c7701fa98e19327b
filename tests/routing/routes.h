#pragma once
// Routes requests that are given as text. Owns everything that a result points into. For tests.

#include <doctest/doctest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "http/request_head.h"
#include "routing/router.h"

namespace weir::routing {

inline std::shared_ptr<const Router> compile(const RoutingSettings& settings) {
    auto compiled = Router::compile(settings);
    if (auto* errors = std::get_if<std::vector<RouteError>>(&compiled)) {
        FAIL("route " << errors->front().route << ": " << errors->front().field << ": "
                      << errors->front().message);
    }
    return std::get<std::shared_ptr<const Router>>(compiled);
}

inline std::vector<RouteError> errors_of(const RoutingSettings& settings) {
    auto compiled = Router::compile(settings);
    auto* errors = std::get_if<std::vector<RouteError>>(&compiled);
    return errors != nullptr ? *errors : std::vector<RouteError>();
}

struct Routed {
    std::string text;
    http::RequestHead head;
    Scratch scratch;
    RouteResult result;

    Routed(const Router& router, std::string request, bool trusted = false)
        : Routed(router, std::move(request), Client{.trusted = trusted}) {}
    Routed(const Router& router, std::string request, const Client& client)
        : text(std::move(request)) {
        http::GatePolicy policy;
        REQUIRE(head.parse(text, policy) == http::ParseState::complete);
        result = router.route(head, client, scratch);
    }

    /// The names of the result like "a, b", those of several lists like "a, b + c", or "(unrouted)"
    /// or "(ambiguous)".
    [[nodiscard]] std::string names() const {
        if (result.outcome == RouteOutcome::unrouted) {
            return "(unrouted)";
        }
        if (result.outcome == RouteOutcome::ambiguous_path ||
            result.outcome == RouteOutcome::ambiguous_fields) {
            return "(ambiguous)";
        }
        std::string text_of_lists;
        const NameLists lists = result.lists();
        for (std::size_t i = 0; i < lists.size(); ++i) {
            std::string list;
            for (const auto name : lists[i]) {
                list += (list.empty() ? "" : ", ") + std::string(name);
            }
            text_of_lists += (i == 0 ? "" : " + ") + list;
        }
        return text_of_lists;
    }
};

inline std::string request(const std::string& target, const std::string& method = "GET",
                           const std::string& host = "a.example", const std::string& lines = "") {
    return method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + lines + "\r\n";
}

}  // namespace weir::routing
