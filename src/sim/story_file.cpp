#include "sim/story_file.h"

#include <utility>

#include "config/parse.h"
#include "config/reader.h"
#include "config/values.h"
#include "sim/expectation_reader.h"
#include "sim/fault_text.h"
#include "sim/fleet_reader.h"
#include "sim/parameters.h"
#include "sim/value_reader.h"

namespace weir::sim {
namespace {

using config::Diagnostics;
using config::Document;
using config::MapReader;
using config::NodeRef;

void check_constant(std::optional<NodeRef> node, std::string_view expected,
                    Diagnostics& diagnostics) {
    const auto text = node ? config::read_text(*node, diagnostics) : std::nullopt;
    if (text && *text != expected) {
        diagnostics.error(*node, "must be '" + std::string(expected) + "'");
    }
}

std::string text_of(std::optional<NodeRef> node, Diagnostics& diagnostics) {
    return std::string(node ? config::read_text(*node, diagnostics).value_or("") : "");
}

/// Reads the times between which admitted requests are counted, and the limit with which they are
/// compared.
void read_measure(NodeRef node, Story& story, Diagnostics& diagnostics) {
    MapReader reader(node, diagnostics);
    if (const auto against = reader.take("against")) {
        story.limit = read_rate(*against, diagnostics);
        if (story.limit <= 0) {
            diagnostics.error(*against, "must be more than 0");
        }
    }
    const auto time = [&](std::optional<NodeRef> given, double& seconds) {
        if (!given) {
            return;
        }
        seconds = read_seconds(*given, diagnostics);
        if (seconds > story.plan.seconds) {
            diagnostics.error(*given, "is after the end of the story");
        }
    };
    time(reader.take("from"), story.steady_from);
    time(reader.take("to"), story.steady_to);
    time(reader.take("single_from"), story.seconds_from);
    time(reader.take("traffic_from"), story.traffic_from);
    reader.finish();
    if (story.steady_to - story.steady_from < 1 && !diagnostics.has_errors()) {
        diagnostics.error(node, "'from' and 'to' must be at least a second apart");
    }
}

/// Reports a story that is too large: the bins of 10 ms in which requests are counted for each leaf
/// may take a gigabyte at most.
void check_size(NodeRef root, const WorldPlan& plan, Diagnostics& diagnostics) {
    constexpr double kMost = 1'000'000;
    if (plan.seconds * static_cast<double>(plan.load.quotas.size()) > kMost) {
        diagnostics.error(root,
                          "is too long for its load: the seconds times the quotas of the "
                          "load may be 1,000,000 at most");
    }
}

/// Reports limits of requests in flight of a story that does not say how long a request is.
void check_times(const QuotasInFlight& quotas, const WorldPlan& plan, Diagnostics& diagnostics) {
    for (const NodeRef quota : quotas) {
        if (plan.load.takes == 0) {
            diagnostics.error(quota,
                              "limits requests in flight, and no request takes time: say in 'load' "
                              "how long one is in flight, like {takes: 500ms}");
        }
    }
}

Story read_story(NodeRef root, Diagnostics& diagnostics) {
    constexpr double kShortest = 1;
    Story story;
    MapReader reader(root, diagnostics);
    static_cast<void>(reader.take("with"));
    check_constant(reader.require("apiVersion"), "weir/v1", diagnostics);
    check_constant(reader.require("kind"), "Story", diagnostics);
    story.name = text_of(reader.require("name"), diagnostics);
    story.text = text_of(reader.take("what"), diagnostics);
    if (const auto seed = reader.take("seed")) {
        story.seed = config::read_unsigned(*seed, 0, UINT64_MAX, diagnostics);
    }
    if (const auto lasts = reader.require("lasts")) {
        story.plan.seconds = read_seconds(*lasts, diagnostics);
        if (story.plan.seconds < kShortest) {
            diagnostics.error(*lasts, "must be at least a second");
        }
    }
    story.steady_to = story.plan.seconds;
    if (const auto fleet = reader.require("fleet")) {
        read_fleet(*fleet, story.plan, diagnostics);
    }
    if (const auto network = reader.take("network")) {
        read_network(*network, story.plan.faults, diagnostics);
    }
    QuotaCopies copies;
    QuotasInFlight in_flight;
    if (const auto quotas = reader.require("quotas")) {
        copies = read_quotas(*quotas, story.plan, in_flight, diagnostics);
    }
    if (const auto load = reader.take("load")) {
        read_load(*load, story.plan, diagnostics);
    }
    check_times(in_flight, story.plan, diagnostics);
    if (const auto steps = reader.require("steps")) {
        read_steps(*steps, copies, story, diagnostics);
    }
    check_size(root, story.plan, diagnostics);
    if (const auto measure = reader.take("measure")) {
        read_measure(*measure, story, diagnostics);
    }
    if (const auto expect = reader.take("expect")) {
        read_expectation(*expect, story, diagnostics);
    }
    if (const auto own = reader.take("own")) {
        read_own_figures(*own, story, diagnostics);
    }
    reader.finish();
    return story;
}

/// Reads one set of parameters for each story that the document describes.
std::vector<Parameters> read_parameters(const Document& document, Diagnostics& diagnostics) {
    if (document.root()->kind != config::NodeKind::map) {
        return {{}};
    }
    std::vector<Parameters> sets;
    for (const NodeRef member : document.root().children()) {
        if (member->key != "with") {
            continue;
        }
        for (const NodeRef set : config::read_list(member, diagnostics)) {
            Parameters& parameters = sets.emplace_back();
            for (const NodeRef each : set.children()) {
                parameters[std::string(each->key)] =
                    std::string(config::read_text(each, diagnostics).value_or(""));
            }
        }
        if (sets.empty()) {
            diagnostics.error(member, "must be a list of maps from parameters to their values");
        }
        return sets;
    }
    return {{}};
}

std::string network_text(const NetworkFaults& faults) {
    const NetworkFaults usual;
    std::string text;
    const auto add = [&](const std::string& key, const std::string& value) {
        text += (text.empty() ? "" : ", ") + key + ": " + value;
    };
    if (faults.delay != usual.delay) {
        add("delay", config::format_duration(faults.delay));
    }
    const auto add_share = [&](const char* key, double share) {
        if (share > 0) {
            add(key, share_text(share));
        }
    };
    add_share("loss", faults.loss);
    add_share("duplication", faults.duplication);
    add_share("reordering", faults.reordering);
    if (faults.refusals) {
        add("refusals", "true");
    }
    return text.empty() ? text : "network: {" + text + "}\n";
}

/// The text of the load from one phase on.
std::string load_text(const LoadPlan& load, const LoadPhase& phase) {
    std::string text;
    for (std::size_t i = 0; i < load.quotas.size(); ++i) {
        const double rate = phase.shares.empty() ? 0 : phase.shares[i];
        text += (i == 0 ? "" : ", ") + load.quotas[i] + ": " + rate_text(rate);
    }
    return "  - {at: " + seconds_text(phase.from) + ", load: {" + text + "}}\n";
}

}  // namespace

std::vector<Story> read_stories(const config::SourceText& source, Diagnostics& diagnostics) {
    const std::size_t errors = diagnostics.error_count();
    const std::vector<Document> documents =
        config::parse_documents(source.text, source.file, config::ParseLimits{}, diagnostics);
    if (documents.empty() && diagnostics.error_count() == errors) {
        diagnostics.add({config::Severity::error, source.file, {}, {}, "holds no story", {}});
    }
    std::vector<Story> stories;
    for (const Document& document : documents) {
        for (const Parameters& parameters : read_parameters(document, diagnostics)) {
            const auto filled = fill_in(document, parameters, diagnostics);
            if (!filled) {
                break;
            }
            const std::size_t before = diagnostics.error_count();
            stories.push_back(read_story(filled->root(), diagnostics));
            if (diagnostics.error_count() != before) {
                break;  // the same errors would follow for the other parameters
            }
        }
    }
    return stories;
}

std::string story_text(const Story& story) {
    const WorldPlan& plan = story.plan;
    std::string text =
        "apiVersion: weir/v1\nkind: Story\nname: " + story.name + "\nwhat: " + story.text + "\n";
    if (story.seed) {
        text += "seed: " + std::to_string(*story.seed) + "\n";
    }
    text += "lasts: " + seconds_text(plan.seconds) +
            "\nfleet: {sidecars: " + std::to_string(plan.sidecars) +
            ", clock_drift: " + share_text(plan.clock_drift) + "}\n" + network_text(plan.faults) +
            "quotas:\n";
    for (const limiter::QuotaDefinition& quota : plan.definitions) {
        text += "  - " + config::quota_json(quota, -1) + "\n";
    }
    if (plan.load.takes > 0) {
        text += "load: {takes: " + seconds_text(plan.load.takes) + "}\n";
    }
    text += "steps:\n";
    for (const LoadPhase& phase : plan.load.phases) {
        text += load_text(plan.load, phase);
    }
    for (const Fault& fault : story.faults) {
        text += "  - " + describe(fault) + "\n";
    }
    return text;
}

}  // namespace weir::sim
