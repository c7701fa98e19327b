// weir-flood: noise at a UDP port; one line of JSON tells what was sent.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/flood.h"
#include "tools/process.h"

int main(int argc, char** argv) {
    CLI::App app("weir-flood: datagrams of noise");
    weir::tools::FloodPlan plan;
    app.add_option("--to", plan.target, "an address such as 127.0.0.1:7946")->required();
    app.add_option("--datagrams", plan.datagrams, "how many")->required();
    app.add_option("--per-second", plan.per_second, "at most")->required();
    app.add_option("--longest", plan.longest, "bytes of the longest");
    app.add_option("--seed", plan.seed, "of the noise");
    CLI11_PARSE(app, argc, argv);
    try {
        weir::tools::follow_parent_and_signals();
        const weir::tools::FloodResult result = weir::tools::flood(plan);
        const std::chrono::duration<double> took = result.took;
        const nlohmann::json told{
            {"sent", result.sent}, {"answers", result.answers}, {"seconds", took.count()}};
        std::cout << told.dump() << "\n";
    } catch (const std::exception& failure) {
        std::cerr << "weir-flood: " << failure.what() << "\n";
        return 1;
    }
    return 0;
}
