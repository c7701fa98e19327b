#pragma once
// The load generator, an open loop. It sends each request of the plan when it is due, whatever
// happened to earlier ones, over connections that are kept alive and carry one request at a time.
// When all connections of a target are busy, arrivals wait in a bounded queue; when that is full,
// they are skipped and counted. Latency counts from the time at which a request was due. A stream
// may be a closed loop instead, for what a saturated target costs: a connection sends again when
// answered. It prints JSON lines: a start, one for every 100 ms of each target and stream, one for
// each command, one for each paused target that has no request under way any more, and a summary.
// Single-threaded; borrows the poller, which must outlive it.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tools/load_counts.h"
#include "tools/load_plan.h"
#include "tools/poller.h"

namespace weir::tools {

class Load {
  public:
    static constexpr std::int64_t kBinNs = 100'000'000;

    Load(Poller& poller, LoadPlan plan, std::ostream& output);
    ~Load();
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;

    /// Runs one turn of the loop. False once the run is over and the summary is printed.
    bool turn();
    /// Takes a command: "pause TARGET", "resume TARGET", "rate STREAM PER_SECOND" or "stop".
    void command(std::string_view line);

  private:
    class Connection;
    struct Request {
        std::size_t stream = 0;
        std::int64_t due_ns = 0;
        bool retry = false;
    };
    struct Target {
        LoadTarget plan;
        std::vector<Connection*> idle;
        std::map<Connection*, std::unique_ptr<Connection>> connections;
        std::deque<Request> queue;
        /// Paused, and its line that says it is idle has not been printed yet.
        bool paused_busy = false;
    };
    struct Stream {
        LoadStream plan;
        /// One request for each variant; they are sent in turn.
        std::vector<std::string> variants;
        std::size_t next_variant;
        Arrivals arrivals;
        Spread spread;
    };
    enum class Outcome { answered, failed, stale };

    [[nodiscard]] double seconds(std::int64_t at_ns) const;
    [[nodiscard]] std::int64_t next_event_ns() const;
    [[nodiscard]] bool over() const;
    LoadCell& cell(std::size_t target, std::size_t stream);
    void begin_closed_loops();
    void send_again(std::size_t target, std::size_t stream, std::int64_t now_ns);
    void send_due();
    void arrive(Stream& stream, std::size_t index, double at_s);
    void dispatch(std::size_t target, const Request& request);
    void send(Connection& connection, const Request& request);
    void open_and_send(std::size_t target, const Request& request);
    void ended(Connection& connection, Outcome outcome);
    void count_answer(LoadCounts& counts, int status);
    void discard(Connection& connection);
    void serve_queue(std::size_t target);
    void tell_idle();
    void end_bin();
    void expire();
    void fail_queue(std::size_t target);
    void print_bin(std::int64_t bin_ns, std::size_t target, std::size_t stream,
                   const LoadCounts& counts);
    void print_summary();

    Poller& poller_;
    LoadPlan plan_;
    std::ostream& output_;
    std::int64_t start_ns_;
    std::int64_t end_ns_;
    std::int64_t now_ns_;
    std::int64_t bin_end_ns_;
    std::deque<Target> targets_;
    std::vector<Stream> streams_;
    std::vector<bool> paused_;
    std::vector<LoadCell> cells_;
    std::size_t in_flight_ = 0;
    bool begun_ = false;
    std::vector<char> input_;
};

}  // namespace weir::tools
