#include "cluster/cluster.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>
#include <utility>

#include "base/random.h"
#include "base/work_then.h"
#include "cluster/advertise.h"
#include "cluster/bulk.h"
#include "cluster/key_file.h"
#include "cluster/seeds.h"
#include "engine/engine.h"
#include "limiter/limiter.h"
#include "net/clock.h"
#include "net/udp_socket.h"

namespace weir::cluster {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kReceiveBatch = 32;
/// The most datagrams that are discarded after a stop. No socket buffer holds as many; the bound
/// keeps a flood from occupying the control thread.
constexpr std::size_t kMaxDiscarded = 65'536;

/// What open() must know before it can make the driver.
struct Prepared {
    std::optional<net::UdpSocket> socket;
    engine::EngineOptions engine;
    std::vector<std::string> warnings;
};

Result<void> read_keys(const config::ClusterSettings& settings, Prepared& prepared) {
    if (settings.insecure && settings.key_file.empty()) {
        return {};
    }
    if (settings.key_file.empty()) {
        return error(ErrorCode::invalid_argument,
                     "cluster: a key_file is needed, or insecure: true to gossip unsealed");
    }
    auto file = read_key_file(settings.key_file);
    if (!file) {
        return file.error();
    }
    prepared.engine.keys.assign(file->keys.begin(), file->keys.end());
    prepared.warnings = std::move(file->warnings);
    return {};
}

Result<void> bind(const config::ClusterSettings& settings, const ClusterOptions& options,
                  Prepared& prepared) {
    auto socket = net::UdpSocket::open(
        settings.listen, {.batch = kReceiveBatch,
                          .receive_buffer_bytes = static_cast<int>(options.receive_buffer_bytes),
                          .send_buffer_bytes = static_cast<int>(options.send_buffer_bytes)});
    if (!socket) {
        return error(ErrorCode::io, "cluster.listen: " + socket.error().message);
    }
    auto advertised = choose_advertised({.configured = settings.advertise,
                                         .pod_ip = options.pod_ip,
                                         .bound = socket->local(),
                                         .interfaces = interface_addresses()});
    if (!advertised) {
        return advertised.error();
    }
    prepared.engine.advertise = *advertised;
    prepared.socket.emplace(std::move(*socket));
    return {};
}

Result<Prepared> prepare(const ClusterOptions& options) {
    Prepared prepared;
    prepared.engine.clustered = options.settings.has_value();
    if (!options.settings) {
        return prepared;
    }
    prepared.engine.cluster_name = options.settings->name;
    prepared.engine.anchor = options.anchor;
    prepared.engine.sync.expects_others = !options.settings->join.empty();
    prepared.engine.sync.hold = options.settings->hold;
    prepared.engine.sync.hold_alone = options.settings->hold_alone;
    prepared.engine.agree_after = options.settings->agree_after;
    prepared.engine.sync.counter_bytes = static_cast<double>(options.settings->counter_bytes);
    if (auto read = read_keys(*options.settings, prepared); !read) {
        return read.error();
    }
    if (auto bound = bind(*options.settings, options, prepared); !bound) {
        return bound.error();
    }
    return prepared;
}

}  // namespace

class Cluster::Driver {
  public:
    Driver(asio::io_context& control, limiter::Limiter& limiter, ClusterOptions options,
           Prepared&& prepared, std::uint64_t seed)
        : options_(std::move(options)),
          advertised_(prepared.engine.advertise),
          stop_threshold_(prepared.engine.sync.stop_threshold),
          warnings_(std::move(prepared.warnings)),
          socket_(std::move(prepared.socket)),
          readable_(control),
          timer_(control),
          engine_(std::move(prepared.engine), limiter, seed),
          seeds_(
              control, seeds_options(options_), Random(mix_seed(seed)),
              [this](std::vector<Endpoint> seeds, bool looked_up) {
                  engine_.set_seeds(std::move(seeds), looked_up, net::now());
              },
              [this] { return is_alone(); }),
          bulk_(control, engine_, options_.bulk) {
        if (!socket_) {
            return;
        }
        bound_ = socket_->local();
        readable_.assign(socket_->native_handle());
        engine_.set_bulk(true);
        if (auto listening = bulk_.listen(bound_); !listening) {
            warnings_.push_back(
                "cluster.listen: definitions are not served in bulk, peers get "
                "them by datagrams: " +
                listening.error().message);
        }
    }

    ~Driver() { stop(); }

    void start() {
        running_ = true;
        const Instant now = net::now();
        engine_.start(now);
        if (socket_) {
            seeds_.start();
        }
        flush();
        schedule_tick(std::max(engine_.next_tick(), now));
        wait_readable();
    }

