#include "proxy/http_text.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace weir::proxy::testing {
namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    for (auto& character : result) {
        character = static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
    }
    return result;
}

std::string trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
        text.remove_prefix(1);
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
        text.remove_suffix(1);
    }
    return std::string(text);
}

std::string word(std::string_view line, int index) {
    for (; index > 0; --index) {
        line.remove_prefix(std::min(line.size(), line.find(' ') + 1));
    }
    return std::string(line.substr(0, line.find(' ')));
}

void read_chunks(SocketIo& socket, Message& message) {
    for (;;) {
        const auto line = socket.take_until("\r\n");
        if (!line) {
            return;
        }
        message.raw += *line;
        const auto size = std::strtoull(line->c_str(), nullptr, 16);
        if (size == 0) {
            break;
        }
        const auto data = socket.take(size + 2);
        if (!data) {
            return;
        }
        message.raw += *data;
        message.body += data->substr(0, size);
    }
    for (;;) {
        const auto line = socket.take_until("\r\n");
        if (!line) {
            return;
        }
        message.raw += *line;
        if (*line == "\r\n") {
            break;
        }
        message.trailers += *line;
    }
    message.complete = true;
}

}  // namespace

int Message::status() const { return std::atoi(word(start, 1).c_str()); }
std::string Message::method() const { return word(start, 0); }
std::string Message::target() const { return word(start, 1); }

std::string Message::field(std::string_view name) const {
    for (const auto& [key, value] : fields) {
        if (lower(key) == lower(name)) {
            return value;
        }
    }
    return {};
}

std::size_t Message::count(std::string_view name) const {
    return static_cast<std::size_t>(std::count_if(fields.begin(), fields.end(), [&](const auto& f) {
        return lower(f.first) == lower(name);
    }));
}

bool Message::has(std::string_view name) const { return count(name) > 0; }

std::optional<Message> read_head(SocketIo& socket) {
    const auto head = socket.take_until("\r\n\r\n");
    if (!head) {
        return {};
    }
    Message message;
    message.raw = *head;
    std::size_t at = head->find("\r\n");
    message.start = head->substr(0, at);
    for (at += 2; at + 2 < head->size();) {
        const auto end = head->find("\r\n", at);
        const auto line = head->substr(at, end - at);
        const auto colon = line.find(':');
        message.fields.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
        at = end + 2;
    }
    return message;
}

void read_body(SocketIo& socket, Message& message, bool to_end) {
    if (lower(message.field("transfer-encoding")) == "chunked") {
        read_chunks(socket, message);
    } else if (message.has("content-length")) {
        const std::size_t length =
            std::strtoull(message.field("content-length").c_str(), nullptr, 10);
        while (message.body.size() < length) {
            if (socket.buffered().empty() && !socket.receive_more()) {
                break;
            }
            const auto part =
                socket.take(std::min(length - message.body.size(), socket.buffered().size()));
            message.body += *part;
        }
        message.complete = message.body.size() == length;
        message.raw += message.body;
    } else if (to_end) {
        message.body = socket.take_all();
        message.complete = socket.closing() == Closing::orderly;
        message.raw += message.body;
    } else {
        message.complete = true;
    }
}

std::optional<Message> read_request(SocketIo& socket) {
    auto message = read_head(socket);
    if (message) {
        read_body(socket, *message, false);
    }
    return message;
}

std::optional<Message> read_response(SocketIo& socket, bool head_only) {
    auto message = read_head(socket);
    if (!message) {
        return {};
    }
    const int status = message->status();
    const bool no_body = head_only || status / 100 == 1 || status == 204 || status == 304;
    if (no_body) {
        message->complete = true;
    } else {
        read_body(socket, *message, true);
    }
    return message;
}

}  // namespace weir::proxy::testing
