// DocumentBuilder against encode_document() and validate(): it makes the same document of what is
// valid, and refuses exactly what is not.

#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "definitions/codec.h"
#include "definitions/document_builder.h"
#include "definitions/rules.h"
#include "store_fixture.h"

namespace weir::definitions {
namespace {

using limiter::QuotaDefinition;
using test::quota;

std::optional<std::vector<std::byte>> built(const std::vector<QuotaDefinition>& quotas) {
    DocumentBuilder builder(0);
    for (const QuotaDefinition& one : quotas) {
        if (!builder.add(one)) {
            return std::nullopt;
        }
    }
    return builder.finish();
}

TEST_CASE("documents are the same, in whatever order the definitions come") {
    std::vector<QuotaDefinition> quotas = {quota("b", {}, 1),      quota("a/{x}", "b", 2),
                                           quota("a/1", "b", 3),   quota("a/{x}/c", "a/{x}", 4),
                                           quota("z", "a/zzz", 5), quota("y/{x}", "a/{x}", 6),
                                           quota("c", "b", 7),     quota("d", std::nullopt, 8)};
    quotas[6].mode = limiter::Mode::shadow;
    quotas[6].hide_headers = true;
    REQUIRE(validate(quotas).count() == 0);
    const auto expected = encode_document(quotas);
    REQUIRE(expected.has_value());
    CHECK(built(quotas) == *expected);
    std::reverse(quotas.begin(), quotas.end());
    CHECK(built(quotas) == *expected);
    CHECK(built({})->empty());
}

TEST_CASE("what is not valid together is refused") {
    CHECK_FALSE(built({quota("a", "missing", 1)}));
    CHECK_FALSE(built({quota("a", "missing", 1), quota("{all**}", {}, 1)}));
    CHECK(built({quota("a", "there", 1), quota("{all}", {}, 1)}));
    CHECK_FALSE(built({quota("a", {}, 1), quota("a", {}, 2)}));
    CHECK_FALSE(built({quota("a/{x}", {}, 1), quota("a/{y}", {}, 2)}));
    CHECK_FALSE(built({quota("a", "b", 1), quota("b", "a", 2)}));
    CHECK_FALSE(built({quota("a", {}, -1)}));
    CHECK_FALSE(built({quota("", {}, 1)}));
    std::vector<QuotaDefinition> chain = {quota("0", {}, 1)};
    while (built(chain)) {
        REQUIRE(chain.size() <= limiter::kMaxChainDepth);
        chain.push_back(quota(std::to_string(chain.size()), chain.back().name, 1));
    }
    CHECK(validate(chain).count() > 0);
    chain.pop_back();
    CHECK(validate(chain).count() == 0);
    for (std::size_t i = 0; i < limiter::kMaxChainConcurrency; ++i) {
        chain[2 * i].limits = {limiter::RateLimit::in_flight(9)};
        CHECK(built(chain));
    }
    chain[1].limits.push_back(limiter::RateLimit::in_flight(9));
    CHECK_FALSE(built(chain));
}

TEST_CASE("any definitions: refused exactly if validate() has an error") {
    CHECK(rc::check("as the rules say", [] {
        const std::vector<std::string> names = {"a", "b", "c", "a/{x}", "a/{y}", "a/1", "b/{x}"};
        const auto picks = *rc::gen::container<std::vector<std::pair<int, int>>>(
            rc::gen::pair(rc::gen::inRange(0, 7), rc::gen::inRange(0, 10)));
        std::vector<QuotaDefinition> quotas;
        for (const auto& [name, parent] : picks) {
            const auto of = static_cast<std::size_t>(parent);
            quotas.push_back(quota(names[static_cast<std::size_t>(name)],
                                   of < names.size() ? std::optional(names[of]) : std::nullopt, 1));
        }
        const auto made = built(quotas);
        RC_ASSERT(made.has_value() == (validate(quotas).count() == 0));
        if (made) {
            RC_ASSERT(*made == *encode_document(quotas));
        }
    }));
}

}  // namespace
}  // namespace weir::definitions
