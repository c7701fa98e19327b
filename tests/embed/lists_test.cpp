// Checks with several lists of quotas, through the C interface.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "fleet.h"
#include "limiter/limiter.h"

namespace weir::embed {
namespace {

/// A name that lives as long as its text.
weir_name name_of(std::string_view text) { return {text.data(), text.size()}; }

weir_decision check_both(const TestFleet& fleet, std::string_view first, std::string_view second,
                         std::int32_t mode = WEIR_CHARGE) {
    const weir_name names[] = {name_of("unheard/of"), name_of(first), name_of(second)};
    const weir_name_list lists[] = {{names, 2}, {names + 2, 1}};
    weir_request request = WEIR_REQUEST_INIT;
    request.mode = mode;
    weir_decision decision{};
    decision.size = sizeof(decision);
    REQUIRE(weir_check_many(fleet.worker, lists, 2, &request, &decision) == WEIR_OK);
    return decision;
}

}  // namespace

TEST_CASE("several lists: all apply, or none, and what refuses is named") {
    const TestFleet fleet;
    for (int i = 0; i < 3; ++i) {
        CHECK(check_both(fleet, "few", "b/one").admitted == 1);
    }
    CHECK(quota_of(check_both(fleet, "few", "b/one")) == "few");
    CHECK(check_both(fleet, "b/two", "b/one").admitted == 1);
    CHECK(check_both(fleet, "b/two", "b/one").remaining == 0);
    CHECK(quota_of(check_both(fleet, "b/two", "b/one")) == "b/one");
    CHECK(check_both(fleet, "b/two", "b/three", WEIR_PEEK).admitted == 1);
    CHECK(fleet.check("b/two").remaining == 2);
    CHECK(check_both(fleet, "nobody", "nothing").reason == WEIR_REASON_NO_QUOTA);
    CHECK(quota_of(check_both(fleet, "nobody", "few")) == "few");
}

TEST_CASE("the charge of several lists is given back and corrected everywhere, once") {
    const TestFleet fleet;
    weir_decision last{};
    for (int i = 0; i < 3; ++i) {
        last = check_both(fleet, "few", "b/one");
    }
    CHECK(weir_refund(fleet.worker, &last.charge) == WEIR_OK);
    CHECK(weir_refund(fleet.worker, &last.charge) == WEIR_OK);  // empty by now
    CHECK(fleet.check("few").remaining == 0);
    CHECK(fleet.check("b/one").remaining == 2);
    weir_decision bytes = check_both(fleet, "b/four", "bytes");
    CHECK(weir_correct(fleet.worker, &bytes.charge, WEIR_RESPONSE_BYTES, 1e9, 1) == WEIR_OK);
    CHECK(fleet.check("bytes").admitted == 0);
    CHECK(quota_of(check_both(fleet, "b/four", "bytes")) == "bytes");
}

TEST_CASE("lists that cannot be read are refused, and the request passes") {
    const TestFleet fleet;
    const std::vector<weir_name> names(WEIR_MOST_NAMES + 1, name_of("none"));
    const auto code_of = [&](const weir_name_list* lists, std::size_t count) {
        weir_decision decision{};
        decision.size = sizeof(decision);
        const std::int32_t code = weir_check_many(fleet.worker, lists, count, nullptr, &decision);
        CHECK((decision.admitted == 1) == (code != WEIR_OK || count == 0));
        return code;
    };
    const weir_name_list good[] = {{names.data(), 4},
                                   {names.data(), 4},
                                   {names.data(), 4},
                                   {names.data(), 4},
                                   {names.data(), 1}};
    CHECK(code_of(good, 4) == WEIR_OK);
    CHECK(code_of(good, 5) == WEIR_INVALID);
    CHECK(code_of(nullptr, 0) == WEIR_OK);
    CHECK(code_of(nullptr, 1) == WEIR_INVALID);
    const weir_name_list many[] = {{names.data(), WEIR_MOST_NAMES}, {names.data(), 1}};
    CHECK(code_of(many, 1) == WEIR_OK);
    CHECK(code_of(many, 2) == WEIR_INVALID);
    const weir_name_list longer[] = {{names.data(), WEIR_MOST_NAMES + 1}};
    CHECK(code_of(longer, 1) == WEIR_INVALID);
    const weir_name_list without[] = {{nullptr, 1}};
    CHECK(code_of(without, 1) == WEIR_INVALID);
    const weir_name no_text[] = {{nullptr, 0}};
    const weir_name_list textless[] = {{no_text, 1}};
    CHECK(code_of(textless, 1) == WEIR_INVALID);
    weir_decision decision{};
    decision.size = sizeof(decision);
    CHECK(weir_check_many(nullptr, many, 1, nullptr, &decision) == WEIR_INVALID);
    CHECK(weir_check_many(fleet.worker, many, 1, nullptr, nullptr) == WEIR_INVALID);
}

}  // namespace weir::embed
