#include "node/name_globs.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::node {
namespace {

constexpr char kAny = '\1';       // one character of a segment; names have no control characters
constexpr char kMany = '\2';      // any number of them
constexpr char kAnyAtAll = '\3';  // the same two with slashes, for a catch-all
constexpr char kManyAtAll = '\4';

bool same_character(char left, char right) {
    return left == right || left == kAnyAtAll || right == kAnyAtAll ||
           (left == kAny && right != '/') || (right == kAny && left != '/');
}

bool is_many(char c) { return c == kMany || c == kManyAtAll; }

/// Whether a wildcard for many characters stands for this one, too.
bool takes(char many, char c) { return many == kManyAtAll || c != '/'; }

/// The rule itself, by a table of all ends of both texts.
bool texts_meet(std::string_view left, std::string_view right) {
    std::vector<bool> next(right.size() + 1);
    std::vector<bool> row(right.size() + 1);
    for (std::size_t i = left.size() + 1; i-- > 0;) {
        for (std::size_t j = right.size() + 1; j-- > 0;) {
            const bool more_left = i < left.size();
            const bool more_right = j < right.size();
            bool meet = !more_left && !more_right;
            if (more_left && is_many(left[i])) {
                meet = next[j] || (more_right && takes(left[i], right[j]) && row[j + 1]);
            } else if (more_right && is_many(right[j])) {
                meet = row[j + 1] || (more_left && takes(right[j], left[i]) && next[j]);
            } else if (more_left && more_right) {
                meet = same_character(left[i], right[j]) && next[j + 1];
            }
            row[j] = meet;
        }
        std::swap(row, next);
    }
    return next[0];
}

bool segments_meet(std::string_view left, std::string_view right) {
    const bool plain =
        left.find(kAny) == std::string_view::npos && right.find(kAny) == std::string_view::npos;
    return plain ? left == right : texts_meet(left, right);
}

bool has_catch_all(std::string_view segment) {
    return segment.find(kAnyAtAll) != std::string_view::npos;
}

}  // namespace

std::string to_glob(std::string_view text) {
    std::string glob;
    while (!text.empty()) {
        const std::size_t open = text.find('{');
        glob += text.substr(0, open);
        const std::size_t close = text.find('}', open);
        if (open == std::string_view::npos || close == std::string_view::npos) {
            break;
        }
        const bool catch_all = text.substr(0, close).ends_with("**");
        glob += catch_all ? kAnyAtAll : kAny;
        glob += catch_all ? kManyAtAll : kMany;
        text.remove_prefix(close + 1);
    }
    return glob;
}

bool can_meet(std::string_view left, std::string_view right) {
    for (;;) {
        const std::size_t left_end = std::min(left.find('/'), left.size());
        const std::size_t right_end = std::min(right.find('/'), right.size());
        const std::string_view left_segment = left.substr(0, left_end);
        const std::string_view right_segment = right.substr(0, right_end);
        if (has_catch_all(left_segment) || has_catch_all(right_segment)) {
            return texts_meet(left, right);
        }
        if (!segments_meet(left_segment, right_segment)) {
            return false;
        }
        const bool left_ends = left_end == left.size();
        const bool right_ends = right_end == right.size();
        if (left_ends || right_ends) {
            return left_ends && right_ends;
        }
        left.remove_prefix(left_end + 1);
        right.remove_prefix(right_end + 1);
    }
}

}  // namespace weir::node