    void leave() {
        if (!running_) {
            return;
        }
        engine_.goodbye(net::now());
        flush();
        stop();
    }

    void stop() {
        running_ = false;
        timer_.cancel();
        seeds_.stop();
        bulk_.stop();
        // release() only takes the descriptor out of the event loop; the socket still owns it.
        if (readable_.is_open()) {
            readable_.release();
        }
    }

    Result<bool> reload_keys() {
        if (!options_.settings || options_.settings->key_file.empty()) {
            return false;
        }
        auto file = read_key_file(options_.settings->key_file);
        if (!file) {
            return file.error();
        }
        const std::vector<std::uint32_t> before = engine_.key_ids();
        engine_.set_keys({file->keys.begin(), file->keys.end()});
        warnings_ = std::move(file->warnings);
        return engine_.key_ids() != before;
    }

    [[nodiscard]] SeedReport seed_report() const {
        std::set<Endpoint> heard{advertised_};
        for (const engine::PeerReport& peer : engine_.peers(net::now())) {
            if (peer.state == "alive" || peer.state == "suspect") {
                heard.insert(peer.address);
            }
        }
        SeedReport report;
        report.live_peers = heard.size() - 1;
        report.silent = seeds_.addresses();
        std::erase(report.silent, advertised_);
        report.known = report.silent.size();
        std::erase_if(report.silent, [&](const Endpoint& seed) { return heard.contains(seed); });
        report.never_found = seeds_.never_found();
        return report;
    }

    [[nodiscard]] engine::Engine& engine() { return engine_; }
    [[nodiscard]] const Endpoint& advertised() const { return advertised_; }
    [[nodiscard]] const Endpoint& bound() const { return bound_; }
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

    [[nodiscard]] const ClusterStatistics& statistics() {
        statistics_.lookups = seeds_.lookups();
        statistics_.lookup_failures = seeds_.failures();
        statistics_.seeds = seeds_.addresses().size();
        statistics_.bulk = bulk_.statistics();
        if (socket_) {
            statistics_.receive_errors = socket_->receive_errors();
        }
        return statistics_;
    }

  private:
    // The engine draws from the seed itself. The jitter of look-ups needs another seed, so that it
    // does not repeat the engine's numbers.
    static std::uint64_t mix_seed(std::uint64_t seed) { return Random(seed).fork().next(); }

    static SeedsOptions seeds_options(const ClusterOptions& options) {
        return {.join = options.settings ? options.settings->join : std::vector<config::Seed>(),
                .interval = options.lookup_interval,
                .interval_alone = options.lookup_interval_alone,
                .lookup = options.lookup ? options.lookup : Lookup(look_up)};
    }

    [[nodiscard]] bool is_alone() const {
        const auto peers = engine_.peers(net::now());
        return std::none_of(peers.begin(), peers.end(), [](const engine::PeerReport& peer) {
            return !peer.self && peer.state == "alive";
        });
    }

    void schedule_tick(Instant due) {
        due_ = due;
        // The interval counts from the beginning of the tick, so that a long tick does not delay
        // the next one.
        timer_.expires_after(std::max(due_ - net::now(), options_.tick_interval / 10));
        timer_.async_wait([this](const boost::system::error_code& failure) {
            if (!failure && running_) {
                tick();
            }
        });
    }

    void tick() {
        const Instant now = net::now();
        work_then([&] { work(now); },
                  [&] {
                      time_spent_reading_ = {};
                      schedule_tick(std::max(engine_.next_tick(), now));
                      if (paused_) {
                          paused_ = false;
                          wait_readable();
                      }
                  });
    }

    void work(Instant now) {
        ++statistics_.ticks;
        if (now - due_ > stop_threshold_) {
            discard_waiting();
        } else {
            receive();
        }
        engine_.set_wall_clock(net::unix_ahead());
        engine_.tick(now);
        net::move_forward(engine_.take_clock_lag());
        flush();
        bulk_.poll();
    }

    /// Discards the datagrams that waited in the socket while this process was stopped, because
    /// they are out of date.
    void discard_waiting() {
        ++statistics_.detected_stops;
        if (!socket_) {
            return;
        }
        std::size_t total = 0;
        for (auto got = socket_->receive(); !got.empty(); got = socket_->receive()) {
            total += got.size();
            if (total >= kMaxDiscarded) {
                break;
            }
        }
        statistics_.discarded_datagrams += total;
    }

    void wait_readable() {
        if (!socket_ || waiting_) {
            return;
        }
        waiting_ = true;
        readable_.async_wait(asio::posix::descriptor_base::wait_read,
                             [this](const boost::system::error_code& failure) {
                                 if (failure == asio::error::operation_aborted) {
                                     return;
                                 }
                                 waiting_ = false;
                                 if (running_) {
                                     on_readable();
                                 }
                             });
    }

