// What a story's bounds let pass and what not.

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/story_files.h"

namespace weir::sim {
namespace {

Story story_named(const std::string& name) {
    config::Diagnostics diagnostics;
    const std::vector<Story> stories = test::stories_in(test::kStories, diagnostics);
    REQUIRE(diagnostics.text() == "");
    const auto found = std::find_if(stories.begin(), stories.end(),
                                    [&](const Story& story) { return story.name == name; });
    REQUIRE(found != stories.end());
    return *found;
}

/// As the table has it for weir.
Summary as_before(const OwnFigures& own) {
    Summary summary;
    if (own.steady) {
        summary.mean_least = own.steady->mean.least;
        summary.mean_most = own.steady->mean.most;
        summary.second_least = own.steady->seconds->least;
        summary.second_most = own.steady->seconds->most;
    }
    summary.single_seconds = own.single_seconds;
    return summary;
}

/// Whatever the reference says.
bool worse_than_before(const Story& story, const Summary& summary) {
    const auto faults = judge(story, summary);
    return std::any_of(faults.begin(), faults.end(),
                       [](const std::string& fault) { return fault.starts_with("own "); });
}

TEST_CASE("the rows of faults: weir's own figures pass, a second that is further off does not") {
    for (const char* name :
         {"jump-50", "restart-5", "kill-5", "stop-owner-5", "stop-other-5", "split-6"}) {
        CAPTURE(name);
        const Story story = story_named(name);
        const Summary good = as_before(story.own);
        CHECK(!worse_than_before(story, good));
        for (std::size_t i = 0; i < story.own.single_seconds.size(); ++i) {
            for (const double by : {-0.04, 0.04}) {
                CAPTURE(i);
                CAPTURE(by);
                Summary worse = good;
                worse.single_seconds[i].add(
                    by + (by < 0 ? worse.single_seconds[i].least : worse.single_seconds[i].most));
                CHECK(worse_than_before(story, worse));
            }
        }
        if (!story.own.steady) {
            continue;
        }
        Summary worse = good;
        worse.second_least -= 0.04;
        CHECK(worse_than_before(story, worse));
        worse = good;
        worse.second_most += 0.04;
        CHECK(worse_than_before(story, worse));
        worse = good;
        worse.mean_most += 0.02;
        CHECK(worse_than_before(story, worse));
    }
}

TEST_CASE("a split whose halves keep to one limit is not what optimistic means") {
    const Story story = story_named("split-6");
    Summary summary = as_before(story.own);
    summary.single_seconds[2] = {1.0, 1.0};
    const auto faults = judge(story, summary);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].starts_with("own second 3 1.0000 < 1.86"));
}

}  // namespace
}  // namespace weir::sim
