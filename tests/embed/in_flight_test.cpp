// Limits of requests in flight, as workers of the library and the C interface use them: a request
// is counted from its check to its end, whoever ends it, and once.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>
#include <vector>

#include "embed/fork_count.h"
#include "embed/worker.h"
#include "limiter/limiter.h"
#include "net/clock.h"
#include "weir/weir.h"

namespace weir::embed {
namespace {

constexpr std::uint64_t kProgram = 77;

limiter::QuotaDefinition quota(const char* name, double most, const char* parent = nullptr) {
    limiter::QuotaDefinition definition;
    definition.name = name;
    if (parent != nullptr) {
        definition.parent = parent;
    }
    limiter::RateLimit limit = limiter::RateLimit::in_flight(most);
    limit.scope = limiter::Scope::sidecar;
    definition.limits.push_back(limit);
    return definition;
}

/// A limiter with two workers, as threads of one program have them.
class InFlightWorkers {
  public:
    explicit InFlightWorkers(const std::vector<limiter::QuotaDefinition>& quotas) {
        std::vector<limiter::DefinitionChange> changes;
        for (const limiter::QuotaDefinition& one : quotas) {
            changes.push_back({one.name, one});
        }
        REQUIRE(limiter_.change(changes, net::now()) == 0);
    }
    /// How many requests the quota still lets in.
    [[nodiscard]] double room(std::string_view name) {
        weir_request request = WEIR_REQUEST_INIT;
        request.mode = WEIR_PEEK;
        weir_decision decision{};
        first.check(name, request, decision);
        return decision.admitted != 0 ? decision.remaining + 1 : 0;
    }
    [[nodiscard]] weir_decision check(std::string_view name) {
        const weir_request request = WEIR_REQUEST_INIT;
        weir_decision decision{};
        first.check(name, request, decision);
        return decision;
    }

  private:
    limiter::Limiter limiter_{limiter::LimiterOptions{}};

  public:
    EmbeddedWorker first{limiter_, limiter_.register_thread(1), ForkCount::here(), kProgram};
    EmbeddedWorker second{limiter_, limiter_.register_thread(2), ForkCount::here(), kProgram};
};

}  // namespace

TEST_CASE("a request is in flight until any worker finishes it, once") {
    InFlightWorkers program({quota("q", 2)});
    weir_decision one = program.check("q");
    CHECK(one.admitted == 1);
    CHECK(one.amount == 2);
    CHECK(one.period_seconds == 0);
    CHECK(one.reset_seconds == 0);
    CHECK(one.remaining == 1);
    weir_decision two = program.check("q");
    CHECK(two.admitted == 1);
    const weir_decision refused = program.check("q");
    CHECK(refused.admitted == 0);
    CHECK(refused.reason == WEIR_REASON_LIMIT);
    CHECK(refused.retry_after_seconds >= 1);
    CHECK(refused.wait_seconds < 0);
    CHECK(program.second.finish(one.charge));
    CHECK(program.room("q") == 1);
    CHECK(program.second.finish(one.charge));
    CHECK(program.first.finish(one.charge));
    CHECK(program.room("q") == 1);
    CHECK(program.first.finish(two.charge));
    CHECK(program.room("q") == 2);
}

TEST_CASE("all levels and all lists count a request until its end") {
    InFlightWorkers program({quota("all", 9), quota("a", 3, "all"), quota("b", 2, "all")});
    const weir_name names[] = {{"a", 1}, {"b", 1}};
    const std::vector<weir_name_list> lists = {{names, 1}, {names + 1, 1}};
    const weir_request request = WEIR_REQUEST_INIT;
    weir_decision both{};
    program.first.check_many(lists, request, both);
    CHECK(both.admitted == 1);
    CHECK(program.room("all") == 8);
    CHECK(program.room("a") == 2);
    CHECK(program.room("b") == 1);
    CHECK(program.second.finish(both.charge));
    CHECK(program.room("all") == 9);
    CHECK(program.room("a") == 3);
    CHECK(program.room("b") == 2);
}

TEST_CASE("what has ended can still be corrected, and a refund ends a request as well") {
    limiter::QuotaDefinition mixed = quota("q", 2);
    limiter::RateLimit& bytes = mixed.limits.emplace_back();
    bytes.amount = 1000;
    bytes.unit = limiter::Unit::response_bytes;
    bytes.scope = limiter::Scope::sidecar;
    InFlightWorkers program({mixed, quota("other", 2)});
    weir_decision refunded = program.check("q");
    CHECK(program.first.refund(refunded.charge));
    CHECK(program.room("q") > 0);
    CHECK(program.first.finish(refunded.charge));  // empty by now
    CHECK(program.check("q").admitted == 1);
    weir_decision ended = program.check("q");
    CHECK(ended.admitted == 1);
    CHECK(program.check("q").admitted == 0);
    CHECK(program.first.finish(ended.charge));
    CHECK(program.first.correct(ended.charge, limiter::Unit::response_bytes, 1e6, true));
    const weir_decision late = program.check("q");
    CHECK(late.admitted == 0);
    CHECK(late.unit == WEIR_RESPONSE_BYTES);
    weir_decision corrected = program.check("other");
    CHECK(program.first.correct(corrected.charge, limiter::Unit::requests, 5, true));
    CHECK(program.room("other") == 1);
    CHECK(program.first.finish(corrected.charge));  // by the weight with which it came
    CHECK(program.room("other") == 2);
}

TEST_CASE("units that are returned are in flight no longer, and the end takes the rest") {
    InFlightWorkers program({quota("q", 10)});
    const weir_request each = WEIR_REQUEST_INIT;
    weir_decision decision{};
    CHECK(program.first.obtain("q", each, 8, 1, decision) == 8);
    CHECK(program.room("q") == 2);
    CHECK(program.second.give_back(decision.charge, 5));
    CHECK(program.room("q") == 7);
    CHECK(program.first.finish(decision.charge));
    CHECK(program.room("q") == 10);
    CHECK(program.first.give_back(decision.charge, 3));
    CHECK(program.room("q") == 10);
}

TEST_CASE("a peek takes no place, and a charge of another fleet ends nothing") {
    InFlightWorkers program({quota("q", 1)});
    InFlightWorkers other({quota("q", 1)});
    CHECK(program.room("q") == 1);
    CHECK(program.room("q") == 1);
    weir_decision decision = program.check("q");
    decision.charge.opaque[31] ^= 1;  // where the tag is
    CHECK_FALSE(program.first.finish(decision.charge));
    CHECK(program.room("q") == 0);
    decision.charge.opaque[31] ^= 1;
    CHECK(program.first.finish(decision.charge));
    CHECK(program.room("q") == 1);
    CHECK(other.room("q") == 1);
}

TEST_CASE("a child process ends no request of its parent") {
    InFlightWorkers program({quota("q", 1)});
    weir_decision decision = program.check("q");
    REQUIRE(decision.admitted == 1);
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(program.first.forked() ? 0 : 1);  // so the interface answers WEIR_FORKED
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(program.room("q") == 0);
    CHECK(program.first.finish(decision.charge));
    CHECK(program.room("q") == 1);
}

}  // namespace weir::embed
