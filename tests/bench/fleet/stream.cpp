#include "stream.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace weir::bench {
namespace {

tools::Arrivals arrivals_of(const StreamPlan& plan, Random random) {
    using Kind = tools::Arrivals::Kind;
    return {plan.poisson ? Kind::poisson : Kind::constant, {{0, plan.rate}}, random};
}

}  // namespace

StreamPlan read_stream_plan(const nlohmann::json& plan) {
    StreamPlan read;
    for (const auto& [key, value] : plan.items()) {
        if (key == "prefix") {
            value.get_to(read.prefix);
        } else if (key == "first") {
            value.get_to(read.first);
        } else if (key == "names") {
            value.get_to(read.names);
        } else if (key == "rate") {
            value.get_to(read.rate);
        } else if (key == "arrivals" && (value == "poisson" || value == "even")) {
            read.poisson = value == "poisson";
        } else if (key == "turn") {
            value.get_to(read.turn);
        } else if (key == "most") {
            value.get_to(read.most);
        } else if (key == "weight") {
            value.get_to(read.weight);
        } else {
            throw std::invalid_argument("a stream has no " + key + ": " + value.dump());
        }
    }
    if (read.names == 0 || !(read.rate > 0)) {
        throw std::invalid_argument("a stream needs names and a rate");
    }
    return read;
}

Stream::Stream(StreamPlan plan, Random random)
    : plan_(std::move(plan)),
      arrivals_(arrivals_of(plan_, random.fork())),
      random_(random.fork()),
      admitted_by_name_(plan_.names <= kMostCountedByName ? plan_.names : 0) {}

void Stream::use_due(Worker& worker, double elapsed_s) {
    if (ended() || arrivals_.next_s() > elapsed_s) {
        return;
    }
    while (elapsed_s - arrivals_.next_s() > kStoodStillSeconds) {
        arrivals_.advance();
        skipped_.add(1);
    }
    latest_us_.raise_to(
        static_cast<std::uint64_t>(std::max(0.0, elapsed_s - arrivals_.next_s()) * 1e6));
    while (!ended() && arrivals_.next_s() <= elapsed_s) {
        use(worker,
            plan_.poisson ? random_.below(plan_.names) : (plan_.turn + used_) % plan_.names);
        ++used_;
        arrivals_.advance();
    }
}

void Stream::use(Worker& worker, std::uint64_t name) {
    char digits[20];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), plan_.first + name).ptr;
    name_.assign(plan_.prefix).append(std::begin(digits), end);
    Request request;
    request.requests = plan_.weight;
    const Decision decision = worker.check(name_, request);
    if (decision.reason() == Reason::error || decision.reason() == Reason::no_quota) {
        failed_.add(1);
    } else if (decision.admitted()) {
        admitted_.add(1);
        if (!admitted_by_name_.empty()) {
            admitted_by_name_[name].add(1);
        }
    } else {
        (decision.reason() == Reason::isolated ? isolated_ : refused_).add(1);
    }
}

nlohmann::json Stream::counts() const {
    nlohmann::json by_name = nlohmann::json::array();
    for (const Counter& counter : admitted_by_name_) {
        by_name.push_back(counter.value());
    }
    return {{"prefix", plan_.prefix},
            {"admitted", admitted_.value()},
            {"refused", refused_.value()},
            {"isolated", isolated_.value()},
            {"skipped", skipped_.value()},
            {"failed", failed_.value()},
            {"latest_ms", static_cast<double>(latest_us_.value()) / 1e3},
            {"admitted_by_name", std::move(by_name)}};
}

}  // namespace weir::bench
