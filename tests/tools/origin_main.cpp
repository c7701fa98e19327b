// weir-origin: the counting origin as a program. Prints one JSON line with the addresses it bound
// and runs until SIGTERM or its parent's end.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "tools/monotonic.h"
#include "tools/origin.h"
#include "tools/process.h"

namespace {

/// "a=127.0.0.1:0" or, with the name "origin", "127.0.0.1:0".
weir::tools::OriginOptions::Listen parse_listen(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
        return {"origin", text};
    }
    return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("weir-origin: answers every request and counts arrivals");
    weir::tools::OriginOptions options;
    std::vector<std::string> listen{"127.0.0.1:0"};
    double delay_ms = 0;
    app.add_option("--listen", listen, "[name=]address, repeatable; unix:/path too");
    app.add_option("--control", options.control, "address of GET /report and POST /reset");
    app.add_option("--body-bytes", options.body_bytes, "length of each answer's body");
    app.add_option("--delay-ms", delay_ms, "how long each answer waits");
    app.add_option("--other-every", options.other_every, "every so many answers are different");
    app.add_option("--other-status", options.other_status, "their status");
    CLI11_PARSE(app, argc, argv);
    try {
        for (const auto& text : listen) {
            options.listen.push_back(parse_listen(text));
        }
        options.delay_ns = weir::tools::to_ns(delay_ms / 1e3);
        weir::tools::follow_parent_and_signals();
        weir::tools::Poller poller;
        weir::tools::Origin origin(poller, options);
        std::cout << origin.ready_line() << std::endl;
        while (!weir::tools::stop_requested()) {
            origin.turn();
        }
    } catch (const std::exception& failure) {
        std::cerr << "weir-origin: " << failure.what() << "\n";
        return 1;
    }
    return 0;
}
