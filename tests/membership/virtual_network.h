#pragma once
// Transports with a virtual clock, joined by a network that loses, delays and cuts datagrams by
// rules. There is one event queue and one seed, and no real time. For tests.

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "gossip/test_key.h"
#include "membership/transport.h"

namespace weir::membership::test {

using namespace std::chrono_literals;

inline Endpoint address_of(std::size_t number) {
    return Endpoint::v4(0x0a000001U + static_cast<std::uint32_t>(number), 7946);
}

using gossip::test::test_key;

struct NamedEvent {
    Instant at;
    std::size_t observer;
    MembershipEvent event;
};

struct Node {
    Node(const TransportSettings& settings, std::span<const gossip::Key> keys, Random random)
        : nonces(random.fork()), transport(settings, keys, nonces, random.fork()) {}

    gossip::SeededNonces nonces;
    Transport transport;
    bool paused = false;
    std::function<void(const Received&)> on_message;
};

class VirtualNetwork {
  public:
    explicit VirtualNetwork(std::uint64_t seed) : random_(seed) {}

    double loss = 0;
    double duplication = 0;
    Duration delay = 500us;
    Duration jitter = 200us;
    std::vector<gossip::Key> keys{test_key(1)};
    /// Whether a datagram from one address may reach another.
    std::function<bool(const Endpoint&, const Endpoint&)> passes = [](const auto&, const auto&) {
        return true;
    };
    std::function<void(const Endpoint& from, const Endpoint& to, ByteSpan)> tap;
    /// Changes the settings of nodes that are started from now on.
    std::function<void(TransportSettings&)> adjust;
    std::vector<NamedEvent> events;
    std::uint64_t bytes = 0;
    std::uint64_t datagrams = 0;

    [[nodiscard]] Instant now() const { return now_; }
    Random& random() { return random_; }

    /// Starts the process at an address, or restarts it with a new incarnation.
    Node& start(std::size_t number, std::vector<Endpoint> seeds, MemberFlags flags = {}) {
        TransportSettings settings;
        settings.cluster_name = "test";
        settings.self = address_of(number);
        settings.flags = flags;
        if (adjust) {
            adjust(settings);
        }
        nodes_[number] = std::make_unique<Node>(settings, keys, random_.fork());
        Node& node = *nodes_[number];
        node.transport.set_seeds(std::move(seeds));
        node.transport.start(now_);
        return node;
    }
    void start_all(std::size_t count) {
        std::vector<Endpoint> seeds;
        for (std::size_t i = 0; i < std::min<std::size_t>(count, 3); ++i) {
            seeds.push_back(address_of(i));
        }
        for (std::size_t i = 0; i < count; ++i) {
            start(i, seeds);
        }
    }
    void kill(std::size_t number) { nodes_.erase(number); }
    [[nodiscard]] Node& node(std::size_t number) { return *nodes_.at(number); }
    [[nodiscard]] Transport& at(std::size_t number) { return node(number).transport; }
    [[nodiscard]] std::map<std::size_t, std::unique_ptr<Node>>& nodes() { return nodes_; }

    void run(Duration time) {
        const Instant end = now_ + time;
        while (now_ < end) {
            step();
        }
    }
    /// Runs until the condition holds; false when it did not within the time.
    bool run_until(Duration time, const std::function<bool()>& condition) {
        const Instant end = now_ + time;
        while (!condition()) {
            if (now_ >= end) {
                return false;
            }
            step();
        }
        return true;
    }
    /// Whether every running node knows exactly the nodes that run.
    [[nodiscard]] bool complete() {
        for (auto& [number, observer] : nodes_) {
            if (observer->transport.membership().live_count() != nodes_.size() - 1) {
                return false;
            }
            for (auto& [other, peer] : nodes_) {
                if (other != number &&
                    observer->transport.membership().find(peer->transport.self()) == nullptr) {
                    return false;
                }
            }
        }
        return true;
    }
    [[nodiscard]] std::size_t count(MembershipEvent::Kind kind) const {
        std::size_t result = 0;
        for (const NamedEvent& event : events) {
            result += event.event.kind == kind ? 1 : 0;
        }
        return result;
    }
    /// Delivers a datagram as if `from` had sent it.
    void inject(const Endpoint& from, const Endpoint& to, std::vector<std::byte> bytes_to_send) {
        post(from, to, std::move(bytes_to_send));
    }
    /// Is called for each node after its tick.
    std::function<void(std::size_t, Node&)> on_tick;
    Duration tick = 10ms;

  private:
    struct Flight {
        Instant at;
        std::uint64_t order;
        Endpoint from;
        Endpoint to;
        std::vector<std::byte> bytes;
        bool operator>(const Flight& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    void step() {
        now_ += tick;
        deliver();
        for (auto& [number, node] : nodes_) {
            if (!node->paused) {
                node->transport.tick(now_);
                if (on_tick) {
                    on_tick(number, *node);
                }
                collect(number, *node);
            }
        }
    }
    void deliver() {
        while (!flights_.empty() && flights_.top().at <= now_) {
            const Flight flight = flights_.top();
            flights_.pop();
            for (auto& [number, node] : nodes_) {
                if (node->transport.self().address != flight.to || node->paused) {
                    continue;
                }
                for (const Received& message :
                     node->transport.receive(flight.bytes, flight.from, flight.at)) {
                    if (node->on_message) {
                        node->on_message(message);
                    }
                }
                collect_at(number, *node, flight.at);
                break;
            }
        }
    }
    void collect(std::size_t number, Node& node) { collect_at(number, node, now_); }
    void collect_at(std::size_t number, Node& node, Instant at) {
        for (const MembershipEvent& event : node.transport.take_events()) {
            events.push_back({at, number, event});
        }
        for (OutgoingDatagram& datagram : node.transport.flush(at)) {
            departure_ = at;
            post(node.transport.self().address, datagram.to, std::move(datagram.bytes));
        }
        departure_ = Instant{};
    }
    void post(const Endpoint& from, const Endpoint& to, std::vector<std::byte> content) {
        ++datagrams;
        bytes += content.size();
        if (tap) {
            tap(from, to, content);
        }
        const int copies = random_.unit() < duplication ? 2 : 1;
        for (int i = 0; i < copies; ++i) {
            if (!passes(from, to) || random_.unit() < loss) {
                continue;
            }
            const Duration flight = delay + from_seconds(random_.unit() * to_seconds(jitter));
            const Instant departure = std::max(now_, departure_);
            flights_.push({departure + flight, order_++, from, to, content});
        }
    }

    Random random_;
    Instant now_{1h};
    Instant departure_{};
    std::uint64_t order_ = 0;
    std::map<std::size_t, std::unique_ptr<Node>> nodes_;
    std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flights_;
};

/// Whether no node has the member in its table any more.
inline bool knows_dead(VirtualNetwork& world, const gossip::MemberId& dead) {
    for (auto& [number, node] : world.nodes()) {
        if (node->transport.membership().find(dead) != nullptr) {
            return false;
        }
    }
    return true;
}

}  // namespace weir::membership::test
