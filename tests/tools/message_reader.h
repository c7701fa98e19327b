#pragma once
// Reads HTTP/1.1 messages one after another from a stream of bytes. It is not as strict as a
// proxy's parser: the test tools only talk to well-formed peers, and count everything else as
// failed. Not thread-safe; copies what it keeps.
//
// Invariant: once complete() or failed(), feed() takes nothing more until next().

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::tools {

class MessageReader {
  public:
    enum class Kind { request, response };
    static constexpr std::size_t kHeadLimit = 64 * 1024;

    explicit MessageReader(Kind kind) : kind_(kind) {}

    /// Reads bytes up to the end of the current message, and returns how many it has read.
    std::size_t feed(std::string_view bytes);
    /// Says that the peer has closed, which completes a response without framing.
    void finish();
    /// Begins the next message. `body_expected` is false for an answer to HEAD.
    void next(bool body_expected = true);

    [[nodiscard]] bool complete() const { return state_ == State::complete; }
    [[nodiscard]] bool failed() const { return state_ == State::failed; }
    [[nodiscard]] bool head_complete() const { return state_ > State::head; }
    /// Whether any byte of the current message has come.
    [[nodiscard]] bool begun() const { return !head_.empty(); }
    /// The message's first line.
    [[nodiscard]] std::string_view start_line() const;
    /// A response's status; 0 when it has none.
    [[nodiscard]] int status() const;
    [[nodiscard]] bool keep_alive() const { return keep_alive_; }
    /// Whether the request waits for 100 (Continue).
    [[nodiscard]] bool expects_continue() const { return expects_continue_; }
    /// The value of a field; empty when there is no such field.
    [[nodiscard]] std::string_view field(std::string_view name) const;

  private:
    enum class State {
        head,
        body,
        until_close,
        chunk_line,
        chunk,
        chunk_end,
        trailer,
        complete,
        failed
    };

    std::size_t feed_head(std::string_view bytes);
    std::size_t feed_counted(std::string_view bytes);
    std::size_t feed_line(std::string_view bytes);
    void begin_body();
    void end_line();

    Kind kind_;
    State state_ = State::head;
    bool body_expected_ = true;
    bool keep_alive_ = true;
    bool expects_continue_ = false;
    std::string head_;
    std::string line_;
    std::uint64_t left_ = 0;
};

}  // namespace weir::tools
