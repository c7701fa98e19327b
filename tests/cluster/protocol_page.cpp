#include "cluster/protocol_page.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

namespace weir::test {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) {
        return {};
    }
    return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

std::string with_single_blanks(const std::string& text) {
    std::istringstream words(text);
    std::string result;
    for (std::string word; words >> word;) {
        result += (result.empty() ? "" : " ") + word;
    }
    return result;
}

ProtocolPage::Row cells_of(const std::string& line) {
    std::istringstream cells(line.substr(1));
    ProtocolPage::Row row;
    for (std::string cell; std::getline(cells, cell, '|');) {
        row.push_back(trimmed(cell));
    }
    return row;
}

/// At the separators that stand outside parentheses and braces.
std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char letter : text) {
        depth += letter == '(' || letter == '{' ? 1 : letter == ')' || letter == '}' ? -1 : 0;
        if (letter == separator && depth == 0) {
            parts.emplace_back();
        } else {
            parts.back() += letter;
        }
    }
    return parts;
}

struct Item {
    std::string text;
    bool optional = false;
};

/// The fields of a layout. Optional are those in brackets, and those behind a condition and a
/// colon.
std::vector<Item> items_of(std::string_view layout) {
    std::vector<Item> items;
    if (layout.empty()) {
        return items;
    }
    int depth = 0;
    for (std::string part : split(layout, ';')) {
        if (part.find('{') != std::string::npos) {
            items.push_back({trimmed(part), false});
            continue;
        }
        const auto opened = std::count(part.begin(), part.end(), '[');
        const auto closed = std::count(part.begin(), part.end(), ']');
        depth += static_cast<int>(opened);
        std::erase_if(part, [](char letter) { return letter == '[' || letter == ']'; });
        Item item{trimmed(part), depth > 0};
        const auto colon = item.text.find(": ");
        if (colon < item.text.find('(')) {
            item = {item.text.substr(colon + 2), true};
        }
        items.push_back(item);
        depth -= static_cast<int>(closed);
    }
    return items;
}

std::uint64_t big_endian(ByteReader& reader, std::size_t bytes) {
    std::uint64_t value = 0;
    for (const std::byte byte : reader.bytes(bytes)) {
        value = value << 8U | std::to_integer<std::uint64_t>(byte);
    }
    return value;
}

double count_of(std::uint64_t value) {
    const auto number = static_cast<double>(value / 2);
    return value % 2 == 0 ? number : number / 256;
}

/// How many of the bytes make an identity, by the page's words for it; the rest is left.
std::size_t identity_size(std::string_view kind, ByteReader reader) {
    const std::size_t all = reader.remaining();
    if (kind == "version") {
        (void)reader.varint();
        reader.bytes(8);
    } else if (kind == "limit") {
        reader.bytes(8);
        if ((reader.u8() & 0x80) == 0) {
            (void)reader.varint();
        }
    } else {
        reader.bytes(reader.u8() == 4 ? 4 : 16);
        reader.bytes(2);
        if (kind == "member") {
            reader.bytes(8);
        }
    }
    return reader.ok() ? all - reader.remaining() : all;
}

std::variant<std::uint64_t, double, std::string, Records> value_of(const std::string& text,
                                                                   ByteReader& reader) {
    std::istringstream words(text);
    std::string kind;
    std::string next;
    std::size_t width = 0;
    words >> kind >> next >> width;
    std::erase(kind, ',');
    if (next == "×") {
        return hexadecimal(reader.bytes(std::stoul(kind) * width));
    }
    if (next == "or") {
        return hexadecimal(reader.bytes(identity_size("endpoint", reader)));
    }
    if (kind.find_first_not_of("0123456789") == std::string::npos) {
        return big_endian(reader, std::stoul(kind));
    }
    if (kind == "varint" || kind == "ms" || kind == "cs") {
        return reader.varint();
    }
    if (kind == "count") {
        return count_of(reader.varint());
    }
    if (kind == "f64") {
        return reader.f64();
    }
    if (kind == "f24") {
        const auto upper = static_cast<std::uint32_t>(big_endian(reader, 3));
        return static_cast<double>(std::bit_cast<float>(upper << 8U));
    }
    if (kind == "string") {
        return std::string(reader.string(SIZE_MAX));
    }
    if (kind == "limit" || kind == "endpoint" || kind == "member" || kind == "version") {
        return hexadecimal(reader.bytes(identity_size(kind, reader)));
    }
    return hexadecimal(reader.bytes(reader.remaining()));
}

