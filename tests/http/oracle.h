#pragma once
// The oracle of the parser of heads: Beast's parser reads the same bytes, our gate judges what it
// found, and the verdict and everything in the head must be the same. Only what the scanner rejects
// by itself (control bytes, folded lines, sizes) is not asked of Beast, which is more lenient
// there; but a head that we let through must be one for Beast, too, with the same end. A head with
// several faults may be rejected for another of them. Functions without state.

#include <string>
#include <string_view>

#include "http/request_head.h"
#include "http/response_head.h"

namespace weir::http {

class HeadOracle {
  public:
    /// How the result of parsing `text` differs from the oracle's; empty if it does not.
    [[nodiscard]] static std::string difference(std::string_view text, const GatePolicy& policy,
                                                const RequestHead& head, ParseState state);
    [[nodiscard]] static std::string difference(std::string_view text, const Asked& asked,
                                                const ResponsePolicy& policy,
                                                const ResponseHead& head, ParseState state);

  private:
    struct Reading;
    static void fill(Fields& fields, const char* base, const Reading& reading, std::size_t size);
    static Rejection judge(RequestHead& head, std::string_view text, std::size_t start,
                           const GatePolicy& policy);
    static Rejection judge(ResponseHead& head, std::string_view text, const Asked& asked);
    static std::string compare(const Fields& ours, const Fields& theirs);
};

}  // namespace weir::http
