#pragma once
// Spreads the definitions of a DefinitionStore over the fleet by datagrams.
//
// Pushes: an edit that was made here is sent to every peer at once, and again every 100 ms until
// each of them has acknowledged it. If an edit from the other side of a split overtakes it, it is
// pushed once more, so that it appears in all histories.
//
// Digests show what a peer has missed. They go to a random peer every second and to every new peer.
// A digest holds the highest epoch of each writer, hashes over the buckets of the map, and the
// generations of the documents. If two digests differ, both sides fetch what they lack, page by
// page.
//
// Bulk: when very many pages would be needed, the exchange makes a wish for a transfer in bulk
// (stream.h). A caller that has connections for that takes the wish and says how it ended. Without
// such connections everything goes in pages.
//
// A state machine without a clock or a socket. Thread-safety: none, for the control thread.
// Ownership: it borrows the store, which must outlive it. Bounds: pushes and fetches under way and
// the size of a document; each bound has a counter.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "base/random.h"
#include "definitions/counters.h"
#include "definitions/map.h"
#include "definitions/messages.h"
#include "definitions/stream.h"
#include "gossip/member_id.h"
#include "gossip/wire.h"

namespace weir::definitions {

class DefinitionStore;

/// What a peer has, as its last digest said.
struct PeerDefinitions {
    struct Set {
        std::string name;
        std::uint64_t generation = 0;
        std::uint64_t content = 0;
    };
    std::vector<Set> sets;        // at most kMaximumSets, each set once
    std::uint64_t overrides = 0;  // the hash over all overrides
    Instant at{};
};

class DefinitionExchange {
  public:
    /// The store must outlive it.
    DefinitionExchange(DefinitionStore& store, Random random);

    /// Takes a message of one of the definition types from a live member. False when it does not
    /// decode.
    bool receive(const gossip::MemberId& from, gossip::MessageType type, ByteSpan payload,
                 Instant now, gossip::MessageSink& sink);
    /// To be called at every tick of the engine. `peers` are the live members without this one.
    void tick(Instant now, std::span<const gossip::MemberId> peers, gossip::MessageSink& sink);
    /// Whether all live peers have acknowledged all edits that were made here.
    [[nodiscard]] bool settled() const;
    [[nodiscard]] const DefinitionExchangeCounters& counters() const { return counters_; }
    /// What a live peer's last digest said, or null if none has come yet.
    [[nodiscard]] const PeerDefinitions* said(const gossip::MemberId& peer) const;

    /// Says whether the caller takes wishes. At first it does not, and everything goes in pages.
    void set_bulk(bool possible) { bulk_possible_ = possible; }
    /// The next wish for a pull in bulk, if there is one. The caller must call end_wish()
    /// afterwards.
    [[nodiscard]] std::optional<BulkWish> take_wish();
    /// Says how a wish ended. If it was for a document and succeeded, `document` has its bytes.
    void end_wish(const BulkWish& wish, bool good, std::vector<std::byte> document, Instant now);

  private:
    struct Push {
        DefinitionEntry entry;
        std::set<gossip::MemberId> waiting;
        std::uint32_t tries = 0;
        Instant next{};
    };
    /// An edit made here that a newer one has overtaken, and the peers that have been told of it
    /// since.
    struct Overtaken {
        DefinitionEntry entry;
        std::set<gossip::MemberId> told;
        Instant until{};
    };
    struct Fetch {
        std::uint64_t generation = 0;
        gossip::MemberId from;
        std::uint64_t content = 0;  // hash of the content, as announced
        std::vector<std::vector<std::byte>> pages;
        std::size_t have = 0;
        std::size_t first_missing = 0;
        std::uint32_t idle_tries = 0;
        Instant next{};
        bool in_bulk = false;  // pages are not asked for until the wish has ended
    };
    /// A document that was refused and must not be fetched again and again.
    struct Refused {
        std::uint64_t generation = 0;
        std::uint64_t content = 0;
    };

