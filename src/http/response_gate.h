#pragma once
// The strict gate for responses of the upstream: checks a parsed head and finds its framing. Used
// by the sources of this module only. Not thread-safe; borrows the head.

#include "http/response_head.h"

namespace weir::http {

class ResponseGate {
  public:
    ResponseGate(ResponseHead& head, const Asked& asked) : head_(head), asked_(asked) {}
    [[nodiscard]] Rejection judge();

  private:
    [[nodiscard]] bool never_has_body() const;
    [[nodiscard]] bool switches_as_asked() const;
    void drop_repeated_lengths();

    ResponseHead& head_;
    Asked asked_;
};

}  // namespace weir::http
