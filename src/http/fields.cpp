#include "http/fields.h"

#include <array>
#include <utility>

#include "http/characters.h"

namespace weir::http {
namespace {

using Known = std::pair<std::string_view, FieldId>;

constexpr std::array kKnown{
    Known{"te", FieldId::te},
    Known{"host", FieldId::host},
    Known{"accept", FieldId::accept},
    Known{"expect", FieldId::expect},
    Known{"upgrade", FieldId::upgrade},
    Known{"forwarded", FieldId::forwarded},
    Known{"connection", FieldId::connection},
    Known{"keep-alive", FieldId::keep_alive},
    Known{"x-request-id", FieldId::x_request_id},
    Known{"content-length", FieldId::content_length},
    Known{"x-forwarded-for", FieldId::x_forwarded_for},
    Known{"proxy-connection", FieldId::proxy_connection},
    Known{"x-forwarded-host", FieldId::x_forwarded_host},
    Known{"transfer-encoding", FieldId::transfer_encoding},
    Known{"x-forwarded-proto", FieldId::x_forwarded_proto},
    Known{"proxy-authenticate", FieldId::proxy_authenticate},
    Known{"proxy-authorization", FieldId::proxy_authorization},
};

/// A bit for each length that a known name has: most names need no further look.
constexpr std::uint32_t known_lengths() {
    std::uint32_t lengths = 0;
    for (const auto& [name, id] : kKnown) lengths |= 1U << name.size();
    return lengths;
}

constexpr std::uint32_t bit(FieldId id) { return 1U << static_cast<unsigned>(id); }

}  // namespace

bool equals_ignoring_case(std::string_view left, std::string_view right) {
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i] != right[i] && to_lower(left[i]) != to_lower(right[i])) return false;
    }
    return true;
}

FieldId identify(std::string_view name) {
    constexpr std::uint32_t kLengths = known_lengths();
    if (name.size() > 31 || (kLengths >> name.size() & 1U) == 0) return FieldId::other;
    for (const auto& [known, id] : kKnown) {
        if (known.size() == name.size() && known[0] == to_lower(name[0]) &&
            equals_ignoring_case(known, name)) {
            return id;
        }
    }
    return FieldId::other;
}

std::string_view Fields::line(std::size_t index) const {
    const std::size_t begin = fields_[index].name_offset;
    const std::size_t end = index + 1 < fields_.size() ? fields_[index + 1].name_offset : end_;
    return text(begin, end - begin);
}

std::size_t Fields::find(FieldId id, std::size_t from) const {
    if ((present_ & bit(id)) == 0) return kNone;
    for (std::size_t i = from; i < fields_.size(); ++i) {
        if (fields_[i].id == id) return i;
    }
    return kNone;
}

std::size_t Fields::find(std::string_view wanted, std::size_t from) const {
    for (std::size_t i = from; i < fields_.size(); ++i) {
        if (equals_ignoring_case(name(i), wanted)) return i;
    }
    return kNone;
}

std::string_view Fields::first(FieldId id) const {
    const auto index = find(id);
    return index == kNone ? std::string_view() : value(index);
}

std::string_view Fields::first(std::string_view wanted) const {
    const auto index = find(wanted);
    return index == kNone ? std::string_view() : value(index);
}

void Fields::add(const Field& field) {
    fields_.push_back(field);
    present_ |= bit(field.id);
}

}  // namespace weir::http
