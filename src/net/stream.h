#pragma once
// A non-blocking stream socket (TCP or unix) in an event loop, and waiting for several of them at
// once with a deadline. A Stream remembers what epoll last said, so a wait costs no system call
// and needs no buffer: buffers are taken once there is something to read.
//
// Thread-safety: none; belongs to its loop's thread. Ownership: owns its descriptor. At most one
// Wait names a stream at a time.

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
    ok,           ///< bytes says how many, at least one
    would_block,  ///< wait first
    end,          ///< reading: the other side has shut down
    failed,       ///< reset, broken pipe …: nothing more will come of it
};

struct IoResult {
    IoStatus status = IoStatus::would_block;
    std::size_t bytes = 0;
};

class Wait;

class Stream final : public EventSink {
  public:
    /// What a Wait waits for; combine with |.
    /// kEnd: the other side has shut down its sending half, in order or not.
    enum Interest : std::uint8_t { kNothing = 0, kRead = 1, kWrite = 2, kFailure = 4, kEnd = 8 };

    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { close(); }

    /// Takes over a connected socket.
    [[nodiscard]] bool adopt(EventLoop& loop, FileDescriptor descriptor);
    /// Begins to connect: `ok` = connected, `would_block` = wait for kWrite and call
    /// finish_connect(), `failed` = it was refused at once.
    [[nodiscard]] IoStatus connect(EventLoop& loop, const SocketAddress& address);
    /// True when the connection stands.
    [[nodiscard]] bool finish_connect();

    [[nodiscard]] IoResult read(std::span<char> buffer);
    /// Sends what fits, at once: MSG_MORE would hold a last short segment back for 200 ms whenever
    /// the bytes that were to follow do not come.
    [[nodiscard]] IoResult write(std::span<iovec> pieces);
    /// FIN: the other side sees an end, we may still read.
    void shut_down_sending();
    /// Has the kernel ask every few seconds if the other side still knows the connection. One that
    /// has closed it answers with a reset once it has forgotten it (Linux: after a minute), one
    /// that has only shut down its sending half does not. TCP only.
    void probe_often();
    /// Closes with a reset instead of an orderly end: what the other side got is incomplete.
    void reset();
    void close();

    [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }
    [[nodiscard]] int native_handle() const { return descriptor_.get(); }
    /// The other side has shut down its sending half, or the connection failed.
    [[nodiscard]] bool other_side_ended() const { return (ready_ & (kEnd | kFailure)) != 0; }
    [[nodiscard]] bool failed() const { return (ready_ & kFailure) != 0; }
    /// Bytes (or an end) may wait to be read. Cheap: no system call.
    [[nodiscard]] bool maybe_readable() const { return (ready_ & kRead) != 0; }
    /// True if a system call finds bytes or an end waiting.
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

enum class WaitResult : std::uint8_t { ready, timed_out, interrupted };

/// co_await Wait(...): until one of the streams is ready for what was asked, the deadline passes
/// or somebody calls interrupt().
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

    /// From the loop's thread, while it waits; the coroutine goes on before this returns.
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
