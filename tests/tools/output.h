#pragma once
// Bytes that wait to be sent. Small texts are copied into one piece, so that the answers to
// pipelined requests are sent by one call. A long text is not copied, so that a thousand clients
// that do not read a long answer share it. Single-threaded.

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace weir::tools {

class Output {
  public:
    /// Adds a text, which must outlive this object if it has `kShared` bytes or more.
    void add(std::string_view text);
    /// Adds a copy of the text, however long it is.
    void copy(std::string_view text);
    /// The bytes to send next; empty if none wait.
    [[nodiscard]] std::string_view front() const;
    /// Says that so many bytes of front() were sent.
    void sent(std::size_t count);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }

    static constexpr std::size_t kShared = 64 * 1024;

  private:
    struct Piece {
        std::string copied;
        std::string_view shared;
        [[nodiscard]] std::string_view text() const { return copied.empty() ? shared : copied; }
    };
    std::deque<Piece> pieces_;
    std::size_t sent_ = 0;  ///< bytes of the first piece that were sent
    std::size_t size_ = 0;
};

}  // namespace weir::tools
