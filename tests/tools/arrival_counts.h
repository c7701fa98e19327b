#pragma once
// Counts arrivals in bins of 10 ms of the monotonic clock, in one series for each listener and key.
// The key is the first segment of a request's path. Memory is bounded: when there are kMaxSeries
// series, further keys share the series "__other__", and arrivals more than kMaxBins after a
// series' first one only add to its total. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::tools {

class ArrivalCounts {
  public:
    static constexpr std::int64_t kBinNs = 10'000'000;
    static constexpr std::size_t kMaxBins = 1'000'000;
    static constexpr std::size_t kMaxSeries = 4096;

    struct Series {
        std::int64_t first_bin = 0;
        std::uint64_t total = 0;
        std::vector<std::uint32_t> bins;

        void add(std::int64_t bin);
    };

    void add(std::string_view listener, std::string_view key, std::int64_t now_ns);
    void clear() { series_.clear(); }
    /// A JSON document with bin_ns and, for each series, listener, key, total, first_bin and
    /// counts.
    [[nodiscard]] std::string to_json(std::int64_t now_ns) const;
    [[nodiscard]] std::uint64_t total() const;

  private:
    using Name = std::pair<std::string, std::string>;
    struct NameOrder {
        using is_transparent = void;
        using View = std::pair<std::string_view, std::string_view>;
        bool operator()(const Name& a, const Name& b) const { return a < b; }
        bool operator()(const Name& a, const View& b) const { return View(a) < b; }
        bool operator()(const View& a, const Name& b) const { return a < View(b); }
    };

    std::map<Name, Series, NameOrder> series_;
};

/// The first segment of a request line's path: "GET /noisy/7?x HTTP/1.1" gives "noisy".
[[nodiscard]] std::string_view first_segment(std::string_view request_line);

}  // namespace weir::tools
