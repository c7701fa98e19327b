#include "tools/load.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tools/load_connection.h"
#include "tools/monotonic.h"
#include "tools/sockets.h"

namespace weir::tools {
namespace {

constexpr std::size_t kInputBytes = 256 * 1024;

std::string request_bytes(const LoadStream& stream, std::size_t variant) {
    std::string path = stream.path;
    if (const std::size_t place = path.find("{}"); place != std::string::npos) {
        path.replace(place, 2, std::to_string(variant));
    }
    std::string bytes = stream.method + " " + path + " HTTP/1.1\r\nHost: " + stream.host +
                        "\r\nUser-Agent: weir-load\r\nAccept: */*\r\n";
    for (const auto& [name, value] : stream.headers) {
        bytes += name + ": " + value + "\r\n";
    }
    if (stream.body_bytes > 0) {
        bytes += "Content-Length: " + std::to_string(stream.body_bytes) + "\r\n";
    }
    return bytes + "\r\n" + std::string(stream.body_bytes, 'b');
}

std::vector<std::string> all_variants(const LoadStream& stream) {
    std::vector<std::string> requests;
    for (std::size_t variant = 0; variant < stream.variants; ++variant) {
        requests.push_back(request_bytes(stream, variant));
    }
    return requests;
}

nlohmann::json to_json(const LoadCounts& counts) {
    return {{"offered", counts.offered},
            {"ok", counts.ok},
            {"refused", counts.refused},
            {"other", counts.other},
            {"errors", counts.errors},
            {"skipped", counts.skipped},
            {"retried", counts.retried},
            {"lag_ms", static_cast<double>(counts.lag_ns) * 1e-6},
            {"slowest_ms", static_cast<double>(counts.slowest_ns) * 1e-6}};
}

}  // namespace

Load::Load(Poller& poller, LoadPlan plan, std::ostream& output)
    : poller_(poller),
      plan_(std::move(plan)),
      output_(output),
      start_ns_(monotonic_ns()),
      end_ns_(start_ns_ + to_ns(plan_.duration_s)),
      now_ns_(start_ns_),
      bin_end_ns_(start_ns_ + kBinNs),
      paused_(plan_.targets.size(), false),
      cells_(plan_.targets.size() * plan_.streams.size()),
      input_(kInputBytes) {
    Random random(plan_.seed);
    for (const LoadTarget& target : plan_.targets) {
        targets_.push_back({target, {}, {}, {}, false});
    }
    for (const LoadStream& stream : plan_.streams) {
        streams_.push_back({stream, all_variants(stream), 0,
                            Arrivals(stream.arrivals, stream.rate, random.fork()),
                            Spread(stream.spread, stream.shares, random.fork())});
    }
    output_ << nlohmann::json{{"event", "start"}, {"seed", plan_.seed}, {"start_ns", start_ns_}}
            << std::endl;
}

Load::~Load() = default;

double Load::seconds(std::int64_t at_ns) const {
    return static_cast<double>(at_ns - start_ns_) * 1e-9;
}

LoadCell& Load::cell(std::size_t target, std::size_t stream) {
    return cells_[target * streams_.size() + stream];
}

std::int64_t Load::next_event_ns() const {
    double next_s = std::numeric_limits<double>::infinity();
    for (const Stream& stream : streams_) {
        next_s = std::min(next_s, stream.arrivals.next_s());
    }
    const double end_s = seconds(end_ns_);
    const std::int64_t due_ns =
        next_s < end_s ? start_ns_ + to_ns(next_s) : std::numeric_limits<std::int64_t>::max();
    return std::min(due_ns, bin_end_ns_);
}

bool Load::over() const {
    const bool waiting =
        in_flight_ > 0 || std::any_of(targets_.begin(), targets_.end(),
                                      [](const Target& target) { return !target.queue.empty(); });
    return now_ns_ >= end_ns_ + to_ns(plan_.linger_s) || (now_ns_ >= end_ns_ && !waiting);
}

bool Load::turn() {
    poller_.turn(std::max<std::int64_t>(0, next_event_ns() - monotonic_ns()));
    now_ns_ = monotonic_ns();
    while (now_ns_ >= bin_end_ns_) {
        end_bin();
    }
    begin_closed_loops();
    send_due();
    tell_idle();
    if (!over()) {
        return true;
    }
    end_bin();
    print_summary();
    return false;
}

void Load::begin_closed_loops() {
    if (std::exchange(begun_, true)) {
        return;
    }
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
        const std::size_t loops = streams_[stream].plan.closed ? plan_.connections_per_target : 0;
        for (std::size_t target = 0; target < targets_.size(); ++target) {
            for (std::size_t i = 0; i < loops; ++i) {
                send_again(target, stream, now_ns_);
            }
        }
    }
}

