// A flood of 100,000 requests a second, each with an API key that nobody has used before, through
// routing and the limiter in virtual time: what it leaves to clients that were there before.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "limiter/limiter.h"
#include "routing/routes.h"
#include "sim/quota_set.h"

namespace weir::routing {
namespace {

using namespace std::chrono_literals;

constexpr double kFloodRate = 100'000;

/// Clients, each with its key, and how much of what they asked for was admitted.
struct Clients {
    std::string prefix;
    std::size_t count = 0;
    Duration pause{};  // between two requests of one client
    std::size_t asked = 0;
    std::size_t admitted = 0;
    std::size_t overflowed = 0;  // had no instance of their own
    std::size_t next = 0;
    Instant due{};
};

class World {
  public:
    explicit World(std::uint32_t max_instances)
        : limiter_(options(max_instances)), thread_(limiter_.register_thread(1)) {
        limiter::QuotaDefinition all;
        all.name = "api";
        limiter::QuotaDefinition key;
        key.name = "api/{key}";
        key.parent = "api";
        limiter::RateLimit limit;
        limit.amount = 10;
        key.limits = {limit};
        const std::vector<limiter::QuotaDefinition> both{all, key};
        REQUIRE(sim::replace_quotas(limiter_, both, now_).empty());
        RoutingSettings settings;
        settings.routes.resize(1);
        settings.routes[0].quotas = {"api/{header:x-api-key}"};
        router_ = compile(settings);
    }

    /// Serves these clients for so long, with or without the flood.
    void run(std::vector<Clients*> all, Duration time, bool flood) {
        for (Clients* clients : all) {
            clients->due = now_ + clients->pause / static_cast<int>(clients->count);
        }
        const Instant end = now_ + time;
        for (int step = 0; now_ < end; ++step) {
            now_ += from_seconds(1 / kFloodRate);
            if (flood) {
                static_cast<void>(ask("invented-" + std::to_string(++invented_)));
            }
            for (Clients* clients : all) {
                while (clients->due <= now_) {
                    one_of(*clients);
                }
            }
            if (step % 100 == 0) {
                limiter_.quiescent(thread_);
                limiter_.maintain(now_);
            }
        }
    }

  private:
    static limiter::LimiterOptions options(std::uint32_t max_instances) {
        limiter::LimiterOptions options;
        options.max_instances = max_instances;
        options.seed = 5;
        return options;
    }

    struct Answer {
        bool admitted = false;
        bool overflowed = false;
    };

    Answer ask(const std::string& key) {
        text_ = "GET / HTTP/1.1\r\nHost: a.example\r\nX-Api-Key: ";
        text_ += key;
        text_ += "\r\n\r\n";
        head_.reset();
        if (head_.parse(text_, {}) != http::ParseState::complete) {
            return {};
        }
        const auto route = router_->route(head_, {}, scratch_);
        const auto leaf = limiter_.find(thread_, route.names.front(), now_);
        const auto decision = limiter_.check(thread_, leaf, {}, now_, limiter::CheckMode::charge);
        return {decision.admitted, leaf.overflow_depth > 0};
    }

    void one_of(Clients& clients) {
        const auto answer = ask(clients.prefix + std::to_string(clients.next));
        clients.next = (clients.next + 1) % clients.count;
        clients.due += clients.pause / static_cast<int>(clients.count);
        ++clients.asked;
        clients.admitted += answer.admitted ? 1 : 0;
        clients.overflowed += answer.overflowed ? 1 : 0;
    }

    Instant now_{1h};
    limiter::Limiter limiter_;
    limiter::ThreadContext& thread_;
    std::shared_ptr<const Router> router_;
    Scratch scratch_;
    http::RequestHead head_;
    std::string text_;
    std::uint64_t invented_ = 0;
};

TEST_CASE("clients in use keep their instances and their limits, however small the bound") {
    World world(1000);
    Clients steady{.prefix = "steady-", .count = 50, .pause = 200ms};  // half of the limit
    Clients greedy{.prefix = "greedy-", .count = 10, .pause = 20ms};   // five times the limit
    world.run({&steady, &greedy}, 3s, false);
    steady.asked = steady.admitted = greedy.asked = greedy.admitted = 0;
    world.run({&steady, &greedy}, 3s, true);
    CHECK(steady.asked >= 700);
    CHECK(steady.admitted == steady.asked);
    CHECK(steady.overflowed == 0);
    CHECK(greedy.asked >= 1400);
    CHECK(greedy.admitted >= 280);  // 10 clients of 10/s for 3 s
    CHECK(greedy.admitted <= 330);
    CHECK(greedy.overflowed == 0);
}

TEST_CASE("with room for 2.5 s of the flood, clients that pause longer mostly find room again") {
    World world(250'000);
    Clients slow{.prefix = "slow-", .count = 300, .pause = 2500ms};
    world.run({&slow}, 3s, false);
    slow.asked = slow.admitted = 0;
    world.run({&slow}, 4s, true);
    CHECK(slow.asked >= 450);
    CHECK(slow.admitted >= slow.asked * 98 / 100);
    CHECK(slow.overflowed <= slow.asked * 2 / 100);
}

}  // namespace
}  // namespace weir::routing
