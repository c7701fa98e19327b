#include "definitions/document.h"

#include <algorithm>

#include "base/assert.h"
#include "base/hash.h"
#include "definitions/codec.h"
#include "definitions/rules.h"

namespace weir::definitions {

Result<void> DefinitionDocument::read(std::size_t budget, std::vector<DefinitionError>* errors) {
    constexpr std::size_t kMostErrors = 1000;
    for (; budget > 0 && !complete(); --budget) {
        ByteReader reader(ByteSpan(*bytes_).subspan(read_));
        const auto definition = decode_next(reader);
        if (!definition) {
            return definition.error();
        }
        if (!places_.empty()) {
            const std::string_view before = item(places_.size() - 1).name;
            if (before > definition->name) {
                return error(ErrorCode::invalid_argument, "not in the order of names");
            }
            sound_ = sound_ && before != definition->name;
            if (before == definition->name && errors->size() < kMostErrors) {
                errors->push_back(same_shape_error(definition->name, before));
                errors->back().index = places_.size();
            }
        }
        for (DefinitionError& wrong : validate_alone(*definition)) {
            sound_ = false;
            if (errors->size() < kMostErrors) {
                wrong.index = places_.size();
                errors->push_back(std::move(wrong));
            }
        }
        need_.add(*definition);
        places_.push_back(static_cast<std::uint32_t>(read_));
        read_ = bytes_->size() - reader.remaining();
        WEIR_ASSERT(read_ > places_.back() && read_ <= bytes_->size());
    }
    if (complete()) {
        places_.shrink_to_fit();
        need_.finish();
    }
    return {};
}

DefinitionDocument::Item DefinitionDocument::item(std::size_t number) const {
    WEIR_ASSERT(number < places_.size());
    const std::size_t begin = places_[number];
    const std::size_t end = number + 1 < places_.size() ? places_[number + 1] : read_;
    ByteReader reader(ByteSpan(*bytes_).subspan(begin, end - begin));
    const std::string_view name = reader.string(limiter::kMaxNameBytes);
    WEIR_ASSERT(reader.ok() && !name.empty());  // read() has decoded it
    return {name, as_text(reader.bytes(reader.remaining())), sound_ && complete()};
}

std::size_t DefinitionDocument::lower_bound(std::string_view name) const {
    std::size_t low = 0;
    for (std::size_t high = places_.size(); low < high;) {
        const std::size_t middle = low + (high - low) / 2;
        if (item(middle).name < name) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    WEIR_ASSERT(low <= places_.size());
    return low;
}

bool DefinitionDocument::is_at(std::size_t number, std::string_view name) const {
    return number < places_.size() && item(number).name == name;
}

std::optional<DefinitionDocument::Item> DefinitionDocument::find(std::string_view name) const {
    const std::size_t number = is_at(likely_, name) ? likely_ : lower_bound(name);
    if (!is_at(number, name)) {
        return std::nullopt;
    }
    likely_ = number + 1;
    WEIR_ASSERT(likely_ <= places_.size());
    return item(number);
}

std::uint64_t content_hash_of(std::string_view name, std::string_view value) {
    return mix(mix(document_hash(as_bytes(name))) ^ document_hash(as_bytes(value)));
}

}  // namespace weir::definitions
