#pragma once
// One simulated sidecar: the production limiter and engine of one process at a time, with a clock
// of its own that starts anywhere and may drift. Belongs to the World.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/instant.h"
#include "base/random.h"
#include "engine/engine.h"
#include "gossip/seal.h"
#include "limiter/limiter.h"

namespace weir::sim {

/// The fleet's first key, and those that follow it when keys are rotated.
[[nodiscard]] engine::GossipKey key_of_fleet(std::uint32_t number);

struct SidecarSettings {
    std::span<const limiter::QuotaDefinition> definitions;
    sync::SyncSettings sync;
    double clock_drift = 0;  // largest, as a share: 1e-4 is 100 ppm
    membership::MembershipSettings membership{};
    double membership_bytes_share = 1;
    bool anchor = false;
    std::vector<engine::GossipKey> keys = {key_of_fleet(0)};
};

class SimulatedSidecar {
  public:
    static Endpoint address_of(std::uint32_t number);
    static std::optional<std::uint32_t> number_of(const Endpoint& address);

    explicit SimulatedSidecar(std::uint32_t number) : number_(number) {}

    /// A new process: empty counters, a new incarnation, another clock.
    void start(const SidecarSettings& settings, std::vector<Endpoint> seeds, Instant now,
               Random random);
    void kill();
    [[nodiscard]] bool running() const { return engine_ != nullptr; }
    /// Which process of this sidecar it is: events for former ones are void.
    [[nodiscard]] std::uint32_t epoch() const { return epoch_; }

    /// A request: whether it is admitted.
    [[nodiscard]] bool offer(std::string_view quota, Instant now);
    void receive(ByteSpan datagram, const Endpoint& from, Instant now);
    /// The host at that address says that nobody listens there.
    void refused(const Endpoint& address, Instant now);
    void tick(Instant now);
    [[nodiscard]] engine::Engine& engine() { return *engine_; }
    [[nodiscard]] limiter::Limiter& limiter() { return *limiter_; }
    /// The process's own monotonic clock.
    [[nodiscard]] Instant local(Instant now) const;
    /// From now on that clock shows so much more, or less: where the machine had been paused.
    void shift_clock(Duration by) { offset_ += by; }

    // A stopped process: its socket goes on filling up to a bound.
    std::optional<Instant> stopped_until;
    struct Waiting {
        std::vector<std::byte> bytes;
        Endpoint from;
    };
    std::vector<Waiting> socket;
    // A throttled one is stopped so shortly that its requests wait for it.
    bool throttled = false;
    struct Request {
        std::uint32_t quota = 0;
    };
    std::vector<Request> requests;

  private:
    std::uint32_t number_;
    std::uint32_t epoch_ = 0;
    Instant began_{};
    Duration offset_{};
    double drift_ = 0;
    std::uint64_t ticks_ = 0;
    std::unique_ptr<gossip::SeededNonces> nonces_;
    std::unique_ptr<limiter::Limiter> limiter_;
    limiter::ThreadContext* thread_ = nullptr;
    std::unique_ptr<engine::Engine> engine_;
};

}  // namespace weir::sim
