#pragma once
// Bounds the quotas that have series of their own in /metrics, by their number and by the bytes
// that they take on the page. The rest are summed up as "__other__", whose counters never fall
// although quotas come and go (a falling counter looks like a restart to Prometheus).
//
// A quota that has series of its own keeps them for as long as it exists and the page has room.
// When values become longer, the quietest quotas make room. A quota that refuses requests takes the
// place of one that was offered nothing for long. Such changes do not look like increases: a quota
// that leaves "__other__" begins with 0, and one that joins it adds only what it counts from then
// on.
//
// Thread-safety: none. What it remembers from scrape to scrape is bounded by the number of quotas
// given to it. It owns copies of names and figures.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "admin/sources.h"

namespace weir::admin {

inline constexpr std::string_view kOtherQuotas = "__other__";

class QuotaSeries {
  public:
    /// After this many scrapes in a row in which nothing was offered to a quota, a quota that
    /// refuses may take its place.
    static constexpr std::uint32_t kQuietScrapes = 60;

    QuotaSeries(std::size_t max_quotas, std::size_t max_bytes)
        : max_quotas_(max_quotas), max_bytes_(max_bytes) {}

    /// The quotas with series of their own and, if there are or were other quotas, the sum of
    /// those. `definitions` is the number of all definitions; the limiter may have summed up some
    /// of them already.
    [[nodiscard]] std::vector<QuotaFigures> bound(std::vector<QuotaFigures> quotas,
                                                  std::uint64_t definitions);
    /// How often a quota got no series of its own, or gave its place to another.
    [[nodiscard]] std::uint64_t dropped() const { return dropped_ + summed_by_limiter_; }

  private:
    struct Counters {
        double offered = 0;
        double admitted = 0;
        double refused = 0;
        double shadow_refused = 0;
        double refunded = 0;
        std::uint64_t overflowed = 0;
        std::uint64_t waited = 0;
    };
    /// A quota with series of its own.
    struct Own {
        Counters base;               // what "__other__" counted of it before
        Counters last;               // its counters at the last scrape
        std::uint32_t quiet = 0;     // scrapes in a row in which nothing was offered
        bool refuses = false;        // some of what it is offered
        std::size_t name_bytes = 0;  // length of its name as a label
        std::size_t bytes = 0;       // of all its lines on the page
    };
    struct Other {
        Counters counters;
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
    using OwnEntry = std::unordered_map<std::string, Own>::value_type;

    static Counters counters_of(const QuotaFigures& figures);
    static bool fell(const Counters& now, const Counters& before);
    static bool refuses(const QuotaFigures& figures, const Counters& before);
    static std::size_t bytes_of(const QuotaFigures& figures, const Own& own);
    static std::vector<const OwnEntry*> coldest_first(std::vector<const OwnEntry*> entries);

    void note_own(const std::vector<QuotaFigures>& quotas);
    void make_bytes_fit();
    void grant(const std::vector<QuotaFigures>& quotas);
    [[nodiscard]] std::vector<const QuotaFigures*> candidates(
        const std::vector<QuotaFigures>& quotas) const;
    [[nodiscard]] bool fits(std::size_t bytes, std::size_t freed_bytes = 0,
                            std::size_t freed_places = 0) const;
    [[nodiscard]] std::vector<const OwnEntry*> quiet() const;
    [[nodiscard]] Own entry_for(const QuotaFigures& figures) const;
    void take_in(const QuotaFigures& figures, const Own& entry);
    void put_among_others(const std::string& name);
    [[nodiscard]] QuotaFigures shown(QuotaFigures figures);
    void add_to_other(const QuotaFigures& figures, Gauges& gauges);
    void finish_other(const Gauges& gauges);

    std::size_t max_quotas_;
    std::size_t max_bytes_;
    std::size_t own_bytes_ = 0;
    std::uint64_t dropped_ = 0;
    /// The largest number of quotas that the limiter has summed up.
    std::uint64_t summed_by_limiter_ = 0;
    std::uint64_t scrape_ = 0;
    std::unordered_map<std::string, Own> own_;
    std::unordered_map<std::string, Other> others_;
    QuotaFigures other_;
};

/// The most bytes that a quota's lines take on the page; `name_bytes` is the length of its name as
/// a label.
[[nodiscard]] std::size_t page_bytes(const QuotaFigures& figures, std::size_t name_bytes);
/// The length of a label on the page, after the text was made valid UTF-8 and its quotes and
/// backslashes were escaped.
[[nodiscard]] std::size_t label_bytes(std::string_view text);

}  // namespace weir::admin
