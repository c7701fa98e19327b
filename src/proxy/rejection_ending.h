#pragma once
// How a request ends whose head or body was rejected, or that a quota refused. Pure, thread-safe.

#include "http/rejection.h"
#include "limiter/limiter.h"
#include "proxy/statistics.h"

namespace weir::proxy {

[[nodiscard]] Ending ending_of(http::Rejection rejection);

[[nodiscard]] Ending ending_of(limiter::Reason refused);

}  // namespace weir::proxy
