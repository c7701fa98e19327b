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
    if (!is_template(name)) {
        const auto exact = exact_.find(hash(name));
        WEIR_ASSERT(!exact || table_.get(exact->value) != nullptr);
        return exact ? exact->value : 0;
    }
    const auto known = template_indices_.find(name);
    WEIR_ASSERT(known == template_indices_.end() || table_.get(known->second) != nullptr);
    return known == template_indices_.end() ? 0 : known->second;
}

const CompiledDefinition* CompiledDefinitions::definition_for(std::string_view name) const {
    const auto index = match(name, hash(name));
    WEIR_ASSERT(!index || table_.get(*index) != nullptr);
    return index ? table_.get(*index) : nullptr;
}

std::vector<QuotaDefinition> CompiledDefinitions::all() const {
    std::vector<QuotaDefinition> definitions;
    definitions.reserve(size_);
    for (std::uint32_t index = 1; index < table_.size(); ++index) {
        const CompiledDefinition* const definition = table_.get(index);
        if (definition != nullptr && !definition->overflow) {
            definitions.push_back(definition->definition());
        }
    }
    std::sort(definitions.begin(), definitions.end(),
              [](const auto& left, const auto& right) { return left.name < right.name; });
    return definitions;
}

// --- the rules of the tree -----------------------------------------------------------------------

std::optional<ChangeObjection> CompiledDefinitions::objection_to(
    const QuotaDefinition& definition) const {
    if (size_ >= kMaxDefinitions && index_of(definition.name) == 0) {
        return ChangeObjection::too_many;
    }
    if (would_be_own_ancestor(definition)) {
        return ChangeObjection::own_ancestor;
    }
    return std::nullopt;
}

/// Whether the definition's parents lead back to it, or go on without an end.
bool CompiledDefinitions::would_be_own_ancestor(const QuotaDefinition& definition) const {
    std::string_view parent = definition.parent ? std::string_view(*definition.parent) : "";
    for (std::size_t depth = 0; !parent.empty() && depth <= kMaxChainDepth; ++depth) {
        const CompiledDefinition* const above = definition_for(parent);
        if (above == nullptr) {
            return false;
        }
        if (above->name() == definition.name) {
            return true;
        }
        parent = above->parent.view();
    }
    return !parent.empty();
}

// --- steps of an edit ----------------------------------------------------------------------------

std::unique_ptr<CompiledDefinition> CompiledDefinitions::compiled(const QuotaDefinition& definition,
                                                                  const CompiledDefinition* before,
                                                                  bool overflow) {
    const std::string_view text = definition.parent ? std::string_view(*definition.parent) : "";
    // Children mostly come with those of the same few parents.
    SharedText& parent = parents_[hash(text) % parents_.size()];
    if (parent.view() != text) {
        parent = SharedText(text);
    }
    return CompiledDefinition::make(
        definition.name, parent,
        terms_.terms_of(definition, before == nullptr ? nullptr : before->terms.get(), overflow));
}

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
    WEIR_ASSERT(definition != nullptr && definition->name() == name);
    WEIR_ASSERT(index_of(name) == 0);
    ++size_;
    if (definition->has_captures) {
        template_indices_.emplace(name, index);
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
    const std::uint32_t index = index_of(name);
    WEIR_ASSERT(index != 0 && size_ > 0);
    --size_;
    if (templates_.erase(index) == 0) {
        exact_.erase(hash(name));
    } else {
        template_indices_.erase(name);
    }
}

Replaced CompiledDefinitions::rebuild_templates() {
    auto index = std::make_shared<TemplateIndex>();
    for (const std::uint32_t definition : templates_) {
        const CompiledDefinition* const compiled = table_.get(definition);
        WEIR_ASSERT(compiled != nullptr && compiled->has_captures);
        index->add(compiled->patterns->name, definition);
    }
    Replaced outdated = std::move(template_index_owner_);
    template_index_.store(index.get(), std::memory_order_release);
    template_index_owner_ = std::move(index);
    return outdated;
}

/// The definition that a parent's text leads to: of this name, or a template that differs only in
/// the names of its captures. 0 = there is none.
std::uint32_t CompiledDefinitions::definition_above(std::string_view parent) const {
    const std::uint32_t same = index_of(std::string(parent));
    if (same != 0 || !is_template(parent)) {
        return same;
    }
    // A text that no capture stands for in the template itself.
    const auto shape_of = [](std::string_view text) {
        std::string shape;
        bool inside = false;
        for (const char c : text) {
            inside = inside && c != '}';
            if (!inside) {
                shape += c;
            }
            inside = inside || c == '{';
        }
        return shape;
    };
    const std::string shape = shape_of(parent);
    const auto found = std::find_if(template_indices_.begin(), template_indices_.end(),
                                    [&](const auto& one) { return shape_of(one.first) == shape; });
    return found == template_indices_.end() ? 0 : found->second;
}

void CompiledDefinitions::mark_parents_of_templates() {
    const auto mark = [this](std::uint32_t index, bool has_templates) {
        if (const CompiledDefinition* const definition = table_.get(index)) {
            definition->parents_templates.store(has_templates, std::memory_order_relaxed);
        }
    };
    std::unordered_set<std::string_view> texts;
    for (const std::uint32_t index : templates_) {
        texts.insert(table_.get(index)->parent.view());
    }
    texts.erase(std::string_view());
    std::vector<std::uint32_t> parents;
    for (const std::string_view text : texts) {
        if (const std::uint32_t index = definition_above(text)) {
            parents.push_back(index);
            mark(index, true);
        }
    }
    std::sort(parents.begin(), parents.end());
    for (const std::uint32_t index : parents_of_templates_) {
        if (!std::binary_search(parents.begin(), parents.end(), index)) {
            mark(index, false);
        }
    }
    parents_of_templates_ = std::move(parents);
}

}  // namespace weir::limiter
