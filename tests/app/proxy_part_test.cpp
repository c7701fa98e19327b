// The proxy of a process whose role has none: it opens nothing, and everybody may ask it.

#include "app/proxy_part.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>

#include "limiter/limiter.h"

namespace weir::app {

TEST_CASE("an anchor opens no proxy, looks nothing up, and is complete without an upstream") {
    config::Settings settings;
    settings.role = config::MemberRole::anchor;
    // Were they opened, these would be errors.
    settings.listen.path = "/no/such/folder/weir.sock";
    settings.access_log = config::AccessLogMode::all;
    settings.access_log_file = "/no/such/folder/access.log";
    settings.upstream.host = "no-such-name.invalid";
    boost::asio::io_context control(1);
    Log log{config::LogSettings{}};
    ProxyPart part;
    LiveSettings live(control, settings, log,
                      {.snapshot = [&](auto snapshot) { part.replace(std::move(snapshot)); },
                       .buffer_bytes = [&](std::size_t bytes) { part.bound_buffers(bytes); },
                       .memory = [](bool, const MemoryGauge::MemoryReading&) {}});
    limiter::Limiter limiter({.seed = 1});
    live.look_up_upstream();
    CHECK(part.open(settings, limiter, live, 1).has_value());
    CHECK_FALSE(part.is_open());
    CHECK(live.is_complete());
    CHECK(live.upstream_failure().empty());
    live.take_over(settings);

    part.shed(true);
    part.drain();
    CHECK(part.listening() == "none");
    CHECK(part.checking() == "none");
    CHECK(part.workers() == 0);
    CHECK(part.most_connections() == 0);
    CHECK(part.take_unknown_names().empty());
    CHECK(part.upstream_failures() + part.crowded() == 0);
    bool stopped = false;
    part.stop([&] { stopped = true; });
    CHECK(stopped);
    part.stop_now();
    part.join();
    live.stop();
}

}  // namespace weir::app
