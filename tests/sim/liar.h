#pragma once
// A member that holds the key and lies, at an address of its own in the simulated network. Borrows
// the World, which must outlive it, and receives datagrams by way of World::strangers.

#include <string_view>
#include <utility>

#include "base/endpoint.h"
#include "sim/world.h"
#include "tools/lying_peer.h"

namespace weir::sim::test {

inline gossip::Key shared_key() {
    gossip::Key key;
    for (std::size_t i = 0; i < key.size(); ++i) {
        key[i] = std::byte(i * 7 + 3);
    }
    return key;
}

class Liar {
  public:
    Liar(World& world, std::uint64_t seed)
        : nonces_(Random(seed)),
          peer_("simulated", SimulatedSidecar::address_of(world.size()), shared_key(), nonces_,
                seed) {
        world.strangers([this, &world](std::uint32_t from, const Endpoint& to, ByteSpan bytes) {
            if (here_ && to == peer_.address()) {
                peer_.receive(bytes, SimulatedSidecar::address_of(from), world.instant());
            }
        });
        world.at(0, [this](World& w) {
            peer_.start({SimulatedSidecar::address_of(0)}, w.instant());
            turn(w);
        });
    }
    void tell(World& world, tools::Lie lie, std::string_view quota) {
        peer_.tell(lie, quota);
        flush(world);
    }
    /// From now on there is no process at this address.
    void vanish() { here_ = false; }
    [[nodiscard]] tools::LyingPeer& peer() { return peer_; }

  private:
    void turn(World& world) {
        if (!here_) {
            return;
        }
        peer_.tick(world.instant());
        flush(world);
        world.action_at(world.now() + 0.02, [this](World& w) { turn(w); });
    }
    void flush(World& world) {
        for (auto& datagram : peer_.take_outgoing(world.instant())) {
            if (const auto number = SimulatedSidecar::number_of(datagram.to);
                number && *number < world.size()) {
                world.inject(*number, peer_.address(), std::move(datagram.bytes));
            }
        }
    }

    gossip::SeededNonces nonces_;
    tools::LyingPeer peer_;
    bool here_ = true;
};

}  // namespace weir::sim::test
