#include "proxy/upstream_pool.h"

#include <algorithm>
#include <utility>

namespace weir::proxy {

bool UpstreamPool::usable(const UpstreamConnection& connection, bool surely) {
    const auto& stream = connection.stream;
    // Bytes that belong to no request make a connection as useless as its end.
    if (stream.maybe_readable() || stream.other_side_ended()) {
        return false;
    }
    return !surely || !stream.has_input();
}

std::unique_ptr<UpstreamConnection> UpstreamPool::take(bool surely) {
    while (!idle_.empty()) {
        auto connection = std::move(idle_.back());
        idle_.pop_back();
        if (usable(*connection, surely)) {
            connection->reused = true;
            counters_.count(Event::upstream_reused);
            return connection;
        }
        counters_.count(Event::upstream_stale);
        discard(std::move(connection));
    }
    return nullptr;
}

std::unique_ptr<UpstreamConnection> UpstreamPool::make(std::uint64_t version, std::size_t most) {
    if (open_.fetch_add(1, std::memory_order_relaxed) >= most) {
        open_.fetch_sub(1, std::memory_order_relaxed);
        return nullptr;
    }
    auto connection = std::make_unique<UpstreamConnection>();
    connection->upstream_version = version;
    counters_.count(Event::upstream_opened);
    return connection;
}

void UpstreamPool::give_back(std::unique_ptr<UpstreamConnection> connection, std::size_t keep,
                             Instant now) {
    if (connection->upstream_version != version_ || idle_.size() >= keep) {
        counters_.count(Event::upstream_idle_closed);
        discard(std::move(connection));
    } else if (!usable(*connection, false)) {
        if (!connection->stream.other_side_ended()) {
            counters_.count(Event::upstream_extra_bytes);
        }
        discard(std::move(connection));
    } else {
        connection->idle_since = now;
        idle_.push_back(std::move(connection));
    }
}

void UpstreamPool::discard(std::unique_ptr<UpstreamConnection> connection) {
    connection->stream.close();
    open_.fetch_sub(1, std::memory_order_relaxed);
    counters_.count(Event::upstream_closed);
}

void UpstreamPool::sweep(Instant now, Duration idle_timeout) {
    const auto too_old = [&](auto& connection) {
        const bool ended = !usable(*connection, false);
        if (!ended && now - connection->idle_since < idle_timeout) {
            return false;
        }
        counters_.count(ended ? Event::upstream_stale : Event::upstream_idle_closed);
        discard(std::move(connection));
        return true;
    };
    std::erase_if(idle_, too_old);
}

void UpstreamPool::retire_all(std::uint64_t version) {
    version_ = version;
    for (auto& connection : idle_) {
        counters_.count(Event::upstream_idle_closed);
        discard(std::move(connection));
    }
    idle_.clear();
}

}  // namespace weir::proxy
