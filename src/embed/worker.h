#pragma once
// What one thread checks with: its place in the limiter, the name that its last decision showed,
// and its counts. Used by one thread at a time; the counts are read by the control thread.

#include <array>
#include <cstdint>
#include <string_view>

#include "limiter/limiter.h"
#include "limiter/thread_context.h"
#include "weir/weir.h"

namespace weir::embed {

/// What came of calls of weir_check.
struct CheckCounts {
    limiter::Figure<std::uint64_t> admitted;
    limiter::Figure<std::uint64_t> refused;
    limiter::Figure<std::uint64_t> unlimited;
    limiter::Figure<std::uint64_t> failed;
};

class EmbeddedWorker {
  public:
    /// `fork` is the count in which the fleet was opened, `tag` tells its charges from others'.
    EmbeddedWorker(limiter::Limiter& limiter, limiter::ThreadContext& context, std::uint32_t fork,
                   std::uint64_t tag);
    EmbeddedWorker(const EmbeddedWorker&) = delete;
    EmbeddedWorker& operator=(const EmbeddedWorker&) = delete;

    [[nodiscard]] bool forked() const;
    /// The name's decision; `quota` in it points into this worker.
    void check(std::string_view name, const weir_request& request, weir_decision& decision);
    /// False: the charge is not one of this fleet's.
    [[nodiscard]] bool refund(weir_charge& charge);
    [[nodiscard]] bool correct(weir_charge& charge, limiter::Unit unit, double actual, bool last);

    [[nodiscard]] CheckCounts& counts() { return counts_; }
    [[nodiscard]] limiter::ThreadContext& context() { return context_; }

  private:
    void show_quota(const limiter::Decision& from, weir_decision& to);
    void count(const weir_decision& decision);
    [[nodiscard]] weir_charge seal(const limiter::Charge& charge) const;
    [[nodiscard]] bool unseal(const weir_charge& sealed, limiter::Charge& charge) const;

    limiter::Limiter& limiter_;
    limiter::ThreadContext& context_;
    std::uint32_t fork_;
    std::uint64_t tag_;
    CheckCounts counts_;
    /// Names of overflow instances are a little longer than any other.
    std::array<char, limiter::kMaxNameBytes + 64> quota_{};
};

}  // namespace weir::embed
