#include "node/reloader.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "base/work_then.h"

namespace weir::node {

Reloader::Reloader(boost::asio::io_context& control, std::function<Job(Reload)> prepare,
                   std::function<void(Reload, Loaded)> done)
    : control_(control), prepare_(std::move(prepare)), done_(std::move(done)), helper_(1) {}

Reloader::~Reloader() { join(); }

void Reloader::join() { helper_.join(); }

void Reloader::request(Reload what) {
    if (stopped_) {
        return;
    }
    if (running_ && !lost_.exchange(false)) {
        next_ = std::max(what, next_.value_or(what));
        return;
    }
    boost::asio::post(helper_, [this, what, job = prepare_(what), loaded = failed()] {
        try {
            *loaded = job();
        } catch (...) {
            // There may be no memory. `loaded` says already that the reload failed.
        }
        hand_over(what, loaded);
    });
    running_ = true;
}

std::shared_ptr<Loaded> Reloader::failed() {
    auto loaded = std::make_shared<Loaded>();
    loaded->diagnostics.add({config::Severity::error,
                             "configuration",
                             {},
                             {},
                             "could not be read again: no memory, or a defect",
                             {}});
    loaded->unreadable = true;
    return loaded;
}

/// Runs on the helper thread, which no exception may leave.
void Reloader::hand_over(Reload what, const std::shared_ptr<Loaded>& loaded) noexcept {
    try {
        boost::asio::post(control_, [this, what, loaded] { take_over(what, *loaded); });
    } catch (const std::exception&) {
        lost_ = true;  // there is no memory now; the next request to reload will begin again
    }
}

void Reloader::take_over(Reload what, Loaded& loaded) {
    if (stopped_) {
        return;
    }
    work_then([&] { done_(what, std::move(loaded)); },
              [this] {
                  running_ = false;
                  if (const auto next = std::exchange(next_, std::nullopt)) {
                      request(*next);
                  }
              });
}

}  // namespace weir::node
