#pragma once
// Hands the settings that a reload may change to the parts that use them: the snapshot by which the
// proxy serves requests, the file of the access log, the addresses of the upstream and the memory
// limit. The proxy and the log belong to the owner, which gets their settings by callbacks.
//
// Thread-safety: for the control thread; any thread may give records to the access log. Ownership:
// owns its parts; io_context, log and what the callbacks use must outlive it, and it must outlive
// the proxy, whose workers write to the access log.
// Invariant: a snapshot holds the settings of the last take_over(), and the addresses that were
// found last.

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/access_log_writer.h"
#include "app/log.h"
#include "app/memory_watch.h"
#include "app/upstream_lookup.h"
#include "config/settings.h"
#include "proxy/settings.h"

namespace weir::app {

class LiveSettings {
  public:
    struct Told {
        /// Gets the snapshot for requests that arrive from now on.
        std::function<void(std::shared_ptr<const proxy::Snapshot>)> snapshot;
        /// Gets the number of bytes that the buffers of all transfers together may take.
        std::function<void(std::size_t)> buffer_bytes;
        /// Called when memory has become short, and when it is no longer short.
        MemoryWatch::Changed memory;
    };

    LiveSettings(boost::asio::io_context& control, const config::Settings& settings, Log& log,
                 Told told);
    LiveSettings(const LiveSettings&) = delete;
    LiveSettings& operator=(const LiveSettings&) = delete;

    /// Begins to look the upstream up, if there is a proxy.
    void look_up_upstream();
    /// Opens the access log if it is switched on and there is a proxy; opens the file again if it
    /// was open.
    [[nodiscard]] Result<void> open_access_log();
    /// How many bytes of memory are left for definitions; nothing if there is no limit.
    [[nodiscard]] std::optional<std::uint64_t> room_left() const { return memory_.room_left(); }
    /// Begins to watch the memory in use.
    void watch_memory();
    /// Gives each part the settings that have changed.
    void take_over(const config::Settings& settings);
    void stop();

    /// The snapshot by which requests are to be served now.
    [[nodiscard]] std::shared_ptr<const proxy::Snapshot> snapshot() const;
    /// Whether nothing is missing to serve: an address of the upstream is known, or the role has no
    /// proxy and so needs none.
    [[nodiscard]] bool is_complete() const { return !has_proxy() || !upstream_.empty(); }
    /// Why the name of the upstream is not found; empty if it is.
    [[nodiscard]] const std::string& upstream_failure() const { return upstream_lookup_.failure(); }
    [[nodiscard]] AccessLogWriter& access_log() { return access_log_; }
    [[nodiscard]] const MemoryWatch& memory() const { return memory_; }

  private:
    [[nodiscard]] bool has_proxy() const { return settings_.role == config::MemberRole::sidecar; }
    void found_upstream(std::vector<net::SocketAddress> addresses);

    config::Settings settings_;
    Log& log_;
    Told told_;
    std::shared_ptr<const routing::Router> router_;
    std::vector<net::SocketAddress> upstream_;
    AccessLogWriter access_log_;
    UpstreamLookup upstream_lookup_;
    MemoryWatch memory_;
};

}  // namespace weir::app