void Load::send_again(std::size_t target, std::size_t stream, std::int64_t now_ns) {
    if (now_ns < end_ns_) {
        ++cell(target, stream).bin.offered;
        dispatch(target, {stream, now_ns, false});
    }
}

void Load::send_due() {
    const double until_s = std::min(seconds(now_ns_), seconds(end_ns_));
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        Stream& stream = streams_[i];
        while (stream.arrivals.next_s() <= until_s) {
            arrive(stream, i, stream.arrivals.next_s());
            stream.arrivals.advance();
        }
    }
}

void Load::arrive(Stream& stream, std::size_t index, double at_s) {
    const auto target = stream.spread.pick(at_s, paused_);
    LoadCounts& counts = cell(target.value_or(0), index).bin;
    ++counts.offered;
    if (!target) {
        ++counts.skipped;
        return;
    }
    const std::int64_t due_ns = start_ns_ + to_ns(at_s);
    counts.lag_ns = std::max(counts.lag_ns, now_ns_ - due_ns);
    dispatch(*target, {index, due_ns, false});
}

void Load::dispatch(std::size_t target_index, const Request& request) {
    Target& target = targets_[target_index];
    if (!request.retry && !target.idle.empty()) {
        Connection* connection = target.idle.back();
        target.idle.pop_back();
        send(*connection, request);
    } else if (target.connections.size() < plan_.connections_per_target) {
        open_and_send(target_index, request);
    } else if (target.queue.size() < plan_.queue_per_target) {
        target.queue.push_back(request);
    } else {
        ++cell(target_index, request.stream).bin.skipped;
    }
}

void Load::send(Connection& connection, const Request& request) {
    Stream& stream = streams_[request.stream];
    const std::string& bytes = stream.variants[stream.next_variant];
    stream.next_variant = (stream.next_variant + 1) % stream.variants.size();
    ++in_flight_;
    connection.send(request, bytes, stream.plan.method != "HEAD");
}

void Load::open_and_send(std::size_t target_index, const Request& request) {
    Target& target = targets_[target_index];
    const int descriptor = connect_to(target.plan.address);
    if (descriptor < 0) {
        ++cell(target_index, request.stream).bin.errors;
        return;
    }
    auto made = std::make_unique<Connection>(*this, target_index, descriptor);
    Connection* connection = made.get();
    target.connections.emplace(connection, std::move(made));
    send(*connection, request);
}

void Load::ended(Connection& connection, Outcome outcome) {
    --in_flight_;
    const std::size_t target = connection.target();
    Request request = connection.request();
    LoadCell& counted = cell(target, request.stream);
    const bool reusable = outcome == Outcome::answered && connection.reusable();
    if (outcome == Outcome::answered) {
        const std::int64_t latency_ns = monotonic_ns() - request.due_ns;
        count_answer(counted.bin, connection.answer().status());
        counted.latencies.add(latency_ns);
        counted.bin.slowest_ns = std::max(counted.bin.slowest_ns, latency_ns);
    }
    if (reusable) {
        targets_[target].idle.push_back(&connection);
    } else {
        discard(connection);
    }
    if (outcome == Outcome::answered && streams_[request.stream].plan.closed) {
        send_again(target, request.stream, monotonic_ns());
    }
    if (outcome == Outcome::stale && !request.retry) {
        ++counted.bin.retried;
        request.retry = true;
        dispatch(target, request);
    } else if (outcome != Outcome::answered) {
        ++counted.bin.errors;
    }
    serve_queue(target);
}

void Load::count_answer(LoadCounts& counts, int status) {
    if (status >= 200 && status < 300) {
        ++counts.ok;
    } else if (status == 429) {
        ++counts.refused;
    } else {
        ++counts.other;
    }
}