    void on_readable() {
        work_then([this] { read_or_tick(); },
                  [this] {
                      if (!paused_) {
                          wait_readable();
                      }
                  });
    }

    void read_or_tick() {
        // A late tick comes first, because after a stop it discards the datagrams that wait here.
        if (net::now() - due_ > stop_threshold_) {
            timer_.cancel();
            tick();
        } else {
            receive();
            flush();
            hurry_tick();
        }
    }

    /// What was received may have ended a rest, for which the next tick was put off. So does a
    /// flood, because only the next tick reads on.
    void hurry_tick() {
        const Instant now = net::now();
        const Instant next =
            paused_ ? now + options_.tick_interval : std::max(engine_.next_tick(), now);
        // One that is due already must not be put off by each datagram that comes meanwhile.
        if (next < due_) {
            schedule_tick(next);
        }
    }

    /// Reads a bounded number of datagrams.
    void receive() {
        if (!socket_ || paused_) {
            return;
        }
        const Instant begin = net::now();
        Instant now = begin;
        for (std::size_t taken = 0; taken < kDatagramsPerTurn;) {
            const auto got = socket_->receive();
            if (got.empty()) {
                break;
            }
            for (const auto& datagram : got) {
                take(datagram, now);
            }
            taken += got.size();
            now = net::now();
        }
        for (const Endpoint& address : socket_->take_refused()) {
            engine_.refused(address, now);
        }
        time_spent_reading_ += now - begin;
        if (to_seconds(time_spent_reading_) >
            options_.receive_share * to_seconds(options_.tick_interval)) {
            paused_ = true;
            ++statistics_.receive_pauses;
        }
    }

    void take(const net::ReceivedDatagram& datagram, Instant now) {
        ++statistics_.received_datagrams;
        statistics_.received_bytes += datagram.bytes.size();
        if (datagram.truncated) {
            ++statistics_.oversized_datagrams;
            return;
        }
        engine_.receive(datagram.bytes, datagram.from, now);
    }

    void flush() {
        for (const auto& outgoing : engine_.take_outgoing()) {
            if (socket_) {
                send(outgoing);
            }
        }
    }

    void send(const engine::Outgoing& outgoing) {
        switch (socket_->send(outgoing.to, outgoing.bytes)) {
            case net::SendResult::sent:
                ++statistics_.sent_datagrams;
                statistics_.sent_bytes += outgoing.bytes.size();
                break;
            case net::SendResult::would_block:
                // The datagram is not queued, because newer values will be sent anyway.
                ++statistics_.send_would_block;
                break;
            case net::SendResult::failed:
                ++statistics_.send_errors;
                break;
        }
    }

    ClusterOptions options_;
    Endpoint advertised_;
    Endpoint bound_;
    Duration stop_threshold_;
    std::vector<std::string> warnings_;
    std::optional<net::UdpSocket> socket_;
    asio::posix::stream_descriptor readable_;
    asio::steady_timer timer_;
    engine::Engine engine_;
    Seeds seeds_;
    Bulk bulk_;
    ClusterStatistics statistics_;
    Instant due_{};
    Duration time_spent_reading_{};
    /// No datagram is read until the next tick.
    bool paused_ = false;
    /// Whether a wait for the socket is under way; there is never more than one.
    bool waiting_ = false;
    bool running_ = false;
};

Result<std::unique_ptr<Cluster>> Cluster::open(asio::io_context& control, limiter::Limiter& limiter,
                                               ClusterOptions options, std::uint64_t seed) {
    auto prepared = prepare(options);
    if (!prepared) {
        return prepared.error();
    }
    return std::unique_ptr<Cluster>(new Cluster(std::make_unique<Driver>(
        control, limiter, std::move(options), std::move(*prepared), seed)));
}

Cluster::Cluster(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}
Cluster::~Cluster() = default;

void Cluster::start() { driver_->start(); }
void Cluster::leave() { driver_->leave(); }
void Cluster::stop() { driver_->stop(); }
Result<bool> Cluster::reload_keys() { return driver_->reload_keys(); }
SeedReport Cluster::seed_report() const { return driver_->seed_report(); }
engine::Engine& Cluster::engine() { return driver_->engine(); }
const ClusterStatistics& Cluster::statistics() const { return driver_->statistics(); }
const std::vector<std::string>& Cluster::warnings() const { return driver_->warnings(); }
const Endpoint& Cluster::advertised() const { return driver_->advertised(); }
const Endpoint& Cluster::bound() const { return driver_->bound(); }

}  // namespace weir::cluster
