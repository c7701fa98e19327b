#pragma once
// docs/protocol.md as something to hold encoded bytes against: its tables, its sentences, and its
// layouts ("8 the ping's number; varint counter; [f24 heaviest]"), by which bytes are read field by
// field. A test fails when the page does not describe a field, and when the code writes other bytes
// than the page describes. A cell that says "below" stands for the item of the list under its table
// that begins with the row's name. For tests only.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace weir::test {

struct Field;
using Fields = std::vector<Field>;

/// Several values of one layout, one behind the other.
struct Records {
    std::string layout;
    std::vector<Fields> each;
};

/// One field: how the page's words for it begin, and the value that must be there. Identities
/// (limit, endpoint, member, version), hashes in a row and bytes up to the end are hexadecimal.
struct Field {
    template <class Given>
    Field(std::string begins, Given given) : what(std::move(begins)) {
        if constexpr (std::is_integral_v<Given> || std::is_enum_v<Given>) {
            value = static_cast<std::uint64_t>(given);
        } else {
            value = std::move(given);
        }
    }
    std::string what;
    std::variant<std::uint64_t, double, std::string, Records> value;
};

class ProtocolPage {
  public:
    using Row = std::vector<std::string>;

    ProtocolPage();
    /// Whether it says so, wherever its lines break.
    [[nodiscard]] bool says(std::string_view text) const;
    /// The rows of the table under that heading whose first column is called so; fails when there
    /// is none.
    [[nodiscard]] std::vector<Row> table(std::string_view heading, std::string_view first) const;
    /// Number, name and layout of all messages in datagrams.
    [[nodiscard]] std::vector<Row> messages() const;
    /// The layout of a message in a datagram, by its name.
    [[nodiscard]] std::string layout(std::string_view message) const;
    /// What follows "Update: " and the like, up to the sentence's end.
    [[nodiscard]] std::string sentence(std::string_view begin) const;

  private:
    struct Table {
        std::string heading;
        Row titles;
        std::vector<Row> rows;
    };
    std::string text_;  // with single blanks
    std::vector<Table> tables_;
};

/// What is wrong with the bytes as the layout has them; empty when it describes each of them and
/// the fields are found. Fields that the layout marks as optional may be left out.
[[nodiscard]] std::string difference(std::string_view layout, ByteSpan bytes, const Fields& fields);

[[nodiscard]] std::string hexadecimal(ByteSpan bytes);
/// 12,345 as the page writes it.
[[nodiscard]] std::string grouped(std::uint64_t number);

}  // namespace weir::test
