#pragma once
// The counting origin, which is the upstream behind weir in tests. It answers every request with
// 200 and a small body and counts arrivals by listener and first path segment; a control listener
// reports and resets the counts. It is kept cheap, with one thread and one write for each batch of
// pipelined requests. Not thread-safe. Owns its sockets; borrows the poller, which must outlive it.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/arrival_counts.h"
#include "tools/poller.h"

namespace weir::tools {

struct OriginOptions {
    struct Listen {
        std::string name;
        std::string address;
    };
    std::vector<Listen> listen;
    std::string control = "127.0.0.1:0";
    std::size_t body_bytes = 3;
    /// How long every answer is delayed.
    std::int64_t delay_ns = 0;
    /// One in so many answers has another status and no body; 0: none. Cannot be combined with a
    /// delay.
    std::uint64_t other_every = 0;
    unsigned other_status = 304;
};

class Origin {
  public:
    Origin(Poller& poller, const OriginOptions& options);
    ~Origin();
    Origin(const Origin&) = delete;
    Origin& operator=(const Origin&) = delete;

    /// One line of JSON with the addresses that are bound.
    [[nodiscard]] std::string ready_line() const;
    /// Runs one turn of the loop.
    void turn();
    [[nodiscard]] const ArrivalCounts& counts() const { return counts_; }

  private:
    class Listener;
    class Connection;
    struct Delayed {
        std::int64_t due_ns;
        std::uint64_t connection;
    };

    void accept(const Listener& listener);
    void close(Connection& connection);
    /// The whole answer to a message; none when it is sent later.
    /// The text lives as long as this object.
    [[nodiscard]] std::string_view answer(Connection& connection);
    [[nodiscard]] std::string control_answer(std::string_view request_line);
    /// The time of this turn. The clock is read when it is first asked for.
    [[nodiscard]] std::int64_t now();
    void send_due();

    Poller& poller_;
    std::string answer_;
    std::string other_answer_;
    std::uint64_t other_every_;
    std::uint64_t answers_ = 0;
    std::int64_t delay_ns_;
    std::int64_t now_ns_ = 0;
    ArrivalCounts counts_;
    std::vector<std::unique_ptr<Listener>> listeners_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
    std::uint64_t next_connection_ = 0;
    std::deque<Delayed> delayed_;
    std::vector<char> input_;
};

}  // namespace weir::tools
