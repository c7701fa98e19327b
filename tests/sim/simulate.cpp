// weir-simulate: runs the stories of files and says what came of them. docs/simulator.md has the
// format. Exits with 1 when something is not as expected, and with 2 when a file is wrong.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sim/story_files.h"

namespace {

using weir::sim::Story;
using weir::sim::StoryResult;

constexpr const char* kHelp =
    R"(weir-simulate runs a fleet of sidecars in virtual time, from a file that tells its story.

  weir-simulate [--seed N] [--seeds N] FILE...

  --seed N    the first seed; the same seed gives the same run, byte for byte (1)
  --seeds N   how many seeds to run, one after the other (1)
  --check     only read the files
  --help      this text

The limiter and the gossip are the ones that sidecars run; clocks and network are simulated. While
a story runs, it is watched: nothing may be counted twice or be lost, owners must agree after a
fault, nobody may be starved, and no more may be refused than one central bucket would refuse.

A story file, here one of five sidecars that stops for five seconds:

  apiVersion: weir/v1
  kind: Story
  name: an-owner-stops
  lasts: 30s
  fleet: {sidecars: 5}
  quotas:
    - name: api
      limits: [{rate: 1000r/s}]
  steps:
    - {at: 0s, load: {api: 900r/s}}
    - {at: 12s, stop: {sidecar: owner of api, for: 5s}}
  measure: {against: 1000r/s, from: 5s}
  expect: {refused: 0.1%, mean: 0.84..0.89}

docs/simulator.md lists all keys and faults; tests/sim/stories has more stories.
)";

struct Arguments {
    std::uint64_t seed = 1;
    std::uint64_t seeds = 1;
    bool check = false;
    bool help = false;
    std::vector<std::string> files;
};

bool parse(int count, char** values, Arguments& arguments) {
    for (int i = 1; i < count; ++i) {
        const std::string flag = values[i];
        const bool more = i + 1 < count;
        if (flag == "--seed" && more) {
            arguments.seed = std::strtoull(values[++i], nullptr, 10);
        } else if (flag == "--seeds" && more) {
            arguments.seeds = std::strtoull(values[++i], nullptr, 10);
        } else if (flag == "--check") {
            arguments.check = true;
        } else if (flag == "--help" || flag == "-h") {
            arguments.help = true;
        } else if (flag.starts_with("-")) {
            std::fprintf(stderr, "unknown argument %s; --help lists all\n", flag.c_str());
            return false;
        } else {
            arguments.files.push_back(flag);
        }
    }
    if (arguments.files.empty() && !arguments.help) {
        std::fprintf(stderr, "which story? Name its file; --help shows one\n");
        return false;
    }
    return true;
}

/// What became of limits of windows and of requests in flight while the load was steady.
void print_counted(const StoryResult& result) {
    constexpr std::size_t kMost = 10;
    for (std::size_t i = 0; i < std::min(kMost, result.counted.size()); ++i) {
        const weir::sim::CountedFigure& figure = result.counted[i];
        if (!figure.windows) {
            std::printf("  %s: %.1f requests in flight on average and %.0f at most, of %.0f\n",
                        figure.quota.c_str(), figure.mean, figure.most, figure.limit);
        } else if (figure.count == 0) {
            std::printf("  %s: no window began and ended in this time\n", figure.quota.c_str());
        } else {
            std::printf("  %s: admitted %.0f … %.0f of %.0f in each of %zu windows\n",
                        figure.quota.c_str(), figure.least, figure.most, figure.limit,
                        figure.count);
        }
    }
    if (result.counted.size() > kMost) {
        std::printf("  and %zu more such limits\n", result.counted.size() - kMost);
    }
}

void print(const Story& story, const StoryResult& result) {
    const double share = 100 * result.refused / std::max(1.0, result.offered);
    std::printf("%s, seed %llu: %u sidecars, %.0f requests, %.0f refused (%.3f %%)\n",
                story.name.c_str(), static_cast<unsigned long long>(result.seed),
                story.plan.sidecars, result.offered, result.refused, share);
    std::printf("  from %g s to %g s admitted %.4f of %g/s, single seconds %.3f … %.3f\n",
                story.steady_from, story.steady_to, result.mean, story.limit, result.second_least,
                result.second_most);
    print_counted(result);
    std::printf("  gossip of a sidecar, in and out: %.1f KB/s in %.0f datagrams/s\n",
                result.bytes / 1000, result.datagrams);
    for (std::size_t i = 0; i < result.single_seconds.size(); ++i) {
        std::printf("%s%.2f", i == 0 ? "  second by second: " : ", ", result.single_seconds[i]);
    }
    std::printf("%sfingerprint %016llx\n", result.single_seconds.empty() ? "  " : "\n  ",
                static_cast<unsigned long long>(result.fingerprint));
}

/// Whether all was as expected.
bool run(const Story& story, const Arguments& arguments) {
    std::vector<StoryResult> results;
    for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
        results.push_back(weir::sim::run(story, arguments.seed + i));
        print(story, results.back());
        std::fflush(stdout);
    }
    const auto faults = weir::sim::judge(story, weir::sim::summarise(results));
    for (const std::string& fault : faults) {
        std::printf("  NOT AS EXPECTED: %s\n", fault.c_str());
    }
    if (faults.empty()) {
        std::printf("  as expected\n");
    }
    return faults.empty();
}

}  // namespace

int main(int count, char** values) {
    Arguments arguments;
    if (!parse(count, values, arguments)) {
        return 2;
    }
    if (arguments.help) {
        std::fputs(kHelp, stdout);
        return 0;
    }
    weir::sim::test::use_small_pages();
    weir::config::Diagnostics diagnostics;
    std::vector<Story> stories;
    for (const std::string& file : arguments.files) {
        for (Story& story : weir::sim::test::stories_of(file, diagnostics)) {
            stories.push_back(std::move(story));
        }
    }
    std::fputs(diagnostics.text().c_str(), stderr);
    if (diagnostics.has_errors()) {
        return 2;
    }
    bool good = true;
    for (const Story& story : stories) {
        good = (arguments.check || run(story, arguments)) && good;
    }
    return good ? 0 : 1;
}
