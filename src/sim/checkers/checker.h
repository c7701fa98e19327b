#pragma once
// A checker watches one invariant of a simulated fleet. It is told of every request, of the state
// of the whole fleet once a second, and of the state of each process just before it ends. At the
// end it is told of the state after the load has stopped, the network is in order and all members
// have had time to tell everything. It adds its objections to the findings. Not thread-safe;
// belongs to a Watch.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/facts.h"

namespace weir::sim {

/// The objections of the checkers. All are counted; the first ones of each checker are kept as
/// text.
class Findings {
  public:
    static constexpr std::size_t kKeptOfEach = 5;

    void add(std::string_view checker, double at, const std::string& text);
    [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }
    [[nodiscard]] std::size_t count() const { return count_; }

  private:
    std::vector<std::string> texts_;
    std::map<std::string, std::size_t, std::less<>> counts_;
    std::size_t count_ = 0;
};

class Checker {
  public:
    Checker() = default;
    Checker(const Checker&) = delete;
    Checker& operator=(const Checker&) = delete;
    virtual ~Checker() = default;

    [[nodiscard]] virtual std::string_view name() const = 0;
    virtual void request(const RequestFact&) {}
    /// An admitted request has ended, of a process that is running.
    virtual void finished(const RequestFact&) {}
    /// Called once in each second of the story.
    virtual void sample(const Facts&, Findings&) {}
    /// Called when the process is about to end, with or without a goodbye.
    virtual void ending(const Facts&, const ProcessFact&, Findings&) {}
    virtual void settled(const Facts&, Findings&) {}
};

}  // namespace weir::sim
