#pragma once
// A parsed text (YAML or JSON) as a small tree whose every value knows its place: what the readers
// of settings and quota documents work on. Nodes live in one array, texts in one arena, so large
// sets stay cheap; paths ("quotas[3].limits[0].rate") are made only when an error needs one.
// Immutable after parsing; freely shared between threads then. Node handles are valid as long as
// their Document.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

/// Line and column count from 1, columns in bytes; line 0: the place is not in a text.
struct Place {
    std::uint32_t line = 0;
    std::uint32_t column = 0;

    friend auto operator<=>(const Place&, const Place&) = default;
};

enum class NodeKind : std::uint8_t {
    null,
    plain,   ///< an unquoted scalar: number, true, or YAML text
    quoted,  ///< certainly text
    list,
    map,
};

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = 0xffffffff;

struct Node {
    NodeKind kind = NodeKind::null;
    Place place;
    Place key_place;
    std::string_view key;   ///< of a map's member
    std::string_view text;  ///< of a scalar
    NodeIndex parent = kNoNode;
    NodeIndex first_child = kNoNode;
    NodeIndex next_sibling = kNoNode;
    std::uint32_t position = 0;  ///< among its siblings
};

/// Keeps texts in blocks that never move, not even when the arena is moved.
class TextArena {
  public:
    [[nodiscard]] std::string_view keep(std::string_view text);

  private:
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* free_ = nullptr;
    std::size_t free_size_ = 0;
};

class Document;

/// A handle: a node of a document, cheap to copy.
class NodeRef {
  public:
    NodeRef(const Document& document, NodeIndex index) : document_(&document), index_(index) {}

    [[nodiscard]] const Node& operator*() const;
    [[nodiscard]] const Node* operator->() const { return &**this; }
    [[nodiscard]] const Document& document() const { return *document_; }
    [[nodiscard]] bool is_scalar() const;
    [[nodiscard]] std::vector<NodeRef> children() const;
    /// "quotas[3].name" seen from the document's root; empty for the root.
    [[nodiscard]] std::string path() const;

  private:
    const Document* document_;
    NodeIndex index_;
};

/// One document of a file. Not copyable: nodes view its texts.
class Document {
  public:
    explicit Document(std::string file) : file_(std::move(file)) {}
    Document(Document&&) = default;
    Document& operator=(Document&&) = default;
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;

    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] bool empty() const { return nodes_.empty(); }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] NodeRef root() const { return {*this, 0}; }
    [[nodiscard]] const Node& node(NodeIndex index) const { return nodes_[index]; }

  private:
    friend class TreeBuilder;

    std::string file_;
    std::vector<Node> nodes_;
    TextArena texts_;
};

}  // namespace weir::config
