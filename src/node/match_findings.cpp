#include "node/match_findings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/characters.h"
#include "base/closest.h"
#include "node/route_findings.h"
#include "routing/pattern.h"

namespace weir::node {
namespace {

/// The IANA registry of HTTP methods, and those of caches and of UPnP that are in wide use.
constexpr std::array<std::string_view, 45> kKnownMethods = {"GET",
                                                            "HEAD",
                                                            "POST",
                                                            "PUT",
                                                            "DELETE",
                                                            "CONNECT",
                                                            "OPTIONS",
                                                            "TRACE",
                                                            "PATCH",
                                                            "ACL",
                                                            "BIND",
                                                            "BASELINE-CONTROL",
                                                            "CHECKIN",
                                                            "CHECKOUT",
                                                            "COPY",
                                                            "LABEL",
                                                            "LINK",
                                                            "LOCK",
                                                            "MERGE",
                                                            "MKACTIVITY",
                                                            "MKCALENDAR",
                                                            "MKCOL",
                                                            "MKREDIRECTREF",
                                                            "MKWORKSPACE",
                                                            "MOVE",
                                                            "ORDERPATCH",
                                                            "PRI",
                                                            "PROPFIND",
                                                            "PROPPATCH",
                                                            "REBIND",
                                                            "REPORT",
                                                            "SEARCH",
                                                            "UNBIND",
                                                            "UNCHECKOUT",
                                                            "UNLINK",
                                                            "UNLOCK",
                                                            "UPDATE",
                                                            "QUERY",
                                                            "PURGE",
                                                            "M-SEARCH",
                                                            "NOTIFY",
                                                            "SUBSCRIBE",
                                                            "UNSUBSCRIBE",
                                                            "VERSION-CONTROL",
                                                            "UPDATEREDIRECTREF"};

/// What stands in regular expressions and hardly in a path.
constexpr std::array<std::string_view, 11> kOfRegularExpressions = {
    "(.", ".*)", ".+", "(?", "[^", "[a-z", "[A-Z", "[0-9", "\\d", "\\w", "|"};
/// The same at the end of a path.
constexpr std::array<std::string_view, 2> kEndsOfRegularExpressions = {"/.*", "$"};

/// The method that was probably meant; empty if `method` is known or nothing near is.
std::string_view known_method_meant_by(std::string_view method) {
    const bool known =
        std::find(kKnownMethods.begin(), kKnownMethods.end(), method) != kKnownMethods.end();
    return known ? std::string_view() : closest(in_upper_case(method), kKnownMethods);
}

bool is_regular_expression(std::string_view path) {
    return std::any_of(kOfRegularExpressions.begin(), kOfRegularExpressions.end(),
                       [path](std::string_view mark) { return path.find(mark) != path.npos; }) ||
           std::any_of(kEndsOfRegularExpressions.begin(), kEndsOfRegularExpressions.end(),
                       [path](std::string_view end) { return path.ends_with(end); });
}

/// The name of the parameter that a segment is in another program's notation: ":tenant", "<tenant>"
/// or "<int:tenant>", "[tenant]". Empty if it is none.
std::string_view parameter_of(std::string_view segment) {
    std::string_view name;
    if (segment.starts_with(':')) {
        name = segment.substr(1);
    } else if (segment.size() > 2 && !is_regular_expression(segment) &&
               ((segment.front() == '<' && segment.back() == '>') ||
                (segment.front() == '[' && segment.back() == ']'))) {
        name = segment.substr(1, segment.size() - 2);
        name = name.substr(name.rfind(':') + 1);  // 0 if there is no colon
    }
    return routing::is_capture_name(name) ? name : std::string_view();
}

/// The path with captures in place of such parameters; nothing if it has none.
std::optional<std::string> with_captures(std::string_view path) {
    std::string all;
    bool found = false;
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        const std::string_view segment = path.substr(begin, end - begin);
        const std::string_view name = parameter_of(segment);
        all += name.empty() ? std::string(segment) : "{" + std::string(name) + "}";
        all += end < path.size() ? "/" : "";
        found = found || !name.empty();
        begin = end + 1;
    }
    return found ? std::optional(std::move(all)) : std::nullopt;
}

}  // namespace

std::vector<MatchFinding> odd_conditions(const std::vector<routing::RouteSettings>& routes) {
    std::vector<MatchFinding> found;
    for (std::size_t i = 0; i < routes.size(); ++i) {
        const routing::MatchSettings& match = routes[i].match;
        for (std::size_t at = 0; at < match.methods.size(); ++at) {
            const std::string_view meant = known_method_meant_by(match.methods[at]);
            if (!meant.empty()) {
                found.push_back({route_place(i) + ".match.methods[" + std::to_string(at) + "]",
                                 "'" + match.methods[at] + "' is no method that HTTP knows",
                                 std::string(meant)});
            }
        }
        const std::string place = route_place(i) + ".match.path";
        if (const auto meant = with_captures(match.path)) {
            found.push_back({place,
                             "a capture is written in braces, and everything else is taken as it "
                             "stands",
                             *meant});
        } else if (is_regular_expression(match.path)) {
            found.push_back({place, "a path is a pattern and no regular expression",
                             "write '*' or '{name}' for one segment, and '**' at the end for all "
                             "that follow"});
        }
    }
    return found;
}

}  // namespace weir::node
