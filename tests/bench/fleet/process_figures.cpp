#include "process_figures.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace weir::bench {

nlohmann::json thread_times() {
    struct Times {
        double run_s = 0;
        double waited_s = 0;
    };
    std::map<std::string, Times> times;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream name_file(thread.path() / "comm");
        std::ifstream times_file(thread.path() / "schedstat");
        std::string name;
        double run_ns = 0;
        double waited_ns = 0;
        if (std::getline(name_file, name) && times_file >> run_ns >> waited_ns) {
            times[name].run_s += run_ns / 1e9;
            times[name].waited_s += waited_ns / 1e9;
        }
    }
    nlohmann::json result;
    for (const auto& [name, of_name] : times) {
        result[name] = {{"run_s", of_name.run_s}, {"waited_s", of_name.waited_s}};
    }
    return result;
}

double anonymous_bytes() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        if (word == "RssAnon:") {
            double kibibytes = 0;
            status >> kibibytes;
            return kibibytes * 1024;
        }
    }
    return 0;
}

}  // namespace weir::bench
