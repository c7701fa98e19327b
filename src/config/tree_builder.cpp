#include "config/tree_builder.h"

#include <algorithm>

namespace weir::config {
namespace {

/// Up to this number of keys, comparing them one by one is faster than a tree.
constexpr std::size_t kFewKeys = 16;

/// Whether the text has control characters: those of ASCII or, in UTF-8, the C1 controls U+0080 to
/// U+009F.
bool has_control_character(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x20 || byte == 0x7f) {
            return true;
        }
        if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
            return true;
        }
    }
    return false;
}

}  // namespace

TreeBuilder::TreeBuilder(const std::string& file, const ParseLimits& limits,
                         Diagnostics& diagnostics)
    : document_(file), limits_(limits), diagnostics_(diagnostics) {}

bool TreeBuilder::fail(TextPlace place, std::string what) {
    diagnostics_.add({Severity::error, document_.file(), place, {}, std::move(what), {}});
    return false;
}

bool TreeBuilder::wants_key() const {
    return !frames_.empty() && document_.node(frames_.back().node).kind == NodeKind::map &&
           !frames_.back().key_given;
}

bool TreeBuilder::append(DocumentNode node) {
    std::vector<DocumentNode>& nodes = document_.nodes_;
    if (nodes.size() - std::min(copied_, nodes.size()) >= limits_.nodes) {
        return fail(node.place, too_many_nodes(limits_.nodes));
    }
    const auto index = static_cast<NodeIndex>(nodes.size());
    if (!frames_.empty()) {
        Frame& frame = frames_.back();
        node.parent = frame.node;
        node.key = frame.key;
        node.key_place = frame.key_place;
        node.position = frame.last_child == kNoNode ? 0 : nodes[frame.last_child].position + 1;
        NodeIndex& link = frame.last_child == kNoNode ? nodes[frame.node].first_child
                                                      : nodes[frame.last_child].next_sibling;
        link = index;
        frame.last_child = index;
        frame.key_given = false;
    }
    nodes.push_back(node);
    last_added_ = index;
    return true;
}

bool TreeBuilder::open(NodeKind kind, TextPlace place) {
    if (frames_.size() >= limits_.depth) {
        return fail(place, "nested deeper than " + std::to_string(limits_.depth) + " levels");
    }
    if (wants_key()) {
        return fail(place, "a key must be text, not a list or a map");
    }
    DocumentNode node;
    node.kind = kind;
    node.place = place;
    if (!append(node)) {
        return false;
    }
    frames_.emplace_back();
    frames_.back().node = last_added_;
    return true;
}

bool TreeBuilder::close() {
    frames_.pop_back();
    return true;
}

bool TreeBuilder::text_is_fit(std::string_view text, TextPlace place) {
    if (text.size() > limits_.scalar_bytes) {
        return fail(place,
                    "a text of more than " + std::to_string(limits_.scalar_bytes) + " bytes");
    }
    if (has_control_character(text)) {
        return fail(place, "a text holds a control character");
    }
    return true;
}

bool TreeBuilder::is_duplicate(Frame& frame, std::string_view key) {
    if (frame.few_keys.size() < kFewKeys) {
        if (std::find(frame.few_keys.begin(), frame.few_keys.end(), key) != frame.few_keys.end()) {
            return true;
        }
        frame.few_keys.push_back(key);
        return false;
    }
    if (frame.many_keys.empty()) {
        frame.many_keys.insert(frame.few_keys.begin(), frame.few_keys.end());
    }
    return !frame.many_keys.insert(key).second;
}

bool TreeBuilder::key(std::string_view text, TextPlace place) {
    if (!text_is_fit(text, place)) {
        return false;
    }
    Frame& frame = frames_.back();
    frame.key = document_.texts_.keep(text);
    frame.key_place = place;
    frame.key_given = true;
    if (is_duplicate(frame, frame.key)) {
        diagnostics_.error(NodeRef(document_, frame.node), place,
                           "the key '" + std::string(text) + "' is given twice");
    }
    return true;
}

bool TreeBuilder::scalar(NodeKind kind, std::string_view text, TextPlace place) {
    if (!text_is_fit(text, place)) {
        return false;
    }
    DocumentNode node;
    node.kind = kind;
    node.place = place;
    node.text = document_.texts_.keep(text);
    return append(node);
}

bool TreeBuilder::copy(NodeIndex source, TextPlace place) {
    const bool unfinished = std::any_of(frames_.begin(), frames_.end(),
                                        [&](const Frame& frame) { return frame.node == source; });
    if (unfinished) {
        return fail(place, "an alias stands inside what it means");
    }
    if (wants_key()) {
        return fail(place, "a key must be text, not an alias");
    }
    if (!copy_children(source)) {
        return diagnostics_.has_errors() ? false : fail(place, "an alias cannot be unfolded");
    }
    return true;
}

bool TreeBuilder::copy_children(NodeIndex source) {
    // Nodes may move in memory while the copy grows, so only values and indices are kept here, no
    // references.
    DocumentNode node = document_.node(source);
    const NodeIndex first_child = node.first_child;
    node.first_child = kNoNode;
    node.next_sibling = kNoNode;
    if (++copied_ > limits_.alias_nodes) {
        return fail(node.place, "aliases unfold to more than " +
                                    std::to_string(limits_.alias_nodes) + " values");
    }
    if (frames_.size() >= limits_.depth) {
        return fail(node.place, "nested deeper than " + std::to_string(limits_.depth) + " levels");
    }
    if (!append(node)) {
        return false;
    }
    const NodeIndex copied = last_added_;
    frames_.emplace_back();
    frames_.back().node = copied;
    for (NodeIndex child = first_child; child != kNoNode;) {
        const DocumentNode member = document_.node(child);
        frames_.back().key = member.key;
        frames_.back().key_place = member.key_place;
        if (!copy_children(child)) {
            return false;
        }
        child = member.next_sibling;
    }
    frames_.pop_back();
    last_added_ = copied;
    return true;
}

}  // namespace weir::config