void Load::discard(Connection& connection) {
    Target& target = targets_[connection.target()];
    std::erase(target.idle, &connection);
    poller_.remove(connection.descriptor());
    auto found = target.connections.find(&connection);
    if (found != target.connections.end()) {
        poller_.retire(std::move(found->second));
        target.connections.erase(found);
    }
}

void Load::serve_queue(std::size_t target_index) {
    Target& target = targets_[target_index];
    const bool room =
        !target.idle.empty() || target.connections.size() < plan_.connections_per_target;
    if (!target.queue.empty() && room) {
        const Request request = target.queue.front();
        target.queue.pop_front();
        dispatch(target_index, request);
    }
}

/// Nothing that this program sent to a target it was told of can fail any more.
void Load::tell_idle() {
    for (Target& target : targets_) {
        const auto& all = target.connections;
        if (target.paused_busy && target.queue.empty() &&
            std::none_of(all.begin(), all.end(),
                         [](const auto& one) { return one.first->busy(); })) {
            target.paused_busy = false;
            output_ << nlohmann::json{{"event", "idle"}, {"target", target.plan.name}} << std::endl;
        }
    }
}

void Load::end_bin() {
    expire();
    for (std::size_t target = 0; target < targets_.size(); ++target) {
        for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
            LoadCell& ended = cell(target, stream);
            if (!ended.bin.empty()) {
                print_bin(bin_end_ns_ - kBinNs, target, stream, ended.bin);
                ended.total += ended.bin;
                ended.bin = {};
            }
        }
    }
    output_.flush();
    bin_end_ns_ += kBinNs;
}

void Load::expire() {
    const bool last = over();
    const std::int64_t oldest_ns =
        last ? std::numeric_limits<std::int64_t>::max() : now_ns_ - to_ns(plan_.timeout_s);
    for (std::size_t i = 0; i < targets_.size(); ++i) {
        if (last) {
            fail_queue(i);
        }
        std::vector<Connection*> late;
        for (const auto& [connection, owned] : targets_[i].connections) {
            if (connection->busy() && connection->request().due_ns < oldest_ns) {
                late.push_back(connection);
            }
        }
        for (Connection* connection : late) {
            ended(*connection, Outcome::failed);
        }
    }
}

void Load::fail_queue(std::size_t target) {
    for (const Request& request : std::exchange(targets_[target].queue, {})) {
        ++cell(target, request.stream).bin.errors;
    }
}

void Load::print_bin(std::int64_t bin_ns, std::size_t target, std::size_t stream,
                     const LoadCounts& counts) {
    nlohmann::json line = to_json(counts);
    line["event"] = "bin";
    line["at_s"] = std::round(seconds(bin_ns) * 10) / 10;
    line["target"] = plan_.targets[target].name;
    line["stream"] = plan_.streams[stream].name;
    output_ << line << '\n';
}

void Load::print_summary() {
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t target = 0; target < targets_.size(); ++target) {
        for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
            const LoadCell& one = cell(target, stream);
            nlohmann::json row = to_json(one.total);
            row["target"] = plan_.targets[target].name;
            row["stream"] = plan_.streams[stream].name;
            row["p50_ms"] = one.latencies.quantile_ms(0.5);
            row["p99_ms"] = one.latencies.quantile_ms(0.99);
            row["max_ms"] = one.latencies.max_ms();
            rows.push_back(std::move(row));
        }
    }
    output_ << nlohmann::json{{"event", "summary"}, {"seed", plan_.seed}, {"rows", rows}}
            << std::endl;
}

void Load::command(std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string verb;
    std::string name;
    double value = 0;
    words >> verb >> name >> value;
    if (verb == "stop") {
        end_ns_ = std::min(end_ns_, monotonic_ns());
    } else if (verb == "pause" || verb == "resume") {
        for (std::size_t i = 0; i < targets_.size(); ++i) {
            if (targets_[i].plan.name == name) {
                paused_[i] = verb == "pause";
                targets_[i].paused_busy = paused_[i];
            }
        }
    } else if (verb == "rate") {
        for (Stream& stream : streams_) {
            if (stream.plan.name == name) {
                stream.arrivals.set_rate(seconds(monotonic_ns()), value);
            }
        }
    }
    output_ << nlohmann::json{{"event", "command"},
                              {"at_s", seconds(monotonic_ns())},
                              {"line", line}}
            << std::endl;
}

}  // namespace weir::tools
