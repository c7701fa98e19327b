#pragma once
// One connection of the load generator, which is kept alive. Its target's table owns it. After each
// request it calls Load::ended().

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "tools/load.h"
#include "tools/message_reader.h"

namespace weir::tools {

class Load::Connection : public EventHandler {
  public:
    Connection(Load& load, std::size_t target, int descriptor)
        : load_(load), target_(target), descriptor_(descriptor) {
        load_.poller_.add(descriptor_, EPOLLIN, this);
    }
    ~Connection() override { ::close(descriptor_); }

    void send(const Request& request, std::string_view bytes, bool body_expected) {
        request_ = request;
        busy_ = true;
        reader_.next(body_expected);
        output_.assign(bytes);
        flush();
    }

    void on_events(std::uint32_t events) override {
        if ((events & EPOLLOUT) != 0 && !flush()) {
            return;
        }
        if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
            read();
        }
    }

    [[nodiscard]] bool busy() const { return busy_; }
    [[nodiscard]] const Request& request() const { return request_; }
    [[nodiscard]] const MessageReader& answer() const { return reader_; }
    [[nodiscard]] std::size_t target() const { return target_; }
    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] bool reusable() const { return !closed_ && reader_.keep_alive(); }

  private:
    /// False when the connection has ended.
    bool flush() {
        if (output_.empty()) {
            return true;
        }
        const ssize_t count = ::send(descriptor_, output_.data(), output_.size(), MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN) {
            closed();
            return false;
        }
        output_.erase(0, count > 0 ? static_cast<std::size_t>(count) : 0);
        watch(output_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
        return true;
    }

    void watch(std::uint32_t events) {
        if (events != watched_) {
            watched_ = events;
            load_.poller_.change(descriptor_, events, this);
        }
    }

    void read() {
        const ssize_t count = ::recv(descriptor_, load_.input_.data(), load_.input_.size(), 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (count <= 0 || !busy_) {
            return closed();
        }
        reader_.feed({load_.input_.data(), static_cast<std::size_t>(count)});
        if (reader_.failed()) {
            end(Outcome::failed);
        } else if (reader_.complete()) {
            end(Outcome::answered);
        }
    }

    void closed() {
        closed_ = true;
        if (!busy_) {
            return load_.discard(*this);
        }
        const bool nothing_came = !reader_.begun();
        reader_.finish();
        end(reader_.complete()             ? Outcome::answered
            : nothing_came && answers_ > 0 ? Outcome::stale
                                           : Outcome::failed);
    }

    void end(Outcome outcome) {
        busy_ = false;
        ++answers_;
        load_.ended(*this, outcome);
    }

    Load& load_;
    std::size_t target_;
    int descriptor_;
    Request request_;
    MessageReader reader_{MessageReader::Kind::response};
    std::string output_;
    std::uint32_t watched_ = EPOLLIN;
    std::size_t answers_ = 0;
    bool busy_ = false;
    bool closed_ = false;
};

}  // namespace weir::tools
