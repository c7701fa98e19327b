#pragma once
// The fields of one parsed head: offsets into the bytes they were parsed from, which stay the
// caller's. Views are valid as long as those bytes are, and until the next parse. Not thread-safe.
// Invariant: lines are contiguous (folded lines never pass the gate), so line i ends where line
// i + 1 begins.

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

/// The identity of a name, whatever its case.
[[nodiscard]] FieldId identify(std::string_view name);
[[nodiscard]] bool equals_ignoring_case(std::string_view left, std::string_view right);

struct Field {
    std::uint32_t name_offset = 0;
    std::uint32_t value_offset = 0;
    std::uint32_t value_length = 0;
    std::uint16_t name_length = 0;
    FieldId id = FieldId::other;
    bool dropped = false;  ///< not forwarded (underscores)
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
    [[nodiscard]] std::size_t find(FieldId id, std::size_t from = 0) const;
    [[nodiscard]] std::size_t find(std::string_view name, std::size_t from = 0) const;
    /// The value of the first such field; empty without one.
    [[nodiscard]] std::string_view first(FieldId id) const;
    [[nodiscard]] std::string_view first(std::string_view name) const;
    [[nodiscard]] bool contains(FieldId id) const { return find(id) != kNone; }

    // For the parsers.
    void begin(const char* base) {
        base_ = base;
        fields_.clear();
        end_ = 0;
        present_ = 0;
    }
    void rebase(const char* base) { base_ = base; }
    void add(const Field& field);
    void drop(std::size_t index) { fields_[index].dropped = true; }
    /// Where the empty line begins.
    void end(std::size_t offset) { end_ = offset; }

  private:
    [[nodiscard]] std::string_view text(std::size_t offset, std::size_t length) const {
        return {base_ + offset, length};
    }

    const char* base_ = nullptr;
    std::vector<Field> fields_;  // keeps its capacity between messages
    std::size_t end_ = 0;
    std::uint32_t present_ = 0;  // a bit for each FieldId seen
};

}  // namespace weir::http
