#pragma once
// Bounds the number of quotas that have series of their own in /metrics. Who has one keeps it as
// long as the quota exists; the rest are summed up as "__other__", whose counters never fall
// although quotas come and go (a falling counter looks like a restart to Prometheus).
// Pure but for what it remembers from scrape to scrape; not thread-safe. Its memory is bounded by
// the number of quotas given to it.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "admin/sources.h"

namespace weir::admin {

inline constexpr std::string_view kOtherQuotas = "__other__";

class QuotaSeries {
  public:
    explicit QuotaSeries(std::size_t max_quotas) : max_quotas_(max_quotas) {}

    /// The quotas with series of their own and, if there are or were any, the sum of the others.
    [[nodiscard]] std::vector<QuotaFigures> bound(std::vector<QuotaFigures> quotas);
    /// How many quotas were denied a series of their own so far.
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

  private:
    struct Seen {
        QuotaFigures counters;
        std::uint64_t scrape = 0;
    };
    /// Sums of one scrape for the gauges of "__other__".
    struct Gauges {
        double weight = 0;
        double discard_probability = 0;
        double level_ratio = 0;
        double plain_discard_probability = 0;
        double plain_level_ratio = 0;
        double quotas = 0;
    };

    void forget_gone(const std::vector<QuotaFigures>& quotas);
    [[nodiscard]] bool has_own(const std::string& name);
    void add_to_other(QuotaFigures figures, Gauges& gauges);
    void finish_other(const Gauges& gauges);

    std::size_t max_quotas_;
    std::uint64_t dropped_ = 0;
    std::uint64_t scrape_ = 0;
    std::unordered_set<std::string> own_;
    std::unordered_map<std::string, Seen> others_;
    QuotaFigures other_;
};

}  // namespace weir::admin
