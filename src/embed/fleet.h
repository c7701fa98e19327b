#pragma once
// A member of the fleet in somebody else's process: settings, a Member, its control thread, and the
// workers that the process checks with. The C interface (interface.cpp) is a thin coat over it.
//
// Thread-safety: all public functions, by any thread, between open() and the destructor. What
// concerns the member is done on the control thread; the caller waits for it.
// Ownership: owns the thread, the member and all workers.
// Invariants: no exception leaves the control thread; at most limiter::Limiter::kMaxThreads workers
// are open at once, and a closed worker's place is used again.

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

#include "admin/engine_quotas.h"
#include "admin/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "embed/handles.h"
#include "node/file_watch.h"
#include "node/loader.h"
#include "node/node.h"
#include "node/reloader.h"

namespace weir::embed {

/// Where warnings go; may be empty. Called on the control thread.
struct Log {
    void (*write)(void* context, const char* message) = nullptr;
    void* context = nullptr;
    void operator()(const std::string& message) const {
        if (write != nullptr) {
            write(context, message.c_str());
        }
    }
};

class Fleet {
  public:
    [[nodiscard]] static Result<std::unique_ptr<Fleet>> open(node::ConfigSource source, Log log,
                                                             std::uint64_t seed);
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;
    /// Says goodbye and ends the control thread.
    ~Fleet();

    [[nodiscard]] bool forked() const;
    [[nodiscard]] Result<weir_worker*> open_worker();
    void close_worker(weir_worker* worker);

    [[nodiscard]] Result<void> set_quota(std::string definition, definitions::Edit edit);
    [[nodiscard]] Result<void> hide_quota(std::string name, definitions::Edit edit);
    [[nodiscard]] Result<void> remove_quota(std::string name, definitions::Edit edit);
    /// JSON.
    [[nodiscard]] Result<std::string> describe_quota(std::string name);
    [[nodiscard]] Result<std::string> metrics();
    /// JSON.
    [[nodiscard]] Result<std::string> report();
    [[nodiscard]] std::uint32_t live_peers();
    [[nodiscard]] Result<void> reload();

  private:
    Fleet(node::ConfigSource source, node::Loaded loaded, Log log, std::uint64_t seed);

    [[nodiscard]] Result<void> start(const std::vector<config::QuotaSet>& sets);
    void run() noexcept;
    void stop();
    void take_over(node::Loaded loaded, bool by_hand);
    void watch_keys();
    /// The same problem is told once, unless somebody asked.
    Result<void> reload_keys(bool by_hand);
    void reload_failed(const std::vector<std::string>& errors);
    [[nodiscard]] admin::MetricsSources metrics_sources();
    [[nodiscard]] std::map<std::string, std::uint64_t> check_counts();
    [[nodiscard]] std::string report_here();
    [[nodiscard]] admin::ConfigFigures config_figures();

    /// Runs it on the control thread and waits; what it throws is thrown here.
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

    node::ConfigSource source_;
    config::Settings settings_;
    Log log_;
    std::uint32_t fork_;
    Random random_;
    std::uint64_t tag_;
    boost::asio::io_context control_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    node::Member member_;
    node::FileWatch watch_;
    node::FileWatch key_watch_;
    admin::ConfigFigures figures_;
    std::string keys_problem_;
    std::uint64_t quotas_hash_ = 0;  ///< 0: the last reload failed, look again
    std::unique_ptr<admin::EngineQuotas> quotas_;
    std::unique_ptr<admin::Metrics> metrics_;

    std::mutex workers_mutex_;  ///< guards what follows, never taken on the hot path
    std::vector<std::unique_ptr<weir_worker>> workers_;
    std::vector<limiter::ThreadContext*> free_contexts_;
    std::size_t contexts_ = 0;
    std::map<std::string, std::uint64_t> closed_counts_;

    std::thread thread_;
    /// Last: its thread must be gone before the rest.
    node::Reloader reloader_;
};

}  // namespace weir::embed
