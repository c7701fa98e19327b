#pragma once
// One client's connection, served by one coroutine from accept to close. It reads request heads,
// has each request decided, forwards or answers it, and closes the connection such that the client
// can still read the last answer.
//
// Thread-safety: none; belongs to its worker's thread. Ownership: it destroys itself at its end,
// and is registered with its worker for as long as it lives.

#include <array>
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
    /// Begins to serve the connection, which from now on owns itself.
    static void start(Worker& worker, Role role, net::FileDescriptor descriptor,
                      const Endpoint& client);

    /// Called when the worker is finishing, which ends idle connections, or aborting, which ends
    /// all.
    void wake();
    /// Ends the connection, which is idle, because others need its place.
    void evict();

    /// Its index in the worker's list of connections.
    std::size_t index = 0;

  private:
    class Turn;
    enum class HeadResult : std::uint8_t { complete, rejected, timed_out, closed };

    ClientConnection(Worker& worker, Role role, const Endpoint& client);
    ~ClientConnection();

    net::Flow serve();
    net::Task<HeadResult> read_head();
    [[nodiscard]] Instant head_deadline(bool begun);
    /// Whether to wait for a request of which nothing has come yet. While the server finishes,
    /// `deadline` becomes earlier.
    [[nodiscard]] bool worth_waiting(Instant& deadline);
    /// Whether other connections have to go on first, after many requests in a row on this one.
    [[nodiscard]] bool turn_is_over();
    /// Waits until something can be read. While nothing of a request has come, the connection is
    /// idle and may be closed to make room for another.
    net::Task<net::WaitResult> wait_for_bytes(bool begun, Instant deadline);
    /// Answers with 503, because memory is short. Always false: the connection is to be closed.
    net::Task<bool> refuse_for_memory();
    /// Serves the request whose head is complete. True: the next request may follow.
    net::Task<bool> serve_request();
    /// Forwards the admitted request and relays the response. True: the next request may follow.
    net::Task<bool> forward(Judgement& judgement, Upload& upload);
    /// Answers with the refusal. True: the next request may follow.
    net::Task<bool> refuse(Judgement& judgement);
    /// Has a refused request wait for its turn, if there is room in the quota's queue. The
    /// judgement is the last one then. False: there is nobody to answer any more.
    net::Task<bool> wait_for_turn(Judgement& judgement);
    /// Decides again about the request, which has waited.
    [[nodiscard]] Judgement judge_again(limiter::CheckMode mode);
    /// The field that says how long the request has waited; empty if it has not.
    static constexpr std::size_t kWaitedLine = 40;
    [[nodiscard]] std::string_view waited_line(std::array<char, kWaitedLine>& text) const;
    [[nodiscard]] bool client_trusted() const;
    /// Whether there is an access log that is switched on.
    [[nodiscard]] bool logs() const;
    /// The X-Request-Id of an answer that weir writes itself.
    [[nodiscard]] std::string_view answer_id();

    // For connections of the check listener; in check.cpp.
    struct CheckAnswer;
    [[nodiscard]] bool is_check() const { return role_ == Role::check; }
    /// Whether the head came whole and was not rejected, so that it can be asked.
    [[nodiscard]] bool head_is_readable() const {
        return client_.head.size() > 0 && client_.head.rejection() == http::Rejection::none;
    }
    /// Answers the question whose head is complete. True: the next question may follow.
    net::Task<bool> serve_check();
    /// Decides and writes the answer into the worker's text.
    [[nodiscard]] CheckAnswer judge_check(bool keep_alive);
    [[nodiscard]] CheckAnswer judge_question(const CheckQuestion& question, bool keep_alive);
    /// Decides about a question that names quotas.
    [[nodiscard]] Judgement judge_named(const CheckQuestion& question, limiter::CheckMode mode);
    /// Counts what was granted; without a quota that is everything.
    void settle_obtained(const CheckQuestion& question, Judgement& judgement);
    void note_unknown(const routing::NameLists& lists, const Judgement& judgement);
    /// Writes the answer to a check that is malformed.
    void reject_check(http::Rejection rejection);
    void deny_as_asked();
    void write_check_allowed(const Judgement& judgement, bool keep_alive);
    [[nodiscard]] CheckAnswer check_error(Ending ending, unsigned status, std::string_view detail,
                                          bool keep_alive);

    /// Answers with an error of weir's own, which is the connection's last answer if `keep_alive`
    /// is false.
    net::Task<bool> answer_error(unsigned status, std::string_view detail, bool keep_alive);
    net::Task<bool> answer_rejection(http::Rejection rejection);
    /// Sends the worker's text. False when the client does not take it.
    net::Task<bool> send_text();
    /// Sends as much of the worker's text as the socket takes, and puts the rest into `out`.
    [[nodiscard]] net::IoStatus send_at_once();
    /// Sends what send_at_once(), which gave this status, has put into `out`.
    net::Task<bool> send_rest_of_text(net::IoStatus status);
    /// Whether the body is short enough to be read and dropped, so that the connection can be kept.
    [[nodiscard]] bool body_can_be_drained() const;
    /// Reads the request's body and drops it. False when it is too long or takes too long.
    net::Task<bool> drain_body();
    /// Sends a FIN, then reads and drops what the client still sends: closing with unread bytes
    /// would cause a reset, in which the client could lose the answer.
    net::Task<void> linger();
    [[nodiscard]] ClientWait wait_for_client(std::uint8_t interest, Instant deadline);

    void begin_request();
    void finish_request(Ending ending, unsigned status);
    void log_request(Ending ending, unsigned status, Duration duration);

    ClientSide client_;
    Role role_;
    SnapshotReference snapshot_;
    Instant started_{};
    std::string quota_;  // the quota's name, kept only for the access log
    std::uint64_t body_bytes_in_ = 0;
    std::uint64_t bytes_out_ = 0;
    Duration waited_{};  ///< for its turn
    /// Requests served since the connection last waited for the client.
    std::size_t requests_in_row_ = 0;
    bool first_request_ = true;
    /// Nothing of a request has come; in the worker's list of idle connections.
    bool idle_ = false;
    bool waits_for_turn_ = false;
    bool half_head_ = false;  ///< part of a head has come; in the worker's list of these
    bool evicted_ = false;    ///< it is being closed to make room
    bool linger_ = false;     ///< wait at the end until the client has read the last answer
    bool reset_ = false;      ///< close with a reset, because the last answer is incomplete
};

}  // namespace weir::proxy
