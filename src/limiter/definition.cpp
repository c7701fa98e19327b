#include "limiter/definition.h"

namespace weir::limiter {

std::string_view to_string(Unit unit) {
    switch (unit) {
        case Unit::requests:
            return "requests";
        case Unit::request_bytes:
            return "request_bytes";
        case Unit::response_bytes:
            return "response_bytes";
        case Unit::cost:
            return "cost";
    }
    return "?";
}

std::string_view to_string(Law law) { return law == Law::linear ? "linear" : "adaptive"; }

std::string_view to_string(Mode mode) {
    switch (mode) {
        case Mode::enforce:
            return "enforce";
        case Mode::shadow:
            return "shadow";
        case Mode::off:
            return "off";
    }
    return "?";
}

std::string_view to_string(Scope scope) { return scope == Scope::fleet ? "fleet" : "sidecar"; }

std::string_view to_string(IsolationMode mode) {
    switch (mode) {
        case IsolationMode::safe:
            return "safe";
        case IsolationMode::optimistic:
            return "optimistic";
        case IsolationMode::pessimistic:
            return "pessimistic";
    }
    return "?";
}

LimitParameters RateLimit::resolved() const {
    // From here on a request passes without the hard edge of small limits, per second.
    constexpr double kSmoothRate = 20;
    LimitParameters parameters;
    parameters.rate = rate();
    parameters.law = law;
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
