#include "member/reloader.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

namespace weir::member {

Reloader::Reloader(boost::asio::io_context& control, std::function<Job(Reload)> prepare,
                   std::function<void(Reload, Loaded)> done)
    : control_(control), prepare_(std::move(prepare)), done_(std::move(done)), helper_(1) {}

Reloader::~Reloader() { join(); }

void Reloader::join() { helper_.join(); }

void Reloader::request(Reload what) {
    if (stopped_) return;
    if (running_) {
        next_ = std::max(what, next_.value_or(what));
        return;
    }
    running_ = true;
    boost::asio::post(helper_, [this, what, job = prepare_(what)] {
        auto loaded = std::make_shared<Loaded>(job());
        boost::asio::post(control_, [this, what, loaded] {
            if (stopped_) return;
            done_(what, std::move(*loaded));
            running_ = false;
            if (const auto next = std::exchange(next_, std::nullopt)) request(*next);
        });
    });
}

}  // namespace weir::member
