#include "definitions/document_builder.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/assert.h"
#include "base/bytes.h"
#include "definitions/codec.h"
#include "definitions/rules.h"
#include "limiter/name_pattern.h"
#include "limiter/template_index.h"

namespace weir::definitions {

using limiter::QuotaDefinition;

/// The templates of the document, by shape and by what they match.
class DocumentBuilder::Templates {
  public:
    /// False if another template has the same shape.
    bool add(std::string_view name, Number number) {
        const auto shape = template_shape_of(name);
        if (!shape || !by_shape_.emplace(*shape, number).second) {
            return false;
        }
        index_.add(*limiter::NamePattern::parse(name), number);
        return true;
    }
    [[nodiscard]] std::optional<Number> find(std::string_view parent) const {
        if (const auto shape = template_shape_of(parent)) {
            if (const auto exact = by_shape_.find(*shape); exact != by_shape_.end()) {
                return exact->second;
            }
        }
        // The text of a template falls under the same template as its instances.
        return index_.find_parent(parent);
    }

  private:
    std::unordered_map<std::string, Number> by_shape_;
    limiter::TemplateIndex index_;
};

bool DocumentBuilder::add(const QuotaDefinition& definition) {
    if (!validate_alone(definition).empty() || places_.size() >= limiter::kMaxDefinitions) {
        return false;
    }
    buffer_.resize(std::max(buffer_.size(), most_encoded_bytes(definition)));
    ByteWriter writer(buffer_);
    encode_next(writer, definition);
    WEIR_ASSERT(writer.ok());
    places_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    bytes_.insert(bytes_.end(), writer.written().begin(), writer.written().end());
    limits_.push_back(count_limits(definition));
    note_parent(definition.parent);
    return bytes_.size() <= kMaximumDocument;
}

/// Keeps the text of the parent; neighbours mostly have the same.
void DocumentBuilder::note_parent(const std::optional<std::string>& text) {
    if (!text) {
        parents_.push_back(kNone);
        return;
    }
    if (with_parent_ != kNone && parent(with_parent_) == *text) {
        parents_.push_back(parents_[with_parent_]);
        return;
    }
    WEIR_ASSERT(text->size() <= limiter::kMaxNameBytes);
    with_parent_ = static_cast<Number>(parents_.size());
    parents_.push_back(static_cast<std::uint32_t>(parent_texts_.size()));
    parent_texts_.push_back(static_cast<char>(text->size() >> 8U));
    parent_texts_.push_back(static_cast<char>(text->size() & 0xffU));
    parent_texts_ += *text;
}

std::string_view DocumentBuilder::parent(Number added) const {
    const std::uint32_t place = parents_[added];
    WEIR_ASSERT(place + 2 <= parent_texts_.size());
    const auto high = static_cast<unsigned char>(parent_texts_[place]);
    const auto low = static_cast<unsigned char>(parent_texts_[place + 1]);
    return std::string_view(parent_texts_).substr(place + 2, std::size_t{high} * 256 + low);
}

std::size_t DocumentBuilder::end_of(Number added) const {
    return added + 1 < places_.size() ? places_[added + 1] : bytes_.size();
}

std::string_view DocumentBuilder::name(Number added) const {
    ByteReader reader(ByteSpan(bytes_).subspan(places_[added], end_of(added) - places_[added]));
    return reader.string(limiter::kMaxNameBytes);
}

void DocumentBuilder::sort() {
    order_.resize(places_.size());
    std::iota(order_.begin(), order_.end(), Number{0});
    const auto less = [this](Number left, Number right) { return name(left) < name(right); };
    if (!std::is_sorted(order_.begin(), order_.end(), less)) {
        std::sort(order_.begin(), order_.end(), less);
    }
}

bool DocumentBuilder::names_differ() const {
    return std::adjacent_find(order_.begin(), order_.end(), [this](Number left, Number right) {
               return name(left) == name(right);
           }) == order_.end();
}

std::optional<DocumentBuilder::Number> DocumentBuilder::find(std::string_view wanted) const {
    const auto found = std::lower_bound(
        order_.begin(), order_.end(), wanted,
        [this](Number added, std::string_view text) { return name(added) < text; });
    return found != order_.end() && name(*found) == wanted ? std::optional(*found) : std::nullopt;
}

/// Finds the parent of each definition, in the order in which they were added. False if one is
/// missing, or if two templates match the same names.
bool DocumentBuilder::find_parents(std::vector<Number>& parents) const {
    Templates templates;
    for (const Number added : order_) {
        if (limiter::is_template(name(added)) && !templates.add(name(added), added)) {
            return false;
        }
    }
    parents.assign(places_.size(), kNone);
    for (Number added = 0; added < parents.size(); ++added) {
        if (parents_[added] == kNone) {
            continue;
        }
        if (added > 0 && parents_[added] == parents_[added - 1]) {
            parents[added] = parents[added - 1];
            continue;
        }
        const std::string_view text = parent(added);
        auto found = limiter::is_template(text) ? std::nullopt : find(text);
        if (!found) {
            found = templates.find(text);
        }
        if (!found) {
            return false;
        }
        parents[added] = *found;
    }
    return true;
}

bool DocumentBuilder::chains_are_good(const std::vector<Number>& parents) const {
    // Counted from 1, because a walk ends at 0.
    const auto above = [&](std::size_t at) {
        const Number parent = parents[at - 1];
        return parent == kNone ? std::size_t{0} : std::size_t{parent} + 1;
    };
    const auto limits = [this](std::size_t at) { return limits_[at - 1]; };
    for (std::size_t at = 1; at <= parents.size(); ++at) {
        if (walk_chain(at, above, limits).fault) {
            return false;
        }
    }
    return true;
}

std::vector<std::byte> DocumentBuilder::in_order() {
    if (std::is_sorted(order_.begin(), order_.end())) {
        return std::move(bytes_);
    }
    std::vector<std::byte> sorted;
    sorted.reserve(bytes_.size());
    for (const Number added : order_) {
        sorted.insert(sorted.end(), bytes_.begin() + places_[added],
                      bytes_.begin() + static_cast<std::ptrdiff_t>(end_of(added)));
    }
    WEIR_ASSERT(sorted.size() == bytes_.size());
    return sorted;
}

std::optional<std::vector<std::byte>> DocumentBuilder::finish() {
    sort();
    std::vector<Number> parents;
    if (!names_differ() || !find_parents(parents) || !chains_are_good(parents)) {
        return std::nullopt;
    }
    return in_order();
}

}  // namespace weir::definitions
