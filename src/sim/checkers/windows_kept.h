#pragma once
// Checks each window after its end: it was not exceeded, and it was used up while anybody asked.
//
// A fleet may admit n of a limit of n in each window, and 1 % or two requests more. Beyond that it
// may admit
// - what a process that was killed had told nobody, because it had admitted it just before
//   (WindowTruth::untold);
// - a hundredth of n, or one request, for each process that was started in the window, which it may
//   use before it hears of the others;
// - one request for each sidecar, if n is less than there are sidecars;
// - n again if a fault kept sidecars from hearing each other, because then either side may admit
//   what the other one has left.
//
// If the limit has refused at least kAsked requests for each sidecar in the window's last
// kLastSeconds, and most sidecars were in the window, the fleet must have admitted n, less 1 % or
// one request. With fewer requests some sidecars may keep one for the next request that comes to
// them. This is not asked when there was a fault so shortly before that owners may still keep a
// part for a sidecar that they cannot hear.
//
// Not thread-safe; it owns what it counts (checker.h).

#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/checkers/checker.h"

namespace weir::sim {

class WindowsKept final : public Checker {
  public:
    static constexpr double kShare = 0.01;
    static constexpr double kFewMore = 2;
    static constexpr double kFewLess = 1;
    static constexpr std::int64_t kLastSeconds = 10;
    static constexpr double kAsked = 3;
    /// Owners keep a part for the hold time, which is 10 s, or a minute for a sidecar alone; some
    /// seconds later all of it has been handed out.
    static constexpr double kHandedOut = 25;

    explicit WindowsKept(std::size_t limits) : refused_(limits) {}

    [[nodiscard]] std::string_view name() const override { return "windows kept"; }
    void request(const RequestFact& request) override;
    void sample(const Facts& facts, Findings& findings) override;
    void settled(const Facts& facts, Findings& findings) override;

  private:
    using Window = std::pair<LimitIndex, std::int64_t>;  // and its end
    /// What is known of a window that has not been judged yet.
    struct Course {
        double admitted = 0;
        double untold = 0;
        double most = 0;     // the largest amount of the limit since the window began
        double least = 0;    // and the smallest
        double refused = 0;  // requests in its last seconds
        /// The least Facts::calm_for in its last seconds.
        double calm = std::numeric_limits<double>::infinity();
        bool usual = true;      // in its last seconds most sidecars were in it
        bool connected = true;  // all could hear each other as long as it lasted
    };

    void follow(const Facts& facts);
    void judge(const Facts& facts, const Window& window, const Course& course,
               Findings& findings) const;
    [[nodiscard]] static double allowed(const Facts& facts, const Window& window,
                                        const Course& course);

    std::vector<double> refused_;  // by limit: requests since the last sample
    std::map<Window, Course> windows_;
    std::set<Window> judged_;
};

}  // namespace weir::sim
