#include "limiter/definition.h"

namespace weir::limiter {

namespace {

/// The word of a value; "?" for a value that is none of the enumerators.
template <class Enumeration, std::size_t count>
std::string_view word_of(Enumeration value, const std::array<std::string_view, count>& words) {
    const auto index = static_cast<std::size_t>(value);
    return index < count ? words[index] : "?";
}

}  // namespace

std::string_view to_string(Unit unit) { return word_of(unit, kUnitWords); }
std::string_view to_string(Mode mode) { return word_of(mode, kModeWords); }

LimitParameters RateLimit::resolved() const {
    // From this rate on, in requests per second, a limit has no hard edge by default.
    constexpr double kSmoothRate = 20;
    LimitParameters parameters;
    parameters.rate = rate();
    parameters.law = law;
    if (!is_rate()) {
        parameters.in_flight = is_concurrency();
        parameters.window = is_window();
        parameters.low = amount;
        parameters.high = amount;
        return parameters;
    }
    const double default_low = period > std::chrono::seconds(1) ? amount : parameters.rate;
    parameters.low = low ? low->resolve(parameters.rate) : default_low;
    const bool smooth = unit != Unit::requests || parameters.rate >= kSmoothRate;
    const double default_high = parameters.low + (smooth ? parameters.rate : 0);
    parameters.high = high ? high->resolve(parameters.rate) : default_high;
    parameters.debt = debt ? debt->resolve(parameters.rate) : -1;
    return parameters;
}

bool is_template(std::string_view name) { return name.find('{') != std::string_view::npos; }

}  // namespace weir::limiter
