#include "config/document.h"

#include <algorithm>

namespace weir::config {
namespace {

// A file may have very many small documents, so an arena begins with a small block.
constexpr std::size_t kFirstBlockBytes = 256;
constexpr std::size_t kMostBlockBytes = 64 * 1024;

std::string step(const Document& document, NodeIndex index) {
    const DocumentNode& node = document.node(index);
    if (document.node(node.parent).kind == NodeKind::list) {
        return "[" + std::to_string(node.position) + "]";
    }
    return (document.node(node.parent).parent == kNoNode ? "" : ".") + std::string(node.key);
}

}  // namespace

std::string_view TextArena::keep(std::string_view text) {
    if (text.size() > free_size_) {
        next_size_ = blocks_.empty() ? kFirstBlockBytes : std::min(2 * next_size_, kMostBlockBytes);
        const std::size_t size = std::max(next_size_, text.size());
        blocks_.push_back(std::make_unique<char[]>(size));
        free_ = blocks_.back().get();
        free_size_ = size;
    }
    std::copy(text.begin(), text.end(), free_);
    const std::string_view kept(free_, text.size());
    free_ += text.size();
    free_size_ -= text.size();
    return kept;
}

const DocumentNode& NodeRef::operator*() const { return document_->node(index_); }

bool NodeRef::is_scalar() const {
    return (*this)->kind == NodeKind::plain || (*this)->kind == NodeKind::quoted;
}

std::vector<NodeRef> NodeRef::children() const {
    std::vector<NodeRef> found;
    for (NodeIndex child = (*this)->first_child; child != kNoNode;
         child = document_->node(child).next_sibling) {
        found.emplace_back(*document_, child);
    }
    return found;
}

std::string NodeRef::path() const {
    std::string path;
    for (NodeIndex at = index_; document_->node(at).parent != kNoNode;
         at = document_->node(at).parent) {
        path.insert(0, step(*document_, at));
    }
    return path;
}

}  // namespace weir::config
