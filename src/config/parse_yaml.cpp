// Parses YAML with yaml-cpp's event interface. Its document tree would keep the first of two equal
// keys, hide where aliases stood, and take several times the memory.

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <unordered_map>

#include "base/planted.h"
#include "config/parsers.h"
#include "config/tree_builder.h"

namespace weir::config {
namespace {

/// Thrown to stop yaml-cpp's parser, which has no other way to stop; caught in parse_yaml().
struct StopParsing {};

TextPlace place_of(const YAML::Mark& mark) {
    if (mark.is_null()) {
        return {};
    }
    return {static_cast<std::uint32_t>(mark.line) + 1, static_cast<std::uint32_t>(mark.column) + 1};
}

class YamlEvents final : public YAML::EventHandler {
  public:
    YamlEvents(const std::string& file, const ParseLimits& limits, Diagnostics& diagnostics)
        : builder_(file, limits, diagnostics) {}

    Document take() { return builder_.take(); }
    [[nodiscard]] TextPlace start() const { return start_; }

    void OnDocumentStart(const YAML::Mark& mark) override { start_ = place_of(mark); }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const TextPlace place = place_of(mark);
        if (builder_.wants_key()) {
            go_on(builder_.fail(place, "a key must be text"));
        }
        go_on(builder_.scalar(NodeKind::null, {}, place));
        remember(anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end() && !planted(Planted::yaml_alias)) {
            go_on(builder_.fail(place_of(mark), "an alias of something that is not a value"));
        }
        go_on(builder_.copy(found->second, place_of(mark)));
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        const bool quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
        if (!quoted) {
            refuse_tag(tag, mark);
        }
        if (builder_.wants_key()) {
            go_on(builder_.key(value, place_of(mark)));
            return;
        }
        go_on(builder_.scalar(quoted ? NodeKind::quoted : NodeKind::plain, value, place_of(mark)));
        remember(anchor);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(NodeKind::list, mark, tag, anchor);
    }
    void OnSequenceEnd() override { go_on(builder_.close()); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(NodeKind::map, mark, tag, anchor);
    }
    void OnMapEnd() override { go_on(builder_.close()); }

  private:
    static void go_on(bool may) {
        if (!may) {
            throw StopParsing{};
        }
    }

    void open(NodeKind kind, const YAML::Mark& mark, const std::string& tag,
              YAML::anchor_t anchor) {
        refuse_tag(tag, mark);
        go_on(builder_.open(kind, place_of(mark)));
        remember(anchor);
    }

    void refuse_tag(const std::string& tag, const YAML::Mark& mark) {
        if (!tag.empty() && tag != "?" && tag != "!") {
            go_on(builder_.fail(place_of(mark), "the tag '" + tag + "' is not understood"));
        }
    }

    void remember(YAML::anchor_t anchor) {
        if (anchor != YAML::NullAnchor) {
            anchors_[anchor] = builder_.last_added();
        }
    }

    TreeBuilder builder_;
    TextPlace start_;
    std::unordered_map<YAML::anchor_t, NodeIndex> anchors_;
};

}  // namespace

std::vector<Document> parse_yaml(std::string_view text, const std::string& file,
                                 const ParseLimits& limits, Diagnostics& diagnostics) {
    std::vector<Document> documents;
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        for (TextPlace before;;) {
            YamlEvents events(file, limits, diagnostics);
            if (!parser.HandleNextDocument(events)) {
                break;
            }
            if (events.start() == before) {
                // Before a token that it cannot use, yaml-cpp 0.7 returns empty documents for ever.
                diagnostics.add({Severity::error, file, before, {}, "this belongs to nothing", {}});
                break;
            }
            before = events.start();
            Document document = events.take();
            if (!document.empty() && document.root()->kind != NodeKind::null) {
                documents.push_back(std::move(document));
            }
        }
    } catch (const StopParsing&) {
        // The error has been reported already.
    } catch (const YAML::Exception& failure) {
        diagnostics.add({Severity::error, file, place_of(failure.mark), {}, failure.msg, {}});
    }
    return documents;
}

}  // namespace weir::config
