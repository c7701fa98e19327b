#pragma once
// Spreads the definitions of a DefinitionStore over the fleet by datagrams.
//
// Pushes: an edit that was made here is sent to every peer at once, and again every 100 ms until
// each of them has acknowledged it. If an edit from the other side of a split overtakes it, it is
// pushed once more, so that it appears in all histories.
//
// Digests show what a peer has missed. They go to a random peer every second and to every new peer.
// A digest holds the highest epoch of each writer, hashes over the partitions of the map, and the
// generations of the documents. If two digests differ, both sides fetch what they lack, page by
// page.
//
// Files: a digest also tells which content the files of its sender have, where that decides what is
// in force (generation.h). Members with files send it to the three members that count
// (file_votes.h), when it changes and every few seconds. Those decide, put the decision in force
// and answer how the files differ, so that every member can say it. Up to 64 other members hear it
// when it changes, and each now and then; where they are cut off with a part of the fleet, they
// take a member whose vote they do not know for one that votes.
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
#include "base/endpoint.h"
#include "base/instant.h"
#include "base/random.h"
#include "definitions/counters.h"
#include "definitions/file_votes.h"
#include "definitions/map.h"
#include "definitions/messages.h"
#include "definitions/stream.h"
#include "gossip/member_id.h"
#include "gossip/wire.h"

namespace weir::definitions {

class DefinitionStore;
struct SetStatus;

/// What a peer has, as its last digest said.
struct PeerDefinitions {
    struct Set {
        std::string name;
        std::uint64_t generation = 0;
        std::uint64_t content = 0;
        std::optional<std::uint64_t> on_disk{};  // the content for which it votes
        Instant named{};                         // when a digest named the set last
    };
    std::vector<Set> sets;        // at most kMaximumSets, each set once
    std::uint64_t overrides = 0;  // the hash over all overrides
    Instant at{};
};

/// How the files of an automatic set differ.
struct FileDifference {
    SetVersion in_force;
    SetCount count;
};

class DefinitionExchange {
  public:
    /// How old a sidecar must be for its files to count, and how long more than half of them must
    /// have been the same, before the fleet turns.
    static constexpr Duration kAgreeAfter = std::chrono::seconds(10);
    /// For so long a member that fell silent votes for what is in force.
    static constexpr Duration kLostCounts = std::chrono::minutes(1);

    /// The store must outlive it.
    DefinitionExchange(DefinitionStore& store, Random random);

