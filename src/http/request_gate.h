#pragma once
// The strict gate behind the parser: judges a parsed request head and fills in what follows from
// its fields. For this module's sources.

#include "http/request_head.h"

namespace weir::http {

class RequestGate {
  public:
    RequestGate(RequestHead& head, const GatePolicy& policy) : head_(head), policy_(policy) {}
    [[nodiscard]] Rejection judge();

    /// The end of a complete request line: is it a version that is served? Known before the fields
    /// are, so that another protocol on this port is answered at once.
    [[nodiscard]] static Rejection judge_version(std::string_view line_with_crlf);

  private:
    Rejection method();
    Rejection target();
    Rejection absolute_target();
    Rejection split_target(std::size_t path_offset);
    Rejection host();
    Rejection framing();
    Rejection connection();
    Rejection expectation();
    Rejection underscores();

    RequestHead& head_;
    const GatePolicy& policy_;
};

}  // namespace weir::http
