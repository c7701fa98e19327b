#include "definitions/set_files.h"

#include <utility>

#include "base/assert.h"

namespace weir::definitions {

void SetFiles::put(std::string_view set, SetFile file) {
    const auto found = files_.find(set);
    if (found == files_.end() && files_.size() >= kMaximumFiles) {
        return;
    }
    if (found != files_.end() && found->second.content == file.content) {
        file.bytes = found->second.bytes;  // equal bytes need not be in memory twice
    }
    files_.insert_or_assign(std::string(set), std::move(file));
    WEIR_ASSERT(files_.size() <= kMaximumFiles);
}

void SetFiles::note_refused(std::string_view set) {
    if (const auto found = files_.find(set); found != files_.end()) {
        found->second.refused = true;
    }
}

void SetFiles::note_bad(bool bad) {
    bad_ = bad;
    read_once_ = read_once_ || !bad;
}

const SetFile* SetFiles::find(std::string_view set) const {
    const auto found = files_.find(set);
    return found == files_.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> SetFiles::vote(std::string_view set, std::uint64_t generation) const {
    const SetFile* const file = find(set);
    if (file == nullptr) {
        const bool may_be_about_it = bad_ && !read_once_ && is_automatic(generation);
        return may_be_about_it ? std::optional(kForInForce) : std::nullopt;
    }
    const bool by_number = file->generation && !is_automatic(generation);
    return bad_ || file->refused || by_number ? kForInForce : file->content;
}

}  // namespace weir::definitions
