// Which definitions count, kept up by edits: against a dumb model, and what edits cost.
#include "definitions/tree.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "definitions/rules.h"
#include "definitions/store.h"
#include "limiter/name_pattern.h"

namespace weir::definitions {
namespace {

using namespace std::chrono_literals;
using limiter::NamePattern;
using limiter::QuotaDefinition;

constexpr Instant kStart{1h};

QuotaDefinition quota(std::string name, std::optional<std::string> parent, std::size_t limits = 1) {
    QuotaDefinition definition;
    definition.name = std::move(name);
    definition.parent = std::move(parent);
    for (std::size_t i = 0; i < limits; ++i) {
        limiter::RateLimit limit;
        limit.amount = 10;
        limit.period = std::chrono::seconds(i + 1);
        definition.limits.push_back(limit);
    }
    return definition;
}

using Set = std::map<std::string, QuotaDefinition>;

std::string shape(const std::string& name) {
    std::string text;
    bool inside = false;
    for (const char c : name) {
        inside = inside ? c != '}' : c == '{';
        text += !inside || c == '{' ? std::string(1, c) : "";
    }
    return text;
}

/// Whom a parent's text means, looked for from scratch.
const QuotaDefinition* meant(const Set& set, const std::string& text) {
    limiter::TemplateIndex index;
    std::vector<const QuotaDefinition*> templates;
    const QuotaDefinition* exact = nullptr;
    for (const auto& [name, definition] : set) {
        if (exact == nullptr && shape(name) == shape(text)) {
            exact = &definition;
        }
    }
    if (exact != nullptr) {
        return exact;
    }
    for (const auto& entry : set) {
        const std::string& name = entry.first;  // clang 14 captures no structured binding
        const auto& definition = entry.second;
        const bool first = std::none_of(set.begin(), set.find(name), [&](const auto& other) {
            return shape(other.first) == shape(name);
        });
        if (limiter::is_template(name) && NamePattern::parse(name) && first) {
            index.add(*NamePattern::parse(name), static_cast<std::uint32_t>(templates.size()));
            templates.push_back(&definition);
        }
    }
    const auto found = index.find(text);
    return found ? templates[*found] : nullptr;
}

bool counts(const Set& set, const QuotaDefinition& definition) {
    std::size_t limits = 0;
    std::ptrdiff_t concurrency = 0;
    std::size_t depth = 0;
    for (const QuotaDefinition* at = &definition; at != nullptr;) {
        if (!validate_alone(*at).empty() || ++depth > limiter::kMaxChainDepth) {
            return false;
        }
        for (auto other = set.begin(); other->first != at->name; ++other) {
            if (shape(other->first) == shape(at->name)) {
                return false;
            }
        }
        limits += at->limits.size();
        concurrency += std::count_if(at->limits.begin(), at->limits.end(),
                                     [](const auto& limit) { return limit.is_concurrency(); });
        if (!at->parent) {
            return limits <= limiter::kMaxChainLimits &&
                   concurrency <= std::ptrdiff_t{limiter::kMaxChainConcurrency};
        }
        at = meant(set, *at->parent);
    }
    return false;
}

void check_against_model(const DefinitionTree& tree, const Set& set) {
    REQUIRE(tree.size() == set.size());
    std::uint64_t hash = 0;
    for (const auto& entry : set) {
        const std::string& known = entry.first;  // clang 14 captures no structured binding
        const auto& definition = entry.second;
        CAPTURE(known);
        const DefinitionTree::Node* const node = tree.find(known);
        REQUIRE(node != nullptr);
        CHECK(node->valid == counts(set, definition));
        CHECK(node->valid == (node->problem == nullptr));
        hash += node->valid ? node->hash : 0;
    }
    CHECK(tree.content_hash() == hash);
}

/// What the limiter would have: hashes by name.
using Given = std::map<std::string, std::uint64_t>;

void give(DefinitionTree& tree, Given& given, std::size_t budget) {
    for (const DefinitionTree::PendingChange& step : tree.take(budget)) {
        if (step.put) {
            given[step.name] = tree.find(step.name)->hash;
        } else {
            CHECK(given.erase(step.name) == 1);
        }
    }
}

TEST_CASE("after any edits the tree says what the dumb model says of the set") {
    const std::vector<std::string> names = {"a",     "b",     "c",        "a/x",     "a/x/y",
                                            "a/{k}", "a/{q}", "{z}/x",    "a/{k}/w", "b/{k}",
                                            "b/n",   "{z}",   "a/{k}/{k}"};
    const std::vector<std::string> parents = {"a",     "b",   "c",   "a/x",
                                              "a/{k}", "{z}", "b/n", "nobody"};
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        DefinitionTree tree;
        Set set;
        Given given;
        for (int i = 0; i < 120; ++i) {
            const std::string& name = names[random.below(names.size())];
            if (random.below(4) == 0) {
                set.erase(name);
                tree.erase(name);
            } else {
                const bool root = random.below(3) == 0;
                QuotaDefinition fresh = quota(
                    name,
                    root ? std::nullopt : std::optional(parents[random.below(parents.size())]),
                    random.below(9));
                if (!fresh.limits.empty() && random.below(3) > 0) {
                    fresh.limits.back() = limiter::RateLimit::in_flight(9);
                }
                set[name] = fresh;
                tree.put(fresh, random.next());
            }
            check_against_model(tree, set);
            if (random.below(3) == 0) {
                give(tree, given, random.below(6));
            }
        }
        while (tree.waiting() > 0) {
            give(tree, given, 3);
        }
        std::size_t valid = 0;
        for (const auto& [known, definition] : set) {
            const DefinitionTree::Node* const node = tree.find(known);
            valid += node->valid ? 1 : 0;
            CHECK((node->valid ? given.at(known) == node->hash : !given.contains(known)));
        }
        CHECK(given.size() == valid);
        CHECK(tree.valid() == valid);
    }
}

TEST_CASE("a cycle made on two sides of a split counts on neither, until one edge is gone") {
    DefinitionTree tree;
    tree.put(quota("a", "b"), 1);
    tree.put(quota("b", "a"), 2);
    tree.put(quota("b/c", "b"), 3);
    CHECK(tree.valid() == 0);
    CHECK(tree.find("a")->problem->message == "is its own ancestor");
    tree.put(quota("b", std::nullopt), 4);
    CHECK(tree.valid() == 3);
}

FileDocument many(std::size_t count) {
    FileDocument document{"big", 1, {quota("s3", {}), quota("s3/{bucket}", "s3")}};
    for (std::size_t i = 0; i < count; ++i) {
        document.quotas.push_back(quota("s3/bucket-" + std::to_string(i), "s3"));
    }
    return document;
}

std::uint64_t cost_of(DefinitionStore& store, const std::function<void()>& work) {
    const std::uint64_t before = store.visits();
    work();
    static_cast<void>(store.take_changes());
    return store.visits() - before;
}

TEST_CASE("a fifth limit of requests in flight takes a chain's end out, until one is gone") {
    const auto in_flight = [](std::string name, std::optional<std::string> parent) {
        QuotaDefinition definition = quota(std::move(name), std::move(parent), 0);
        definition.limits = {limiter::RateLimit::in_flight(9)};
        return definition;
    };
    DefinitionTree tree;
    tree.put(in_flight("a", {}), 1);
    tree.put(in_flight("b", "a"), 2);
    tree.put(quota("c", "b"), 3);
    tree.put(in_flight("d", "c"), 4);
    tree.put(in_flight("e", "d"), 5);
    CHECK(tree.valid() == 5);
    tree.put(in_flight("c", "b"), 6);  // as many limits as before, but of another kind
    CHECK(tree.valid() == 4);
    CHECK(tree.find("e")->problem->message == "more than 4 limits with 'concurrency' in a chain");
    tree.put(quota("a", {}), 7);
    CHECK(tree.valid() == 5);
}

TEST_CASE("an edit costs by the edit, not by the set") {
    constexpr std::size_t kMany = 30'000;
    constexpr std::uint64_t kFew = 40;
    DefinitionStore store(1);
    REQUIRE(store.apply_document(many(kMany), kStart).outcome == DocumentOutcome::applied);
    static_cast<void>(store.take_changes());
    const Edit edit{"ann", "test", std::nullopt};
    const auto set = [&](const QuotaDefinition& definition) {
        return
            [&store, &edit, definition] { CHECK(store.set(definition, edit, kStart).has_value()); };
    };
    CHECK(cost_of(store, set(quota("s3/fresh", "s3"))) < kFew);
    CHECK(cost_of(store, set(quota("s3/bucket-7", "s3", 2))) < kFew);
    CHECK(cost_of(store, set(quota("s3/bucket-7", std::nullopt))) < kFew);
    CHECK(cost_of(store, set(quota("t/{x}", "s3"))) < kFew);
    CHECK(cost_of(store, [&] { CHECK(store.remove("s3/fresh", edit, kStart).has_value()); }) <
          kFew);
    CHECK(cost_of(store, [&] {
              CHECK(store.set_absent("s3/bucket-9", edit, kStart).has_value());
          }) < kFew);
    CHECK(cost_of(store, [&] {
              CHECK_FALSE(store.set(quota("x", "s4"), edit, kStart).has_value());
          }) < kFew);
    QuotaDefinition amount = quota("s3", {});
    amount.limits[0].amount = 99;
    CHECK(cost_of(store, set(amount)) < kFew);
    CHECK(cost_of(store, [&] { CHECK(store.page("s3/bucket-2", "", 100, kStart).size() == 100); }) <
          kFew);
    // What changes for everything below costs by what is below: the whole set here.
    CHECK(cost_of(store, set(quota("s3", {}, 3))) > kMany);
}

TEST_CASE("a new generation costs by its length, and only what differs is handed out") {
    DefinitionStore store(1);
    FileDocument document = many(10'000);
    REQUIRE(store.apply_document(document, kStart).outcome == DocumentOutcome::applied);
    static_cast<void>(store.take_changes());
    document.generation = 2;
    document.quotas[5].limits[0].amount = 77;
    REQUIRE(store.apply_document(document, kStart).outcome == DocumentOutcome::applied);
    const auto changes = store.take_changes();
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].name == document.quotas[5].name);
}

}  // namespace
}  // namespace weir::definitions
