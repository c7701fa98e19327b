#include "tools/origin.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "tools/message_reader.h"
#include "tools/monotonic.h"
#include "tools/output.h"
#include "tools/sockets.h"

namespace weir::tools {
namespace {

constexpr std::size_t kInputBytes = 256 * 1024;
/// A client that does not read its answers is not read from either.
constexpr std::size_t kOutputLimit = 4 * 1024 * 1024;

std::string make_answer(std::string_view type, std::string_view body) {
    return "HTTP/1.1 200 OK\r\nContent-Type: " + std::string(type) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

}  // namespace

class Origin::Listener : public EventHandler {
  public:
    Listener(Origin& origin, std::string name, const std::string& address, bool control)
        : origin_(origin),
          name_(std::move(name)),
          control_(control),
          descriptor_(listen_on(address)),
          address_(bound_address(descriptor_, address)) {
        origin_.poller_.add(descriptor_, EPOLLIN, this);
    }
    ~Listener() override { ::close(descriptor_); }
    void on_events(std::uint32_t) override { origin_.accept(*this); }

    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& address() const { return address_; }
    [[nodiscard]] bool control() const { return control_; }

  private:
    Origin& origin_;
    std::string name_;
    bool control_;
    int descriptor_;
    std::string address_;
};

class Origin::Connection : public EventHandler {
  public:
    Connection(Origin& origin, const Listener& listener, int descriptor, std::uint64_t id)
        : origin_(origin), listener_(listener), descriptor_(descriptor), id_(id) {
        origin_.poller_.add(descriptor_, EPOLLIN, this);
    }
    ~Connection() override { ::close(descriptor_); }

    void on_events(std::uint32_t events) override {
        if ((events & EPOLLOUT) != 0) {
            flush();
        } else {
            read();
        }
    }

    void send(std::string_view bytes) {
        output_.add(bytes);
        flush();
    }

    [[nodiscard]] const MessageReader& message() const { return reader_; }
    [[nodiscard]] const Listener& listener() const { return listener_; }
    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] std::uint64_t id() const { return id_; }

  private:
    void read() {
        const ssize_t count = ::recv(descriptor_, origin_.input_.data(), origin_.input_.size(), 0);
        if (count <= 0) {
            if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
                origin_.close(*this);
            }
            return;
        }
        take({origin_.input_.data(), static_cast<std::size_t>(count)});
    }

    void take(std::string_view bytes) {
        bool keep = true;
        while (!bytes.empty() && keep) {
            const bool had_head = reader_.head_complete();
            bytes.remove_prefix(reader_.feed(bytes));
            if (!had_head && reader_.head_complete() && reader_.expects_continue()) {
                output_.add("HTTP/1.1 100 Continue\r\n\r\n");
            }
            if (reader_.failed()) {
                return origin_.close(*this);
            }
            if (reader_.complete()) {
                answer();
                keep = reader_.keep_alive();
                reader_.next();
            }
        }
        closing_ = closing_ || !keep;
        flush();
    }

    void answer() {
        if (listener_.control()) {
            output_.copy(origin_.control_answer(reader_.start_line()));
        } else {
            output_.add(origin_.answer(*this));
        }
    }

    void flush() {
        if (!output_.empty()) {
            const auto next = output_.front();
            const ssize_t count = ::send(descriptor_, next.data(), next.size(), MSG_NOSIGNAL);
            if (count < 0 && errno != EAGAIN && errno != EINTR) {
                return origin_.close(*this);
            }
            output_.sent(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        }
        if (output_.empty() && closing_ && origin_.delay_ns_ == 0) {
            return origin_.close(*this);
        }
        watch(output_.empty()                 ? EPOLLIN
              : output_.size() < kOutputLimit ? EPOLLIN | EPOLLOUT
                                              : EPOLLOUT);
    }

    void watch(std::uint32_t events) {
        if (events != watched_) {
            watched_ = events;
            origin_.poller_.change(descriptor_, events, this);
        }
    }

    Origin& origin_;
    const Listener& listener_;
    int descriptor_;
    std::uint64_t id_;
    MessageReader reader_{MessageReader::Kind::request};
    Output output_;
    std::uint32_t watched_ = EPOLLIN;
    bool closing_ = false;
};

Origin::Origin(Poller& poller, const OriginOptions& options)
    : poller_(poller),
      answer_(make_answer("text/plain", std::string(options.body_bytes, 'o'))),
      other_answer_("HTTP/1.1 " + std::to_string(options.other_status) + " Other\r\n" +
                    (options.other_status == 304 ? "" : "Content-Length: 0\r\n") + "\r\n"),
      other_every_(options.other_every),
      delay_ns_(options.delay_ns),
      input_(kInputBytes) {
    for (const auto& listen : options.listen) {
        listeners_.push_back(std::make_unique<Listener>(*this, listen.name, listen.address, false));
    }
    listeners_.push_back(std::make_unique<Listener>(*this, "control", options.control, true));
}

Origin::~Origin() = default;

std::string Origin::ready_line() const {
    nlohmann::json listeners = nlohmann::json::object();
    for (const auto& listener : listeners_) {
        listeners[listener->name()] = listener->address();
    }
    return nlohmann::json{{"event", "ready"}, {"listeners", listeners}}.dump();
}

void Origin::turn() {
    std::int64_t timeout_ns = -1;
    if (!delayed_.empty()) {
        timeout_ns = std::max<std::int64_t>(0, delayed_.front().due_ns - monotonic_ns());
    }
    // Handlers read the clock through now(), once per turn at most.
    now_ns_ = 0;
    poller_.turn(timeout_ns);
    send_due();
}

void Origin::accept(const Listener& listener) {
    for (int descriptor = accept_from(listener.descriptor()); descriptor >= 0;
         descriptor = accept_from(listener.descriptor())) {
        const std::uint64_t id = next_connection_++;
        connections_.emplace(id, std::make_unique<Connection>(*this, listener, descriptor, id));
    }
}

void Origin::close(Connection& connection) {
    poller_.remove(connection.descriptor());
    auto found = connections_.find(connection.id());
    if (found != connections_.end()) {
        poller_.retire(std::move(found->second));
        connections_.erase(found);
    }
}

std::string_view Origin::answer(Connection& connection) {
    const std::string_view line = connection.message().start_line();
    counts_.add(connection.listener().name(), first_segment(line), now());
    if (delay_ns_ > 0) {
        delayed_.push_back({now() + delay_ns_, connection.id()});
        return {};
    }
    if (other_every_ != 0 && ++answers_ % other_every_ == 0) {
        return other_answer_;
    }
    if (line.starts_with("HEAD ")) {
        return std::string_view(answer_).substr(0, answer_.find("\r\n\r\n") + 4);
    }
    return answer_;
}

std::string Origin::control_answer(std::string_view request_line) {
    if (request_line.starts_with("POST /reset")) {
        counts_.clear();
    }
    return make_answer("application/json", counts_.to_json(now()));
}

std::int64_t Origin::now() {
    if (now_ns_ == 0) {
        now_ns_ = monotonic_ns();
    }
    return now_ns_;
}

void Origin::send_due() {
    const std::int64_t now = delayed_.empty() ? 0 : monotonic_ns();
    while (!delayed_.empty() && delayed_.front().due_ns <= now) {
        const auto found = connections_.find(delayed_.front().connection);
        delayed_.pop_front();
        if (found != connections_.end()) {
            found->second->send(answer_);
        }
    }
}

}  // namespace weir::tools
