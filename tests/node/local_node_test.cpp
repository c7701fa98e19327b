#include "node/local_node.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "definitions/store.h"
#include "engine/engine.h"

namespace weir::node {

TEST_CASE("upkeep goes on after a callback that threw") {
    boost::asio::io_context control{1};
    const config::Settings settings;
    LocalNode node(control, settings, 1);
    REQUIRE(node.open(settings).has_value());
    limiter::QuotaDefinition definition;
    definition.name = "b";
    const config::QuotaSet set{
        .file = "q.yaml", .name = "shared", .generation = 3, .quotas = {definition}};
    REQUIRE(node.apply_first({set}).errors.empty());
    int told = 0;
    node.on_late_outcome([&](const SetsOutcome&) {
        if (++told == 1) {
            throw std::runtime_error("once");
        }
    });
    definitions::DefinitionStore& store = node.cluster().engine().definitions();
    store.note_peer_contents("shared", {{77, 1}});
    CHECK_THROWS_AS(node.start([] { return true; }),
                    std::runtime_error);  // begins with the first upkeep
    store.note_peer_contents("shared", {});
    for (int i = 0; i < 100 && told < 2; ++i) {
        control.run_for(std::chrono::milliseconds(100));
    }
    CHECK(told == 2);
    node.leave();
}

}  // namespace weir::node
