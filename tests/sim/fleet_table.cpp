// Runs the stories in tests/sim/stories and prints their table beside the reference model's
// figures. weir-simulate runs any story file.
//   fleet_table [--seeds N] [--first-seed S] [--story NAME]... [--seconds] [--window A B] [--list]
//               [--golden FILE] [--fingerprints]
// --golden FILE compares every run with the line of FILE for its story and seed: a hash of every
// byte that the fleet sent, the requests offered and those refused. A run without a line, or with
// another one, is a fault. --fingerprints prints such lines instead of the table.
// --window measures means and traffic of the stories that are judged by traffic from second A to
// second B only, where the whole one would take hours.
// A story that is further from the reference than docs/cluster.md allows is marked OFF, and the
// command that repeats its runs is printed. Exits with 1 when there is one.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/story_files.h"

namespace {

using weir::sim::Story;
using weir::sim::StoryResult;
using weir::sim::Summary;
using weir::sim::test::kStories;
using weir::sim::test::stories_in;

struct Arguments {
    std::uint64_t seeds = 3;
    std::uint64_t first_seed = 1;
    std::vector<std::string> stories;
    bool single_seconds = false;
    bool list = false;
    bool fingerprints = false;
    std::string golden;
    double window_from = 0;
    double window_to = 0;  // 0: the story's own
};

bool parse(int count, char** values, Arguments& arguments) {
    for (int i = 1; i < count; ++i) {
        const std::string flag = values[i];
        const bool more = i + 1 < count;
        if (flag == "--seeds" && more) {
            arguments.seeds = std::strtoull(values[++i], nullptr, 10);
        } else if (flag == "--first-seed" && more) {
            arguments.first_seed = std::strtoull(values[++i], nullptr, 10);
        } else if (flag == "--story" && more) {
            arguments.stories.emplace_back(values[++i]);
        } else if (flag == "--window" && i + 2 < count) {
            arguments.window_from = std::strtod(values[++i], nullptr);
            arguments.window_to = std::strtod(values[++i], nullptr);
        } else if (flag == "--seconds") {
            arguments.single_seconds = true;
        } else if (flag == "--golden" && more) {
            arguments.golden = values[++i];
        } else if (flag == "--fingerprints") {
            arguments.fingerprints = true;
        } else if (flag == "--list") {
            arguments.list = true;
        } else {
            std::fprintf(stderr, "unknown argument %s\n", flag.c_str());
            return false;
        }
    }
    return arguments.seeds > 0 && arguments.window_from <= arguments.window_to;
}

Story within(Story story, const Arguments& arguments) {
    if (arguments.window_to == 0) {
        return story;
    }
    story.steady_from = story.traffic_from = arguments.window_from;
    story.steady_to = story.plan.seconds = arguments.window_to;
    return story;
}

bool wanted(const Arguments& arguments, const Story& story) {
    const auto& names = arguments.stories;
    return names.empty() || std::find(names.begin(), names.end(), story.name) != names.end();
}

/// The stories to run or list. Ends the program when a file is wrong, or when there is no story of
/// a name.
std::vector<Story> find_stories(const Arguments& arguments) {
    weir::config::Diagnostics diagnostics;
    std::vector<Story> all = stories_in(kStories, diagnostics);
    // Those that are judged by traffic take minutes each: only by name.
    if (arguments.list || !arguments.stories.empty()) {
        for (Story& story : stories_in(kStories / "costly", diagnostics)) {
            all.push_back(within(std::move(story), arguments));
        }
    }
    std::vector<Story> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [&](const Story& story) { return wanted(arguments, story); });
    const bool missing = found.size() < arguments.stories.size();
    if (diagnostics.has_errors() || missing) {
        std::fprintf(stderr, "%s%s", diagnostics.text().c_str(),
                     missing ? "there is no such story; --list names all\n" : "");
        std::exit(2);
    }
    return found;
}

