#include "connection.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

Connection::Connection(std::string host, std::string port)
    : host_(std::move(host)), port_(std::move(port)) {}

Connection::~Connection() { close(); }

int Connection::get(const std::string& path) {
    if (socket_ < 0 && !connect()) {
        return 0;
    }
    const int status =
        send("GET " + path + " HTTP/1.1\r\nHost: " + host_ + "\r\n\r\n") ? receive() : 0;
    if (status == 0) {
        close();
    }
    return status;
}

bool Connection::connect() {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host_.c_str(), port_.c_str(), &hints, &found) != 0) {
        return false;
    }
    socket_ = ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0);
    const bool good = ::connect(socket_, found->ai_addr, found->ai_addrlen) == 0;
    ::freeaddrinfo(found);
    if (!good) {
        close();
    }
    return good;
}

void Connection::close() {
    if (socket_ >= 0) {
        ::close(socket_);
    }
    socket_ = -1;
}

bool Connection::send(const std::string& text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
}

int Connection::receive() {
    std::string text;
    std::size_t end = std::string::npos;  // of the head
    std::size_t length = 0;               // of the body
    while (end == std::string::npos || text.size() < end + 4 + length) {
        char buffer[4096];
        const ssize_t count = ::recv(socket_, buffer, sizeof(buffer), 0);
        if (count <= 0) {
            return 0;
        }
        text.append(buffer, static_cast<std::size_t>(count));
        if (end != std::string::npos) {
            continue;
        }
        end = text.find("\r\n\r\n");
        if (end == std::string::npos) {
            continue;
        }
        std::string head = text.substr(0, end);
        std::transform(head.begin(), head.end(), head.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        const std::size_t field = head.find("\r\ncontent-length:");
        if (field != std::string::npos) {
            length = std::strtoul(head.c_str() + field + 17, nullptr, 10);
        }
    }
    return std::atoi(text.c_str() + text.find(' ') + 1);
}
