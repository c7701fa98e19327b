#pragma once
// Definitions in bulk over a sealed stream: one end of a connection, without the socket. The puller
// greets, both prove that they are live now (each repeats the other's random number, and the
// receiver's incarnation is named), then the puller asks for overrides or a document and the server
// sends frames of at most 64 KiB, each made when the one before it has been sent.
//
// A frame is a 32-bit length and a sealed block (Sealer::seal_frame); inside are the cluster, both
// random numbers, the direction and a counter, so that no frame counts twice, elsewhere or in
// another order. docs/protocol.md describes each byte.
//
// Bounded: one frame of input and one of output, so many questions of one connection. Not
// thread-safe; borrows store and sealer, which must outlive it.

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

/// What is to be pulled, and from whom.
struct BulkWish {
    gossip::MemberId from;
    /// A document; nothing: overrides.
    struct Document {
        std::string set;
        std::uint64_t generation = 0;
        std::uint64_t content = 0;
        friend bool operator==(const Document&, const Document&) = default;
    };
    std::optional<Document> document;
    /// Of the overrides only what is above the epochs that we know of each writer.
    bool only_newer = false;
};

/// What both ends have in common. Borrowed parts must outlive the streams.
struct BulkContext {
    DefinitionStore* store = nullptr;
    gossip::Sealer* sealer = nullptr;
    BulkCounters* counters = nullptr;
    std::uint32_t cluster = 0;
    gossip::MemberId self;
    /// A longer document is not pulled.
    std::size_t most_bytes = kMaximumDocument;
    /// Fresh for every stream: what the other side has to repeat.
    std::uint64_t number = 0;
    /// Whether a greeting comes from a member.
    std::function<bool(const gossip::MemberId&)> is_member;
};

class DefinitionStream {
  public:
    static constexpr std::uint32_t kMostQuestions = 16;

    virtual ~DefinitionStream() = default;
    DefinitionStream(const DefinitionStream&) = delete;
    DefinitionStream& operator=(const DefinitionStream&) = delete;

    /// Bytes as they came, in pieces of any length. False: the connection has to end.
    [[nodiscard]] bool receive(ByteSpan bytes, Instant now);
    /// What is to be sent next: one frame, or nothing for now.
    [[nodiscard]] std::vector<std::byte> next(Instant now);
    /// Nothing more is expected from the other side: close.
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
    [[nodiscard]] bool server() const { return server_; }
    /// A whole message of the other side, in order. False: it is not to be had here.
    [[nodiscard]] virtual bool on_message(Type type, ByteReader& reader, Instant now) = 0;
    /// Writes the next message; nothing if there is none.
    [[nodiscard]] virtual std::optional<Type> write(ByteWriter& writer, Instant now) = 0;

    std::uint64_t other_number_ = 0;  // of the other side; 0: not known yet

  private:
    [[nodiscard]] bool take(ByteSpan frame, Instant now);

    BulkContext context_;
    bool server_;
    std::vector<std::byte> input_;
    std::uint32_t received_ = 0;
    std::uint32_t sent_ = 0;
};

/// The side that asks.
class DefinitionPull final : public DefinitionStream {
  public:
    DefinitionPull(BulkContext context, BulkWish wish);
    [[nodiscard]] bool done() const override { return done_; }
    /// Whether everything came.
    [[nodiscard]] bool good() const { return good_; }
    [[nodiscard]] const BulkWish& wish() const { return wish_; }
    /// The document's bytes, after the end.
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

/// The side that answers.
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
    // overrides
    bool in_order_ = false;              // those in force first, by their names
    bool without_sent_ = false;          // they have been sent
    std::vector<std::uint16_t> leaves_;  // that differ, the next one last
    std::string after_;
    std::vector<Version> known_;
    // a document
    std::shared_ptr<const std::vector<std::byte>> document_;
    std::size_t at_ = 0;
};

}  // namespace weir::definitions
