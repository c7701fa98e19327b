#pragma once
// Builds one Document from the events of a YAML or JSON parser, and holds it to the ParseLimits.
// Every function that adds something returns whether building may go on; if not, the diagnostics
// say why. Internal to config. Not thread-safe: each reading has a builder. It borrows limits and
// diagnostics, which must outlive it, and owns the Document until it is taken.

#include <set>
#include <string_view>
#include <vector>

#include "config/parse.h"

namespace weir::config {

class TreeBuilder {
  public:
    TreeBuilder(const std::string& file, const ParseLimits& limits, Diagnostics& diagnostics);

    [[nodiscard]] bool open(NodeKind kind, TextPlace place);
    [[nodiscard]] bool close();
    [[nodiscard]] bool key(std::string_view text, TextPlace place);
    [[nodiscard]] bool scalar(NodeKind kind, std::string_view text, TextPlace place);
    /// Adds a copy of a finished node and of all nodes below it, for an alias.
    [[nodiscard]] bool copy(NodeIndex source, TextPlace place);
    /// Reports a mistake that ends the building.
    [[nodiscard]] bool fail(TextPlace place, std::string what);

    /// Whether the next scalar is the key of a map.
    [[nodiscard]] bool wants_key() const;
    /// The node that the last open(), scalar() or copy() added.
    [[nodiscard]] NodeIndex last_added() const { return last_added_; }
    [[nodiscard]] Document take() { return std::move(document_); }

  private:
    struct Frame {
        NodeIndex node = kNoNode;
        NodeIndex last_child = kNoNode;
        std::string_view key;
        TextPlace key_place;
        bool key_given = false;
        std::vector<std::string_view> few_keys;
        /// Ordered, because hashes of keys from outside could collide.
        std::set<std::string_view> many_keys;
    };

    bool append(DocumentNode node);
    bool copy_children(NodeIndex source);
    bool is_duplicate(Frame& frame, std::string_view key);
    bool text_is_fit(std::string_view text, TextPlace place);

    Document document_;
    const ParseLimits& limits_;
    Diagnostics& diagnostics_;
    std::vector<Frame> frames_;
    NodeIndex last_added_ = kNoNode;
    std::size_t copied_ = 0;
};

}  // namespace weir::config
