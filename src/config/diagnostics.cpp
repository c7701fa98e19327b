#include "config/diagnostics.h"

#include <algorithm>
#include <numeric>

namespace weir::config {
namespace {

/// Texts longer than this get no suggestion: a search would take quadratic time.
constexpr std::size_t kLongestGuess = 128;

std::size_t distance(std::string_view left, std::string_view right) {
    std::vector<std::size_t> before(right.size() + 1);
    std::vector<std::size_t> above(right.size() + 1);
    std::vector<std::size_t> row(right.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 1; i <= left.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const std::size_t change = left[i - 1] == right[j - 1] ? 0 : 1;
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        before.swap(above);
        above.swap(row);
    }
    return above[right.size()];
}

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
    errors_ += diagnostic.severity == Severity::error ? 1 : 0;
    if (full()) {
        ++dropped_;
        return;
    }
    kept_.push_back(std::move(diagnostic));
}

/// When there are enough diagnostics, further ones are only counted, and their paths need not be
/// built.
void Diagnostics::add(NodeRef at, Place place, std::string what, std::string_view suggestion) {
    if (full()) {
        ++errors_;
        ++dropped_;
        return;
    }
    add({Severity::error, at.document().file(), place, at.path(), std::move(what),
         std::string(suggestion)});
}

void Diagnostics::error(NodeRef at, Place place, std::string what) {
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
    if (dropped_ != 0) {
        text += "and " + std::to_string(dropped_) + " more\n";
    }
    return text;
}

std::string_view closest(std::string_view text, const std::vector<std::string_view>& candidates) {
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
    for (const std::string_view candidate : candidates) {
        if (text.size() > kLongestGuess || candidate.size() > kLongestGuess) {
            continue;
        }
        const std::size_t found = distance(text, candidate);
        if (found < best_distance) {
            best = candidate;
            best_distance = found;
        }
    }
    return best;
}

}  // namespace weir::config
