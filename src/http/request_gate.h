#pragma once
// The strict gate behind the parser: checks a parsed request head and fills in what its fields mean
// (host, framing, keep-alive). Used by the sources of this module only. Not thread-safe; borrows
// the head and the policy.

#include "http/request_head.h"

namespace weir::http {

class RequestGate {
  public:
    RequestGate(RequestHead& head, const GatePolicy& policy) : head_(head), policy_(policy) {}
    [[nodiscard]] Rejection judge();

    /// Checks the version at the end of a complete request line. This happens before the fields
    /// have come, so that a client of another protocol is answered at once.
    [[nodiscard]] static Rejection judge_version(std::string_view line_with_crlf);

  private:
    Rejection method();
    Rejection target();
    Rejection absolute_target();
    Rejection split_target(std::size_t path_offset);
    Rejection host();
    Rejection framing();
    Rejection connection();
    Rejection upgrade();
    Rejection expectation();
    Rejection underscores();

    RequestHead& head_;
    const GatePolicy& policy_;
};

}  // namespace weir::http
