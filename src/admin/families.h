#pragma once
// A short way to build the metric families of prometheus-cpp. Label values are made safe: they are
// valid UTF-8, because one broken byte would lose the whole scrape, and bounded in length.
// Thread-safety: none. Ownership: Families owns what is collected until take(); each Family points
// into it.

#include <prometheus/metric_family.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/sources.h"

namespace weir::admin {

inline constexpr std::size_t kMaxLabelBytes = 512;

/// The text itself if it is valid and short. Otherwise it is a repaired prefix of the text followed
/// by a hash of the whole text, so that different texts stay different.
[[nodiscard]] std::string label_value(std::string_view text);

using Labels = std::vector<std::pair<std::string, std::string>>;

/// One metric. It is a handle into its Families, which must outlive it.
class Family {
  public:
    explicit Family(prometheus::MetricFamily& family) : family_(&family) {}
    Family& add(double value) { return add({}, value); }
    Family& add(const Labels& labels, double value);
    Family& add(const Labels& labels, const HistogramFigures& figures);

  private:
    prometheus::ClientMetric& sample(const Labels& labels);
    prometheus::MetricFamily* family_;
};

class Families {
  public:
    Families() { families_.reserve(kMostFamilies); }
    Family counter(std::string_view name, std::string_view help);
    Family gauge(std::string_view name, std::string_view help);
    Family histogram(std::string_view name, std::string_view help);
    [[nodiscard]] std::vector<prometheus::MetricFamily> take() { return std::move(families_); }

  private:
    // Handles point into the vector, which therefore must not grow beyond this number.
    static constexpr std::size_t kMostFamilies = 128;
    Family add(std::string_view name, std::string_view help, prometheus::MetricType type);
    std::vector<prometheus::MetricFamily> families_;
};

/// A count as the double that it becomes in the text format.
template <class Integer>
[[nodiscard]] double number(Integer value) {
    return static_cast<double>(value);
}

}  // namespace weir::admin
