#pragma once
// The fields of one parsed head: offsets into the bytes they were parsed from, which stay the
// caller's. Views are valid as long as those bytes are, and until the next parse. Not thread-safe.
// Invariant: lines are contiguous (folded lines never pass the gate), so line i ends where line
// i + 1 begins.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir::http {

/// Fields with a meaning for a proxy; everything else is `other`.
enum class FieldId : std::uint8_t {
    other,
    accept,
    connection,
    content_length,
    expect,
    forwarded,
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

/// Sets of identities, a bit for each.
using FieldIds = std::uint32_t;
constexpr FieldIds bit(FieldId id) { return FieldIds{1} << static_cast<unsigned>(id); }

/// The identity of a name, whatever its case.
[[nodiscard]] FieldId identify(std::string_view name);
[[nodiscard]] bool equals_ignoring_case(std::string_view left, std::string_view right);
/// Whether an application that turns names into variables may take `name` for `known`: it is the
/// same but for underscores instead of dashes.
[[nodiscard]] bool imitates(std::string_view name, std::string_view known);

struct Field {
    std::uint32_t name_offset = 0;
    std::uint32_t value_offset = 0;
    std::uint32_t value_length = 0;
    std::uint16_t name_length = 0;
    FieldId id = FieldId::other;
    bool dropped = false;  ///< not forwarded: an underscore, or named by Connection
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
    /// The first field of this identity or name at or after `from`; kNone without one. `name` is
    /// compared ignoring case.
    [[nodiscard]] std::size_t find(FieldId id) const {
        return contains(id) ? first_[static_cast<std::size_t>(id)] : kNone;
    }
    [[nodiscard]] std::size_t find(FieldId id, std::size_t from) const;
    [[nodiscard]] std::size_t find(std::string_view name, std::size_t from = 0) const;
    /// The value of the first such field; empty without one.
    [[nodiscard]] std::string_view first(FieldId id) const {
        return contains(id) ? value(first_[static_cast<std::size_t>(id)]) : std::string_view();
    }
    [[nodiscard]] std::string_view first(std::string_view name) const;
    [[nodiscard]] bool contains(FieldId id) const { return contains_any(bit(id)); }
    [[nodiscard]] bool contains_any(FieldIds ids) const { return (present_ & ids) != 0; }
    /// More than one field of this identity.
    [[nodiscard]] bool repeats(FieldId id) const { return (repeated_ & bit(id)) != 0; }
    [[nodiscard]] bool any_underscore() const { return any_underscore_; }
    [[nodiscard]] bool any_dropped() const { return any_dropped_; }
    /// All lines, as they came.
    [[nodiscard]] std::string_view lines() const {
        return fields_.empty() ? std::string_view()
                               : text(fields_[0].name_offset, end_ - fields_[0].name_offset);
    }

    // For the parsers.
    void begin(const char* base) {
        base_ = base;
        fields_.clear();
        end_ = 0;
        present_ = 0;
        repeated_ = 0;
        any_underscore_ = false;
        any_dropped_ = false;
    }
    void rebase(const char* base) { base_ = base; }
    /// Name and value lie in the bytes that begin at `base`.
    void add(std::string_view name, std::string_view value);
    void drop(std::size_t index) {
        fields_[index].dropped = true;
        any_dropped_ = true;
    }
    /// Drops all fields of this name.
    void drop(std::string_view name);
    /// Drops all fields whose names imitate this one.
    void drop_imitations(std::string_view name);
    /// Where the empty line begins.
    void end(std::size_t offset) { end_ = offset; }

  private:
    [[nodiscard]] std::string_view text(std::size_t offset, std::size_t length) const {
        return {base_ + offset, length};
    }

    const char* base_ = nullptr;
    std::vector<Field> fields_;  // keeps its capacity between messages
    std::size_t end_ = 0;
    FieldIds present_ = 0;
    FieldIds repeated_ = 0;
    std::array<std::uint32_t, kFieldIds> first_{};  // index of the first; valid if present
    bool any_underscore_ = false;
    bool any_dropped_ = false;
};

}  // namespace weir::http
