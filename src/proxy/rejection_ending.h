#pragma once
// The Ending of a request that was rejected or that a quota refused. Pure functions, thread-safe.

#include "http/rejection.h"
#include "limiter/limiter.h"
#include "proxy/statistics.h"

namespace weir::proxy {

[[nodiscard]] Ending ending_of(http::Rejection rejection);

[[nodiscard]] Ending ending_of(limiter::Reason refused);

}  // namespace weir::proxy
