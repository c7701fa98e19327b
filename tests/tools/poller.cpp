#include "tools/poller.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <stdexcept>

namespace weir::tools {

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_ < 0) {
        throw std::runtime_error("epoll_create1 failed");
    }
}

Poller::~Poller() { ::close(epoll_); }

void Poller::add(int descriptor, std::uint32_t events, EventHandler* handler) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = handler;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        throw std::runtime_error("epoll_ctl add failed");
    }
}

void Poller::change(int descriptor, std::uint32_t events, EventHandler* handler) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = handler;
    if (::epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event) != 0) {
        throw std::runtime_error("epoll_ctl mod failed");
    }
}

void Poller::remove(int descriptor) { ::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr); }

void Poller::retire(std::unique_ptr<EventHandler> handler) {
    retired_addresses_.insert(handler.get());
    retired_.push_back(std::move(handler));
}

void Poller::turn(std::int64_t timeout_ns) {
    std::array<epoll_event, 256> events{};
    timespec timeout{};
    timeout.tv_sec = timeout_ns / 1'000'000'000;
    timeout.tv_nsec = timeout_ns % 1'000'000'000;
    const int count = ::epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()),
                                     timeout_ns < 0 ? nullptr : &timeout, nullptr);
    if (count < 0 && errno != EINTR) {
        throw std::runtime_error("epoll_pwait2 failed");
    }
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        auto* handler = static_cast<EventHandler*>(event.data.ptr);
        if (retired_addresses_.empty() || !retired_addresses_.contains(handler)) {
            handler->on_events(event.events);
        }
    }
    retired_.clear();
    retired_addresses_.clear();
}

}  // namespace weir::tools
