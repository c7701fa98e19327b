#include "tools/message_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace weir::tools {
namespace {

bool equal_ignoring_case(std::string_view left, std::string_view right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) ==
               std::tolower(static_cast<unsigned char>(b));
    });
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
        text.remove_prefix(1);
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
        text.remove_suffix(1);
    }
    return text;
}

bool parse_number(std::string_view text, int base, std::uint64_t& number) {
    const auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), number, base);
    return failure == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::size_t MessageReader::feed(std::string_view bytes) {
    std::size_t taken = 0;
    while (taken < bytes.size() && !complete() && !failed()) {
        const std::string_view rest = bytes.substr(taken);
        switch (state_) {
            case State::head:
                taken += feed_head(rest);
                break;
            case State::until_close:
                taken += rest.size();
                break;
            case State::body:
            case State::chunk:
                taken += feed_counted(rest);
                break;
            default:
                taken += feed_line(rest);
        }
    }
    return taken;
}

std::size_t MessageReader::feed_head(std::string_view bytes) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    const std::size_t before = head_.size();
    head_.append(bytes.substr(0, kHeadLimit + 1));
    const std::size_t end = head_.find(kEnd, before > 3 ? before - 3 : 0);
    if (end == std::string::npos) {
        if (head_.size() > kHeadLimit) {
            state_ = State::failed;
        }
        return head_.size() - before;
    }
    head_.resize(end + kEnd.size());
    const std::size_t taken = head_.size() - before;
    begin_body();
    return taken;
}

void MessageReader::begin_body() {
    keep_alive_ = !equal_ignoring_case(field("connection"), "close");
    expects_continue_ = equal_ignoring_case(field("expect"), "100-continue");
    const int code = kind_ == Kind::response ? status() : 0;
    if (kind_ == Kind::response && code >= 100 && code < 200) {
        head_.clear();  // an interim answer: the final one follows
        return;
    }
    const std::string_view length = field("content-length");
    if (!body_expected_ || code == 204 || code == 304) {
        state_ = State::complete;
    } else if (!field("transfer-encoding").empty()) {
        state_ = State::chunk_line;
    } else if (!length.empty()) {
        const bool valid = parse_number(length, 10, left_);
        state_ = !valid ? State::failed : left_ == 0 ? State::complete : State::body;
    } else if (kind_ == Kind::response) {
        keep_alive_ = false;
        state_ = State::until_close;
    } else {
        state_ = State::complete;
    }
}

std::size_t MessageReader::feed_counted(std::string_view bytes) {
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    left_ -= taken;
    if (left_ == 0) {
        state_ = state_ == State::chunk ? State::chunk_end : State::complete;
    }
    return taken;
}

std::size_t MessageReader::feed_line(std::string_view bytes) {
    const std::size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    if (line_.size() > kHeadLimit) {
        state_ = State::failed;
        return bytes.size();
    }
    if (end == std::string_view::npos) {
        return bytes.size();
    }
    if (!line_.empty() && line_.back() == '\r') {
        line_.pop_back();
    }
    end_line();
    line_.clear();
    return end + 1;
}

void MessageReader::end_line() {
    if (state_ == State::chunk_line) {
        const std::string_view size = std::string_view(line_).substr(0, line_.find(';'));
        const bool valid = parse_number(trim(size), 16, left_);
        state_ = !valid ? State::failed : left_ == 0 ? State::trailer : State::chunk;
    } else if (state_ == State::chunk_end) {
        state_ = line_.empty() ? State::chunk_line : State::failed;
    } else if (line_.empty()) {
        state_ = State::complete;
    }
}

void MessageReader::finish() {
    if (state_ != State::complete) {
        state_ = state_ == State::until_close ? State::complete : State::failed;
    }
}

void MessageReader::next(bool body_expected) {
    state_ = State::head;
    body_expected_ = body_expected;
    keep_alive_ = true;
    expects_continue_ = false;
    head_.clear();
    line_.clear();
    left_ = 0;
}

std::string_view MessageReader::start_line() const {
    return std::string_view(head_).substr(0, head_.find("\r\n"));
}

int MessageReader::status() const {
    const std::string_view line = start_line();
    std::uint64_t code = 0;
    if (!line.starts_with("HTTP/1.") || line.size() < 12 ||
        !parse_number(line.substr(9, 3), 10, code)) {
        return 0;
    }
    return static_cast<int>(code);
}

std::string_view MessageReader::field(std::string_view name) const {
    std::string_view rest = head_;
    rest.remove_prefix(std::min(rest.size(), start_line().size() + 2));
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find("\r\n"));
        if (line.size() > name.size() && line[name.size()] == ':' &&
            equal_ignoring_case(line.substr(0, name.size()), name)) {
            return trim(line.substr(name.size() + 1));
        }
        rest.remove_prefix(std::min(rest.size(), line.size() + 2));
    }
    return {};
}

}  // namespace weir::tools
