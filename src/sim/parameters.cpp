#include "sim/parameters.h"

#include <algorithm>
#include <vector>

#include "base/closest.h"
#include "config/parse.h"
#include "config/tree_builder.h"

namespace weir::sim {
namespace {

using config::Diagnostics;
using config::Document;
using config::NodeKind;
using config::NodeRef;
using config::TreeBuilder;

bool belongs_to_name(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
}

/// Removes the name at the beginning of the text and returns it; empty if there is none.
std::string_view cut_name(std::string_view& text) {
    const auto end = std::find_if_not(text.begin(), text.end(), belongs_to_name);
    const std::string_view name = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(name.size());
    return name;
}

class Filler {
  public:
    Filler(const Parameters& parameters, TreeBuilder& builder, Diagnostics& diagnostics)
        : parameters_(parameters), builder_(builder), diagnostics_(diagnostics) {}

    bool copy(NodeRef node) {
        if (node->kind != NodeKind::map && node->kind != NodeKind::list) {
            return builder_.scalar(node->kind, filled(node), node->place);
        }
        if (!builder_.open(node->kind, node->place)) {
            return false;
        }
        for (const NodeRef child : node.children()) {
            const bool named =
                node->kind == NodeKind::list || builder_.key(child->key, child->key_place);
            if (!named || !copy(child)) {
                return false;
            }
        }
        return builder_.close();
    }

  private:
    std::string filled(NodeRef node) {
        std::string text;
        std::string_view rest = node->text;
        while (true) {
            const std::size_t dollar = std::min(rest.find('$'), rest.size());
            text += rest.substr(0, dollar);
            if (dollar == rest.size()) {
                return text;
            }
            rest.remove_prefix(dollar + 1);
            if (rest.substr(0, 1) == "$") {
                text += '$';
                rest.remove_prefix(1);
                continue;
            }
            text += value_of(cut_name(rest), node);
        }
    }
    std::string value_of(std::string_view name, NodeRef node) {
        const auto found = parameters_.find(name);
        if (found != parameters_.end()) {
            return found->second;
        }
        std::vector<std::string_view> names;
        for (const auto& [each, value] : parameters_) {
            names.push_back(each);
        }
        diagnostics_.error(node,
                           "no value is given for the parameter '$" + std::string(name) +
                               "' (a dollar sign is written $$)",
                           diagnostics_.full() ? "" : closest(name, names));
        return {};
    }

    const Parameters& parameters_;
    TreeBuilder& builder_;
    Diagnostics& diagnostics_;
};

}  // namespace

std::optional<Document> fill_in(const Document& document, const Parameters& parameters,
                                Diagnostics& diagnostics) {
    const std::size_t errors = diagnostics.error_count();
    const config::ParseLimits limits;
    TreeBuilder builder(document.file(), limits, diagnostics);
    if (document.empty() || !Filler(parameters, builder, diagnostics).copy(document.root()) ||
        diagnostics.error_count() != errors) {
        return std::nullopt;
    }
    return builder.take();
}

}  // namespace weir::sim
