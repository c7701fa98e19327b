#pragma once
// The connections of a listener, which has a limited number of places. When every place is taken,
// the connection that has sent no complete request for longest makes room for a newcomer. So silent
// or slow clients cannot keep a health probe out.
//
// Thread-safety: none. Ownership: the connections must outlive their places.

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace weir::admin {

/// What a connection waits for.
enum class Stage {
    head,    ///< a request's head, or the rest of it
    body,    ///< the rest of the request's body
    answer,  ///< its client, to read the answer
};

template <class Connection>
class ConnectionPlaces {
  public:
    void enter(Connection& connection) { waits_[&connection] = {Stage::head, ++turn_}; }
    void leave(Connection& connection) { waits_.erase(&connection); }
    /// Notes what the connection waits for now; does nothing if it has made room already. Only a
    /// complete request counts as activity: when a connection goes on from the head to the body, it
    /// keeps its time of waiting.
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
    /// Frees the place of the connection that makes room, and returns it; the caller closes it.
    /// Connections that wait for a head go before those that wait for a body. Null when all clients
    /// have still to read their answer, which soon ends by itself.
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
    struct PlaceWait {
        Stage stage = Stage::head;
        std::uint64_t since = 0;
        [[nodiscard]] bool is_before(const PlaceWait& other) const {
            return stage != other.stage ? stage < other.stage : since < other.since;
        }
    };

    std::unordered_map<Connection*, PlaceWait> waits_;
    std::uint64_t turn_ = 0;
};

}  // namespace weir::admin
