#pragma once
// A non-blocking stream socket (TCP or unix) in an event loop, and a way to wait for two of them at
// once with a deadline. A Stream remembers the last events of epoll, so waiting costs no system
// call, and no buffer is needed before there is something to read.
//
// Thread-safety: none; belongs to its loop's thread. Ownership: owns its descriptor and borrows the
// loop. Invariant: at most one Wait at a time names a stream.

#include <sys/uio.h>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>

#include "net/event_loop.h"
#include "net/file_descriptor.h"
#include "net/socket_address.h"

namespace weir::net {

enum class IoStatus : std::uint8_t {
    ok,           ///< IoResult::bytes were moved, at least one
    would_block,  ///< nothing can be moved now: wait, then try again
    end,          ///< only of reads: the other side has shut down its sending half
    failed,       ///< reset, broken pipe and so on: the stream can only be closed
};

struct IoResult {
    IoStatus status = IoStatus::would_block;
    std::size_t bytes = 0;
};

class Wait;

class Stream final : public EventSink {
  public:
    /// What a Wait waits for; values are combined with |. kEnd means that the other side has shut
    /// down its sending half, orderly or by a reset.
    enum Interest : std::uint8_t { kNothing = 0, kRead = 1, kWrite = 2, kFailure = 4, kEnd = 8 };

    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { close(); }

    /// Takes a connected socket into the loop. False when the loop cannot register it.
    [[nodiscard]] bool adopt(EventLoop& loop, FileDescriptor descriptor);
    /// Begins to connect. `ok`: the connection stands. `would_block`: wait for kWrite, then call
    /// finish_connect(). `failed`: it was refused at once. `buffer_bytes`: the bound of the
    /// kernel's buffers (socket_buffers.h).
    [[nodiscard]] IoStatus connect(EventLoop& loop, const SocketAddress& address,
                                   std::size_t buffer_bytes = 0);
    /// Whether the connection stands.
    [[nodiscard]] bool finish_connect();

    [[nodiscard]] IoResult read(std::span<char> buffer);
    /// Sends at once as much as the socket takes. MSG_MORE is not used: when the expected bytes do
    /// not follow, the kernel would hold a last short segment back for 200 ms.
    [[nodiscard]] IoResult write(std::span<iovec> pieces);
    /// Sends a FIN: the other side sees the end, and this side may still read.
    void shut_down_sending();
    /// Has the kernel ask the other side every few seconds whether it still knows the connection
    /// (TCP only). A side that has closed the connection answers with a reset once its kernel has
    /// forgotten it (on Linux after a minute); a side that has only shut down its sending half does
    /// not.
    void probe_often();
    /// Closes with a reset, so that the other side knows that what it received is incomplete.
    void reset();
    void close();

    [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }
    /// Whether the other side has shut down its sending half or the connection failed.
    [[nodiscard]] bool other_side_ended() const { return (ready_ & (kEnd | kFailure)) != 0; }
    [[nodiscard]] bool failed() const { return (ready_ & kFailure) != 0; }
    /// Whether bytes or an end may wait to be read, as far as is known without a system call.
    [[nodiscard]] bool maybe_readable() const { return (ready_ & kRead) != 0; }
    /// Whether bytes or an end wait to be read. Asks the kernel.
    [[nodiscard]] bool has_input() const;

    void on_events(std::uint32_t epoll_events) override;

  private:
    friend class Wait;
    EventLoop* loop_ = nullptr;
    FileDescriptor descriptor_;
    Wait* wait_ = nullptr;
    std::uint8_t ready_ = 0;
    std::uint8_t interest_ = 0;
};

/// Why a wait ended: a stream is ready, the deadline has passed, or interrupt() was called.
enum class WaitResult : std::uint8_t { ready, timed_out, interrupted };

/// co_await Wait(...) waits until one of the streams is ready for its `interest`, until the
/// deadline, or until interrupt() is called.
class Wait final : private TimerEntry {
  public:
    struct Item {
        Stream* stream;
        std::uint8_t interest;
    };

    Wait(EventLoop& loop, Instant deadline, Item first, Item second = {nullptr, 0})
        : loop_(loop), deadline_(deadline), items_{first, second} {}
    ~Wait() override = default;

    [[nodiscard]] bool await_ready() const;
    void await_suspend(std::coroutine_handle<> handle);
    [[nodiscard]] WaitResult await_resume() const { return result_; }

    /// Ends the wait early. Only from the loop's thread and while the coroutine waits, which goes
    /// on before this function returns.
    void interrupt() { finish(WaitResult::interrupted); }

  private:
    friend class Stream;
    void expired() override { finish(WaitResult::timed_out); }
    void finish(WaitResult result);

    EventLoop& loop_;
    Instant deadline_;
    std::array<Item, 2> items_;
    std::coroutine_handle<> handle_;
    WaitResult result_ = WaitResult::ready;
};

}  // namespace weir::net
