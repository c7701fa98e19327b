#pragma once
// The strict gate for responses of the upstream: checks a parsed head and finds its framing. Used
// by the sources of this module only. Not thread-safe; borrows the head.

#include "http/response_head.h"

namespace weir::http {

class ResponseGate {
  public:
    ResponseGate(ResponseHead& head, Method request_method)
        : head_(head), request_method_(request_method) {}
    [[nodiscard]] Rejection judge();

  private:
    [[nodiscard]] bool never_has_body() const;
    void drop_repeated_lengths();

    ResponseHead& head_;
    Method request_method_;
};

}  // namespace weir::http
