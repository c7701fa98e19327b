#pragma once
// A parsed text (YAML or JSON) as a tree in which every value knows its place in the text. The
// readers of settings and quota documents work on it. Nodes lie in one array and texts in one
// arena, so that large sets take little memory. Paths ("quotas[3].limits[0].rate") are made only
// when an error needs one.
//
// Thread-safety: a document is immutable after parsing, and any thread may read it.
// Ownership: a document owns its nodes and texts; a NodeRef is valid as long as its document.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

/// A place in a text. Lines and columns count from 1, columns in bytes. Line 0 means that the value
/// is not from a text.
struct TextPlace {
    std::uint32_t line = 0;
    std::uint32_t column = 0;

    friend auto operator<=>(const TextPlace&, const TextPlace&) = default;
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

struct DocumentNode {
    NodeKind kind = NodeKind::null;
    TextPlace place;
    TextPlace key_place;
    std::string_view key;   ///< set for a member of a map
    std::string_view text;  ///< set for a scalar
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
    std::size_t next_size_ = 0;  // of a new block, unless a text is larger
};

class Document;

/// A reference to a node of a document; cheap to copy.
class NodeRef {
  public:
    NodeRef(const Document& document, NodeIndex index) : document_(&document), index_(index) {}

    [[nodiscard]] const DocumentNode& operator*() const;
    [[nodiscard]] const DocumentNode* operator->() const { return &**this; }
    [[nodiscard]] const Document& document() const { return *document_; }
    [[nodiscard]] bool is_scalar() const;
    [[nodiscard]] std::vector<NodeRef> children() const;
    /// The path from the document's root, such as "quotas[3].name"; empty for the root.
    [[nodiscard]] std::string path() const;

  private:
    const Document* document_;
    NodeIndex index_;
};

/// One document of a file. It cannot be copied, because its nodes point to its texts.
class Document {
  public:
    explicit Document(std::string file) : file_(std::move(file)) {}
    Document(Document&&) = default;
    Document& operator=(Document&&) = default;
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;

    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] bool empty() const { return nodes_.empty(); }
    [[nodiscard]] NodeRef root() const { return {*this, 0}; }
    [[nodiscard]] const DocumentNode& node(NodeIndex index) const { return nodes_[index]; }

  private:
    friend class TreeBuilder;

    std::string file_;
    std::vector<DocumentNode> nodes_;
    TextArena texts_;
};

}  // namespace weir::config
