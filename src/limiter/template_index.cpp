#include "limiter/template_index.h"

#include "base/assert.h"

namespace weir::limiter {

std::uint32_t TemplateIndex::child(std::uint32_t node, const Segment& segment) {
    WEIR_ASSERT(node < nodes_.size());
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    if (segment.literal) {
        const auto [place, added] = nodes_[node].literals.try_emplace(segment.prefix, next);
        if (!added) {
            return place->second;
        }
    } else {
        for (const Branch& branch : nodes_[node].captures) {
            // The capture's name does not matter here.
            if (branch.segment.prefix == segment.prefix &&
                branch.segment.suffix == segment.suffix) {
                return branch.node;
            }
        }
        nodes_[node].captures.push_back({segment, next});
    }
    nodes_.emplace_back();
    return next;
}

void TemplateIndex::add(const NamePattern& pattern, std::uint32_t value) {
    std::uint32_t node = 0;
    Literalness literalness;
    std::uint32_t bit = std::uint32_t{1} << 31;
    for (const Segment& segment : pattern.segments()) {
        node = child(node, segment);
        literalness.segments += segment.literal ? 1 : 0;
        literalness.bytes += static_cast<std::uint32_t>(segment.literal_bytes());
        literalness.early |= segment.literal ? bit : 0;
        bit >>= 1;
    }
    WEIR_ASSERT(node != 0);  // a pattern has at least one segment
    nodes_[node].value = value;
    nodes_[node].literalness = literalness;
}

void TemplateIndex::explore(std::uint32_t node, std::string_view rest, bool more,
                            Best& best) const {
    WEIR_ASSERT(node < nodes_.size());
    const Node& here = nodes_[node];
    if (!more) {
        if (here.value && (!best.value || here.literalness > best.literalness)) {
            best = {here.value, here.literalness};
        }
        return;
    }
    std::string_view segment;
    more = next_segment(rest, segment);
    if (const auto literal = here.literals.find(segment); literal != here.literals.end()) {
        explore(literal->second, rest, more, best);
    }
    for (const Branch& branch : here.captures) {
        if (branch.segment.match(segment)) {
            explore(branch.node, rest, more, best);
        }
    }
}

std::optional<std::uint32_t> TemplateIndex::find(std::string_view name) const {
    Best best;
    explore(0, name, true, best);
    return best.value;
}

}  // namespace weir::limiter
