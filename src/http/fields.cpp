#include "http/fields.h"

#include <algorithm>
#include <limits>

#include "base/characters.h"
#include "base/planted.h"
#include "http/words.h"

namespace weir::http {
namespace {

struct KnownField {
    std::string_view name;
    FieldId id;
};

/// Ordered by length. The claims are those that load balancers, ingress controllers and content
/// networks write by default.
constexpr std::array kKnown{
    KnownField{"te", FieldId::te},
    KnownField{"date", FieldId::date},
    KnownField{"host", FieldId::host},
    KnownField{"accept", FieldId::accept},
    KnownField{"expect", FieldId::expect},
    KnownField{"upgrade", FieldId::upgrade},
    KnownField{"x-scheme", FieldId::forwarded_claim},
    KnownField{"forwarded", FieldId::forwarded},
    KnownField{"x-real-ip", FieldId::forwarded_claim},
    KnownField{"connection", FieldId::connection},
    KnownField{"keep-alive", FieldId::keep_alive},
    KnownField{"x-client-ip", FieldId::forwarded_claim},
    KnownField{"x-request-id", FieldId::x_request_id},
    KnownField{"content-length", FieldId::content_length},
    KnownField{"true-client-ip", FieldId::forwarded_claim},
    KnownField{"x-forwarded-by", FieldId::forwarded_claim},
    KnownField{"x-forwarded-for", FieldId::x_forwarded_for},
    KnownField{"front-end-https", FieldId::forwarded_claim},
    KnownField{"x-forwarded-ssl", FieldId::forwarded_claim},
    KnownField{"x-forwarded-uri", FieldId::forwarded_claim},
    KnownField{"proxy-connection", FieldId::proxy_connection},
    KnownField{"x-forwarded-host", FieldId::x_forwarded_host},
    KnownField{"x-forwarded-port", FieldId::forwarded_claim},
    KnownField{"cf-connecting-ip", FieldId::forwarded_claim},
    KnownField{"transfer-encoding", FieldId::transfer_encoding},
    KnownField{"x-forwarded-proto", FieldId::x_forwarded_proto},
    KnownField{"proxy-authenticate", FieldId::proxy_authenticate},
    KnownField{"x-forwarded-method", FieldId::forwarded_claim},
    KnownField{"x-forwarded-prefix", FieldId::forwarded_claim},
    KnownField{"x-forwarded-scheme", FieldId::forwarded_claim},
    KnownField{"x-forwarded-server", FieldId::forwarded_claim},
    KnownField{"proxy-authorization", FieldId::proxy_authorization},
    KnownField{"x-cluster-client-ip", FieldId::forwarded_claim},
    KnownField{"x-forwarded-protocol", FieldId::forwarded_claim},
    KnownField{"x-original-forwarded-for", FieldId::forwarded_claim},
};

constexpr bool shorter(const KnownField& left, const KnownField& right) {
    return left.name.size() < right.name.size();
}
static_assert(std::is_sorted(kKnown.begin(), kKnown.end(), shorter));
static_assert(kKnown.back().name.size() <= kMaxPacked);

constexpr auto pack_names() {
    std::array<PackedName, kKnown.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) {
        names[i] = PackedName(kKnown[i].name);
    }
    return names;
}
constexpr auto kNames = pack_names();

/// For each length the index of the first name that is not shorter.
constexpr auto index_lengths() {
    std::array<std::uint8_t, kMaxPacked + 2> begin{};
    for (std::size_t length = 0; length < begin.size(); ++length) {
        while (begin[length] < kKnown.size() && kKnown[begin[length]].name.size() < length) {
            ++begin[length];
        }
    }
    return begin;
}
constexpr auto kBegin = index_lengths();

/// `packed` is the name, if it is short enough to be packed.
inline FieldId identify_packed(std::string_view name, const PackedText& packed) {
    const std::size_t end = kBegin[name.size() + 1];
    for (std::size_t i = kBegin[name.size()]; i < end; ++i) {
        if (kNames[i].equals(packed)) {
            return kKnown[i].id;
        }
    }
    return FieldId::other;
}

bool holds_underscore(const PackedText& packed) {
    constexpr std::uint64_t kUnderscores = kOnes * '_';
    return holds_zero(packed.first ^ kUnderscores) || holds_zero(packed.last ^ kUnderscores) ||
           holds_zero(packed.middle ^ kUnderscores);
}

}  // namespace

