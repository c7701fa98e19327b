#pragma once
// A checker watches one invariant of a simulated fleet. It is told of every request, of the whole
// fleet's state once a second, of each process's state just before it ends, and of the state at
// the end, when the load has stopped, the network is healed and everybody has had time to tell
// everything. What it objects to goes into the findings. Not thread-safe; belongs to a Watch.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/facts.h"

namespace weir::sim {

/// What checkers objected to. The first ones of each checker are kept as text, all are counted.
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
    /// Once a second of the story.
    virtual void sample(const Facts&, Findings&) {}
    /// The process is about to end, with or without a goodbye.
    virtual void ending(const Facts&, const ProcessFact&, Findings&) {}
    virtual void settled(const Facts&, Findings&) {}
};

}  // namespace weir::sim
