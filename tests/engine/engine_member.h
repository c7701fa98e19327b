#pragma once
// One process of a fleet of engines on a virtual clock: a limiter, an engine that knows the first
// address as its seed, and a thread that makes requests. For tests, which start it and hand its
// datagrams over.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "limiter/limiter.h"

namespace weir::engine::test {

struct EngineMember {
    /// `run` tells processes at one address apart.
    EngineMember(std::uint32_t number, bool anchor, Instant now, std::uint64_t run)
        : address(Endpoint::v4(0x0a000001 + number, 7946)), limiter({.seed = number + 1}) {
        thread = &limiter.register_thread(number + 100);
        EngineOptions options;
        options.cluster_name = "test";
        options.advertise = address;
        options.anchor = anchor;
        engine.emplace(std::move(options), limiter, 1000 * run + number + 7);
        engine->set_seeds({Endpoint::v4(0x0a000001, 7946)}, false, now);
    }

    Endpoint address;
    limiter::Limiter limiter;
    limiter::ThreadContext* thread = nullptr;
    std::optional<Engine> engine;
    bool lives = true;
};

/// Whether the member admits a request to the quota "q".
inline bool admits(EngineMember& member, Instant now) {
    const auto leaf = member.limiter.find(*member.thread, "q", now);
    return member.limiter.check(*member.thread, leaf, {}, now, limiter::CheckMode::charge).admitted;
}

/// Hands over what the member has to send, and what the others send in turn.
inline void deliver(std::vector<std::unique_ptr<EngineMember>>& members, EngineMember& from,
                    Instant now) {
    for (const Outgoing& one : from.engine->take_outgoing()) {
        const auto to = std::find_if(members.begin(), members.end(), [&](const auto& member) {
            return member->lives && member->address == one.to;
        });
        if (to != members.end()) {
            (*to)->engine->receive(one.bytes, from.address, now);
            deliver(members, **to, now);
        }
    }
}

}  // namespace weir::engine::test
