// An hour of virtual time with a random fault every minute, watched by all checkers.
//   fault_hour [--seed N] [--hours H] [--only N] [--counted] [--list]
// --counted draws limits of windows and of requests in flight in place of rates.
// --list prints the story that the seed gives, as a file for weir-simulate, and runs nothing.
// --only N leaves out all faults but the Nth of that list. Exits with 1 when a checker objects, and
// prints the command that repeats the run.

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "sim/fault_plan.h"
#include "sim/story_file.h"
#include "sim/watch.h"

namespace {

using weir::sim::Story;
using weir::sim::Watch;
using weir::sim::World;

constexpr double kLongestMeeting = 30;
constexpr double kSettling = 30;
constexpr double kLongestSettling = 120;

struct Arguments {
    unsigned long long seed = 1;
    double hours = 1;
    std::size_t only = 0;  // 0: all
    weir::sim::FaultLimits limits = weir::sim::FaultLimits::rates;
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
        } else if (flag == "--counted") {
            arguments.limits = weir::sim::FaultLimits::counted;
        } else if (flag == "--list") {
            arguments.list = true;
        } else {
            std::fprintf(stderr, "unknown argument %s\n", flag.c_str());
            return false;
        }
    }
    return arguments.hours > 0;
}

void print_ledger(const Watch& watch) {
    using enum weir::sync::WeightFate;
    const weir::sim::ToldWeight& told = watch.told();
    std::printf(
        "owners were told of weight that they counted: %.0f; forgave at first sight: %.0f, as late "
        "lumps: %.0f, above the ceiling: %.0f; refused: %.0f\n",
        told[counted] - told[drained], told[first_sight], told[late], told[ceiling], told[refused]);
}

}  // namespace

int main(int count, char** values) {
    Arguments arguments;
    if (!parse(count, values, arguments)) {
        return 2;
    }
    Story story =
        weir::sim::draw_fault_story(arguments.seed, arguments.hours * 60, arguments.limits);
    if (arguments.only > 0 && arguments.only <= story.faults.size()) {
        story.faults = {story.faults[arguments.only - 1]};
    }
    if (arguments.list) {
        std::printf("%s", story_text(story).c_str());
        return 0;
    }
    story.plan.seed = story.seed.value_or(arguments.seed);
    World world(story.plan);
    Watch watch(story.plan);
    world.watch(&watch);
    arrange(world, story.faults, [&](const weir::limiter::QuotaDefinition& definition, double at) {
        watch.edited(definition, at);
    });
    const bool met = world.run(kLongestMeeting);
    const auto fingerprint = static_cast<unsigned long long>(world.fingerprint());
    watch.settle(world, kSettling, kLongestSettling);
    const double took = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    std::printf(
        "seed %llu: %u sidecars, %zu faults in %g s, fingerprint %016llx, %.1f s of processor\n",
        arguments.seed, story.plan.sidecars, story.faults.size(), story.plan.seconds, fingerprint,
        took);
    print_ledger(watch);
    for (const std::string& text : watch.findings().texts()) {
        std::printf("%s\n", text.c_str());
    }
    if (met && watch.findings().count() == 0) {
        return 0;
    }
    std::printf("%zu objections%s. The story was:\n%s", watch.findings().count(),
                met ? "" : ", and not everybody met everybody", story_text(story).c_str());
    std::printf("repeat it with: fault_hour --seed %llu --hours %g", arguments.seed,
                arguments.hours);
    std::printf(arguments.limits == weir::sim::FaultLimits::counted ? " --counted" : "");
    std::printf(arguments.only > 0 ? " --only %zu\n" : "\n", arguments.only);
    return 1;
}
