#include "limiter/template_index.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace weir::limiter {

TemplateIndex::CaptureGroup& TemplateIndex::capture_group_of(Node& node,
                                                             const NameSegment& segment) {
    const auto place = std::find_if(node.capture_groups.begin(), node.capture_groups.end(),
                                    [&](const CaptureGroup& group) {
                                        return group.prefix_size == segment.prefix.size() &&
                                               group.suffix_size == segment.suffix.size();
                                    });
    if (place != node.capture_groups.end()) {
        return *place;
    }
    node.capture_groups.push_back({segment.prefix.size(), segment.suffix.size(), {}});
    return node.capture_groups.back();
}

std::uint32_t TemplateIndex::child(std::uint32_t node, const NameSegment& segment) {
    WEIR_ASSERT(node < nodes_.size());
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    const auto branch = [next](auto& children, auto&& key) {
        return children.try_emplace(std::forward<decltype(key)>(key), next).first->second;
    };
    // The capture's name does not matter here.
    const std::uint32_t found = segment.literal
                                    ? branch(nodes_[node].literals, segment.prefix)
                                    : branch(capture_group_of(nodes_[node], segment).nodes,
                                             Edges{segment.prefix, segment.suffix});
    if (found == next) {
        nodes_.emplace_back();
    }
    return found;
}

void TemplateIndex::add(const NamePattern& pattern, std::uint32_t value) {
    std::uint32_t node = 0;
    Literalness literalness;
    literalness.bounded = !pattern.has_catch_all();
    std::uint32_t bit = std::uint32_t{1} << 31;
    for (const NameSegment& segment : pattern.segments()) {
        if (segment.catch_all) {
            break;
        }
        node = child(node, segment);
        literalness.segments += segment.literal ? 1 : 0;
        literalness.bytes += static_cast<std::uint32_t>(segment.literal_bytes());
        literalness.early |= segment.literal ? bit : 0;
        bit >>= 1;
        ++literalness.depth;
    }
    has_catch_all_ = has_catch_all_ || !literalness.bounded;
    Node& last = nodes_[node];
    (literalness.bounded ? last.here : last.catch_all) = {value, literalness};
}

void TemplateIndex::explore(std::uint32_t node, std::string_view rest, bool more,
                            Best& best) const {
    WEIR_ASSERT(node < nodes_.size());
    const Node& here = nodes_[node];
    if (!more) {
        return best.offer(here.here);
    }
    if (!rest.empty()) {
        best.offer(here.catch_all);
    }
    std::string_view segment;
    more = next_segment(rest, segment);
    if (const auto literal = here.literals.find(segment); literal != here.literals.end()) {
        explore(literal->second, rest, more, best);
    }
    for (const CaptureGroup& group : here.capture_groups) {
        if (segment.size() <= group.prefix_size + group.suffix_size) {
            continue;  // a capture matches at least a byte
        }
        const EdgesView edges{segment.substr(0, group.prefix_size),
                              segment.substr(segment.size() - group.suffix_size)};
        if (const auto capture = group.nodes.find(edges); capture != group.nodes.end()) {
            explore(capture->second, rest, more, best);
        }
    }
}

TemplateIndex::Best TemplateIndex::best_for(std::string_view name) const {
    Best best;
    explore(0, name, true, best);
    return best;
}

std::optional<std::uint32_t> TemplateIndex::find(std::string_view name) const {
    return best_for(name).value;
}

std::optional<std::uint32_t> TemplateIndex::find_parent(std::string_view text) const {
    const Best best = best_for(text);
    return best.literalness.bounded ? best.value : std::nullopt;
}

}  // namespace weir::limiter
