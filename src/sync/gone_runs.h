#pragma once
// What the runs of members that are gone have admitted in one window, as far as an owner knows. A
// run is here one process from its start to its end, known by a random number of 64 bits, and not a
// run of a CounterCell, of which a process may have several. Its count stays by itself until the
// window ends, because other owners, and files of owners that are down, may tell of the same run
// again, and a sum would count it twice. There can be many: each restart of each sidecar in a month
// adds one. So a count takes 32 bytes, their sum is kept, and those that all other owners have
// noted cost no time any more.
//
// Thread-safety: none, belongs to the control thread. Ownership: owns its counts.
// Invariants: the counts are ordered by run, and there are at most kMost. admitted() is their sum,
// at most 2^62, and untold() the number of counts that some other owner has still to note.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::sync {

class GoneRuns {
  public:
    /// So many of one window: more restarts than any fleet has in a month. It also bounds how much
    /// is moved to make room for one.
    static constexpr std::size_t kMost = std::size_t{1} << 16;
    /// A bit for each owner of the shard, in the shard's order.
    using OwnerBits = std::uint8_t;
    struct GoneRun {
        std::uint64_t run = 0;
        std::uint64_t number = 0;  // of the report that told it
        std::uint64_t admitted = 0;
        OwnerBits noted = 0;  // by whom
    };

    [[nodiscard]] const GoneRun* find(std::uint64_t run) const;
    /// Takes in what the run has admitted. `known`: this, or something newer, was known already.
    /// `full`: there is no room for it.
    enum class Taken : std::uint8_t { news, known, full };
    Taken take(std::uint64_t run, std::uint64_t number, std::uint64_t admitted);
    /// Removes the count of a run whose process turned out to live. False if there was none.
    bool remove(std::uint64_t run);
    void clear();

    /// Begins anew: these owners have to note each count, and have noted none.
    void tell_all(OwnerBits owners);
    /// The owners with these bits have noted what the report with this number said of the run. True
    /// if all have now.
    bool note(std::uint64_t run, std::uint64_t number, OwnerBits owners);

    [[nodiscard]] std::size_t size() const { return counts_.size(); }
    [[nodiscard]] std::size_t untold() const { return untold_; }
    /// At most 2^62: a count that a peer tells can be false and huge.
    [[nodiscard]] std::uint64_t admitted() const;
    [[nodiscard]] const std::vector<GoneRun>& counts() const { return counts_; }
    /// Calls visit(count, owners) for each count that some owner has still to note, where `owners`
    /// has the bits of those owners, until it returns false.
    template <class Visit>
    void for_each_untold(Visit visit) const {
        if (untold_ == 0) {
            return;
        }
        for (const GoneRun& count : counts_) {
            if (!is_told(count) && !visit(count, static_cast<OwnerBits>(others_ & ~count.noted))) {
                return;
            }
        }
    }

  private:
    [[nodiscard]] std::size_t place_of(std::uint64_t run) const;
    [[nodiscard]] bool is_at(std::size_t place, std::uint64_t run) const {
        return place < counts_.size() && counts_[place].run == run;
    }
    [[nodiscard]] bool is_told(const GoneRun& count) const { return (others_ & ~count.noted) == 0; }
    void add(std::uint64_t admitted);
    void subtract(std::uint64_t admitted);

    std::vector<GoneRun> counts_;
    std::size_t untold_ = 0;
    std::uint64_t sum_ = 0;        // of all counts, its lower 64 bits ...
    std::uint64_t overflows_ = 0;  // and the upper ones
    OwnerBits others_ = 0;         // who has to note each count
};

}  // namespace weir::sync
