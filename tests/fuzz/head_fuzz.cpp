// Head, gate, forwarding and chunked bodies under arbitrary bytes: nothing crashes, a cut changes
// no verdict, the verdict and the fields are those of the oracle (another parser), and what was let
// through and rewritten would be let through again.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/random.h"
#include "http/chunked_scanner.h"
#include "http/forwarded_head.h"
#include "http/oracle.h"
#include "http/request_head.h"
#include "http/response_head.h"
#include "routing/router.h"

namespace {

using namespace weir;
using http::ParseState;

std::string joined(const http::ForwardedHead& forwarded) {
    std::string text;
    for (const auto piece : forwarded.pieces()) {
        text += piece;
    }
    return text;
}

std::shared_ptr<const routing::Router> make_router() {
    routing::RoutingSettings settings;
    settings.routes.resize(2);
    settings.routes[0].preset = "s3";
    settings.routes[0].domains = {"a"};
    settings.routes[1].match.path = "/{x}/*/**";
    settings.routes[1].quotas = {"q/{x}", "{header:a,readable}/{basic-user,readable}/{client}",
                                 "{cookie:a,readable}/{query:a,readable}", "{header:a}"};
    return std::get<std::shared_ptr<const routing::Router>>(routing::Router::compile(settings));
}

void check_route(const http::RequestHead& head) {
    static const auto router = make_router();
    static routing::Scratch scratch;
    const auto result = router->route(head, {.trusted = true}, scratch);
    for (const auto name : result.names) {
        for (const char c : name) {
            WEIR_ASSERT(c > 0x20 && c < 0x7f);
        }
    }
}

void check_oracle(const std::string& difference) {
    if (!difference.empty()) {
        std::fprintf(stderr, "%s\n", difference.c_str());
        std::abort();
    }
}

void check_request(std::string_view text, std::size_t cut) {
    http::GatePolicy policy;
    policy.max_head = 2000;
    policy.max_request_line = 500;
    policy.upgrades = {"websocket", "spdy/3.1"};
    http::RequestHead whole;
    const auto state = whole.parse(text, policy);
    http::RequestHead pieces;
    auto other = pieces.parse(text.substr(0, cut), policy);
    if (other == ParseState::need_more) {
        other = pieces.parse(text, policy);
    }
    WEIR_ASSERT(other == state && pieces.rejection() == whole.rejection());
    check_oracle(http::HeadOracle::difference(text, policy, whole, state));
    check_oracle(http::HeadOracle::difference(text, policy, pieces, other));
    if (state != ParseState::complete) {
        return;
    }
    check_route(whole);

    http::ForwardedHead forwarded;
    Random random(1);
    http::RequestForwarding forwarding;
    forwarding.client_address = "10.0.0.1";
    forwarding.keep_forwarded = cut % 2 == 0;
    forwarded.build(whole, forwarding, random);
    const auto text_forwarded = joined(forwarded);
    http::RequestHead again;
    http::GatePolicy wide;
    wide.max_fields = 200;
    wide.upgrades = policy.upgrades;
    WEIR_ASSERT(again.parse(text_forwarded, wide) == ParseState::complete);
    WEIR_ASSERT(again.size() == text_forwarded.size());
    WEIR_ASSERT(again.path() == whole.path() && again.query() == whole.query());
    // A client of HTTP/1.0 may name no host, but the upstream is always told one.
    WEIR_ASSERT(again.minor_version() == 1);
    WEIR_ASSERT(again.host() == (whole.host().empty() ? "localhost" : whole.host()));
    WEIR_ASSERT(again.body() == whole.body());
    // Nothing else is asked for than what the gate has permitted.
    WEIR_ASSERT(again.upgrade() == whole.upgrade());
    WEIR_ASSERT(again.fields().contains(http::FieldId::upgrade) == !whole.upgrade().empty());
}

void check_response(std::string_view text, const http::Asked& asked) {
    http::ResponseHead head;
    const auto state = head.parse(text, asked, {});
    check_oracle(http::HeadOracle::difference(text, asked, {}, head, state));
    if (state != ParseState::complete) {
        return;
    }
    http::ForwardedHead forwarded;
    forwarded.build(head, {});
    const auto text_forwarded = joined(forwarded);
    http::ResponseHead again;
    http::ResponsePolicy wide;
    wide.max_fields += 10;
    WEIR_ASSERT(again.parse(text_forwarded, asked, wide) == ParseState::complete);
    WEIR_ASSERT(again.status() == head.status() && again.body() == head.body());
    WEIR_ASSERT(!head.is_upgrade() || !asked.upgrade.empty());
}

void check_chunked(std::string_view text, std::size_t cut) {
    http::ChunkedScanner whole;
    const auto expected = whole.scan(text);
    http::ChunkedScanner pieces;
    auto result = pieces.scan(text.substr(0, cut));
    std::size_t consumed = result.consumed;
    if (result.state == http::ChunkedScanner::State::need_more) {
        result = pieces.scan(text.substr(cut));
        consumed += result.consumed;
    }
    WEIR_ASSERT(result.state == expected.state && consumed == expected.consumed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::size_t cut = data[0] % (text.size() + 1);
    check_request(text, cut);
    check_response(text, http::Method::get);
    check_response(text, {http::Method::get, "websocket"});
    check_chunked(text, cut);
    return 0;
}
