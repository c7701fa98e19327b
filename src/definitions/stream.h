#pragma once
// One end of a sealed connection that carries definitions in bulk, without the socket. The puller
// greets. Then both sides prove that they are alive now: each repeats the random number of the
// other, and the greeting names the incarnation of its receiver. Then the puller asks for overrides
// or for a document, and the server sends frames of at most 64 KiB. Each frame is made when the one
// before it has been sent.
//
// A frame is a 32-bit length and a sealed block (Sealer::seal_frame). Inside are the cluster, both
// random numbers, the direction and a counter, so that a frame is accepted only once, on this
// connection and in its order. docs/protocol.md describes each byte.
//
// Thread-safety: none, for the control thread. Ownership: it borrows what BulkContext points to.
// Bounds: one frame of input, one of output, and kMostQuestions on one connection.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "definitions/codec.h"
#include "definitions/counters.h"
#include "definitions/map.h"
#include "gossip/member_id.h"
#include "gossip/seal.h"

namespace weir::definitions {

class DefinitionStore;

/// What is to be pulled, and from which member.
struct BulkWish {
    gossip::MemberId from;
    struct WantedDocument {
        std::string set;
        std::uint64_t generation = 0;
        std::uint64_t content = 0;
        friend bool operator==(const WantedDocument&, const WantedDocument&) = default;
    };
    std::optional<WantedDocument> document;  // nothing = the overrides are wanted
    /// Only overrides whose epoch is above the highest one that this member knows of their writer.
    bool only_newer = false;
};

/// What a stream needs from its member. Borrowed parts must outlive the streams.
struct BulkContext {
    DefinitionStore* store = nullptr;
    gossip::Sealer* sealer = nullptr;
    BulkCounters* counters = nullptr;
    std::uint32_t cluster = 0;
    gossip::MemberId self;
    /// The largest document that is pulled, in bytes.
    std::size_t most_bytes = kMaximumDocument;
    /// A random number, different for every stream, which the other side must repeat.
    std::uint64_t number = 0;
    /// Tells whether a greeting comes from a member; only a server needs it.
    std::function<bool(const gossip::MemberId&)> is_member;
};

class DefinitionStream {
  public:
    static constexpr std::uint32_t kMostQuestions = 16;

    virtual ~DefinitionStream() = default;
    DefinitionStream(const DefinitionStream&) = delete;
    DefinitionStream& operator=(const DefinitionStream&) = delete;

    /// Takes bytes from the other side, in pieces of any length. False means that they break the
    /// protocol: the connection must be closed, and the function must not be called again.
    [[nodiscard]] bool receive(ByteSpan bytes, Instant now);
    /// The next frame to be sent; empty when there is none for now.
    [[nodiscard]] std::vector<std::byte> next(Instant now);
    /// Whether nothing more is expected from the other side, so that the connection can be closed.
    [[nodiscard]] virtual bool done() const = 0;

  protected:
    enum class Type : std::uint8_t {
        hello = 1,
        welcome,
        ask_overrides,
        ask_document,
        entries,
        document,
        end
    };
    DefinitionStream(BulkContext context, bool server);
    [[nodiscard]] const BulkContext& context() const { return context_; }
    /// Handles a whole message of the other side. False means that it must not come at this point.
    [[nodiscard]] virtual bool on_message(Type type, ByteReader& reader, Instant now) = 0;
    /// Writes the next message; nothing if there is none.
    [[nodiscard]] virtual std::optional<Type> write(ByteWriter& writer, Instant now) = 0;

    std::uint64_t other_number_ = 0;  // the other side's number; 0 = not known yet

  private:
    [[nodiscard]] bool take(ByteSpan frame, Instant now);

    BulkContext context_;
    bool server_;
    std::vector<std::byte> input_;
    std::uint32_t received_ = 0;
    std::uint32_t sent_ = 0;
};

/// The side that asks for definitions.
class DefinitionPull final : public DefinitionStream {
  public:
    DefinitionPull(BulkContext context, BulkWish wish);
    [[nodiscard]] bool done() const override { return done_; }
    /// Whether everything that was asked for has come.
    [[nodiscard]] bool good() const { return good_; }
    [[nodiscard]] const BulkWish& wish() const { return wish_; }
    /// Takes the document's bytes out, once it is done().
    [[nodiscard]] std::vector<std::byte> take_document() { return std::move(document_); }

  private:
    bool on_message(Type type, ByteReader& reader, Instant now) override;
    std::optional<Type> write(ByteWriter& writer, Instant now) override;
    void write_question(ByteWriter& writer) const;

    BulkWish wish_;
    std::vector<std::byte> document_;
    bool greeted_ = false;
    bool welcome_ = false;
    bool asked_ = false;
    bool done_ = false;
    bool good_ = false;
};

/// The side that sends definitions.
class DefinitionServe final : public DefinitionStream {
  public:
    explicit DefinitionServe(BulkContext context);
    [[nodiscard]] bool done() const override { return false; }  // the puller closes
    [[nodiscard]] bool greeted() const { return greeted_; }

  private:
    bool on_message(Type type, ByteReader& reader, Instant now) override;
    std::optional<Type> write(ByteWriter& writer, Instant now) override;
    [[nodiscard]] bool on_hello(ByteReader& reader);
    [[nodiscard]] bool on_ask_overrides(ByteReader& reader);
    [[nodiscard]] bool on_ask_document(ByteReader& reader);
    [[nodiscard]] bool write_entries(ByteWriter& writer, Instant now);
    void write_in_order(ByteWriter& writer, Instant now);
    [[nodiscard]] bool write_entry(ByteWriter& writer, const DefinitionEntry& entry, Instant now);
    [[nodiscard]] bool known(const Version& version) const;

    bool greeted_ = false;
    bool welcomed_ = false;
    std::uint32_t questions_ = 0;
    bool answering_ = false;
    bool found_ = true;
    // The answer to a question for overrides.
    bool in_order_ = false;      // overrides in force are sent in the order of their names
    bool without_sent_ = false;  // overrides in force have been sent and are left out from now on
    std::vector<std::uint16_t> slots_;  // the slots that differ; the next one is the last
    std::string after_;
    std::vector<Version> known_;
    // The answer to a question for a document.
    std::shared_ptr<const std::vector<std::byte>> document_;
    std::size_t at_ = 0;
};

}  // namespace weir::definitions
