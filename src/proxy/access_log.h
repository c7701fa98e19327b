#pragma once
// The hook for an access log. The proxy itself writes nothing: it hands each finished request to
// the hook (if there is one and the mode asks for it), on the worker thread that served it.
// The record's views hold during the call only. Implementations must be thread-safe and quick.

#include <cstdint>
#include <string_view>

#include "base/endpoint.h"
#include "base/instant.h"
#include "proxy/statistics.h"

namespace weir::proxy {

struct AccessRecord {
    std::string_view method;
    /// The target as it came, with its query.
    std::string_view target;
    std::string_view host;
    /// The quota that was checked, empty if none.
    std::string_view quota;
    std::string_view request_id;
    Endpoint client;
    /// 0 when nothing was answered.
    unsigned status = 0;
    Ending ending = Ending::admitted;
    Duration duration{};
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
};

class AccessLog {
  public:
    virtual ~AccessLog() = default;
    virtual void record(const AccessRecord& record) = 0;
};

}  // namespace weir::proxy