bool equals_ignoring_case(std::string_view left, std::string_view right) {
    if (left.size() != right.size()) {
        return false;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i] != right[i] && to_lower(left[i]) != to_lower(right[i])) {
            return false;
        }
    }
    return true;
}

bool imitates(std::string_view name, std::string_view known) {
    if (name.size() != known.size()) {
        return false;
    }
    bool differs = false;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (to_lower(name[i]) == to_lower(known[i])) {
            continue;
        }
        if (name[i] != '_' || known[i] != '-') {
            return false;
        }
        differs = true;
    }
    return differs;
}

FieldId identify(std::string_view name) {
    return name.size() > kMaxPacked ? FieldId::other : identify_packed(name, pack(name));
}

std::string_view Fields::line(std::size_t index) const {
    const std::size_t begin = fields_[index].name_offset;
    const std::size_t end = index + 1 < fields_.size() ? fields_[index + 1].name_offset : end_;
    return text(begin, end - begin);
}

std::size_t Fields::find(FieldId id, std::size_t from) const {
    if (!contains(id)) {
        return kNone;
    }
    for (std::size_t i = from; i < fields_.size(); ++i) {
        if (fields_[i].id == id) {
            return i;
        }
    }
    return kNone;
}

std::size_t Fields::find(std::string_view wanted, std::size_t from) const {
    for (std::size_t i = from; i < fields_.size(); ++i) {
        if (fields_[i].name_length == wanted.size() && equals_ignoring_case(name(i), wanted)) {
            return i;
        }
    }
    return kNone;
}

std::string_view Fields::first(std::string_view wanted) const {
    const auto index = find(wanted);
    return index == kNone ? std::string_view() : value(index);
}

bool Fields::add_line(std::size_t begin, std::size_t end) {
    const char* const bytes = base_;
    std::size_t colon = begin;
    while (colon < end && (is_token_character(bytes[colon]) ||
                           (bytes[colon] == ' ' && planted(Planted::name_blank)))) {
        ++colon;
    }
    const std::size_t name = colon - begin;
    if (colon == end || bytes[colon] != ':' || name == 0 ||
        name > std::numeric_limits<std::uint16_t>::max()) {
        return false;
    }
    std::size_t value = colon + 1;
    while (value < end && is_blank(bytes[value])) {
        ++value;
    }
    while (end > value && is_blank(bytes[end - 1])) {
        --end;
    }
    add({.name_offset = static_cast<std::uint32_t>(begin),
         .value_offset = static_cast<std::uint32_t>(value),
         .value_length = static_cast<std::uint32_t>(end - value),
         .name_length = static_cast<std::uint16_t>(name)});
    return true;
}

void Fields::add(Field field) {
    const auto name = text(field.name_offset, field.name_length);
    if (name.size() <= kMaxPacked) {
        const PackedText packed = pack(name);
        field.id = identify_packed(name, packed);
        field.holds_underscore = holds_underscore(packed);
    } else {
        field.holds_underscore = name.find('_') != std::string_view::npos;
    }
    const FieldIds id = bit(field.id);
    if ((present_ & id) == 0) {
        first_[static_cast<std::size_t>(field.id)] = static_cast<std::uint32_t>(fields_.size());
    }
    repeated_ |= present_ & id;
    present_ |= id;
    any_underscore_ |= field.holds_underscore;
    fields_.push_back(field);
}

void Fields::drop(std::string_view name) {
    for (auto i = find(name); i != kNone; i = find(name, i + 1)) {
        drop(i);
    }
}

void Fields::drop_imitations(std::string_view known) {
    if (!any_underscore_) {
        return;
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        if (fields_[i].holds_underscore && imitates(name(i), known)) {
            drop(i);
        }
    }
}

}  // namespace weir::http
