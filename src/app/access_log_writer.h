#pragma once
// The access log has one line of JSON for each request. The worker that served the request formats
// the line into a slot of a bounded queue, and a thread of the log's own writes it. When the queue
// is full, because the disk or the reader of a pipe is slow, lines are dropped and counted; no
// worker ever waits, locks or allocates.
//
// Thread-safety: record() may be called on any thread, the rest on the control thread. The queue is
// Vyukov's bounded one, with a sequence number in each slot.
// Ownership: the writer owns the thread and the file.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "net/file_descriptor.h"
#include "proxy/access_log.h"

namespace weir::app {

struct AccessLogCounters {
    std::uint64_t written = 0;
    std::uint64_t dropped = 0;  ///< the queue was full
    std::uint64_t failed = 0;   ///< the file took none or only a part of the line
};

class AccessLogWriter final : public proxy::AccessLog {
  public:
    /// The largest number of bytes of a line; longer ones are cut.
    static constexpr std::size_t kLine = 2048;
    static constexpr std::size_t kSlots = 2048;

    /// The path "-" stands for standard output.
    explicit AccessLogWriter(std::string path);
    ~AccessLogWriter() override;
    AccessLogWriter(const AccessLogWriter&) = delete;
    AccessLogWriter& operator=(const AccessLogWriter&) = delete;

    /// Opens the file and starts the thread. If it was open, the file is opened again by its name.
    [[nodiscard]] Result<void> open();
    void record(const proxy::AccessRecord& record) override;
    [[nodiscard]] AccessLogCounters counters() const;
    /// Writes the queued lines, as far as the file takes them, and ends the thread. Lines that are
    /// recorded later are lost.
    void close();

  private:
    struct Slot {
        std::atomic<std::uint64_t> sequence{0};
        std::uint32_t size = 0;
    };

    [[nodiscard]] std::span<char, kLine> line(std::uint64_t place) {
        return std::span<char, kLine>(lines_.get() + place % kSlots * kLine, kLine);
    }

    void run();
    void write_queued();
    /// False if not all of it could be written.
    [[nodiscard]] bool write(std::string_view lines);
    /// Waits until the file takes bytes; false when the log is closed meanwhile.
    [[nodiscard]] bool writable();

    std::string path_;
    std::unique_ptr<Slot[]> slots_;
    std::unique_ptr<char[]> lines_;  ///< of the slots; no memory while there is no log
    std::atomic<std::uint64_t> tail_{0};
    std::uint64_t head_ = 0;  ///< of the writing thread
    std::atomic<std::uint64_t> written_{0};
    std::atomic<std::uint64_t> dropped_{0};
    std::atomic<std::uint64_t> failed_{0};
    std::atomic<bool> ending_{false};
    std::atomic<int> fresh_{-1};  ///< a descriptor that the thread is to use from now on
    net::FileDescriptor file_;    ///< of the writing thread
    std::mutex mutex_;            ///< belongs to the condition only
    std::condition_variable condition_;
    std::thread thread_;
};

/// One line with its newline; each text in it is cut where it is too long, so that it always fits.
[[nodiscard]] std::size_t format_access_line(const proxy::AccessRecord& record, Duration unix_time,
                                             std::span<char, AccessLogWriter::kLine> room);

}  // namespace weir::app
