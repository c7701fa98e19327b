// The messages of quiet limits: what origins tell, and what owners order.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "base/records.h"
#include "sync/messages.h"
#include "sync/number_forms.h"

namespace weir::sync {
namespace {

// Fields that usually have their default value are announced by a bit and left out otherwise.
constexpr std::uint8_t kQuietHasFull = 1;
constexpr std::uint8_t kQuietHasRate = 2;
constexpr std::uint8_t kQuietHasLimit = 4;
constexpr std::uint8_t kQuietHasFresh = 8;
constexpr std::uint8_t kQuietNoRoom = 16;
constexpr std::uint8_t kQuietHasPlace = 32;  // instead of the key
constexpr std::uint64_t kLargestPlace = std::numeric_limits<std::uint32_t>::max();

void write_numbers(ByteWriter& writer, const std::vector<std::uint64_t>& numbers) {
    writer.varint(numbers.size());
    for (const std::uint64_t number : numbers) {
        writer.varint(number);
    }
}

std::vector<std::uint64_t> read_numbers(ByteReader& reader) {
    std::vector<std::uint64_t> numbers;
    std::uint64_t left = reader.varint();
    for (; reader.ok() && left > 0 && reader.remaining() > 0; --left) {
        numbers.push_back(reader.varint());
    }
    if (left > 0) {
        reader.fail();
    }
    return numbers;
}

/// Neither 0 nor more than any table has places.
std::uint32_t read_place(ByteReader& reader) {
    const std::uint64_t place = reader.varint();
    if (place == 0 || place > kLargestPlace) {
        reader.fail();
        return 0;
    }
    return static_cast<std::uint32_t>(place);
}

}  // namespace

void encode(ByteWriter& writer, const QuietEntry& entry) {
    const RecordWriter record(writer);
    const bool full = entry.untold_full != entry.untold;
    const bool limit = entry.limit_rate > 0 || entry.low > 0;
    writer.u8(static_cast<std::uint8_t>(
        flag(full, kQuietHasFull) | flag(entry.rate > 0, kQuietHasRate) |
        flag(limit, kQuietHasLimit) | flag(entry.fresh != entry.untold, kQuietHasFresh) |
        flag(entry.no_room, kQuietNoRoom) | flag(entry.place > 0, kQuietHasPlace)));
    if (entry.place > 0) {
        writer.varint(entry.place);
    } else {
        encode(writer, entry.key);
    }
    write_identity(writer, entry.run);
    write_count(writer, entry.admitted);
    write_count(writer, entry.untold);
    if (full) {
        write_count(writer, entry.untold_full);
    }
    if (entry.fresh != entry.untold) {
        write_count(writer, entry.fresh);
    }
    if (entry.rate > 0) {
        write_real(writer, entry.rate);
    }
    if (limit) {
        write_real(writer, entry.limit_rate);
        write_real(writer, entry.low);
    }
}

QuietEntry decode_quiet(ByteReader& outer) {
    QuietEntry entry;
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    const std::uint8_t flags = reader.u8();
    if ((flags & kQuietHasPlace) != 0) {
        entry.place = read_place(reader);
    } else {
        entry.key = decode_key(reader);
    }
    if (of_later_version(entry.key)) {
        return entry;
    }
    entry.no_room = (flags & kQuietNoRoom) != 0;
    entry.run = read_identity(reader);
    entry.admitted = read_count(reader);
    entry.untold = entry.untold_full = entry.fresh = read_count(reader);
    if ((flags & kQuietHasFull) != 0) {
        entry.untold_full = read_count(reader);
    }
    if ((flags & kQuietHasFresh) != 0) {
        entry.fresh = read_count(reader);
    }
    if ((flags & kQuietHasRate) != 0) {
        entry.rate = read_real(reader);
    }
    if ((flags & kQuietHasLimit) != 0) {
        entry.limit_rate = read_real(reader);
        entry.low = read_real(reader);
    }
    return entry;
}

bool plausible(const QuietEntry& entry) {
    return entry.run != 0 && entry.untold_full <= entry.untold && entry.fresh <= entry.untold &&
           within({entry.admitted, entry.untold, entry.untold_full}, kLargestCount) &&
           within({entry.rate, entry.limit_rate, entry.low}, kLargestRate);
}

void encode(ByteWriter& writer, const QuietOrder& entry) {
    const RecordWriter record(writer);
    encode(writer, entry.key);
    writer.u8(static_cast<std::uint8_t>(entry.kind));
    switch (entry.kind) {
        case OrderKind::wake:
            write_identity(writer, entry.run);
            write_count(writer, entry.admitted);
            break;
        case OrderKind::level:
            write_real(writer, entry.level);
            break;
        case OrderKind::hand_over:
            write_real(writer, entry.level);
            write_real(writer, entry.sum);
            break;
        case OrderKind::fall_quiet:
            write_identity(writer, entry.run);
            break;
        case OrderKind::kept:
            write_real(writer, entry.level);
            write_real(writer, entry.sum);
            write_real(writer, entry.full);
            write_real(writer, entry.limit_rate);
            write_real(writer, entry.low);
            break;
    }
}

QuietOrder decode_order(ByteReader& outer) {
    QuietOrder entry;
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    entry.key = decode_key(reader);
    if (of_later_version(entry.key)) {
        return entry;
    }
    entry.kind = static_cast<OrderKind>(reader.u8());
    switch (entry.kind) {
        case OrderKind::wake:
            entry.run = read_identity(reader);
            entry.admitted = read_count(reader);
            break;
        case OrderKind::level:
            entry.level = read_real(reader);
            break;
        case OrderKind::hand_over:
            entry.level = read_real(reader);
            entry.sum = read_real(reader);
            break;
        case OrderKind::fall_quiet:
            entry.run = read_identity(reader);
            break;
        case OrderKind::kept:
            entry.level = read_real(reader);
            entry.sum = read_real(reader);
            entry.full = read_real(reader);
            entry.limit_rate = read_real(reader);
            entry.low = read_real(reader);
            break;
    }
    return entry;
}

void encode(ByteWriter& writer, const QuietAnswer& answer) {
    const RecordWriter record(writer);
    writer.u16(answer.tag);
    write_numbers(writer, answer.left);
    write_numbers(writer, answer.places);
}

QuietAnswer decode_quiet_answer(ByteReader& outer) {
    RecordReader record(outer);
    ByteReader& reader = record.fields();
    QuietAnswer answer;
    answer.tag = reader.u16();
    answer.left = read_numbers(reader);
    answer.places = read_numbers(reader);
    const auto largest = std::max_element(answer.places.begin(), answer.places.end());
    if (largest != answer.places.end() && *largest > kLargestPlace) {
        reader.fail();
    }
    return answer;
}

bool plausible(const QuietOrder& entry) {
    return within({entry.admitted}, kLargestCount) &&
           within({entry.level, entry.sum, entry.full, entry.limit_rate, entry.low}, kLargestRate);
}

}  // namespace weir::sync
