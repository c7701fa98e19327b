#pragma once
// One client's connection: reads heads, has them judged, forwards or answers, and ends the
// connection so that the client gets to read the last answer. One coroutine from accept to close.
//
// Thread-safety: none; belongs to its worker's thread. Ownership: owns itself; registered with its
// worker from the first to the last moment.

#include <cstddef>
#include <cstdint>
#include <string>

#include "net/file_descriptor.h"
#include "net/task.h"
#include "proxy/admission.h"
#include "proxy/client_side.h"
#include "proxy/exchange.h"
#include "proxy/statistics.h"

namespace weir::proxy {

class ClientConnection : public IdleNode {
  public:
    /// Takes the connection over; it ends by itself.
    static void start(Worker& worker, Role role, net::FileDescriptor descriptor,
                      const Endpoint& client);

    /// The worker is finishing (an idle connection ends) or aborting (any does).
    void wake();
    /// It is idle, and others need its place.
    void evict();

    /// The worker's place for it.
    std::size_t index = 0;

  private:
    enum class HeadResult : std::uint8_t { complete, rejected, timed_out, closed };

    ClientConnection(Worker& worker, Role role, const Endpoint& client);
    ~ClientConnection();

    net::Flow serve();
    net::Task<HeadResult> read_head();
    [[nodiscard]] Instant head_deadline(bool begun);
    /// Nothing of a request is there while the server finishes: whether to wait until `deadline`.
    [[nodiscard]] bool worth_waiting(Instant& deadline);
    /// Lets other connections go on after many requests in a row.
    net::Task<void> take_turns();
    /// Waits until something can be read. While nothing of a request is there, the connection may
    /// have to make room for another.
    net::Task<net::WaitResult> wait_for_bytes(bool begun, Instant deadline);
    net::Task<bool> refuse_for_memory();
    /// Serves the request whose head is there; true: read the next one.
    net::Task<bool> serve_request();
    net::Task<bool> forward(Admission& admission, Upload& upload);
    net::Task<bool> refuse(Admission& admission);
    [[nodiscard]] bool client_trusted() const;
    /// Whether requests are logged at all.
    [[nodiscard]] bool logs() const;
    /// The X-Request-Id of an answer of ours.
    [[nodiscard]] std::string_view answer_id();

    // check.cpp: the other role.
    struct CheckAnswer;
    [[nodiscard]] bool is_check() const { return role_ == Role::check; }
    /// Answers the question whose head is there; true: read the next one.
    net::Task<bool> serve_check();
    /// Decides and writes the answer into the worker's text.
    [[nodiscard]] CheckAnswer judge_check(bool keep_alive);
    [[nodiscard]] CheckAnswer judge_question(const CheckQuestion& question, bool keep_alive);
    /// Writes the answer to a malformed one.
    void reject_check(http::Rejection rejection);
    void write_check_allowed(const Admission& admission, bool keep_alive);
    [[nodiscard]] CheckAnswer check_error(Ending ending, unsigned status, std::string_view detail,
                                          bool keep_alive);

    /// An error of ours; always the last answer when `keep_alive` is false.
    net::Task<bool> answer_error(unsigned status, std::string_view detail, bool keep_alive);
    net::Task<bool> answer_rejection(http::Rejection rejection);
    /// Sends the worker's text; false when the client does not take it.
    net::Task<bool> send_text();
    /// Whether a body is short enough to be read away, so that the connection may stay.
    [[nodiscard]] bool body_can_be_drained() const;
    /// Reads the request's body away; false when that is too much or takes too long.
    net::Task<bool> drain_body();
    /// FIN, then reads away what the client still sends, so that our answer is not lost in a reset.
    net::Task<void> linger();
    net::Task<net::WaitResult> wait_for_client(std::uint8_t interest, Instant deadline);

    void begin_request();
    void finish_request(Ending ending, unsigned status);
    void log_request(Ending ending, unsigned status, Duration duration);

    ClientSide client_;
    Role role_;
    SnapshotReference snapshot_;
    Instant started_{};
    std::string quota_;  // with an access log only
    std::uint64_t body_bytes_in_ = 0;
    std::uint64_t bytes_out_ = 0;
    /// Served without having waited for the client in between.
    std::size_t requests_in_row_ = 0;
    bool first_request_ = true;
    bool idle_ = false;
    bool evicted_ = false;
    bool linger_ = false;
    bool reset_ = false;
};

}  // namespace weir::proxy
