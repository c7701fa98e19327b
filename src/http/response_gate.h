#pragma once
// The strict gate for responses of the upstream. For this module's sources.

#include "http/response_head.h"

namespace weir::http {

class ResponseGate {
  public:
    ResponseGate(ResponseHead& head, Method request_method)
        : head_(head), request_method_(request_method) {}
    [[nodiscard]] Rejection judge();

  private:
    [[nodiscard]] bool never_has_body() const;

    ResponseHead& head_;
    Method request_method_;
};

}  // namespace weir::http