    /// Takes a message of one of the definition types from a live member. False when it does not
    /// decode.
    bool receive(const gossip::MemberId& from, gossip::MessageType type, ByteSpan payload,
                 Instant now, gossip::MessageSink& sink);
    /// Whether tick() has something to do, to be asked ten times a second. In a fleet of more than
    /// 64 it takes long to go through all peers, so while nothing is being edited there only every
    /// fifth answer is yes.
    [[nodiscard]] bool takes_turn(std::size_t peers);
    /// To be called where takes_turn() says so. `peers` are the live members without this one.
    void tick(Instant now, std::span<const gossip::MemberId> peers, gossip::MessageSink& sink);
    /// Says who this member is, and for how long files must agree instead of kAgreeAfter.
    void set_self(const gossip::MemberId& self);
    void set_agree_after(Duration agree_after) { agree_after_ = agree_after; }
    /// The member said goodbye, or another process took its place: it does not vote any more.
    void note_gone(const gossip::MemberId& peer);
    /// The sets whose files differ among the members, as far as this one knows.
    [[nodiscard]] std::vector<FileDifference> differences() const;
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
    void send_digest(const gossip::MemberId& to, bool with_partitions, gossip::MessageSink& sink);
    void ask_partition(const gossip::MemberId& to, std::uint8_t partition, bool mutual,
                       gossip::MessageSink& sink);
    void ask_pages(const std::string& set, Fetch& fetch, Instant now, gossip::MessageSink& sink);
    void remember(const std::string& name);
    bool on_push(const gossip::MemberId& from, ByteReader& reader, Instant now,
                 gossip::MessageSink& sink);
    bool on_acknowledge(const gossip::MemberId& from, ByteReader& reader);
    bool on_digest(const gossip::MemberId& from, ByteReader& reader, Instant now,
                   gossip::MessageSink& sink);
    bool on_partition_ask(const gossip::MemberId& from, ByteReader& reader, Instant now,
                          gossip::MessageSink& sink);
    bool on_partition(const gossip::MemberId& from, ByteReader& reader, Instant now,
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

    // exchange_files.cpp
    void tick_files(Instant now, std::span<const gossip::MemberId> peers,
                    gossip::MessageSink& sink);
    [[nodiscard]] std::optional<std::uint64_t> own_vote(const SetStatus& set) const;
    [[nodiscard]] bool counts_here() const;
    [[nodiscard]] bool hears_all_votes(Instant now) const;
    void follow_peers(Instant now, std::span<const gossip::MemberId> peers);
    void take_files_alone(Instant now);
    void tell_votes(Instant now, std::size_t peers, gossip::MessageSink& sink);
    void count_files(Instant now, gossip::MessageSink& sink);
    [[nodiscard]] SetVotes votes_about(const SetStatus& set, Instant now) const;
    void decide(const SetStatus& set, std::uint64_t content, const SetVotes& votes, Instant now,
                gossip::MessageSink& sink);
    void answer_votes(const gossip::MemberId& from, const DefinitionDigest& digest, Instant now,
                      gossip::MessageSink& sink);
    bool on_set_count(const gossip::MemberId& from, ByteReader& reader, Instant now);
    void note_lost(const gossip::MemberId& peer, Instant now);
    [[nodiscard]] std::uint64_t epoch_here(const std::string& set) const;
    [[nodiscard]] std::uint64_t next_epoch(const std::string& set) const;
    bool is_far_ahead(const std::string& set, const SetVersion& version);
    void forget_gone(std::span<const gossip::MemberId> peers);

    DefinitionStore& store_;
    Random random_;
    std::uint64_t turns_ = 0;
    std::uint64_t edits_seen_ = 0;  // of the store's, at the last tick
    std::deque<Push> pushes_;
    std::deque<Overtaken> overtaken_;
    Instant unheard_before_{};  // some peer may not have heard of edits made before this
    std::deque<std::string> recent_;
    std::map<std::string, Fetch, std::less<>> fetches_;
    std::set<gossip::MemberId> greeted_;
    std::vector<gossip::MemberId> all_greeted_;  // the peers when all of them had been greeted
    std::vector<std::pair<std::string, std::uint64_t>> announced_;  // set, hash of what is told
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

    /// How the files of a set were counted last, here or by another member.
    struct Counted {
        SetCount count;
        Instant at{};
        Instant differed{};  // when they were last found to differ
    };
    /// A member that fell silent without a goodbye, and about which sets it goes on voting.
    struct Lost {
        gossip::MemberId peer;
        std::map<std::string, bool, std::less<>> votes;
        bool votes_about_others = false;  // about sets of which its vote is not known
        Instant until{};
        [[nodiscard]] bool votes_about(const std::string& set) const {
            const auto known = votes.find(set);
            return known != votes.end() ? known->second : votes_about_others;
        }
    };
    gossip::MemberId self_;
    Duration agree_after_ = kAgreeAfter;
    bool old_enough_ = false;
    std::optional<Instant> born_;  // the first tick
    bool met_peer_ = false;        // at some time since the start
    bool votes_heard_ = false;
    std::vector<gossip::MemberId> counted_peers_;  // the peers of which collectors_ are some
    std::vector<gossip::MemberId> collectors_;
    bool find_collectors_ = true;
    std::optional<Instant> counts_since_;  // of this member, while it is a collector
    std::uint64_t votes_told_ = 0;         // a hash of what was told, and to whom
    std::uint32_t tells_left_ = 0;
    Instant next_tell_{};
    Instant next_count_{};
    Instant last_count_{};
    Majorities majorities_;
    std::map<std::string, Counted, std::less<>> counted_;
    std::map<Endpoint, Lost> lost_;
};

}  // namespace weir::definitions
