#include "limiter/window_schedule.h"

namespace weir::limiter {
namespace {

class EqualWindows final : public WindowSchedule {
  public:
    explicit EqualWindows(std::int64_t seconds) : seconds_(seconds) {}
    [[nodiscard]] WindowSpan at(std::int64_t second, std::uint64_t name) const override {
        const auto moved = static_cast<std::int64_t>(name % static_cast<std::uint64_t>(seconds_));
        const std::int64_t since = ((second - moved) % seconds_ + seconds_) % seconds_;
        return {second - since, second - since + seconds_};
    }
    [[nodiscard]] std::int64_t longest() const override { return seconds_; }

  private:
    const std::int64_t seconds_;
};

}  // namespace

std::shared_ptr<const WindowSchedule> WindowSchedule::make(const RateLimit& limit) {
    return std::make_shared<EqualWindows>(
        std::chrono::floor<std::chrono::seconds>(limit.period).count());
}

bool knows_time_zone(std::string_view name) { return name.empty(); }

}  // namespace weir::limiter
