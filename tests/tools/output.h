#pragma once
// Bytes that wait to be sent. Small texts are copied and lie together, so that a pipeline's
// answers leave in one call; a long text is only pointed at, so that a thousand clients that do
// not read a long answer share it. Single-threaded.

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace weir::tools {

class Output {
  public:
    /// `text` must outlive this if it is `kShared` bytes or longer.
    void add(std::string_view text);
    /// Copies `text`, however long it is.
    void copy(std::string_view text);
    /// What to send next, from the front; empty if nothing waits.
    [[nodiscard]] std::string_view front() const;
    /// That many bytes of front() are gone.
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
    std::size_t sent_ = 0;  ///< of the first piece
    std::size_t size_ = 0;
};

}  // namespace weir::tools
