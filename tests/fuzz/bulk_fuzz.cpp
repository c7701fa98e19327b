// Frames of the TCP stream of definitions, as a stranger sends them (raw bytes) and as somebody
// with the key may: the fuzzer's bytes become the messages of well-formed frames in the right
// order, for the side that answers or the side that asks. Nothing crashes, a cut changes no
// verdict, no frame counts twice, and what is sent fits a frame and comes to an end.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/random.h"
#include "definitions/codec.h"
#include "definitions/store.h"
#include "definitions/stream.h"
#include "gossip/wire.h"

namespace {

using namespace weir;
using namespace weir::definitions;

constexpr Instant kNow{std::chrono::hours(1)};
constexpr std::size_t kLength = 4;
constexpr std::size_t kMostAnswers = 64;  // frames for one question: few definitions are there
constexpr std::uint64_t kFuzzerNumber = 77;
constexpr std::uint64_t kOwnNumber = 99;
constexpr std::size_t kSlots = DefinitionMap::kPartitions * DefinitionMap::kSlots;

// As docs/protocol.md numbers them; the last two mean a question as it should be.
constexpr std::uint8_t kHello = 1;
constexpr std::uint8_t kWelcome = 2;
constexpr std::uint8_t kAskDocument = 4;
constexpr std::uint8_t kGoodQuestion = 0x80;

gossip::MemberId member(std::uint32_t number) {
    return {Endpoint::v4(0x0a000000 + number, 7946), number};
}

limiter::QuotaDefinition quota(std::string name, double amount) {
    limiter::QuotaDefinition definition;
    definition.name = std::move(name);
    limiter::RateLimit limit;
    limit.amount = amount;
    definition.limits.push_back(limit);
    return definition;
}

/// A member that has a document and some overrides.
struct Side {
    explicit Side(std::uint32_t number)
        : id(member(number)), nonces(Random(number)), sealer(keys, nonces), store(number) {
        FileDocument document{"set", 3, {}};
        for (int i = 0; i < 20; ++i) {
            document.quotas.push_back(quota("d" + std::to_string(i), 5));
        }
        WEIR_ASSERT(store.apply_document(std::move(document), kNow).outcome ==
                    DocumentOutcome::applied);
        for (int i = 0; i < 20; ++i) {
            WEIR_ASSERT(store.set(quota("q" + std::to_string(i), 7), {"ann", "why", {}}, kNow));
        }
    }
    BulkContext context() {
        BulkContext result;
        result.store = &store;
        result.sealer = &sealer;
        result.counters = &counters;
        result.cluster = gossip::cluster_tag("fuzz");
        result.self = id;
        result.number = kOwnNumber;
        result.is_member = [](const gossip::MemberId&) { return true; };
        return result;
    }
    BulkWish::WantedDocument document() const { return {"set", 3, store.sets()[0].content_hash}; }

    std::vector<gossip::Key> keys{gossip::Key{}};
    gossip::MemberId id;
    gossip::SeededNonces nonces;
    gossip::Sealer sealer;
    DefinitionStore store;
    BulkCounters counters;
};

std::vector<std::byte> framed(gossip::Sealer& sealer, ByteSpan content) {
    const auto sealed = sealer.seal_frame(content);
    std::vector<std::byte> frame(kLength + sealed.size());
    ByteWriter writer(frame);
    writer.u32(static_cast<std::uint32_t>(sealed.size()));
    writer.bytes(sealed);
    return frame;
}

/// One end under test; the fuzzer is the other.
class Talk {
  public:
    Talk(DefinitionStream& stream, Side& side, bool server)
        : stream_(stream), side_(side), server_(server) {}

    /// A message in a frame as it should be. False: the connection is to end.
    bool give(std::uint8_t type, ByteSpan payload, std::size_t cut) {
        last_ = frame(type, payload, sent_);
        if (!receive(last_, cut)) {
            return false;
        }
        ++sent_;
        return true;
    }
    bool receive(ByteSpan bytes, std::size_t cut) {
        cut %= bytes.size() + 1;
        return stream_.receive(bytes.first(cut), kNow) && stream_.receive(bytes.subspan(cut), kNow);
    }
    /// What the stream has to say now: of bounded size, and of bounded number.
    void drain() {
        for (std::size_t frames = 0;; ++frames) {
            const std::vector<std::byte> frame = stream_.next(kNow);
            if (frame.empty()) {
                return;
            }
            WEIR_ASSERT(frame.size() <= kLength + gossip::kMaximumFrame);
            WEIR_ASSERT(frames < kMostAnswers);
        }
    }
    /// The last frame that was taken, once more.
    void replay() {
        if (sent_ > 0 && !last_.empty()) {
            WEIR_ASSERT(!stream_.receive(last_, kNow));
        }
    }

