#pragma once
// Reads configuration again on a helper thread, one reading at a time. Requests that come during a
// reading are served by one more reading afterwards. A job that throws is a reading that failed. An
// exception of a callback passes on to the control thread's event loop, and later readings are not
// affected.
//
// Thread-safety: none; it lives on the control thread, and both callbacks run there.
// Ownership: it owns the helper thread, which must be joined before anything is destroyed that the
// jobs use.

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "node/loader.h"

namespace weir::node {

/// How much to read again: only the quota files; the settings and the quota files, because the
/// settings' file has changed; or everything, because a person asked for it. Each includes those
/// before it.
enum class Reload { quotas, settings, everything };

class Reloader {
  public:
    /// Runs on the helper thread, so it must own copies of everything that it uses.
    using Job = std::function<Loaded()>;

    /// `prepare` makes a job from what is in force now, and `done` gets what the job has read.
    Reloader(boost::asio::io_context& control, std::function<Job(Reload)> prepare,
             std::function<void(Reload, Loaded)> done);
    Reloader(const Reloader&) = delete;
    Reloader& operator=(const Reloader&) = delete;
    ~Reloader();

    void request(Reload what);
    /// From now on no reading begins, and no result is handed over.
    void stop() { stopped_ = true; }
    /// Waits for a job that is running.
    void join();

  private:
    /// The result that is handed over if the job does not come to its end.
    [[nodiscard]] static std::shared_ptr<Loaded> failed();
    void hand_over(Reload what, const std::shared_ptr<Loaded>& loaded) noexcept;
    void take_over(Reload what, Loaded& loaded);

    boost::asio::io_context& control_;
    std::function<Job(Reload)> prepare_;
    std::function<void(Reload, Loaded)> done_;
    bool running_ = false;
    std::atomic<bool> lost_ = false;  // the result of the helper could not be handed over
    bool stopped_ = false;
    std::optional<Reload> next_;
    boost::asio::thread_pool helper_;
};

}  // namespace weir::node