    void adopt_edits(Instant now, std::span<const gossip::MemberId> peers);
    void tell_overtaken(Instant now, std::span<const gossip::MemberId> peers);
    void push(DefinitionEntry entry, std::set<gossip::MemberId> to, Instant now);
    void greet(Instant now, std::span<const gossip::MemberId> peers, gossip::MessageSink& sink);
    void tick_pushes(Instant now, gossip::MessageSink& sink);
    void tick_fetches(Instant now, gossip::MessageSink& sink);
    void send_digest(const gossip::MemberId& to, bool with_buckets, gossip::MessageSink& sink);
    void ask_bucket(const gossip::MemberId& to, std::uint8_t bucket, bool mutual,
                    gossip::MessageSink& sink);
    void ask_pages(const std::string& set, Fetch& fetch, Instant now, gossip::MessageSink& sink);
    void remember(const std::string& name);
    bool on_push(const gossip::MemberId& from, ByteReader& reader, Instant now,
                 gossip::MessageSink& sink);
    bool on_acknowledge(const gossip::MemberId& from, ByteReader& reader);
    bool on_digest(const gossip::MemberId& from, ByteReader& reader, Instant now,
                   gossip::MessageSink& sink);
    bool on_bucket_ask(const gossip::MemberId& from, ByteReader& reader, Instant now,
                       gossip::MessageSink& sink);
    bool on_bucket(const gossip::MemberId& from, ByteReader& reader, Instant now,
                   gossip::MessageSink& sink);
    bool on_document_ask(const gossip::MemberId& from, ByteReader& reader,
                         gossip::MessageSink& sink);
    bool on_document_page(const gossip::MemberId& from, ByteReader& reader, Instant now,
                          gossip::MessageSink& sink);
    void push_recent(const gossip::MemberId& to, const std::vector<Version>& known, Instant now,
                     gossip::MessageSink& sink);
    /// True when this member has a newer document than the peer.
    bool compare_sets(const gossip::MemberId& from, const std::vector<std::string>& named,
                      const std::vector<std::pair<std::uint64_t, std::uint64_t>>& versions,
                      Instant now, gossip::MessageSink& sink);
    void compare_contents();
    void finish(const std::string& set, std::vector<std::byte> bytes, Instant now);
    void wish_for_overrides(const gossip::MemberId& from, Instant now);
    [[nodiscard]] bool in_bulk_with(const gossip::MemberId& from) const;
    [[nodiscard]] bool may_wish(const gossip::MemberId& from, Instant now) const;
    void note_said(const gossip::MemberId& from, const DefinitionDigest& digest, Instant now);
    void forget_said(std::span<const gossip::MemberId> peers);
    void forget_gone(std::span<const gossip::MemberId> peers);

    DefinitionStore& store_;
    Random random_;
    std::deque<Push> pushes_;
    std::deque<Overtaken> overtaken_;
    Instant unheard_before_{};  // some peer may not have heard of edits made before this
    std::deque<std::string> recent_;
    std::map<std::string, Fetch, std::less<>> fetches_;
    std::set<gossip::MemberId> greeted_;
    std::vector<gossip::MemberId> all_greeted_;  // the peers when all of them had been greeted
    std::vector<std::pair<std::string, std::uint64_t>> announced_;  // set, generation and content
    Instant next_digest_{};
    std::map<gossip::MemberId, PeerDefinitions> said_;
    std::map<std::string, Refused, std::less<>> refused_;
    bool bulk_possible_ = false;
    std::deque<BulkWish> wishes_;
    std::optional<gossip::MemberId> pulling_overrides_;  // wished for or under way
    std::map<gossip::MemberId, Instant> no_bulk_until_;
    std::map<gossip::MemberId, Instant> pulled_newer_;
    std::vector<gossip::MemberId> ask_again_;  // for a digest, after a pull
    DefinitionExchangeCounters counters_;
};

}  // namespace weir::definitions
