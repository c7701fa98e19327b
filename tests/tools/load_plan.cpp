#include "tools/load_plan.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace weir::tools {
namespace {

using Json = nlohmann::json;

/// A number, or a list of {at_s, per_second}.
std::vector<RateStep> parse_rate(const Json& json) {
    if (json.is_number()) {
        return {{0, json.get<double>()}};
    }
    std::vector<RateStep> steps;
    for (const Json& step : json) {
        steps.push_back({step.at("at_s"), step.at("per_second")});
    }
    return steps;
}

/// Absent: even. A list of numbers: for the whole run. Else a list of {at_s, shares}.
std::vector<ShareStep> parse_shares(const Json& stream, std::size_t targets) {
    const auto found = stream.find("shares");
    if (found == stream.end()) {
        return {{0, std::vector<double>(targets, 1.0)}};
    }
    if (found->at(0).is_number()) {
        return {{0, found->get<std::vector<double>>()}};
    }
    std::vector<ShareStep> steps;
    for (const Json& step : *found) {
        steps.push_back({step.at("at_s"), step.at("shares").get<std::vector<double>>()});
    }
    return steps;
}

void check_steps(const LoadStream& stream, std::size_t targets) {
    if (stream.rate.empty() || stream.rate.front().at_s > 0) {
        throw std::runtime_error("stream " + stream.name + ": the first rate must be at 0 s");
    }
    if (stream.variants < 1 || stream.variants > 1'000'000) {
        throw std::runtime_error("stream " + stream.name + ": 1 to 1000000 variants");
    }
    for (const ShareStep& step : stream.shares) {
        if (step.shares.size() != targets) {
            throw std::runtime_error("stream " + stream.name + ": one share for each target");
        }
    }
}

LoadStream parse_stream(const Json& json, std::size_t targets) {
    LoadStream stream;
    stream.name = json.at("name");
    stream.method = json.value("method", stream.method);
    stream.path = json.value("path", stream.path);
    stream.variants = json.value("variants", stream.variants);
    stream.host = json.value("host", stream.host);
    stream.body_bytes = json.value("body_bytes", stream.body_bytes);
    const Json headers = json.value("headers", Json::object());
    for (const auto& [name, value] : headers.items()) {
        stream.headers.emplace_back(name, value);
    }
    const std::string arrivals = json.value("arrivals", "constant");
    stream.closed = arrivals == "closed";
    stream.rate = stream.closed ? std::vector<RateStep>{{0, 0}} : parse_rate(json.at("rate"));
    stream.shares = parse_shares(json, targets);
    if (!stream.closed && arrivals != "constant" && arrivals != "poisson") {
        throw std::runtime_error("stream " + stream.name + ": unknown arrivals " + arrivals);
    }
    const bool poisson = arrivals == "poisson";
    stream.arrivals = poisson ? Arrivals::Kind::poisson : Arrivals::Kind::constant;
    // Poisson arrivals split by lot are Poisson at each target; constant ones stay even in turns.
    stream.spread = poisson ? Spread::Kind::random : Spread::Kind::turns;
    check_steps(stream, targets);
    return stream;
}

}  // namespace

LoadPlan parse_plan(const std::string& text) {
    try {
        const Json json = Json::parse(text);
        LoadPlan plan;
        plan.seed = json.value("seed", plan.seed);
        plan.duration_s = json.value("duration_s", plan.duration_s);
        plan.linger_s = json.value("linger_s", plan.linger_s);
        plan.timeout_s = json.value("timeout_s", plan.timeout_s);
        plan.connections_per_target =
            json.value("connections_per_target", plan.connections_per_target);
        plan.queue_per_target = json.value("queue_per_target", plan.queue_per_target);
        for (const Json& target : json.at("targets")) {
            plan.targets.push_back({target.at("name"), target.at("address")});
        }
        for (const Json& stream : json.at("streams")) {
            plan.streams.push_back(parse_stream(stream, plan.targets.size()));
        }
        return plan;
    } catch (const Json::exception& failure) {
        throw std::runtime_error(std::string("plan: ") + failure.what());
    }
}

}  // namespace weir::tools
