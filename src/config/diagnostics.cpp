#include "config/diagnostics.h"

#include <algorithm>

#include "base/assert.h"

namespace weir::config {
namespace {

std::vector<std::string> files_in_order(const std::vector<Diagnostic>& diagnostics) {
    std::vector<std::string> files;
    for (const Diagnostic& diagnostic : diagnostics) {
        if (std::find(files.begin(), files.end(), diagnostic.file) == files.end()) {
            files.push_back(diagnostic.file);
        }
    }
    return files;
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
    std::string text = diagnostic.file + ":";
    if (diagnostic.place.line != 0) {
        text += std::to_string(diagnostic.place.line) + ":" +
                std::to_string(diagnostic.place.column) + ":";
    }
    text += diagnostic.severity == Severity::warning ? " warning: " : " ";
    if (!diagnostic.path.empty()) {
        text += diagnostic.path + ": ";
    }
    text += diagnostic.what;
    if (!diagnostic.suggestion.empty()) {
        // A suggestion of one word is the word that was meant; a sentence says what to do.
        const bool sentence = diagnostic.suggestion.find(' ') != std::string::npos;
        text += sentence ? ", " + diagnostic.suggestion
                         : ", did you mean '" + diagnostic.suggestion + "'?";
    }
    return text;
}

void Diagnostics::add(Diagnostic diagnostic) {
    const bool is_error = diagnostic.severity == Severity::error;
    std::size_t& count = is_error ? errors_ : warnings_;
    if (++count <= kMaxKept) {
        kept_.push_back(std::move(diagnostic));
    }
}

void Diagnostics::count_errors(std::size_t more) {
    WEIR_ASSERT(more == 0 || full());
    errors_ += more;
}

/// When there are enough diagnostics, further ones are only counted, and their paths need not be
/// built.
void Diagnostics::add(NodeRef at, TextPlace place, std::string what, std::string_view suggestion) {
    if (full()) {
        return count_errors(1);
    }
    add({Severity::error, at.document().file(), place, at.path(), std::move(what),
         std::string(suggestion)});
}

void Diagnostics::error(NodeRef at, TextPlace place, std::string what) {
    add(at, place, std::move(what), {});
}

void Diagnostics::error(NodeRef at, std::string what) { error(at, std::move(what), {}); }

void Diagnostics::error(NodeRef at, std::string what, std::string_view suggestion) {
    add(at, at->place, std::move(what), suggestion);
}

void Diagnostics::error_at_key(NodeRef member, std::string what, std::string_view suggestion) {
    add(member, member->key_place, std::move(what), suggestion);
}

std::vector<Diagnostic> Diagnostics::sorted() const {
    const std::vector<std::string> files = files_in_order(kept_);
    const auto rank = [&](const Diagnostic& diagnostic) {
        return std::find(files.begin(), files.end(), diagnostic.file) - files.begin();
    };
    std::vector<Diagnostic> ordered = kept_;
    std::stable_sort(
        ordered.begin(), ordered.end(), [&](const Diagnostic& left, const Diagnostic& right) {
            const auto left_rank = rank(left);
            const auto right_rank = rank(right);
            return left_rank != right_rank ? left_rank < right_rank : left.place < right.place;
        });
    return ordered;
}

std::string Diagnostics::text() const {
    std::string text;
    for (const Diagnostic& diagnostic : sorted()) {
        text += to_string(diagnostic) + "\n";
    }
    const std::size_t all = errors_ + warnings_;
    WEIR_ASSERT(all >= kept_.size());
    if (all > kept_.size()) {
        text += "and " + std::to_string(all - kept_.size()) + " more\n";
    }
    return text;
}

}  // namespace weir::config
