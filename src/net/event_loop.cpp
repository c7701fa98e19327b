#include "net/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "net/clock.h"
#include "net/socket_address.h"

namespace weir::net {

/// The events of one turn. They are kept here so that remove() can drop those that have not been
/// delivered yet.
struct EventLoop::Events {
    std::array<epoll_event, kEventsPerTurn> batch{};
    int next = 0;
    int count = 0;
};

struct EventLoop::Waker final : EventSink {
    explicit Waker(int descriptor) : descriptor_(descriptor) {}
    void on_events(std::uint32_t) override {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(descriptor_, &count, sizeof(count));
    }
    int descriptor_;
};

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
    FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.is_open()) {
        return system_error("epoll_create1", errno);
    }
    FileDescriptor waker(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!waker.is_open()) {
        return system_error("eventfd", errno);
    }
    std::unique_ptr<EventLoop> loop(new EventLoop(std::move(epoll), std::move(waker)));
    auto added = loop->add(loop->wake_descriptor_.get(), EPOLLIN, *loop->waker_);
    if (!added) {
        return added.error();
    }
    return loop;
}

EventLoop::EventLoop(FileDescriptor epoll, FileDescriptor waker)
    : epoll_(std::move(epoll)),
      wake_descriptor_(std::move(waker)),
      now_(net::now()),
      timers_(now_),
      events_(std::make_unique<Events>()),
      waker_(std::make_unique<Waker>(wake_descriptor_.get())) {}

EventLoop::~EventLoop() = default;

Result<void> EventLoop::add(int descriptor, std::uint32_t epoll_events, EventSink& sink) {
    epoll_event event{};
    event.events = epoll_events | EPOLLET;
    event.data.ptr = &sink;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
        return system_error("epoll_ctl", errno);
    }
    return {};
}

void EventLoop::remove(int descriptor, EventSink& sink) {
    epoll_event event{};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, &event);
    for (int i = events_->next; i < events_->count; ++i) {
        auto& event_of_turn = events_->batch[static_cast<std::size_t>(i)];
        if (event_of_turn.data.ptr == &sink) {
            event_of_turn.data.ptr = nullptr;
        }
    }
}

void EventLoop::serve_events(int count) {
    events_->count = count;
    for (events_->next = 0; events_->next < events_->count;) {
        const auto event = events_->batch[static_cast<std::size_t>(events_->next++)];
        if (event.data.ptr != nullptr) {
            static_cast<EventSink*>(event.data.ptr)->on_events(event.events);
        }
    }
    events_->next = 0;
    events_->count = 0;
}

void EventLoop::advance_timers(int count) {
    const bool more_may_be_ready = count == static_cast<int>(kEventsPerTurn);
    if (more_may_be_ready && ++turns_before_timers_ < kTurnsBeforeTimers) {
        return;
    }
    turns_before_timers_ = 0;
    timers_.advance(now_);
}

void EventLoop::run(const std::function<void()>& turn_hook) {
    while (!stopped_.load(std::memory_order_acquire)) {
        const auto idle = deferred_.empty() ? timers_.idle_time(now_, kLongestTurn) : Duration(0);
        // Rounded up, because waking before the tick would cause another turn with nothing to do.
        const auto wait = std::chrono::ceil<std::chrono::milliseconds>(idle).count();
        const int count = ::epoll_wait(epoll_.get(), events_->batch.data(),
                                       static_cast<int>(kEventsPerTurn), static_cast<int>(wait));
        WEIR_ASSERT(count >= 0 || errno == EINTR);
        now_ = net::now();
        resuming_.swap(deferred_);
        if (count > 0) {
            serve_events(count);
        }
        run_deferred();
        if (has_posted_.load(std::memory_order_acquire)) {
            run_posted();
        }
        advance_timers(count);
        turn_hook();
    }
    run_posted();
}

void EventLoop::run_deferred() {
    for (const auto handle : resuming_) {
        handle.resume();
    }
    resuming_.clear();
}

void EventLoop::run_posted() {
    std::vector<std::function<void()>> work;
    {
        const std::lock_guard lock(mutex_);
        work.swap(posted_);
        has_posted_.store(false, std::memory_order_release);
    }
    for (const auto& item : work) {
        item();
    }
}

void EventLoop::post(std::function<void()> work) {
    {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(work));
        has_posted_.store(true, std::memory_order_release);
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_descriptor_.get(), &one, sizeof(one));
}

void EventLoop::stop() {
    post([this] { stopped_.store(true, std::memory_order_release); });
}

}  // namespace weir::net
