// Parses JSON with nlohmann's SAX interface. It is fast but does not say where a value stands, so a
// cursor goes over the same text, one token for each event. The cursor can be simple, because the
// parser has found each token to be well-formed before.

#include <nlohmann/json.hpp>

#include "config/parsers.h"
#include "config/tree_builder.h"

namespace weir::config {
namespace {

class TokenCursor {
  public:
    explicit TokenCursor(std::string_view text) : text_(text) {}

    /// Goes over the next token. Afterwards its place and text can be asked for.
    void advance() {
        skip_separators();
        start_ = at_;
        place_ = {line_, static_cast<std::uint32_t>(at_ - line_start_ + 1)};
        if (at_ == text_.size()) {
            return;
        }
        switch (text_[at_]) {
            case '"':
                skip_string();
                break;
            case '{':
            case '}':
            case '[':
            case ']':
                ++at_;
                break;
            default:
                at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
        }
    }

    [[nodiscard]] TextPlace place() const { return place_; }
    [[nodiscard]] std::string_view token() const { return text_.substr(start_, at_ - start_); }

    /// The place of a byte at or after the last token.
    [[nodiscard]] TextPlace place_of(std::size_t offset) const {
        TextPlace place{line_, 1};
        std::size_t line_start = line_start_;
        for (std::size_t i = at_; i < std::min(offset, text_.size()); ++i) {
            if (text_[i] == '\n') {
                ++place.line;
                line_start = i + 1;
            }
        }
        place.column = static_cast<std::uint32_t>(offset - std::min(offset, line_start) + 1);
        return place;
    }

  private:
    void skip_separators() {
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '\n') {
                ++line_;
                line_start_ = at_ + 1;
            } else if (c != ' ' && c != '\t' && c != '\r' && c != ',' && c != ':') {
                return;
            }
        }
    }

    void skip_string() {
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            at_ += text_[at_] == '\\' ? std::size_t{1} : std::size_t{0};
        }
        at_ = std::min(at_ + 1, text_.size());
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t start_ = 0;
    std::size_t line_start_ = 0;
    std::uint32_t line_ = 1;
    TextPlace place_;
};

/// The part of nlohmann's message that says what is wrong, without its numbers and its place.
std::string reason(std::string message) {
    const std::size_t bracket = message.find("] ");
    if (bracket != std::string::npos) {
        message.erase(0, bracket + 2);
    }
    const std::size_t place = message.find("syntax error");
    if (place != std::string::npos) {
        message.erase(0, place);
    }
    return message;
}

class JsonEvents {
  public:
    JsonEvents(std::string_view text, const std::string& file, const ParseLimits& limits,
               Diagnostics& diagnostics)
        : cursor_(text), builder_(file, limits, diagnostics) {}

    Document take() { return builder_.take(); }

    bool null() {
        cursor_.advance();
        return builder_.scalar(NodeKind::null, {}, cursor_.place());
    }
    bool boolean(bool) { return plain(); }
    bool number_integer(nlohmann::json::number_integer_t) { return plain(); }
    bool number_unsigned(nlohmann::json::number_unsigned_t) { return plain(); }
    bool number_float(nlohmann::json::number_float_t, const std::string&) { return plain(); }
    bool string(const std::string& value) {
        cursor_.advance();
        return builder_.scalar(NodeKind::quoted, value, cursor_.place());
    }
    bool binary(nlohmann::json::binary_t&) { return false; }
    bool start_object(std::size_t) {
        cursor_.advance();
        return builder_.open(NodeKind::map, cursor_.place());
    }
    bool key(const std::string& name) {
        cursor_.advance();
        return builder_.key(name, cursor_.place());
    }
    bool end_object() { return end(); }
    bool start_array(std::size_t) {
        cursor_.advance();
        return builder_.open(NodeKind::list, cursor_.place());
    }
    bool end_array() { return end(); }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::json::exception& failure) {
        const std::size_t offset = position == 0 ? 0 : position - 1;
        return builder_.fail(cursor_.place_of(offset), reason(failure.what()));
    }

  private:
    bool plain() {
        cursor_.advance();
        return builder_.scalar(NodeKind::plain, cursor_.token(), cursor_.place());
    }

    bool end() {
        cursor_.advance();
        return builder_.close();
    }

    TokenCursor cursor_;
    TreeBuilder builder_;
};

}  // namespace

std::vector<Document> parse_json(std::string_view text, const std::string& file,
                                 const ParseLimits& limits, Diagnostics& diagnostics) {
    std::vector<Document> documents;
    JsonEvents events(text, file, limits, diagnostics);
    if (nlohmann::json::sax_parse(text.begin(), text.end(), &events)) {
        Document document = events.take();
        if (!document.empty() && document.root()->kind != NodeKind::null) {
            documents.push_back(std::move(document));
        }
    }
    return documents;
}

}  // namespace weir::config
