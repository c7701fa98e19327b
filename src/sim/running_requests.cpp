#include "sim/running_requests.h"

#include <utility>

#include "base/assert.h"

namespace weir::sim {

std::uint32_t RunningRequests::add(const Place& at, DecidedRequest request) {
    WEIR_ASSERT(request.admitted && at.sidecar < processes_.size());
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(requests_.size()));
        requests_.emplace_back();
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    requests_[number] = {at, std::move(request)};
    Process& process = processes_[at.sidecar];
    WEIR_ASSERT(process.count == 0 || process.epoch == at.epoch);
    process.epoch = at.epoch;
    ++process.count;
    return number;
}

RunningRequests::Request RunningRequests::take(std::uint32_t number) {
    free_.push_back(number);
    Request request = std::exchange(requests_[number], {});
    if (Process& process = processes_[request.at.sidecar]; process.epoch == request.at.epoch) {
        WEIR_ASSERT(process.count > 0);
        --process.count;
    }
    return request;
}

}  // namespace weir::sim
