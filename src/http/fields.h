#pragma once
// The fields of one parsed head, stored as offsets into the parsed bytes. The bytes belong to the
// caller. Views are valid until the next parse, and only while the bytes are. Not thread-safe.
// Invariant: the lines are contiguous, because the gate rejects folded lines: line i ends where
// line i + 1 begins.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir::http {

/// Fields that a proxy has to understand; every other field is `other`.
enum class FieldId : std::uint8_t {
    other,
    accept,
    connection,
    content_length,
    date,
    expect,
    forwarded,
    forwarded_claim,  ///< any of those that only say more, like X-Real-IP and X-Forwarded-Port
    host,
    keep_alive,
    proxy_authenticate,
    proxy_authorization,
    proxy_connection,
    te,
    transfer_encoding,
    upgrade,
    x_forwarded_for,
    x_forwarded_host,
    x_forwarded_proto,
    x_request_id,
};
inline constexpr std::size_t kFieldIds = static_cast<std::size_t>(FieldId::x_request_id) + 1;

/// A set of identities, one bit for each.
using FieldIds = std::uint32_t;
constexpr FieldIds bit(FieldId id) { return FieldIds{1} << static_cast<unsigned>(id); }

/// The fields in which a proxy tells whose request it passes on, and how that one came. Every
/// client can write them.
inline constexpr FieldIds kForwardedClaims =
    bit(FieldId::forwarded) | bit(FieldId::forwarded_claim) | bit(FieldId::x_forwarded_for) |
    bit(FieldId::x_forwarded_host) | bit(FieldId::x_forwarded_proto);

/// The identity of a field name. Case makes no difference.
[[nodiscard]] FieldId identify(std::string_view name);
[[nodiscard]] bool equals_ignoring_case(std::string_view left, std::string_view right);
/// Whether an application that turns field names into variables may take `name` for `known`: the
/// two differ only by underscores in place of dashes.
[[nodiscard]] bool imitates(std::string_view name, std::string_view known);

struct Field {
    std::uint32_t name_offset = 0;
    std::uint32_t value_offset = 0;
    std::uint32_t value_length = 0;
    std::uint16_t name_length = 0;
    FieldId id = FieldId::other;
    /// Not forwarded, because of an underscore or because Connection names it.
    bool dropped = false;
    bool holds_underscore = false;
};

class Fields {
  public:
    [[nodiscard]] std::size_t size() const { return fields_.size(); }
    [[nodiscard]] const Field& operator[](std::size_t index) const { return fields_[index]; }
    [[nodiscard]] std::string_view name(std::size_t index) const {
        return text(fields_[index].name_offset, fields_[index].name_length);
    }
    [[nodiscard]] std::string_view value(std::size_t index) const {
        return text(fields_[index].value_offset, fields_[index].value_length);
    }
    /// The whole line with its CRLF.
    [[nodiscard]] std::string_view line(std::size_t index) const;

    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    /// The index of the first field with this identity or name at or after `from`; kNone if there
    /// is none. Case makes no difference.
    [[nodiscard]] std::size_t find(FieldId id) const {
        return contains(id) ? first_[static_cast<std::size_t>(id)] : kNone;
    }
    [[nodiscard]] std::size_t find(FieldId id, std::size_t from) const;
    [[nodiscard]] std::size_t find(std::string_view name, std::size_t from = 0) const;
    /// The value of the first field with this identity or name; empty if there is none.
    [[nodiscard]] std::string_view first(FieldId id) const {
        return contains(id) ? value(first_[static_cast<std::size_t>(id)]) : std::string_view();
    }
    [[nodiscard]] std::string_view first(std::string_view name) const;
    [[nodiscard]] bool contains(FieldId id) const { return contains_any(bit(id)); }
    [[nodiscard]] bool contains_any(FieldIds ids) const { return (present_ & ids) != 0; }
    /// Whether there is more than one field of this identity.
    [[nodiscard]] bool repeats(FieldId id) const { return (repeated_ & bit(id)) != 0; }
    [[nodiscard]] bool any_underscore() const { return any_underscore_; }
    [[nodiscard]] bool any_dropped() const { return any_dropped_; }
    /// All field lines, byte for byte.
    [[nodiscard]] std::string_view lines() const {
        return fields_.empty() ? std::string_view()
                               : text(fields_[0].name_offset, end_ - fields_[0].name_offset);
    }

    // Used by the parsers only.
    void begin(const char* base) {
        base_ = base;
        fields_.clear();
        end_ = 0;
        present_ = 0;
        repeated_ = 0;
        any_underscore_ = false;
        any_dropped_ = false;
    }
    /// Says that the bytes, and all fields in them, lie at another address now.
    void rebase(const char* base) { base_ = base; }
    /// Adds the field in the line between these offsets, which has no CRLF and no control bytes.
    /// False, and nothing is added, if it is not a name, a colon and a value (RFC 9112, 5).
    [[nodiscard]] bool add_line(std::size_t begin, std::size_t end);
    void drop(std::size_t index) {
        fields_[index].dropped = true;
        any_dropped_ = true;
    }
    /// Drops all fields of this name.
    void drop(std::string_view name);
    /// Drops all fields whose names imitate this one.
    void drop_imitations(std::string_view name);
    /// Says at which offset the empty line behind the fields begins.
    void end(std::size_t offset) { end_ = offset; }

  private:
    friend class HeadOracle;  // in tests, which adds what another parser has found
    void add(Field field);
    [[nodiscard]] std::string_view text(std::size_t offset, std::size_t length) const {
        return {base_ + offset, length};
    }

    const char* base_ = nullptr;
    std::vector<Field> fields_;  // keeps its capacity between messages
    std::size_t end_ = 0;
    FieldIds present_ = 0;
    FieldIds repeated_ = 0;
    // Index of the first field of each identity; valid if it is present.
    std::array<std::uint32_t, kFieldIds> first_{};
    bool any_underscore_ = false;
    bool any_dropped_ = false;
};

}  // namespace weir::http