/// The cells that say "below": a list under the table has an item "- `name`: text" for each, with
/// the name of the row's second column. A layout may be longer than a cell should be.
class LongCells {
  public:
    void add(const std::string& line) {
        const auto end = line.find("`: ");
        if (line.starts_with("- `") && end != std::string::npos) {
            name_ = line.substr(3, end - 3);
            texts_[name_] = trimmed(line.substr(end + 3));
        } else if (!name_.empty() && line.starts_with("  ")) {
            texts_[name_] += " " + trimmed(line);
        } else {
            name_.clear();
        }
    }
    void fill_in(ProtocolPage::Row& row) const {
        for (std::string& cell : row) {
            if (cell == "below") {
                const auto found = texts_.find(row[1]);
                REQUIRE_MESSAGE(found != texts_.end(), row[1] << " is not explained below");
                cell = found->second;
            }
        }
    }

  private:
    std::string name_;
    std::map<std::string, std::string> texts_;
};

std::string shown(const std::variant<std::uint64_t, double, std::string, Records>& value) {
    std::ostringstream text;
    text.precision(17);
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        text << *number;
    }
    if (const auto* real = std::get_if<double>(&value)) {
        text << *real;
    }
    if (const auto* letters = std::get_if<std::string>(&value)) {
        text << '"' << *letters << '"';
    }
    return text.str();
}

std::string read_fields(std::string_view layout, ByteReader& reader, const Fields& fields);

/// What stands in the braces, if the layout is that of a record and nothing else.
std::optional<std::string> in_braces(std::string_view layout) {
    const std::string text = trimmed(layout);
    const bool whole = text.starts_with("{") && text.ends_with("}") && split(text, ';').size() == 1;
    return whole ? std::optional(text.substr(1, text.size() - 2)) : std::nullopt;
}

/// Reads what the layout describes: a record with its length, or fields.
std::string read_layout(std::string_view layout, ByteReader& reader, const Fields& fields) {
    const auto inside = in_braces(layout);
    if (!inside) {
        return read_fields(layout, reader, fields);
    }
    ByteReader record = reader.record();
    std::string wrong = reader.ok() ? read_fields(*inside, record, fields) : "no room for a record";
    if (wrong.empty() && record.remaining() > 0) {
        wrong = std::to_string(record.remaining()) + " bytes more in the record";
    }
    return wrong;
}

std::string read_field(const Item& item, ByteReader& reader, const Field& field) {
    if (const auto* records = std::get_if<Records>(&field.value)) {
        const std::string_view own = std::string_view(item.text);
        const std::string_view form = own.starts_with("each ") ? own.substr(5) : own;
        const std::string_view layout = records->layout.empty() ? form : records->layout;
        for (const Fields& each : records->each) {
            if (auto wrong = read_layout(layout, reader, each); !wrong.empty()) {
                return "in " + field.what + ": " + wrong;
            }
        }
        return {};
    }
    const auto found = value_of(item.text, reader);
    if (!reader.ok()) {
        return "no room for " + item.text;
    }
    const bool same = shown(found) == shown(field.value) && found.index() == field.value.index();
    return same ? "" : item.text + " is " + shown(found) + " instead of " + shown(field.value);
}

