#include "app/access_log_writer.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/relaxed.h"
#include "net/clock.h"

namespace weir::app {
namespace {

/// How often the thread looks for lines. Workers do not wake it, because that would take a system
/// call.
constexpr auto kLookEvery = std::chrono::milliseconds(20);
constexpr int kPollMilliseconds = 100;
/// The number of bytes that a writable pipe takes at once on Linux (PIPE_BUF; POSIX only promises
/// fewer).
constexpr std::size_t kPiece = 4096;
static_assert(AccessLogWriter::kLine <= kPiece);

}  // namespace

AccessLogWriter::AccessLogWriter(std::string path)
    : path_(std::move(path)),
      slots_(std::make_unique<Slot[]>(kSlots)),
      lines_(std::make_unique_for_overwrite<char[]>(kSlots * kLine)) {
    for (std::size_t i = 0; i < kSlots; ++i) {
        slots_[i].sequence.store(i, kRelaxed);
    }
}

AccessLogWriter::~AccessLogWriter() { close(); }

Result<void> AccessLogWriter::open() {
    // Opening a pipe without a reader must not block.
    constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK;
    const int descriptor = path_ == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                        : ::open(path_.c_str(), kFlags, 0640);
    if (descriptor < 0) {
        const std::string reason =
            errno == ENXIO ? "nobody reads this pipe" : std::string(std::strerror(errno));
        return error(ErrorCode::io, "access_log_file: cannot open '" + path_ + "': " + reason);
    }
    net::FileDescriptor unused(fresh_.exchange(descriptor));
    if (!thread_.joinable()) {
        thread_ = std::thread([this] { run(); });
    }
    return {};
}

void AccessLogWriter::close() {
    if (!thread_.joinable()) {
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    condition_.notify_one();
    thread_.join();
    net::FileDescriptor unused(fresh_.exchange(-1));
}

void AccessLogWriter::record(const proxy::AccessRecord& record) {
    std::uint64_t place = tail_.load(kRelaxed);
    for (;;) {
        Slot& slot = slots_[place % kSlots];
        const std::uint64_t sequence = slot.sequence.load(std::memory_order_acquire);
        if (sequence == place) {
            if (!tail_.compare_exchange_weak(place, place + 1, kRelaxed)) {
                continue;
            }
            const std::size_t size = format_access_line(record, net::unix_time(), line(place));
            slot.size = static_cast<std::uint32_t>(size);
            slot.sequence.store(place + 1, std::memory_order_release);
            return;
        }
        if (sequence < place) {  // this place has not been filled again since the last round
            dropped_.fetch_add(1, kRelaxed);
            return;
        }
        place = tail_.load(kRelaxed);
    }
}

AccessLogCounters AccessLogWriter::counters() const {
    return {written_.load(kRelaxed), dropped_.load(kRelaxed), failed_.load(kRelaxed)};
}

void AccessLogWriter::run() {
    for (;;) {
        const bool ending = ending_;  // earlier lines are still written
        if (const int descriptor = fresh_.exchange(-1); descriptor >= 0) {
            file_ = net::FileDescriptor(descriptor);
        }
        write_queued();
        if (ending) {
            return;
        }
        std::unique_lock lock(mutex_);
        condition_.wait_for(lock, kLookEvery, [this] { return ending_.load(); });
    }
}

void AccessLogWriter::write_queued() {
    std::array<char, kPiece> piece;
    std::size_t size = 0;
    std::uint64_t lines = 0;
    const auto flush = [&] {
        if (size == 0) {
            return;
        }
        const bool good = write({piece.data(), size});
        (good ? written_ : failed_).fetch_add(lines, kRelaxed);
        size = 0;
        lines = 0;
    };
    for (;;) {
        Slot& slot = slots_[head_ % kSlots];
        if (slot.sequence.load(std::memory_order_acquire) != head_ + 1) {
            break;
        }
        if (size + slot.size > piece.size()) {
            flush();
        }
        std::memcpy(piece.data() + size, line(head_).data(), slot.size);
        size += slot.size;
        ++lines;
        slot.sequence.store(head_ + kSlots, std::memory_order_release);
        ++head_;
    }
    flush();
}

bool AccessLogWriter::writable() {
    pollfd item{.fd = file_.get(), .events = POLLOUT, .revents = 0};
    for (;;) {
        const int ready = ::poll(&item, 1, kPollMilliseconds);
        if (ready > 0) {
            return (item.revents & POLLOUT) != 0;
        }
        if (ready < 0 && errno != EINTR) {
            return false;
        }
        if (ending_) {
            return false;
        }
    }
}

bool AccessLogWriter::write(std::string_view lines) {
    while (!lines.empty()) {
        if (!file_.is_open() || !writable()) {
            return false;
        }
        const auto count = ::write(file_.get(), lines.data(), lines.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        lines.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

}  // namespace weir::app