  private:
    std::vector<std::byte> frame(std::uint8_t type, ByteSpan payload, std::uint32_t counter) {
        std::vector<std::byte> content(4 + 8 + 8 + 1 + 4 + 1 + payload.size());
        ByteWriter writer(content);
        // The puller learns the server's number by the welcome, the server the puller's at once.
        const std::uint64_t known = server_ && counter == 0 ? 0 : kOwnNumber;
        writer.u32(gossip::cluster_tag("fuzz"));
        writer.u64(server_ ? kFuzzerNumber : known);
        writer.u64(server_ ? known : kFuzzerNumber);
        writer.u8(server_ ? 0 : 1);
        writer.u32(counter);
        writer.u8(type);
        writer.bytes(payload);
        return framed(side_.sealer, content);
    }

    DefinitionStream& stream_;
    Side& side_;
    bool server_;
    std::uint32_t sent_ = 0;
    std::vector<std::byte> last_;
};

std::vector<std::byte> hello(const Side& to) {
    std::vector<std::byte> bytes(64);
    ByteWriter writer(bytes);
    gossip::encode(writer, member(9).address);
    writer.u64(member(9).incarnation);
    writer.u64(to.id.incarnation);
    bytes.resize(writer.size());
    return bytes;
}

std::vector<std::byte> good_question(const Side& side, std::uint8_t type) {
    std::vector<std::byte> bytes(gossip::kMaximumFrameContent / 2);
    ByteWriter writer(bytes);
    if (type == kAskDocument) {
        const BulkWish::WantedDocument wish = side.document();
        writer.string(wish.set);
        writer.varint(wish.generation);
        writer.u64(wish.content);
    } else {
        writer.u8(0);
        for (std::size_t i = 0; i < kSlots; ++i) {
            writer.u32(0);
        }
    }
    bytes.resize(writer.size());
    return bytes;
}

/// The input as messages: type, length, payload; the rest of it if it is cut short.
void converse(Talk& talk, const Side& side, ByteReader input, std::size_t cut) {
    while (input.ok() && input.remaining() >= 3) {
        const std::uint8_t type = input.u8();
        const std::size_t size = std::min<std::size_t>(input.u16(), input.remaining());
        const ByteSpan payload = input.bytes(size);
        const std::uint8_t plain = type & (kGoodQuestion - 1);
        const bool good = (type & kGoodQuestion) != 0;
        if (!talk.give(plain, good ? ByteSpan(good_question(side, plain)) : payload, cut)) {
            return;
        }
        talk.drain();
    }
    talk.replay();
}

void fuzz_server(Side& side, ByteReader input, bool greeted, std::size_t cut) {
    DefinitionServe serve(side.context());
    Talk talk(serve, side, true);
    if (greeted) {
        WEIR_ASSERT(talk.give(kHello, hello(side), cut));
        talk.drain();
    }
    converse(talk, side, input, cut);
}

void fuzz_puller(Side& side, ByteReader input, bool document, std::size_t cut) {
    BulkWish wish{member(9), {}, false};
    if (document) {
        wish.document = side.document();
    }
    DefinitionPull pull(side.context(), wish);
    Talk talk(pull, side, false);
    talk.drain();
    std::vector<std::byte> welcome(8);
    ByteWriter(welcome).u64(wish.from.incarnation);
    WEIR_ASSERT(talk.give(kWelcome, welcome, cut));
    talk.drain();
    converse(talk, side, input, cut);
    WEIR_ASSERT(pull.done() || !pull.good());
    WEIR_ASSERT(pull.take_document().size() <= kMaximumDocument);
}

/// Bytes without a frame around them, or only sealed: whole and in two pieces.
void fuzz_raw(Side& side, ByteSpan bytes, std::size_t cut) {
    DefinitionServe whole(side.context());
    DefinitionServe pieces(side.context());
    const bool taken = Talk(whole, side, true).receive(bytes, 0);
    WEIR_ASSERT(Talk(pieces, side, true).receive(bytes, cut) == taken);
    if (bytes.size() <= gossip::kMaximumFrameContent) {
        DefinitionServe sealed(side.context());
        static_cast<void>(sealed.receive(framed(side.sealer, bytes), kNow));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static std::optional<Side> side;
    static std::uint64_t inputs = 0;
    if (size < 2) {
        return 0;
    }
    if (inputs++ % 512 == 0) {
        side.emplace(1);  // overrides that were taken stay, and not for ever
    }
    const ByteSpan bytes = std::as_bytes(std::span(data, size)).subspan(2);
    const bool option = (data[0] & 2U) != 0;
    const std::size_t cut = data[1];
    fuzz_raw(*side, bytes, cut);
    if ((data[0] & 1U) != 0) {
        fuzz_server(*side, ByteReader(bytes), option, cut);
    } else {
        fuzz_puller(*side, ByteReader(bytes), option, cut);
    }
    return 0;
}