/// What was admitted in windows, and what was in flight, as multiples of their limits.
std::string counted_figures(const Summary& summary) {
    char text[96];
    std::string out;
    if (summary.windows.most >= summary.windows.least) {
        std::snprintf(text, sizeof text, "%.3f–%.3f in each window", summary.windows.least,
                      summary.windows.most);
        out += text;
    }
    if (summary.in_flight.most >= summary.in_flight.least) {
        std::snprintf(text, sizeof text, "%s%.3f–%.3f in flight", out.empty() ? "" : "; ",
                      summary.in_flight.least, summary.in_flight.most);
        out += text;
    }
    return out;
}

std::string figures(const Story& story, const Summary& summary) {
    char text[256];
    std::string out;
    if (story.expected.steady) {
        std::snprintf(text, sizeof text, "%.3f–%.3f; %.2f … %.2f", summary.mean_least,
                      summary.mean_most, summary.second_least, summary.second_most);
        out += text;
    }
    if (story.expected.refused_share) {
        if (*story.expected.refused_share == 0) {
            std::snprintf(text, sizeof text, "%.0f refused", summary.refused);
        } else {
            std::snprintf(text, sizeof text, "%.3f %% refused", 100 * summary.refused_share);
        }
        out += text;
    }
    if (story.expected.each_quota) {
        std::snprintf(text, sizeof text, "; each quota %.3f–%.3f; %.2f … %.2f",
                      summary.quota_mean.least, summary.quota_mean.most, summary.quota_second.least,
                      summary.quota_second.most);
        out += text;
    }
    const std::string counted = counted_figures(summary);
    out += (out.empty() || counted.empty() ? "" : "; ") + counted;
    if (story.expected.bytes || story.expected.busiest_bytes) {
        std::snprintf(text, sizeof text,
                      "; %.1f KB/s and %.0f datagrams/s a sidecar, busiest %.1f KB/s and %.0f",
                      summary.bytes / 1000, summary.datagrams, summary.busiest_bytes / 1000,
                      summary.busiest_datagrams);
        out += text;
    }
    if (story.expected.busiest_bytes) {
        std::snprintf(text, sizeof text, ", staleness %.2f s, pace %.1f", summary.staleness,
                      summary.pace);
        out += text;
    }
    for (std::size_t i = 0; i < summary.single_seconds.size(); ++i) {
        const auto& range = summary.single_seconds[i];
        std::snprintf(text, sizeof text, "%s%.2f–%.2f", i == 0 ? "" : ", ", range.least,
                      range.most);
        out += text;
    }
    for (std::size_t i = 0; i < story.expected.shares.size(); ++i) {
        const auto& range = summary.shares[i];
        std::snprintf(text, sizeof text, "%s%.1f–%.1f", i == 0 ? "; % of it: " : ", ",
                      100 * range.least, 100 * range.most);
        out += text;
    }
    return out;
}

/// What must stay the same of a run as long as nobody means to change behaviour.
std::string fingerprint_line(const Story& story, const StoryResult& result) {
    char text[160];
    std::snprintf(text, sizeof text, "%s %llu %016llx %.0f %.0f", story.name.c_str(),
                  static_cast<unsigned long long>(result.seed),
                  static_cast<unsigned long long>(result.fingerprint), result.offered,
                  result.refused);
    return text;
}

/// Lines of a file of fingerprints. Ends the program when it cannot be read or has none.
std::vector<std::string> read_golden(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        if (!line.empty() && line.front() != '#') {
            lines.push_back(line);
        }
    }
    if (lines.empty()) {
        std::fprintf(stderr, "no fingerprints in %s\n", path.c_str());
        std::exit(2);
    }
    return lines;
}

