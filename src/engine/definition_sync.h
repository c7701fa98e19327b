#pragma once
// Spreads the definitions of a DefinitionStore over the fleet by datagrams. An edit made here is
// pushed to every peer at once and again every 100 ms until each has acknowledged it. Whatever is
// missed is found by digests, exchanged with a random peer every second and with every new one:
// highest epochs by writer, hashes over buckets of the map, and the generations of the documents;
// where they differ, both sides fetch what they lack, page by page.
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
#include "crdt/definition_map.h"
#include "gossip/member.h"
#include "gossip/wire.h"

namespace weir::engine {

class DefinitionStore;

struct DefinitionSyncCounters {
    std::uint64_t pushes_sent = 0;
    std::uint64_t pushes_given_up = 0;  // left to the digests
    std::uint64_t entries_received = 0;
    std::uint64_t digests_sent = 0;
    std::uint64_t digests_differed = 0;
    std::uint64_t pages_sent = 0;
    std::uint64_t documents_fetched = 0;
    std::uint64_t documents_refused = 0;  // too large, other content than announced, invalid
    std::uint64_t bad_messages = 0;
};

class DefinitionSync {
  public:
    /// The store must outlive it.
    DefinitionSync(DefinitionStore& store, Random random);

    /// A message of the definition types from a live member. False when it does not decode.
    bool receive(const gossip::MemberId& from, gossip::MessageType type, ByteSpan payload,
                 Instant now, gossip::MessageSink& sink);
    /// Call it at every tick of the engine, with the live members other than ourselves.
    void tick(Instant now, std::span<const gossip::MemberId> peers, gossip::MessageSink& sink);
    /// Whether everything edited here has been acknowledged by all live peers.
    [[nodiscard]] bool settled() const;
    [[nodiscard]] const DefinitionSyncCounters& counters() const { return counters_; }

  private:
    struct Push {
        std::string name;
        crdt::Version version;
        std::set<gossip::MemberId> waiting;
        std::uint32_t tries = 0;
        Instant next{};
    };
    struct Fetch {
        std::uint64_t generation = 0;
        gossip::MemberId from;
        std::uint64_t content = 0;  // as announced
        std::vector<std::vector<std::byte>> pages;
        std::size_t have = 0;
        std::uint32_t idle_tries = 0;
        Instant next{};
    };

    void adopt_edits(Instant now, std::span<const gossip::MemberId> peers);
    void greet(std::span<const gossip::MemberId> peers, gossip::MessageSink& sink);
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
    void push_recent(const gossip::MemberId& to, const std::vector<crdt::Version>& known,
                     Instant now, gossip::MessageSink& sink);
    /// True when we have a newer document than they.
    bool compare_sets(const gossip::MemberId& from, const std::vector<std::string>& named,
                      const std::vector<std::pair<std::uint64_t, std::uint64_t>>& versions,
                      Instant now, gossip::MessageSink& sink);
    void finish(const std::string& set, Instant now);

    DefinitionStore& store_;
    Random random_;
    std::deque<Push> pushes_;
    std::deque<std::string> recent_;
    std::map<std::string, Fetch, std::less<>> fetches_;
    std::set<gossip::MemberId> greeted_;
    std::vector<gossip::MemberId> all_greeted_;  // the peers when all of them had been greeted
    std::vector<std::pair<std::string, std::uint64_t>> announced_;
    Instant next_digest_{};
    DefinitionSyncCounters counters_;
};

}  // namespace weir::engine
