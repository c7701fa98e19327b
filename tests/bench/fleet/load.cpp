#include "load.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace weir::bench {
namespace {

using Clock = std::chrono::steady_clock;

std::deque<Stream> streams_of(const nlohmann::json& plan) {
    Random random(plan.value("seed", std::uint64_t{1}));
    std::deque<Stream> streams;  // which never moves them
    for (const auto& stream : plan.at("streams")) {
        streams.emplace_back(read_stream_plan(stream), random.fork());
    }
    return streams;
}

}  // namespace

Load::Load(Fleet& fleet, const nlohmann::json& plan)
    : seconds_(plan.at("seconds").get<double>()), streams_(streams_of(plan)) {
    auto worker = fleet.worker();
    if (!worker) {
        throw std::runtime_error(worker.failure().message);
    }
    thread_ =
        std::jthread([this, worker = std::move(*worker)](const std::stop_token& stop) mutable {
            run(stop, std::move(worker));
        });
}

void Load::run(const std::stop_token& stop, Worker worker) {
    ::pthread_setname_np(::pthread_self(), "weir-load");
    const auto begin = Clock::now();
    const auto seconds_since = [&](Clock::time_point at) {
        return std::chrono::duration<double>(at - begin).count();
    };
    for (auto next = begin; !stop.stop_requested(); next += std::chrono::milliseconds(1)) {
        std::this_thread::sleep_until(next);
        const double elapsed = seconds_since(Clock::now());
        bool ended = elapsed > seconds_;
        for (Stream& stream : streams_) {
            stream.use_due(worker, std::min(elapsed, seconds_));
        }
        ended = ended || std::all_of(streams_.begin(), streams_.end(),
                                     [](const Stream& stream) { return stream.ended(); });
        if (ended) {
            break;
        }
    }
    running_ = false;
}

nlohmann::json Load::counts() const {
    nlohmann::json streams = nlohmann::json::array();
    for (const Stream& stream : streams_) {
        streams.push_back(stream.counts());
    }
    return {{"running", running_.load()}, {"streams", std::move(streams)}};
}

}  // namespace weir::bench
