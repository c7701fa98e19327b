#pragma once
// Reads configuration again on a helper thread, one reading at a time: what is asked for meanwhile
// is done once afterwards. Lives on the control thread; both callbacks run there. Owns the helper
// thread; join() it before what the jobs use is gone. A job that throws is a reading that failed;
// what a callback throws goes to whoever runs the control thread, and later readings go on.

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "node/loader.h"

namespace weir::node {

/// How much to read again; the larger one includes the other.
enum class Reload { quotas, everything };

class Reloader {
  public:
    /// Runs on the helper thread, so it owns copies of what it reads.
    using Job = std::function<Loaded()>;

    /// `prepare` makes a job of what is in force now, `done` takes over what it read.
    Reloader(boost::asio::io_context& control, std::function<Job(Reload)> prepare,
             std::function<void(Reload, Loaded)> done);
    Reloader(const Reloader&) = delete;
    Reloader& operator=(const Reloader&) = delete;
    ~Reloader();

    void request(Reload what);
    /// Nothing is begun any more.
    void stop() { stopped_ = true; }
    /// Waits for a job that is running.
    void join();

  private:
    /// What is handed over unless the job comes to its end.
    [[nodiscard]] static std::shared_ptr<Loaded> failed();
    void hand_over(Reload what, const std::shared_ptr<Loaded>& loaded) noexcept;
    void take_over(Reload what, Loaded& loaded);

    boost::asio::io_context& control_;
    std::function<Job(Reload)> prepare_;
    std::function<void(Reload, Loaded)> done_;
    bool running_ = false;
    std::atomic<bool> lost_ = false;  // what the helper read could not be handed over
    bool stopped_ = false;
    std::optional<Reload> next_;
    boost::asio::thread_pool helper_;
};

}  // namespace weir::node
