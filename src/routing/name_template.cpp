#include "routing/name_template.h"

#include <algorithm>

#include "http/words.h"
#include "routing/escapes.h"

namespace weir::routing {
std::variant<NameTemplate, PatternError> NameTemplate::compile(std::string_view text,
                                                               RouteCaptures& captures) {
    NameTemplate result;
    if (text.empty()) {
        return PatternError{1, "a quota's name must not be empty"};
    }
    std::size_t position = 0;
    while (position < text.size()) {
        const auto brace = std::min(text.find_first_of("{}", position), text.size());
        Piece piece{std::string(text.substr(position, brace - position)), std::nullopt};
        position = brace;
        if (brace < text.size()) {
            const auto end = text.find('}', brace);
            if (text[brace] == '}') {
                return PatternError{brace + 1, "'}' without '{'"};
            }
            if (end == std::string_view::npos) {
                return PatternError{brace + 1, "'{' without '}'"};
            }
            const auto found = captures.find(text.substr(brace + 1, end - brace - 1), brace + 1);
            if (const auto* failure = std::get_if<PatternError>(&found)) {
                return *failure;
            }
            piece.capture = std::get<std::size_t>(found);
            position = end + 1;
        }
        result.pieces_.push_back(std::move(piece));
    }
    return result;
}

char* NameTemplate::write(char* out, const Captures& safe) const {
    for (const auto& piece : pieces_) {
        out = http::copy_bytes(out, piece.literal);
        if (!piece.capture) {
            continue;
        }
        const auto value = safe[*piece.capture];
        if (value.empty()) {
            return nullptr;
        }
        out = http::copy_bytes(out, value);
    }
    return out;
}

std::size_t NameTemplate::max_size() const {
    std::size_t size = 0;
    for (const auto& piece : pieces_) {
        size += piece.literal.size() + (piece.capture ? kMaxCapture : 0);
    }
    return size;
}

std::vector<std::size_t> NameTemplate::captures() const {
    std::vector<std::size_t> used;
    for (const auto& piece : pieces_) {
        if (piece.capture) {
            used.push_back(*piece.capture);
        }
    }
    return used;
}

}  // namespace weir::routing
