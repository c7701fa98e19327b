#pragma once
// A member of the fleet inside an embedding program: a host, its control thread, and the workers
// with which the program's threads check requests. The C interface (interface_fleet.cpp,
// interface_worker.cpp) is a thin layer over it. Settings are read once; a reload reads quota files
// and gossip keys again.
//
// Thread-safety: any thread may call all public functions between open() and the destructor. Those
// that concern the host run on the control thread, and the caller waits for them.
// Ownership: owns the thread, the host and all workers.
// Invariants: no exception leaves the control thread. At most limiter::Limiter::kMaxThreads workers
// are open at once, and the place of a closed worker is used again.

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "admin/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "embed/handles.h"
#include "node/host.h"

namespace weir::embed {

/// The program's callback for warnings; `write` may be null. Called on the control thread.
struct LogCallback {
    void (*write)(void* context, const char* message) = nullptr;
    void* context = nullptr;
    void operator()(const std::string& message) const {
        if (write != nullptr) {
            write(context, message.c_str());
        }
    }
};

class Fleet final : private node::HostListener {
  public:
    [[nodiscard]] static Result<std::unique_ptr<Fleet>> open(node::ConfigSource source,
                                                             LogCallback log, std::uint64_t seed);
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;
    /// Says goodbye to the peers and ends the control thread.
    ~Fleet();

    /// Whether this process is a child of the one that opened the fleet.
    [[nodiscard]] bool forked() const;
    [[nodiscard]] Result<weir_worker*> open_worker();
    void close_worker(weir_worker* worker);

    [[nodiscard]] Result<void> set_quota(std::string definition, definitions::Edit edit);
    [[nodiscard]] Result<void> hide_quota(std::string name, definitions::Edit edit);
    [[nodiscard]] Result<void> remove_quota(std::string name, definitions::Edit edit);
    /// A quota's definition, its source and its level, as JSON.
    [[nodiscard]] Result<std::string> describe_quota(std::string name);
    [[nodiscard]] Result<std::string> metrics();
    /// This member and its peers, as JSON.
    [[nodiscard]] Result<std::string> report();
    [[nodiscard]] std::uint32_t live_peers();
    [[nodiscard]] Result<void> reload();

  private:
    Fleet(node::ConfigSource source, node::Loaded loaded, LogCallback log, std::uint64_t seed);

    [[nodiscard]] Result<void> start();
    void run() noexcept;
    void stop();

    void keys_warned(const std::string& warning) override { log_(warning); }
    void keys_failed(const std::string& reason) override;
    void reload_failed(const std::vector<std::string>& errors) override;
    void sets_left_out(const std::vector<std::string>& errors) override;
    void sets_applied(const node::SetsOutcome& outcome) override;
    void late_outcome(const node::SetsOutcome& outcome) override;

    [[nodiscard]] admin::MetricsSources metrics_sources();
    [[nodiscard]] std::map<std::string, std::uint64_t> check_counts();
    [[nodiscard]] std::string report_here();

    /// Runs the function on the control thread and waits for its result. An exception that it
    /// throws is thrown here.
    template <class Function>
    auto on_control(Function function) -> std::invoke_result_t<Function> {
        using Value = std::invoke_result_t<Function>;
        if (std::this_thread::get_id() == thread_.get_id()) {
            return function();
        }
        std::packaged_task<Value()> task(std::move(function));
        auto future = task.get_future();
        boost::asio::post(control_, [&task] { task(); });
        return future.get();
    }

    LogCallback log_;
    std::uint32_t fork_;
    Random random_;
    std::uint64_t tag_;
    boost::asio::io_context control_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    node::Host host_;
    std::unique_ptr<admin::Metrics> metrics_;

    std::mutex workers_mutex_;  ///< guards the next four members; no check takes it
    std::vector<std::unique_ptr<weir_worker>> workers_;
    std::vector<limiter::ThreadContext*> free_contexts_;
    std::size_t contexts_ = 0;
    std::map<std::string, std::uint64_t> closed_counts_;

    std::thread thread_;
};

}  // namespace weir::embed
