// The snapshot of overrides as found on a disk: any bytes; well-formed blocks with the fuzzer's
// content, as another version might write them; and a good snapshot with one change. Nothing
// crashes, a cut into pieces changes no verdict, and no altered snapshot is taken.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/hash.h"
#include "definitions/snapshot.h"
#include "definitions/store.h"

namespace {

using namespace weir;
using namespace weir::definitions;

constexpr Instant kNow{std::chrono::hours(1)};
constexpr Duration kUnix = std::chrono::hours(24 * 365 * 50);
constexpr Duration kMostAge = std::chrono::hours(23);
using Bytes = std::vector<std::byte>;

const SnapshotExpectation kExpected{"fuzz", kNow, kUnix, kMostAge};

struct Verdict {
    std::optional<SnapshotFault> fault;
    std::uint64_t entries = 0;
    friend bool operator==(const Verdict&, const Verdict&) = default;
};

Verdict read(ByteSpan bytes, std::size_t piece) {
    DefinitionStore store(9);
    SnapshotReader reader(kExpected, [&](DefinitionEntry entry) {
        static_cast<void>(store.merge(std::move(entry), kNow));
    });
    while (!bytes.empty()) {
        const std::size_t size = std::min(piece, bytes.size());
        if (reader.receive(bytes.first(size))) {
            break;
        }
        bytes = bytes.subspan(size);
    }
    WEIR_ASSERT(store.overrides().size() <= reader.entries());
    return {reader.finish(), reader.entries()};
}

Verdict read_both_ways(ByteSpan bytes, std::size_t piece) {
    const Verdict whole = read(bytes, SIZE_MAX);
    WEIR_ASSERT(read(bytes, piece + 1) == whole);
    return whole;
}

/// Length, content and chained sum, as docs/protocol.md says.
void add_block(Bytes& file, ByteSpan content, std::uint64_t& sum) {
    constexpr std::string_view kKey = "weir snapshot   ";
    HashKey key;
    for (std::size_t i = 0; i < key.bytes.size(); ++i) {
        key.bytes[i] = std::byte(kKey[i]);
    }
    sum = mix(sum ^ keyed_hash(as_text(content), key));
    const std::size_t at = file.size();
    file.resize(at + 4 + content.size() + 8);
    ByteWriter writer{std::span<std::byte>(file).subspan(at)};
    writer.u32(static_cast<std::uint32_t>(content.size()));
    writer.bytes(content);
    writer.u64(sum);
}

Bytes front(std::uint64_t& sum) {
    Bytes file(10);
    ByteWriter magic(file);
    magic.bytes(as_bytes("weirsnap"));
    magic.u16(kSnapshotFormat);
    Bytes header(32);
    ByteWriter writer(header);
    writer.u8(1);
    writer.varint(static_cast<std::uint64_t>(kUnix / std::chrono::milliseconds(1)));
    writer.string("fuzz");
    add_block(file, writer.written(), sum);
    return file;
}

/// The input as the contents of blocks: length, bytes.
void fuzz_blocks(ByteReader input, std::size_t piece) {
    std::uint64_t sum = 0;
    Bytes file = front(sum);
    while (input.ok() && input.remaining() >= 2) {
        const std::size_t size = std::min<std::size_t>(input.u16(), input.remaining());
        add_block(file, input.bytes(size), sum);
    }
    static_cast<void>(read_both_ways(file, piece));
}

Bytes good_snapshot() {
    DefinitionStore store(1);
    for (int i = 0; i < 8; ++i) {
        limiter::QuotaDefinition quota;
        quota.name = "q" + std::to_string(i);
        quota.limits.emplace_back();
        quota.limits.back().amount = 5;
        WEIR_ASSERT(store.set(quota, {"ann", "why", {}}, kNow).has_value());
    }
    SnapshotWriter writer(store.overrides(), "fuzz", kNow, kUnix);
    Bytes all;
    for (Bytes piece = writer.next(); !piece.empty(); piece = writer.next()) {
        all.insert(all.end(), piece.begin(), piece.end());
    }
    return all;
}

/// Where, and with what.
void fuzz_change(ByteReader input, std::size_t piece) {
    static const Bytes good = good_snapshot();
    WEIR_ASSERT(!read_both_ways(good, piece).fault);
    Bytes changed = good;
    const std::size_t at = input.u16() % changed.size();
    const ByteSpan with = input.bytes(std::min(input.remaining(), changed.size() - at));
    std::copy(with.begin(), with.end(), changed.begin() + static_cast<std::ptrdiff_t>(at));
    if (changed != good) {
        WEIR_ASSERT(read_both_ways(changed, piece).fault);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const ByteSpan bytes = std::as_bytes(std::span(data, size)).subspan(2);
    const std::size_t piece = data[1];
    switch (data[0] % 3) {
        case 0:
            static_cast<void>(read_both_ways(bytes, piece));
            break;
        case 1:
            fuzz_blocks(ByteReader(bytes), piece);
            break;
        default:
            fuzz_change(ByteReader(bytes), piece);
    }
    return 0;
}
