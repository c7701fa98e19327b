// weir-load: the open-loop generator as a program. Reads its plan from a file, commands from
// standard input, and prints JSON lines.

#include <sys/epoll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "tools/load.h"
#include "tools/process.h"

namespace {

/// Lines of standard input become commands.
class CommandInput : public weir::tools::EventHandler {
  public:
    CommandInput(weir::tools::Poller& poller, weir::tools::Load& load)
        : poller_(poller), load_(load) {
        poller_.add(STDIN_FILENO, EPOLLIN, this);
    }

    void on_events(std::uint32_t) override {
        std::array<char, 4096> input{};
        const ssize_t count = ::read(STDIN_FILENO, input.data(), input.size());
        if (count <= 0) {
            poller_.remove(STDIN_FILENO);
            return;
        }
        text_.append(input.data(), static_cast<std::size_t>(count));
        for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
            load_.command(text_.substr(0, end));
            text_.erase(0, end + 1);
        }
    }

  private:
    weir::tools::Poller& poller_;
    weir::tools::Load& load_;
    std::string text_;
};

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read " + path);
    }
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("weir-load: open-loop HTTP load from a plan");
    std::string plan_path;
    bool commands = false;
    app.add_option("--plan", plan_path, "the plan, a JSON document")->required();
    app.add_flag("--commands", commands, "take commands from standard input");
    CLI11_PARSE(app, argc, argv);
    try {
        const weir::tools::LoadPlan plan = weir::tools::parse_plan(read_file(plan_path));
        weir::tools::follow_parent_and_signals();
        weir::tools::Poller poller;
        weir::tools::Load load(poller, plan, std::cout);
        std::unique_ptr<CommandInput> input;
        if (commands) {
            input = std::make_unique<CommandInput>(poller, load);
        }
        while (load.turn()) {
            if (weir::tools::stop_requested()) {
                load.command("stop");
            }
        }
    } catch (const std::exception& failure) {
        std::cerr << "weir-load: " << failure.what() << "\n";
        return 1;
    }
    return 0;
}
