#include "limiter/compiled_definitions.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::limiter {
CompiledDefinitions::CompiledDefinitions(const NameKey& key) : hash_key_(key) {
    const auto none = table_.allocate();  // index 0 is no definition
    WEIR_ASSERT(none == 0U);
}

std::optional<std::uint32_t> CompiledDefinitions::match(std::string_view name,
                                                        std::uint64_t hash) const {
    if (const auto exact = exact_.find(hash)) {
        return exact->value;
    }
    const TemplateIndex* templates = template_index_.load(std::memory_order_acquire);
    return templates == nullptr ? std::nullopt : templates->find(name);
}

std::uint32_t CompiledDefinitions::index_of(const std::string& name) const {
    const auto known = indices_.find(name);
    WEIR_ASSERT(known == indices_.end() || table_.get(known->second) != nullptr);
    return known == indices_.end() ? 0 : known->second;
}

const CompiledDefinition* CompiledDefinitions::definition_for(std::string_view name) const {
    const auto index = match(name, hash(name));
    WEIR_ASSERT(!index || table_.get(*index) != nullptr);
    return index ? table_.get(*index) : nullptr;
}

std::vector<QuotaDefinition> CompiledDefinitions::all() const {
    std::vector<QuotaDefinition> definitions;
    definitions.reserve(indices_.size());
    for (const auto& [name, index] : indices_) {
        const CompiledDefinition* const definition = table_.get(index);
        WEIR_ASSERT(definition != nullptr && definition->source.name == name);
        definitions.push_back(definition->source);
    }
    std::sort(definitions.begin(), definitions.end(),
              [](const auto& left, const auto& right) { return left.name < right.name; });
    return definitions;
}

// --- the rules of the tree -----------------------------------------------------------------------

std::optional<ChangeObjection> CompiledDefinitions::objection_to(
    const QuotaDefinition& definition) const {
    if (indices_.size() >= kMaxDefinitions && !indices_.contains(definition.name)) {
        return ChangeObjection::too_many;
    }
    if (would_be_own_ancestor(definition)) {
        return ChangeObjection::own_ancestor;
    }
    return std::nullopt;
}

/// Whether the definition's parents lead back to it, or go on without an end.
bool CompiledDefinitions::would_be_own_ancestor(const QuotaDefinition& definition) const {
    const std::string* parent = definition.parent ? &*definition.parent : nullptr;
    for (std::size_t depth = 0; parent != nullptr && depth <= kMaxChainDepth; ++depth) {
        const CompiledDefinition* const above = definition_for(*parent);
        if (above == nullptr) {
            return false;
        }
        if (above->source.name == definition.name) {
            return true;
        }
        parent = above->source.parent ? &*above->source.parent : nullptr;
    }
    return parent != nullptr;
}

// --- steps of an edit ----------------------------------------------------------------------------

std::uint32_t CompiledDefinitions::allocate() {
    const auto index = table_.allocate();
    // The table has twice as many places as there may be definitions: one more for each overflow.
    WEIR_ASSERT(index.has_value());
    WEIR_ASSERT(*index != 0 && table_.get(*index) == nullptr);
    return *index;
}

Replaced CompiledDefinitions::replace(std::uint32_t index,
                                      std::unique_ptr<const CompiledDefinition> definition) {
    WEIR_ASSERT(index != 0 && index < table_.size());
    return table_.exchange(index, std::move(definition));
}

Replaced CompiledDefinitions::free(std::uint32_t index) {
    Replaced gone = replace(index, nullptr);
    WEIR_ASSERT(gone != nullptr);
    table_.free(index);
    return gone;
}

Replaced CompiledDefinitions::add_name(const std::string& name, std::uint32_t index) {
    const CompiledDefinition* const definition = table_.get(index);
    WEIR_ASSERT(definition != nullptr && definition->source.name == name);
    const bool added = indices_.emplace(name, index).second;
    WEIR_ASSERT(added);
    if (definition->has_captures) {
        templates_.insert(index);
        return nullptr;
    }
    Replaced outgrown;
    if (exact_.load() > NameTable::kGrowLoad) {
        outgrown = exact_.grow();
    }
    exact_.insert(hash(name), {index, 0});
    return outgrown;
}

void CompiledDefinitions::remove_name(const std::string& name) {
    const auto known = indices_.find(name);
    WEIR_ASSERT(known != indices_.end());
    if (templates_.erase(known->second) == 0) {
        exact_.erase(hash(name));
    }
    indices_.erase(known);
}

Replaced CompiledDefinitions::rebuild_templates() {
    auto index = std::make_shared<TemplateIndex>();
    for (const std::uint32_t definition : templates_) {
        const CompiledDefinition* const compiled = table_.get(definition);
        WEIR_ASSERT(compiled != nullptr && compiled->has_captures);
        index->add(compiled->pattern, definition);
    }
    Replaced outdated = std::move(template_index_owner_);
    template_index_.store(index.get(), std::memory_order_release);
    template_index_owner_ = std::move(index);
    return outdated;
}

}  // namespace weir::limiter
