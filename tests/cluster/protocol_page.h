#pragma once
// Reads docs/protocol.md so that tests can compare encoded bytes with it: its tables, its sentences
// and its layouts ("8 the ping's number; varint counter; [f24 heaviest]"), by which bytes are read
// field by field. A test fails when the page does not describe a field and when the code writes
// other bytes than the page describes. A cell that says "below" stands for the item of the list
// under its table that begins with the row's name.

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

/// Several values of the same layout, one behind the other. An empty layout stands for that of the
/// page's field, such as {2 tag}.
struct Records {
    std::string layout;
    std::vector<Fields> each;
};

/// One field: the beginning of the page's words for it, and the value that its bytes must have.
/// Identities (limit, endpoint, member, version), hashes in a row and bytes up to the end are
/// hexadecimal.
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
    /// Whether the page contains the text, wherever its lines break.
    [[nodiscard]] bool says(std::string_view text) const;
    /// The rows of the table under that heading whose first column has that title. Fails when there
    /// is no such table.
    [[nodiscard]] std::vector<Row> table(std::string_view heading, std::string_view first) const;
    /// Number, name and layout of all messages in datagrams.
    [[nodiscard]] std::vector<Row> messages() const;
    /// The layout of a message in a datagram, by its name.
    [[nodiscard]] std::string layout(std::string_view message) const;
    /// The text that follows "Update: " and the like, up to the end of the sentence.
    [[nodiscard]] std::string sentence(std::string_view begin) const;

  private:
    struct Table {
        std::string heading;
        Row titles;
        std::vector<Row> rows;
    };
    std::string text_;  // the page with single blanks between words
    std::vector<Table> tables_;
};

/// How the bytes differ from the layout; empty when the layout describes each byte and the fields
/// have their values. Fields that the layout marks as optional may be left out.
[[nodiscard]] std::string difference(std::string_view layout, ByteSpan bytes, const Fields& fields);

[[nodiscard]] std::string hexadecimal(ByteSpan bytes);
/// A number in the form in which the page writes it, such as 12,345.
[[nodiscard]] std::string grouped(std::uint64_t number);

}  // namespace weir::test
