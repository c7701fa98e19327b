#pragma once
// The connections of a listener, and which of them makes room for a newcomer when every place is
// taken: whoever has sent no complete request for longest, so that clients that are silent, or
// slow, cannot keep a probe out. Not thread-safe. The connections must outlive their places.

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace weir::admin {

/// What a connection waits for.
enum class Stage {
    head,    ///< a request's head, or the rest of it
    body,    ///< the rest of its body
    answer,  ///< its client, to read the answer
};

template <class Connection>
class Places {
  public:
    void enter(Connection& connection) { waits_[&connection] = {Stage::head, ++turn_}; }
    void leave(Connection& connection) { waits_.erase(&connection); }
    /// Nothing if it made room already. A connection that goes on to its body waits on: only a
    /// whole request makes it young again.
    void wait(Connection& connection, Stage stage) {
        const auto found = waits_.find(&connection);
        if (found == waits_.end()) {
            return;
        }
        if (stage == Stage::head) {
            found->second.since = ++turn_;
        }
        found->second.stage = stage;
    }
    /// Its place is free then: closing it is the caller's. Nothing when all have their answer to
    /// read, which ends by itself soon. Those without a head come before those without a body.
    [[nodiscard]] Connection* make_room() {
        auto first = waits_.end();
        for (auto at = waits_.begin(); at != waits_.end(); ++at) {
            if (at->second.stage == Stage::answer) {
                continue;
            }
            if (first == waits_.end() || at->second.is_before(first->second)) {
                first = at;
            }
        }
        if (first == waits_.end()) {
            return nullptr;
        }
        Connection* const connection = first->first;
        waits_.erase(first);
        return connection;
    }

    [[nodiscard]] std::size_t size() const { return waits_.size(); }
    template <class Function>
    void for_each(Function function) {
        for (auto& [connection, wait] : waits_) {
            function(*connection);
        }
    }

  private:
    struct Wait {
        Stage stage = Stage::head;
        std::uint64_t since = 0;
        [[nodiscard]] bool is_before(const Wait& other) const {
            return stage != other.stage ? stage < other.stage : since < other.since;
        }
    };

    std::unordered_map<Connection*, Wait> waits_;
    std::uint64_t turn_ = 0;
};

}  // namespace weir::admin
