// Story files: those of the project, what wrong ones are told, parameters, and the page that
// documents them.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "documented_keys.h"
#include "sim/fault_text.h"
#include "sim/fleet_limits.h"
#include "sim/story_files.h"

namespace weir::sim {
namespace {

using Lines = std::vector<std::string>;

/// For comparisons whose values doctest can show.
std::string joined(const Lines& lines) {
    std::string all;
    for (const std::string& line : lines) {
        all += line + "\n";
    }
    return all;
}

const std::string kGood = R"(apiVersion: weir/v1
kind: Story
name: good
lasts: 30s
fleet: {sidecars: 5}
quotas:
  - name: api
    limits: [{rate: 100r/s}]
  - name: user-{id}
    parent: api
    limits: [{rate: 10r/s}]
steps:
  - {at: 0s, load: {api: 50r/s, user-7: 5r/s}}
  - {at: 12s, stop: {sidecar: owner of api, for: 5s}}
  - {at: 20s, load: {api: 90r/s}}
measure: {against: 100r/s, from: 5s, to: 25s}
expect: {mean: 0.5..1.0}
)";

struct Reading {
    std::vector<Story> stories;
    Lines errors;
};

Reading read_text(const std::string& text) {
    config::Diagnostics diagnostics;
    Reading reading;
    reading.stories = read_stories({"s.yaml", text}, diagnostics);
    for (const config::Diagnostic& diagnostic : diagnostics.sorted()) {
        reading.errors.push_back(to_string(diagnostic));
    }
    return reading;
}

/// What is said of the good story with one line spoilt.
Lines errors_with(const std::string& line, const std::string& instead) {
    std::string text = kGood;
    const std::size_t at = text.find(line);
    REQUIRE(at != std::string::npos);
    return read_text(text.replace(at, line.size(), instead)).errors;
}

TEST_CASE("a leaf of several names is charged to the chains of all, to a common quota once") {
    const std::string head =
        "apiVersion: weir/v1\nkind: Story\nname: s\nlasts: 5s\nfleet: {sidecars: 1}\nquotas:\n"
        "  - {name: all, limits: [{rate: 9r/s}]}\n"
        "  - {name: 'user/{u}', parent: all, limits: [{rate: 5r/s}]}\n"
        "  - {name: 'space/{w}', parent: all, limits: [{rate: 5r/s}]}\nsteps:\n  - {at: 0s, load: ";
    const Reading good = read_text(head + "{user/1 + space/2: 3r/s, space/2: 1r/s}}\n");
    REQUIRE(good.stories.size() == 1);
    const WorldPlan& plan = good.stories[0].plan;
    CHECK(plan.load.quotas == Lines{"user/1 + space/2", "space/2"});
    const FleetLimits found = find_limits(plan.load, plan.definitions);
    REQUIRE(found.chains.size() == 2);
    CHECK(found.chains[0].size() == 3);
    CHECK(found.chains[1].size() == 2);
    CHECK(found.limits[0].offered == doctest::Approx(4));
    CHECK(read_text(head + "{user/1 + spaces/2: 3r/s}}\n").errors.size() == 1);
    CHECK(read_text(head + "{all + all + all + all + all: 3r/s}}\n").errors.size() == 1);
}

TEST_CASE("a story file: the fleet, the load of each leaf, and what happens") {
    const Reading reading = read_text(kGood);
    CHECK(joined(reading.errors) == "");
    REQUIRE(reading.stories.size() == 1);
    const Story& story = reading.stories[0];
    CHECK(story.name == "good");
    CHECK(story.plan.sidecars == 5);
    CHECK(story.plan.load.quotas == Lines{"api", "user-7"});
    REQUIRE(story.plan.load.phases.size() == 2);
    CHECK(story.plan.load.phases[0].rate == 55);
    CHECK(story.plan.load.phases[0].shares == std::vector<double>{50, 5});
    CHECK(story.plan.load.phases[1].shares == std::vector<double>{90, 0});
    REQUIRE(story.faults.size() == 1);
    CHECK(describe(story.faults[0]) == "{at: 12s, stop: {sidecar: owner of api, for: 5s}}");
    CHECK(story.limit == 100);
    CHECK(story.expected.steady->mean.least == 0.5);
    CHECK(story.expected.text == "0.500–1.000");
}

struct Wrong {
    const char* line;
    const char* instead;
    const char* error;
};

const std::vector<Wrong> kWrong = {
    {"fleet: {", "seeds: 5\nfleet: {", "s.yaml:5:1: seeds: unknown field, did you mean 'seed'?"},
    {"kind: Story", "kind: Quota", "s.yaml:2:7: kind: must be 'Story'"},
    {"sidecars: 5", "sidecars: 0", "s.yaml:5:19: fleet.sidecars: must be from 1 to 10000"},
    {"rate: 100r/s", "rate: 100r/s, hihg: 5s",
     "s.yaml:8:29: quotas[0].limits[0].hihg: unknown field, did you mean 'high'?"},
    {"rate: 100r/s", "rate: 1MiB/s, of: request-bytes",
     "s.yaml:7:5: quotas[0]: the simulator's requests have neither bytes nor cost: "
     "leave 'of' out"},
    {"rate: 100r/s", "window: 100r/h, from: mars",
     "s.yaml:8:37: quotas[0].limits[0].from: 'mars' must be name, calendar or first"},
    {"rate: 100r/s", "concurrency: 64",
     "s.yaml:7:5: quotas[0]: limits requests in flight, and no request takes time: say in 'load' "
     "how long one is in flight, like {takes: 500ms}"},
    {"steps:", "load: {takes: 5}\nsteps:",
     "s.yaml:12:15: load.takes: '5' is not a duration like 250ms, 10s, 5m or 2h, did you mean "
     "'5s'?"},
    {"steps:", "load: {takes: 0s}\nsteps:", "s.yaml:12:15: load.takes: must be from 1ms to 1h"},
    {"mean: 0.5..1.0", "windows: 0.9..1",
     "s.yaml:17:19: expect.windows: no quota has a limit of windows"},
    {"mean: 0.5..1.0", "in_flight: 0.9..1",
     "s.yaml:17:21: expect.in_flight: no quota has a limit of requests in flight"},
    {"parent: api", "parent: apo",
     "s.yaml:10:13: quotas[1].parent: there is no quota 'apo', did you mean 'api'?"},
    {"{api: 50r/s", "{apu: 50r/s",
     "s.yaml:13:21: steps[0].load.apu: there is no such quota, did you mean 'api'?"},
    {"user-7: 5r/s", "'user-{id}': 5r/s",
     "s.yaml:13:33: steps[0].load.user-{id}: is a template: name one of its instances"},
    {"stop: {", "stopp: {", "s.yaml:14:15: steps[1].stopp: unknown field, did you mean 'stop'?"},
    {"owner of api", "5", "s.yaml:14:31: steps[1].stop.sidecar: must be from 0 to 4"},
    {"owner of api", "owner of apu",
     "s.yaml:14:31: steps[1].stop.sidecar: there is no quota 'apu', did you mean "
     "'api'?"},
    {"owner of api", "all",
     "s.yaml:14:31: steps[1].stop.sidecar: must be a sidecar's number, 'owner of "
     "QUOTA', 'no owner of QUOTA' or 'owners of QUOTA'"},
    {", for: 5s}", "}", "s.yaml:14:21: steps[1].stop: 'for' is missing"},
    {"stop: {sidecar: owner of api, for: 5s}", "cut: {side: [], for: 5s}",
     "s.yaml:14:27: steps[1].cut.side: needs at least one sidecar"},
    {"stop: {sidecar: owner of api, for: 5s}",
     "throttle: {sidecar: 1, stopped: 1s, every: 1s, for: 5s}",
     "s.yaml:14:25: steps[1].throttle: 'every' must be at least 1ms, and longer than "
     "'stopped'"},
    {"at: 12s, stop: {sidecar: owner of api, for: 5s}", "at: 12s",
     "s.yaml:14:5: steps[1]: does nothing: a step has 'at' and 'load' or a fault"},
    {"at: 12s", "kill: 1, at: 12s",
     "s.yaml:14:5: steps[1]: does several things: make a step of each"},
    {"at: 12s", "at: 12m", "s.yaml:14:10: steps[1].at: is after the end of the story"},
    {"lasts: 30s", "lasts: 160h",
     "s.yaml:1:1: is too long for its load: the seconds times the quotas of the load may be "
     "1,000,000 at most"},
    {"to: 25s", "to: 5s", "s.yaml:16:10: measure: 'from' and 'to' must be at least a second apart"},
    {"0.5..1.0", "0.5-1.0",
     "s.yaml:17:16: expect.mean: must be the least and the most, like 0.96..1.04"},
    {"0.5..1.0", "1.0..0.5",
     "s.yaml:17:16: expect.mean: the first number is the least, and may not be above "
     "the second"},
    {"mean: 0.5..1.0", "shares: [50%]",
     "s.yaml:17:18: expect.shares: must have a share for each of the 2 quotas of the "
     "load"},
    {"name: good", "name: $good",
     "s.yaml:3:7: name: no value is given for the parameter '$good' (a dollar sign is "
     "written $$)"},
};

TEST_CASE("wrong story files: the line, the path and what was probably meant") {
    for (const Wrong& wrong : kWrong) {
        CAPTURE(wrong.error);
        CHECK(joined(errors_with(wrong.line, wrong.instead)) == joined({wrong.error}));
    }
    CHECK(read_text("").errors == Lines{"s.yaml: holds no story"});
    CHECK(read_text("[]").errors.size() == 1);
}

TEST_CASE("parameters: each set of values is a story") {
    std::string text = kGood;
    text.replace(text.find("name: good"), 10,
                 "name: good-$sidecars\nwhat: costs $$5\nwith: [{sidecars: 3}, {sidecars: 8}]");
    text.replace(text.find("sidecars: 5"), 11, "sidecars: $sidecars");
    const Reading reading = read_text(text);
    CHECK(joined(reading.errors) == "");
    REQUIRE(reading.stories.size() == 2);
    CHECK(reading.stories[0].name == "good-3");
    CHECK(reading.stories[1].name == "good-8");
    CHECK(reading.stories[1].plan.sidecars == 8);
    CHECK(reading.stories[1].text == "costs $5");
    text.replace(text.find("sidecars: $sidecars"), 19, "sidecars: $sidecar");
    CHECK(read_text(text).errors ==
          Lines{"s.yaml:7:19: fleet.sidecars: no value is given for the parameter '$sidecar' (a "
                "dollar sign is written $$), did you mean 'sidecars'?"});
}

TEST_CASE("the instances of a template that the load uses have limits of their own") {
    const Reading reading = read_text(kGood);
    REQUIRE(reading.stories.size() == 1);
    const WorldPlan& plan = reading.stories[0].plan;
    const FleetLimits fleet = find_limits(plan.load, plan.definitions);
    REQUIRE(fleet.limits.size() == 2);
    CHECK(fleet.limits[0].quota == "api");
    CHECK(fleet.limits[0].offered == 95);
    CHECK(fleet.limits[1].quota == "user-7");
    CHECK(fleet.limits[1].offered == 5);
    CHECK(fleet.chains == std::vector<std::vector<LimitIndex>>{{0}, {1, 0}});
}

TEST_CASE("a story with windows and requests in flight, beside rates") {
    std::string text = kGood;
    const std::string rate = "[{rate: 100r/s}]";
    text.replace(
        text.find(rate), rate.size(),
        "[{rate: 100r/s}, {window: 1000r/h, from: first}, {window: 9000r/m, from: calendar}, "
        "{concurrency: 20}]");
    text.replace(text.find("steps:"), 6, "load: {takes: 250ms}\nsteps:");
    text.replace(text.find("stop: {sidecar: owner of api, for: 5s}"), 38,
                 "set_back: {sidecar: 2, by: 1h}");
    const Reading reading = read_text(text);
    CHECK(joined(reading.errors) == "");
    REQUIRE(reading.stories.size() == 1);
    CHECK(reading.stories[0].plan.load.takes == 0.25);
    CHECK(describe(reading.stories[0].faults[0]) == "{at: 12s, set_back: {sidecar: 2, by: 3600s}}");
    const StoryResult result = run(reading.stories[0], 1);
    CHECK(joined(result.findings) == "");
    REQUIRE(result.counted.size() == 3);
    CHECK(result.counted[2].limit == 20);
    CHECK(result.counted[2].most > 1);
}

TEST_CASE("an edit gives a rate, so the limit cannot be one of requests in flight") {
    std::string text = kGood;
    text.replace(text.find("rate: 100r/s"), 12, "concurrency: 20");
    text.replace(text.find("steps:"), 6, "load: {takes: 250ms}\nsteps:");
    text.replace(text.find("stop: {sidecar: owner of api, for: 5s}"), 38,
                 "edit: {sidecar: 2, quota: api, rate: 5r/s}");
    CHECK(
        read_text(text).errors ==
        Lines{"s.yaml:15:21: steps[1].edit: the first limit of 'api' is one of requests in flight, "
              "which has no rate"});
}

TEST_CASE("a story whose load names instances of a template is watched and sound") {
    const Reading reading = read_text(kGood);
    REQUIRE(reading.stories.size() == 1);
    const StoryResult result = run(reading.stories[0], 1);
    CHECK(result.met);
    CHECK(joined(result.findings) == "");
}

TEST_CASE("the stories of the project are right, and each has a name of its own") {
    config::Diagnostics diagnostics;
    std::vector<std::string> names;
    for (const auto& folder : {test::kStories, test::kStories / "costly"}) {
        for (const Story& story : test::stories_in(folder, diagnostics)) {
            names.push_back(story.name);
        }
    }
    CHECK(diagnostics.text() == "");
    CHECK(names.size() == 76);
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("the keys of a story are documented, and no others") {
    const std::string docs = testing::read("docs/simulator.md");
    std::set<std::string> keys = testing::taken_keys("src/sim/story_file.cpp");
    keys.merge(testing::taken_keys("src/sim/fleet_reader.cpp"));
    keys.merge(testing::taken_keys("src/sim/expectation_reader.cpp"));
    CHECK(testing::documented_keys(docs, "## Keys of a story", "## Steps") == keys);
    CHECK(keys.contains("hot_sidecar"));
}

std::string quoted(const std::vector<std::string_view>& keys) {
    std::string text;
    for (const std::string_view key : keys) {
        text += (text.empty() ? "`" : ", `") + std::string(key) + "`";
    }
    return text;
}

TEST_CASE("docs/simulator.md has each fault and each field as the code has it, and no other") {
    const std::string docs = testing::read("docs/simulator.md");
    for (const FaultForm& form : fault_forms()) {
        std::string fields = quoted(form.needed);
        fields += (form.optional.empty() ? "" : ", maybe ") + quoted(form.optional);
        const std::string row = "| `" + std::string(form.key) + "` | " + fields +
                                (fields.empty() ? "| " : " | ") + std::string(form.meaning) +
                                " |\n";
        CAPTURE(row);
        CHECK(docs.find(row) != std::string::npos);
    }
    for (const FaultField& field : fault_fields()) {
        const std::string row = "| `" + std::string(field.key) + "` | " + std::string(field.value) +
                                " | " + std::string(field.meaning) + " |\n";
        CAPTURE(row);
        CHECK(docs.find(row) != std::string::npos);
    }
    const std::size_t begin = docs.find("## Steps");
    const std::string steps = docs.substr(begin, docs.find("## Parameters") - begin);
    CHECK(testing::count_of(steps, "\n| `") == fault_forms().size() + fault_fields().size());
}

TEST_CASE("the stories of docs/simulator.md are right") {
    const std::string docs = testing::read("docs/simulator.md");
    const std::string begin = "```yaml\napiVersion";
    std::size_t found = 0;
    for (std::size_t at = docs.find(begin); at != std::string::npos; at = docs.find(begin, at)) {
        at += std::string("```yaml\n").size();
        CHECK(read_text(docs.substr(at, docs.find("```", at) - at)).errors.empty());
        ++found;
    }
    CHECK(found == 3);
}

}  // namespace
}  // namespace weir::sim
