#pragma once
// Spreads the definitions of a DefinitionStore over the fleet by datagrams. An edit made here is
// pushed to every peer at once and again every 100 ms until each has acknowledged it, and once more
// if one that was made at the other side of a split overtakes it, for the histories. Whatever is
// missed is found by digests, exchanged with a random peer every second and with every new one:
// highest epochs by writer, hashes over buckets of the map, and the generations of the documents;
// where they differ, both sides fetch what they lack, page by page. What is much is wished for in
// bulk (stream.h); whoever has a way for that takes the wish and tells how it ended, and
// when there is no way the pages go on.
//
// A state machine without clock or socket; not thread-safe. Borrows the store. Bounded: pushes,
// pages under way, and a document's size; each bound has a counter.

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

/// What a peer's last digest said it has.
struct PeerDefinitions {
    struct Set {
        std::string name;
        std::uint64_t generation = 0;
        std::uint64_t content = 0;
    };
    std::vector<Set> sets;        // each once, at most kMaximumSets
    std::uint64_t overrides = 0;  // hash over all overrides
    Instant at{};
};

class DefinitionExchange {
  public:
    /// The store must outlive it.
    DefinitionExchange(DefinitionStore& store, Random random);

    /// A message of the definition types from a live member. False when it does not decode.
    bool receive(const gossip::MemberId& from, gossip::MessageType type, ByteSpan payload,
                 Instant now, gossip::MessageSink& sink);
    /// Call it at every tick of the engine, with the live members other than ourselves.
    void tick(Instant now, std::span<const gossip::MemberId> peers, gossip::MessageSink& sink);
    /// Whether everything edited here has been acknowledged by all live peers.
    [[nodiscard]] bool settled() const;
    [[nodiscard]] const DefinitionExchangeCounters& counters() const { return counters_; }
    /// What a live peer said last; nothing if it said nothing yet.
    [[nodiscard]] const PeerDefinitions* said(const gossip::MemberId& peer) const;

    /// Whether somebody takes wishes: otherwise everything goes in pages.
    void set_bulk(bool possible) { bulk_possible_ = possible; }
    /// The next thing to be pulled in bulk; end_wish() must follow.
    [[nodiscard]] std::optional<BulkWish> take_wish();
    /// `document`: its bytes, of a wish for one that ended well.
    void end_wish(const BulkWish& wish, bool good, std::vector<std::byte> document, Instant now);

  private:
    struct Push {
        DefinitionEntry entry;
        std::set<gossip::MemberId> waiting;
        std::uint32_t tries = 0;
        Instant next{};
    };
    /// An edit made here that a newer one overtook, and who has been told of it since.
    struct Overtaken {
        DefinitionEntry entry;
        std::set<gossip::MemberId> told;
        Instant until{};
    };
    struct Fetch {
        std::uint64_t generation = 0;
        gossip::MemberId from;
        std::uint64_t content = 0;  // as announced
        std::vector<std::vector<std::byte>> pages;
        std::size_t have = 0;
        std::size_t first_missing = 0;
        std::uint32_t idle_tries = 0;
        Instant next{};
        bool in_bulk = false;  // pages wait for what becomes of the wish
    };
    /// A document that was refused: not to be fetched again and again.
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
    /// True when we have a newer document than they.
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
    Instant unheard_before_{};  // not every peer need have heard of edits before this
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
