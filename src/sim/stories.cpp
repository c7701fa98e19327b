// The rows of the table in docs/cluster.md. Load is 0.5 of the limit for 5 s, then the story's for
// 20 s, then 0.5 again, unless a row says otherwise.

#include <algorithm>
#include <utility>

#include "membership/owners.h"
#include "sim/story.h"
#include "sync/messages.h"

namespace weir::sim {
namespace {

constexpr double kStep = 5;
constexpr double kStepEnd = 25;
constexpr double kEnd = 30;

limiter::QuotaDefinition quota(std::string name, std::optional<std::string> parent, double limit,
                               double high_seconds) {
    limiter::QuotaDefinition definition;
    definition.name = std::move(name);
    definition.parent = std::move(parent);
    if (limit <= 0) {
        return definition;
    }
    limiter::RateLimit rate;
    rate.amount = limit;
    rate.low = limiter::BurstSpec{limiter::BurstSpec::Kind::seconds, 1};
    rate.high = limiter::BurstSpec{limiter::BurstSpec::Kind::seconds, high_seconds};
    definition.limits.push_back(rate);
    return definition;
}

Reference steady(double mean_least, double mean_most, double second_least, double second_most,
                 std::string text) {
    Reference reference;
    reference.steady = Figures{mean_least, mean_most, second_least, second_most};
    reference.text = std::move(text);
    return reference;
}

Reference nothing_refused() {
    Reference reference;
    reference.nothing_refused = true;
    reference.text = "not one refused";
    return reference;
}

Story simple(std::string name, std::string text, std::uint32_t sidecars, double limit, double load,
             Reference reference) {
    Story story;
    story.name = std::move(name);
    story.text = std::move(text);
    story.limit = limit;
    story.plan.sidecars = sidecars;
    story.plan.definitions = {quota("q", std::nullopt, limit, 2)};
    story.plan.load.quotas = {"q"};
    story.plan.load.phases = {{0, 0.5 * limit}, {kStep, load * limit}, {kStepEnd, 0.5 * limit}};
    story.plan.seconds = kEnd;
    story.reference = std::move(reference);
    return story;
}

Story with_loss(Story story, double loss) {
    story.plan.faults.loss = loss;
    return story;
}

Story with_delay(Story story, Duration delay) {
    story.plan.faults.delay = delay;
    story.reference.seconds_known = false;
    return story;
}

Story with_skew(Story story, double skew) {
    story.plan.load.skew = skew;
    return story;
}

Story moving(Story story) {
    story.plan.load.move_every = 2;
    return story;
}

Story constant(Story story) {
    story.plan.load.constant_rate = true;
    return story;
}

Story edge(Story story) {
    story.plan.definitions = {quota("q", std::nullopt, story.limit, 1)};
    return story;
}

Story arranged(Story story, std::function<void(World&)> arrange) {
    story.arrange = std::move(arrange);
    return story;
}

/// An owner of the quota, or a sidecar that is none.
std::uint32_t find_sidecar(World& world, bool owner) {
    const auto owners = world.owners_of("q");
    for (std::uint32_t i = 0; i < world.size(); ++i) {
        const bool owns = std::find(owners.begin(), owners.end(), i) != owners.end();
        if (owns == owner) {
            return i;
        }
    }
    return 0;
}

std::function<void(World&)> stop_at(double at, double seconds, bool owner) {
    return [=](World& world) {
        world.at(at, [=](World& w) { w.stop(find_sidecar(w, owner), seconds); });
    };
}

std::function<void(World&)> kill_at(double at, std::uint32_t sidecar) {
    return [=](World& world) { world.at(at, [=](World& w) { w.kill(sidecar); }); };
}

/// The first owner of "q" in a whole fleet: rendezvous hashing of addresses needs no run.
std::uint32_t first_owner(std::uint32_t sidecars) {
    std::vector<membership::Candidate> members;
    for (std::uint32_t i = 0; i < sidecars; ++i) {
        members.push_back({gossip::MemberId{SimulatedSidecar::address_of(i), i + 1}, {}});
    }
    membership::Owners owners;
    owners.recompute(members);
    const membership::Shard shard = membership::shard_of(sync::quota_hash("q"));
    return SimulatedSidecar::number_of(owners.of(shard).front().address).value_or(0);
}

std::function<void(World&)> restart_at(double at) {
    return [=](World& world) { world.at(at, [](World& w) { w.restart(find_sidecar(w, true)); }); };
}

std::function<void(World&)> split_at(double at, double seconds) {
    return [=](World& world) {
        world.at(at, [=](World& w) {
            std::vector<bool> side;
            for (std::uint32_t i = 0; i < w.size(); ++i) {
                side.push_back(i % 2 == 1);
            }
            w.cut(side, seconds, false);
        });
    };
}

struct Child {
    double offered = 0;
    double limit = 0;  // 0: none of its own
};

Story chain(std::string name, std::string text, std::uint32_t sidecars, double parent_limit,
            const std::vector<Child>& children, Reference reference) {
    Story story;
    story.name = std::move(name);
    story.text = std::move(text);
    story.limit = parent_limit;
    story.plan.sidecars = sidecars;
    story.plan.definitions.push_back(quota("p", std::nullopt, parent_limit, 2));
    double offered = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
        const std::string child = "p/" + std::to_string(i);
        story.plan.definitions.push_back(quota(child, "p", children[i].limit, 2));
        story.plan.load.quotas.push_back(child);
        story.plan.load.shares.push_back(children[i].offered);
        offered += children[i].offered;
    }
    story.plan.load.phases = {{0, 0.02 * offered}, {kStep, offered}, {35, 0.02 * offered}};
    story.plan.seconds = 36;
    story.steady_from = 12;
    story.steady_to = 35;
    story.reference = std::move(reference);
    return story;
}

void add_steady(std::vector<Story>& stories) {
    stories.push_back(simple("5x-3", "5×", 3, 1000, 5,
                             steady(0.999, 1.000, 0.96, 1.04, "0.999–1.000; 0.96 … 1.04")));
    stories.push_back(simple("2x-50", "2×", 50, 1000, 2,
                             steady(1.000, 1.002, 0.92, 1.09, "1.000–1.002; 0.92 … 1.09")));
    stories.push_back(simple("10x-50", "10×", 50, 1000, 10,
                             steady(0.997, 1.001, 0.95, 1.07, "0.997–1.001; 0.95 … 1.07")));
    stories.push_back(simple("50x-50", "50×", 50, 1000, 50,
                             steady(0.996, 0.998, 0.95, 1.05, "0.996–0.998; 0.95 … 1.05")));
    stories.push_back(
        constant(simple("constant-50", "10×, constant-rate arrivals", 50, 1000, 10,
                        steady(0.997, 1.000, 0.96, 1.03, "0.997–1.000; 0.96 … 1.03"))));
    Story finer =
        constant(simple("finer-50", "the same, ε 2 %, a send at most every 20 ms", 50, 1000, 10,
                        steady(0.998, 1.001, 0.97, 1.03, "0.998–1.001; 0.97 … 1.03")));
    finer.plan.sync.error_budget = 0.02;
    finer.plan.sync.minimum_interval = std::chrono::milliseconds(20);
    stories.push_back(finer);
    stories.push_back(simple("10x-1000", "10×", 1000, 10'000, 10,
                             steady(1.000, 1.000, 0.98, 1.02, "1.000; 0.98 … 1.02")));
    stories.push_back(
        with_skew(simple("skew-10", "10×, 80 % of it on one sidecar", 10, 1000, 10,
                         steady(0.999, 1.000, 0.96, 1.03, "0.999–1.000; 0.96 … 1.03")),
                  0.8));
    stories.push_back(
        moving(simple("moving-3", "2×, all of it on one sidecar, another one every 2 s", 3, 1000, 2,
                      steady(0.998, 1.000, 0.95, 1.06, "0.998–1.000; 0.95 … 1.06"))));
    stories.push_back(
        moving(simple("moving-10", "2×, all of it on one sidecar, another one every 2 s", 10, 1000,
                      2, steady(0.998, 1.000, 0.94, 1.07, "0.998–1.000; 0.94 … 1.07"))));
}

void add_network(std::vector<Story>& stories) {
    stories.push_back(
        with_loss(simple("loss-3", "5×, 30 % of packets lost", 3, 1000, 5,
                         steady(0.990, 1.001, 0.88, 1.04, "0.990–1.001; 0.88 … 1.04")),
                  0.3));
    stories.push_back(
        with_loss(simple("loss-50", "10×, 30 % of packets lost", 50, 1000, 10,
                         steady(0.996, 1.001, 0.95, 1.05, "0.996–1.001; 0.95 … 1.05")),
                  0.3));
    stories.push_back(with_delay(simple("delay20-50", "10×, 20 ms delay each way", 50, 1000, 10,
                                        steady(0.997, 0.999, 0, 0, "0.997–0.999")),
                                 std::chrono::milliseconds(20)));
    stories.push_back(with_delay(simple("delay50-50", "10×, 50 ms delay each way", 50, 1000, 10,
                                        steady(0.999, 1.000, 0, 0, "0.999–1.000")),
                                 std::chrono::milliseconds(50)));
}

void add_chains(std::vector<Story>& stories) {
    const std::string flood =
        "parent 500/s over a child of 450/s offered 20,000 and one offered 200";
    const std::vector<Child> flooded = {{20'000, 450}, {200, 0}};
    stories.push_back(chain("flood-3", flood, 3, 500, flooded,
                            steady(0.997, 0.999, 0.95, 1.05, "0.997–0.999; 0.95 … 1.05")));
    stories.push_back(with_loss(chain("flood-10", flood + ", 30 % lost", 10, 500, flooded,
                                      steady(0.999, 1.002, 0.93, 1.07, "0.999–1.002; 0.93 … 1.07")),
                                0.3));
    stories.push_back(chain("flood-50", flood, 50, 500, flooded,
                            steady(0.998, 1.002, 0.89, 1.11, "0.998–1.002; 0.89 … 1.11")));
    Reference halves = steady(1.000, 1.000, 0.96, 1.03, "1.000; 0.96 … 1.03, each half");
    halves.shares = {0.5, 0.5};
    stories.push_back(chain("halves-3",
                            "parent 1500/s over two children of 1000/s offered 3000 each", 3, 1500,
                            {{3000, 1000}, {3000, 1000}}, std::move(halves)));
    Reference fifths =
        steady(0.998, 1.001, 0.90, 1.09, "0.998–1.001; 0.90 … 1.09, each a fifth ±3 %");
    fifths.shares = {0.2, 0.2, 0.2, 0.2, 0.2};
    stories.push_back(chain("fifths-50", "parent 1000/s over five children offered 500 each", 50,
                            1000, {{500, 0}, {500, 0}, {500, 0}, {500, 0}, {500, 0}},
                            std::move(fifths)));
}

void add_small(std::vector<Story>& stories) {
    stories.push_back(simple("sparse-300", "2×: 300 sidecars with 100 requests a second in all",
                             300, 50, 2,
                             steady(0.992, 0.999, 0.68, 1.42, "0.992–0.999; 0.68 … 1.42")));
    Reference three = steady(0.994, 1.006, 0, 0, "0.994–1.006");
    three.seconds_known = false;
    stories.push_back(edge(simple("edge-3", "hard edge, 10×", 3, 19, 10, std::move(three))));
    stories.push_back(edge(simple("edge-50", "hard edge, 10×", 50, 1000, 10,
                                  steady(0.995, 0.999, 0.92, 1.04, "0.995–0.999; 0.92 … 1.04"))));
}

void add_below(std::vector<Story>& stories) {
    const auto below = [](std::string name, std::string text, std::uint32_t sidecars) {
        return simple(std::move(name), std::move(text), sidecars, 1000, 0.95, nothing_refused());
    };
    stories.push_back(below("below-3", "0.95×, clean", 3));
    stories.push_back(below("below-300", "0.95×, clean", 300));
    stories.push_back(with_loss(below("below-loss-50", "0.95×, 30 % lost", 50), 0.3));
    stories.push_back(moving(below("below-moving-3", "0.95×, hot spot moving every 2 s", 3)));
    stories.push_back(
        arranged(below("below-restart-5", "0.95×, an owner restarted", 5), restart_at(12)));
    stories.push_back(
        arranged(below("below-split-6", "0.95×, split for 10 s and healed", 6), split_at(10, 10)));
    stories.push_back(arranged(
        simple("below-stop-5", "0.9×, an owner stopped for 5 s", 5, 1000, 0.9, nothing_refused()),
        stop_at(12, 5, true)));
}

void add_faults(std::vector<Story>& stories) {
    // Single seconds: the model's own least and most over seeds 1 to 20. Where the table has one
    // second only, it is as far from 1 on either side.
    Reference jump;
    jump.single_seconds = {{3.38, 5.69}, {0.90, 0.98}, {0.88, 0.96}, {0.93, 0.99}, {0.95, 1.03}};
    jump.text = "3.4–5.7, 0.90–0.98, 0.88–0.96, 0.93–0.99, 0.95–1.03";
    Story jumped = simple("jump-50", "100× jump, seconds from the step", 50, 1000, 100, jump);
    jumped.seconds_from = kStep;
    stories.push_back(jumped);
    stories.push_back(arranged(simple("restart-5", "5×, an owner restarted", 5, 1000, 5,
                                      steady(0.99, 1.01, 0.96, 1.04, "worst second 1.04")),
                               restart_at(12)));
    // As in the reference model, where only the owner's part of the sidecar dies: it has no load.
    Story killed = simple("kill-5", "5×, an owner (without load of its own) killed", 5, 1000, 5,
                          steady(0.99, 1.01, 0.97, 1.03, "worst second 1.03"));
    killed.plan.load.idle = first_owner(5);
    stories.push_back(arranged(killed, kill_at(12, first_owner(5))));
    Reference stop;
    // The wider of its ranges for an owner and for another.
    stop.single_seconds = {{0.79, 0.85}, {0.93, 0.97}, {0.95, 1.01}, {0.98, 1.04},
                           {0.97, 1.03}, {0.98, 1.06}, {0.94, 1.01}};
    stop.text = "0.79–0.85, 0.93–0.97, then 0.94 … 1.06";
    for (const bool owner : {true, false}) {
        Story stopped = arranged(simple(owner ? "stop-owner-5" : "stop-other-5",
                                        owner ? "5×, one of five stopped for 5 s, an owner"
                                              : "5×, one of five stopped for 5 s, no owner",
                                        5, 1000, 5, stop),
                                 stop_at(12, 5, owner));
        stopped.seconds_from = 12;
        stories.push_back(stopped);
    }
    Reference split;
    split.single_seconds = {{1.90, 2.05}, {1.92, 2.07}, {1.92, 2.08}, {1.93, 2.07},
                            {1.91, 2.08}, {1.89, 2.06}, {0.70, 1.06}, {0.67, 0.81},
                            {0.92, 1.01}, {0.96, 1.02}, {0.96, 1.05}};
    split.text = "2.0 during it; 0.70–1.06, 0.67–0.81, then 0.92 … 1.05";
    Story healed = arranged(
        simple("split-6", "2×, halves split for 10 s, optimistic, healed", 6, 1000, 2, split),
        split_at(10, 10));
    healed.plan.sync.split_hold = Duration::zero();
    healed.seconds_from = 14;
    stories.push_back(healed);
}

}  // namespace

std::vector<Story> all_stories() {
    std::vector<Story> stories;
    add_steady(stories);
    add_network(stories);
    add_chains(stories);
    add_small(stories);
    add_below(stories);
    add_faults(stories);
    for (Story& story : throttle_stories()) {
        stories.push_back(std::move(story));
    }
    add_own_figures(stories);
    return stories;
}

}  // namespace weir::sim
