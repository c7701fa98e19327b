// An hour of virtual time with a random fault every minute, watched by all checkers.
//   fault_hour [--seed N] [--hours H] [--only N] [--list]
// --list prints the plan that the seed gives and runs nothing. --only N leaves out all faults but
// the Nth of that list. Exits with 1 when a checker objects, and prints the command that repeats
// the run.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/faults.h"
#include "sim/watch.h"

namespace {

using weir::sim::FaultPlan;
using weir::sim::Watch;
using weir::sim::World;

constexpr double kLongestMeeting = 30;
constexpr double kSettling = 30;
constexpr double kLongestSettling = 120;

struct Arguments {
    unsigned long long seed = 1;
    double hours = 1;
    std::size_t only = 0;  // 0: all
    bool list = false;
};

bool parse(int count, char** values, Arguments& arguments) {
    for (int i = 1; i < count; ++i) {
        const std::string flag = values[i];
        const bool more = i + 1 < count;
        if (flag == "--seed" && more) {
            arguments.seed = std::strtoull(values[++i], nullptr, 10);
        } else if (flag == "--hours" && more) {
            arguments.hours = std::strtod(values[++i], nullptr);
        } else if (flag == "--only" && more) {
            arguments.only = std::strtoull(values[++i], nullptr, 10);
        } else if (flag == "--list") {
            arguments.list = true;
        } else {
            std::fprintf(stderr, "unknown argument %s\n", flag.c_str());
            return false;
        }
    }
    return arguments.hours > 0;
}

void print_plan(const FaultPlan& plan) {
    std::printf("sidecars: %u\nseconds: %g\nfaults:\n", plan.world.sidecars, plan.world.seconds);
    for (const weir::sim::Fault& fault : plan.faults) {
        std::printf("  - %s\n", describe(fault).c_str());
    }
}

void print_ledger(const Watch& watch) {
    const weir::sync::ToldWeight& told = watch.told();
    std::printf(
        "owners were told of weight that they counted: %.0f; forgave at first sight: %.0f, as late "
        "lumps: %.0f, above the ceiling: %.0f; refused: %.0f\n",
        told.counted - told.drained, told.first_sight, told.late, told.ceiling, told.refused);
}

}  // namespace

int main(int count, char** values) {
    Arguments arguments;
    if (!parse(count, values, arguments)) {
        return 2;
    }
    FaultPlan plan = weir::sim::draw_fault_plan(arguments.seed, arguments.hours * 60);
    if (arguments.only > 0 && arguments.only <= plan.faults.size()) {
        plan.faults = {plan.faults[arguments.only - 1]};
    }
    if (arguments.list) {
        print_plan(plan);
        return 0;
    }
    const auto begin = std::chrono::steady_clock::now();
    World world(plan.world);
    Watch watch(plan.world);
    world.watch(&watch);
    arrange(world, plan.faults, [&](const weir::limiter::QuotaDefinition& definition, double at) {
        watch.edited(definition, at);
    });
    const bool met = world.run(kLongestMeeting);
    const auto fingerprint = static_cast<unsigned long long>(world.fingerprint());
    watch.settle(world, kSettling, kLongestSettling);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("seed %llu: %u sidecars, %zu faults in %g s, fingerprint %016llx, took %.1f s\n",
                arguments.seed, plan.world.sidecars, plan.faults.size(), plan.world.seconds,
                fingerprint, took.count());
    print_ledger(watch);
    for (const std::string& text : watch.findings().texts()) {
        std::printf("%s\n", text.c_str());
    }
    if (met && watch.findings().count() == 0) {
        return 0;
    }
    std::printf("%zu objections%s. The faults were:\n", watch.findings().count(),
                met ? "" : ", and not everybody met everybody");
    print_plan(plan);
    std::printf("repeat it with: fault_hour --seed %llu --hours %g", arguments.seed,
                arguments.hours);
    std::printf(arguments.only > 0 ? " --only %zu\n" : "\n", arguments.only);
    return 1;
}
