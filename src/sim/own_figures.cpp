// What docs/cluster.md says of weir in the rows of faults, over 20 seeds: the reference model's
// figures there are of a protocol without names and membership, and far from weir's in either
// direction. An engine that gets worse than this has regressed; one that gets better gives the
// table new figures, and these.

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/story.h"

namespace weir::sim {
namespace {

void give(std::vector<Story>& stories, const std::string& name, OwnFigures figures) {
    const auto found = std::find_if(stories.begin(), stories.end(),
                                    [&](const Story& story) { return story.name == name; });
    if (found == stories.end()) {
        throw std::logic_error("no story " + name);
    }
    if (figures.single_seconds.size() > found->reference.single_seconds.size()) {
        throw std::logic_error("more single seconds than " + name + " counts");
    }
    found->own = std::move(figures);
}

}  // namespace

void add_own_figures(std::vector<Story>& stories) {
    give(
        stories, "jump-50",
        {.steady = {},
         .single_seconds = {{2.55, 2.65}, {0.90, 0.99}, {0.92, 1.00}, {0.95, 1.02}, {0.97, 1.07}}});
    give(stories, "restart-5", {.steady = Figures{0.994, 1.000, 0.91, 1.05}, .single_seconds = {}});
    give(stories, "kill-5", {.steady = Figures{0.996, 1.001, 0.96, 1.06}, .single_seconds = {}});
    give(stories, "stop-owner-5",
         {.steady = {},
          .single_seconds = {{0.78, 0.85},
                             {1.00, 1.07},
                             {0.96, 1.02},
                             {0.96, 1.02},
                             {0.97, 1.03},
                             {1.00, 1.05},
                             {0.96, 1.01}}});
    give(stories, "stop-other-5",
         {.steady = {},
          .single_seconds = {{0.80, 0.86},
                             {0.99, 1.03},
                             {0.98, 1.02},
                             {0.98, 1.02},
                             {0.97, 1.02},
                             {1.00, 1.05},
                             {0.95, 1.00}}});
    // Six seconds of the split, each half with the whole limit, then five after it.
    give(stories, "split-6",
         {.steady = {},
          .single_seconds = {{1.93, 2.07},
                             {1.91, 2.06},
                             {1.89, 2.07},
                             {1.92, 2.04},
                             {1.93, 2.04},
                             {1.95, 2.07},
                             {0.97, 1.06},
                             {0.96, 1.04},
                             {0.97, 1.04},
                             {0.94, 1.03},
                             {0.96, 1.05}}});
}

}  // namespace weir::sim
