#pragma once
// The interface of an access log. The proxy itself writes no log. If there is an access log and its
// mode includes the request, the worker thread that served the request calls record() when the
// request has ended. The views in a record are valid only during the call. Implementations must be
// thread-safe and quick. The program that makes the server owns the log, which must outlive it.

#include <cstdint>
#include <string_view>

#include "base/endpoint.h"
#include "base/instant.h"
#include "proxy/statistics.h"

namespace weir::proxy {

struct AccessRecord {
    std::string_view method;
    /// The request target, unchanged; without its query unless the settings ask for it.
    std::string_view target;
    std::string_view host;
    /// The quota that was checked; empty if there was none.
    std::string_view quota;
    std::string_view request_id;
    Endpoint client;
    /// The status of the answer; 0 when there was none.
    unsigned status = 0;
    Ending ending = Ending::admitted;
    Duration duration{};
    /// The part of it that the request waited for its turn.
    Duration waited{};
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
};

class AccessLog {
  public:
    virtual ~AccessLog() = default;
    virtual void record(const AccessRecord& record) = 0;
};

}  // namespace weir::proxy
