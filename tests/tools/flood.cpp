#include "tools/flood.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <random>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "tools/process.h"

namespace weir::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 64;
constexpr std::chrono::microseconds kPause{500};

sockaddr_in parse_address(const std::string& text) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    const std::size_t colon = text.rfind(':');
    std::uint16_t port = 0;
    const bool good =
        colon != std::string::npos &&
        ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) == 1 &&
        std::from_chars(text.data() + colon + 1, text.data() + text.size(), port).ec == std::errc();
    if (!good) {
        throw std::runtime_error("not an address: " + text);
    }
    address.sin_port = htons(port);
    return address;
}

/// A connected socket, closed at the end.
class Sender {
  public:
    Sender(const FloodPlan& plan, std::vector<std::string>& texts)
        : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        const sockaddr_in to = parse_address(plan.target);
        // The sockets interface takes every kind of address by this one type.
        const auto* const address = reinterpret_cast<const sockaddr*>(&to);
        if (socket_ < 0 || ::connect(socket_, address, sizeof to) != 0) {
            throw std::system_error(errno, std::generic_category(), plan.target);
        }
        for (std::string& text : texts) {
            parts_.push_back({text.data(), text.size()});
        }
        for (iovec& part : parts_) {
            mmsghdr message{};
            message.msg_hdr.msg_iov = &part;
            message.msg_hdr.msg_iovlen = 1;
            messages_.push_back(message);
        }
    }
    ~Sender() { ::close(socket_); }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    /// How many of `count` the kernel took; fewer when its buffer is full.
    std::uint64_t send(std::uint64_t count) {
        std::uint64_t sent = 0;
        while (sent < count) {
            const auto wanted = static_cast<unsigned>(std::min<std::uint64_t>(
                count - sent, static_cast<std::uint64_t>(messages_.size())));
            const int taken = ::sendmmsg(socket_, messages_.data(), wanted, 0);
            if (taken <= 0) {
                break;  // Full, or nobody listens there: it is tried again.
            }
            sent += static_cast<std::uint64_t>(taken);
        }
        return sent;
    }

    std::uint64_t take_answers() {
        std::uint64_t answers = 0;
        std::array<char, 1> byte{};
        while (::recv(socket_, byte.data(), byte.size(), 0) >= 0) {
            ++answers;
        }
        return answers;
    }

  private:
    int socket_;
    std::vector<iovec> parts_;
    std::vector<mmsghdr> messages_;
};

}  // namespace

std::vector<std::string> noise(std::size_t count, std::size_t longest, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::string> texts(count);
    for (std::string& text : texts) {
        text.resize(random() % (longest + 1));
        std::generate(text.begin(), text.end(), [&] { return static_cast<char>(random()); });
    }
    return texts;
}

FloodResult flood(const FloodPlan& plan) {
    std::vector<std::string> texts = noise(kBatch, plan.longest, plan.seed);
    Sender sender(plan, texts);
    FloodResult result;
    const Clock::time_point began = Clock::now();
    while (result.sent < plan.datagrams && !stop_requested()) {
        const std::chrono::duration<double> elapsed = Clock::now() - began;
        const auto due = std::min(
            plan.datagrams, static_cast<std::uint64_t>(elapsed.count() * plan.per_second) + 1);
        result.sent += sender.send(due - std::min(due, result.sent));
        result.took = Clock::now() - began;
        result.answers += sender.take_answers();
        std::this_thread::sleep_for(kPause);
    }
    result.answers += sender.take_answers();
    return result;
}

}  // namespace weir::tools