std::string read_fields(std::string_view layout, ByteReader& reader, const Fields& fields) {
    auto field = fields.begin();
    for (const Item& item : items_of(layout)) {
        if (item.text.starts_with("{}")) {
            if (auto wrong = read_layout("{}", reader, {}); !wrong.empty()) {
                return "in {}: " + wrong;
            }
        } else if (field != fields.end() && item.text.starts_with(field->what)) {
            if (auto wrong = read_field(item, reader, *field); !wrong.empty()) {
                return wrong;
            }
            ++field;
        } else if (!item.optional) {
            return "the page has '" + item.text + "'";
        }
    }
    return field == fields.end() ? "" : "the page lacks '" + field->what + "'";
}

}  // namespace

ProtocolPage::ProtocolPage() {
    std::ifstream input(std::string(WEIR_SOURCE_DIR) + "/docs/protocol.md");
    REQUIRE(input.is_open());
    std::string heading;
    std::string text;
    LongCells longer;
    bool inside = false;
    for (std::string line; std::getline(input, line); text += line + "\n") {
        longer.add(line);
        if (line.starts_with("#")) {
            heading = line;
        }
        if (!line.starts_with("|")) {
            inside = false;
        } else if (!std::exchange(inside, true)) {
            tables_.push_back({heading, cells_of(line), {}});
        } else if (!line.starts_with("|-")) {
            tables_.back().rows.push_back(cells_of(line));
        }
    }
    text_ = with_single_blanks(text);
    for (Table& table : tables_) {
        for (Row& row : table.rows) {
            longer.fill_in(row);
        }
    }
}

bool ProtocolPage::says(std::string_view text) const {
    return text_.find(text) != std::string::npos;
}

std::vector<ProtocolPage::Row> ProtocolPage::table(std::string_view heading,
                                                   std::string_view first) const {
    const auto found = std::find_if(tables_.begin(), tables_.end(), [&](const Table& table) {
        return table.heading == heading && table.titles.front() == first;
    });
    REQUIRE_MESSAGE(found != tables_.end(), heading << ": " << first);
    for (const Row& row : found->rows) {
        REQUIRE_MESSAGE(row.size() == found->titles.size(), row.front());
    }
    return found->rows;
}

std::vector<ProtocolPage::Row> ProtocolPage::messages() const {
    std::vector<Row> all;
    for (const auto* heading :
         {"## Membership messages", "## Counter messages", "## Definition messages"}) {
        const auto rows = table(heading, "type");
        for (const Row& row : rows) {
            const auto numbers = split(row[0], ',');
            const auto names = split(row[1], ',');
            REQUIRE_MESSAGE(numbers.size() == names.size(), row[0]);
            for (std::size_t i = 0; i < names.size(); ++i) {
                all.push_back({trimmed(numbers[i]), trimmed(names[i]), row[2]});
            }
        }
    }
    return all;
}

std::string ProtocolPage::layout(std::string_view message) const {
    for (const Row& row : messages()) {
        if (row[1] == message) {
            return row[2];
        }
    }
    FAIL("no message " << message);
    return {};
}

std::string ProtocolPage::sentence(std::string_view begin) const {
    const auto found = text_.find(" " + std::string(begin));
    REQUIRE_MESSAGE(found != std::string::npos, begin);
    const std::string rest = text_.substr(found + 1 + begin.size());
    // A layout's end, not the point of a number.
    return rest.substr(0, rest.find(". "));
}

std::string difference(std::string_view layout, ByteSpan bytes, const Fields& fields) {
    ByteReader reader(bytes);
    std::string wrong = read_layout(layout, reader, fields);
    if (wrong.empty() && reader.remaining() > 0) {
        wrong = std::to_string(reader.remaining()) + " bytes more";
    }
    return wrong;
}

std::string hexadecimal(ByteSpan bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text += digits[std::to_integer<std::size_t>(byte >> 4)];
        text += digits[std::to_integer<std::size_t>(byte & std::byte{0xf})];
    }
    return text;
}

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
        text.insert(static_cast<std::size_t>(at), ",");
    }
    return text;
}

}  // namespace weir::test
