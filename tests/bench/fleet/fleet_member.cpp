// One member of a fleet that makes its own load, for fleet_bench.py: a program that embeds the
// library and uses limits as any other one does, so that what the fleet costs is measured apart
// from a proxy. It knows the library by its public interface alone and finds it when it starts, so
// one program measures every build of it.

#include <time.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "load.h"
#include "process_figures.h"
#include "weir/weir.hpp"

namespace {

using weir::bench::Load;
using Json = nlohmann::json;

constexpr const char* kHelp = R"(fleet_member SETTINGS_FILE

Joins the fleet that the settings name, as a program that embeds the library (docs/embedding.md), reads
one command from each line of standard input and prints its answer as one line of JSON:

    {"do": "load", "seconds": 20, "seed": 1, "streams": [STREAM, ...]}
                            begins a load on a thread of its own; loads may overlap
    {"do": "figures"}       what was counted since the start
    {"do": "end"}           says goodbye to the fleet and ends, as at the end of the input

A STREAM has these keys, of which only the rate is required:

    "prefix": "user/"       names are this and a number
    "first": 0, "names": 1  the numbers
    "rate": 100             requests a second, all names together
    "arrivals": "poisson"   each name at random times of its own, or "even": names in turn, evenly
    "turn": 0               the number with which the turns begin
    "most": 0               ends the stream after so many requests (0: with its load)
    "weight": 1             of each request

Figures are: seconds on the monotonic clock; the run time of the threads by name (weir-control is the
library's, weir-load makes the load); anonymous memory; the counts of all loads; live peers; the library's
metrics page as text. Times are taken before the page is made and again after it ("page_s" is what the
control thread ran in between), so that a window between two answers can leave the page out.
)";

double monotonic_s() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// 0 in the first moments, when the thread does not have its name yet.
double control_run_s(const Json& threads) {
    return threads.value(Json::json_pointer("/weir-control/run_s"), 0.0);
}

class Member {
  public:
    explicit Member(weir::Fleet fleet) : fleet_(std::move(fleet)) {}

    Json answer(const Json& command) {
        const std::string what = command.at("do");
        if (what == "load") {
            loads_.emplace_back(fleet_, command);
            return {{"began_s", monotonic_s()}};
        }
        if (what == "figures") {
            return figures();
        }
        throw std::invalid_argument("no such command: " + what);
    }

  private:
    Json figures() {
        Json figures = {{"before_s", monotonic_s()}, {"threads", weir::bench::thread_times()}};
        Json loads = Json::array();
        for (const Load& load : loads_) {
            loads.push_back(load.counts());
        }
        figures["loads"] = std::move(loads);
        figures["anonymous_bytes"] = weir::bench::anonymous_bytes();
        auto page = fleet_.metrics();
        if (!page) {
            throw std::runtime_error(page.failure().message);
        }
        figures["metrics"] = std::move(*page);
        figures["live_peers"] = fleet_.live_peers();
        figures["threads_after"] = weir::bench::thread_times();
        figures["page_s"] =
            control_run_s(figures["threads_after"]) - control_run_s(figures["threads"]);
        figures["after_s"] = monotonic_s();
        return figures;
    }

    weir::Fleet fleet_;
    std::list<Load> loads_;  ///< after the fleet, so that they end first
};

int serve(const std::string& settings_file) {
    weir::Options options;
    options.settings_file = settings_file;
    options.log = [](std::string_view line) { std::clog << line << std::endl; };
    auto fleet = weir::Fleet::open(std::move(options));
    if (!fleet) {
        std::cerr << fleet.failure().message << std::endl;
        return 1;
    }
    Member member(std::move(*fleet));
    for (std::string line; std::getline(std::cin, line);) {
        Json answer;
        try {
            const Json command = Json::parse(line);
            if (command.at("do") == "end") {
                break;
            }
            answer = member.answer(command);
        } catch (const std::exception& failure) {
            answer = {{"error", failure.what()}};
        }
        std::cout << answer.dump() << std::endl;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string argument = argc == 2 ? argv[1] : "";
    if (argument.empty() || argument.front() == '-') {
        std::fputs(kHelp, argument == "--help" ? stdout : stderr);
        return argument == "--help" ? 0 : 2;
    }
    return serve(argument);
}
