#pragma once
// The object with which a thread of the embedding program checks requests. It has the thread's
// place in the limiter, the name that its last decision showed, and its counts.
//
// Thread-safety: one thread at a time uses it; the control thread may read its counts meanwhile.
// Ownership: limiter and context must outlive it.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "limiter/limiter.h"
#include "limiter/thread_context.h"
#include "weir/weir.h"

namespace weir::embed {

/// How many calls of weir_check had which result.
struct CheckCounts {
    limiter::Figure<std::uint64_t> admitted;
    limiter::Figure<std::uint64_t> refused;
    limiter::Figure<std::uint64_t> unlimited;  // admitted because no quota has the name
    limiter::Figure<std::uint64_t> failed;     // admitted because the call was wrong or failed
};

class EmbeddedWorker {
  public:
    /// `fork` is the count of forks with which the fleet was opened. `tag` marks the charges of
    /// this fleet, so that charges of another fleet are recognised and refused.
    EmbeddedWorker(limiter::Limiter& limiter, limiter::ThreadContext& context, std::uint32_t fork,
                   std::uint64_t tag);
    EmbeddedWorker(const EmbeddedWorker&) = delete;
    EmbeddedWorker& operator=(const EmbeddedWorker&) = delete;

    [[nodiscard]] bool forked() const;
    /// Decides about a request under the quota of this name. `quota` of the decision points into
    /// this worker.
    void check(std::string_view name, const weir_request& request, weir_decision& decision);
    /// The same under the first quota of each list that exists.
    void check_many(std::span<const weir_name_list> lists, const weir_request& request,
                    weir_decision& decision);
    /// Takes as many of the wanted units as there are, at least the minimum or nothing. Returns how
    /// many. The caller has checked both numbers.
    double obtain(std::string_view name, const weir_request& each, double wanted, double minimum,
                  weir_decision& decision);
    /// These return false if the charge is not one of this fleet's.
    [[nodiscard]] bool finish(weir_charge& charge);
    [[nodiscard]] bool give_back(weir_charge& charge, double units);
    /// Also finishes the request.
    [[nodiscard]] bool refund(weir_charge& charge);
    [[nodiscard]] bool correct(weir_charge& charge, limiter::Unit unit, double actual, bool last);

    [[nodiscard]] CheckCounts& counts() { return counts_; }
    [[nodiscard]] limiter::ThreadContext& context() { return context_; }

  private:
    /// Fills in the caller's decision. From then on the limiter may reuse what was read.
    void show(const limiter::Decision& made, weir_decision& decision);
    void show_quota(const limiter::Decision& from, weir_decision& to);
    void count(const weir_decision& decision);

    limiter::Limiter& limiter_;
    limiter::ThreadContext& context_;
    std::uint32_t fork_;
    std::uint64_t tag_;
    CheckCounts counts_;
    /// Names of overflow instances are a little longer than any other.
    std::array<char, limiter::kMaxNameBytes + 64> quota_{};
};

}  // namespace weir::embed