/// One fault for each run that has another fingerprint than its golden line, or no such line.
std::vector<std::string> compare_with_golden(const Story& story,
                                             const std::vector<StoryResult>& results,
                                             const std::string& path) {
    const std::vector<std::string> golden = read_golden(path);
    std::vector<std::string> faults;
    for (const StoryResult& result : results) {
        const std::string ours = fingerprint_line(story, result);
        if (std::find(golden.begin(), golden.end(), ours) == golden.end()) {
            faults.push_back("another fingerprint than the golden one: " + ours);
        }
    }
    return faults;
}

bool print_fingerprints(const Story& story, const Arguments& arguments) {
    for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
        const StoryResult result = weir::sim::run(story, arguments.first_seed + i);
        std::printf("%s\n", fingerprint_line(story, result).c_str());
        std::fflush(stdout);
    }
    return true;
}

/// The command that runs this story alone, with the same seeds.
std::string command_of(const Story& story, const Arguments& arguments) {
    std::string command = "fleet_table --story " + story.name + " --first-seed " +
                          std::to_string(arguments.first_seed) + " --seeds " +
                          std::to_string(arguments.seeds);
    if (arguments.window_to > 0) {
        command += " --window " + std::to_string(arguments.window_from) + " " +
                   std::to_string(arguments.window_to);
    }
    return arguments.golden.empty() ? command : command + " --golden " + arguments.golden;
}

bool run_story(const Story& story, const Arguments& arguments) {
    if (arguments.fingerprints) {
        return print_fingerprints(story, arguments);
    }
    std::vector<StoryResult> results;
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
        results.push_back(weir::sim::run(story, arguments.first_seed + i));
        const StoryResult& last = results.back();
        std::fprintf(stderr, "  %s seed %llu: mean %.4f, seconds %.3f … %.3f, refused %.0f%s\n",
                     story.name.c_str(), static_cast<unsigned long long>(last.seed), last.mean,
                     last.second_least, last.second_most, last.refused,
                     last.met ? "" : " (NOT ALL MET)");
        if (arguments.single_seconds) {
            for (const double second : last.single_seconds) {
                std::fprintf(stderr, " %.2f", second);
            }
            std::fprintf(stderr, "\n");
        }
    }
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const Summary summary = weir::sim::summarise(results);
    auto faults = weir::sim::judge(story, summary);
    if (!arguments.golden.empty()) {
        for (std::string& fault : compare_with_golden(story, results, arguments.golden)) {
            faults.push_back(std::move(fault));
        }
    }
    std::printf("| %s | %s | %u, %g/s | %s | %s | %.1f, %.1f | %.1f | %s |\n", story.name.c_str(),
                story.text.c_str(), story.plan.sidecars, story.limit, story.expected.text.c_str(),
                figures(story, summary).c_str(), summary.deltas, summary.totals,
                summary.bytes / 1000, faults.empty() ? "ok" : "OFF");
    for (const std::string& fault : faults) {
        std::printf("  %s: %s\n", story.name.c_str(), fault.c_str());
    }
    if (!faults.empty()) {
        std::printf("  repeat it with: %s\n", command_of(story, arguments).c_str());
    }
    std::fprintf(stderr, "  %s took %.1f s\n", story.name.c_str(), took);
    std::fflush(stdout);
    return faults.empty();
}

}  // namespace

int main(int count, char** values) {
    Arguments arguments;
    if (!parse(count, values, arguments)) {
        return 2;
    }
    weir::sim::test::use_small_pages();
    if (!arguments.list && !arguments.fingerprints) {
        std::printf("| story | what | N, limit | reference | weir | deltas, totals | KB/s | |\n");
        std::printf("|---|---|---|---|---|---|---|---|\n");
    }
    const std::vector<Story> stories = find_stories(arguments);
    bool good = !stories.empty();
    for (const Story& story : stories) {
        if (arguments.list) {
            std::printf("%s: %s\n", story.name.c_str(), story.text.c_str());
        } else {
            good = run_story(story, arguments) && good;
        }
    }
    return good ? 0 : 1;
}
