#pragma once
// Blocking socket input and output with deadlines, for the tests' client and the fake upstream,
// which send any bytes, however malformed, as slowly as they like. When a deadline passes, the call
// returns.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "net/address.h"
#include "net/file_descriptor.h"

namespace weir::proxy::testing {

/// The deadline: long enough for a busy machine and for one that stands still for seconds. A test
/// waits for it only if it fails.
inline constexpr std::chrono::milliseconds kPatience{20'000};

/// How the other side ended the connection.
enum class Closing { open, orderly, reset };

class SocketIo {
  public:
    explicit SocketIo(net::FileDescriptor descriptor);

    /// False when the other side has closed.
    bool send(std::string_view bytes);
    /// Writes as much as the socket takes within `patience`. Returns the number of bytes.
    std::size_t send_some(std::string_view bytes, std::chrono::milliseconds patience);
    /// Reads until `buffered()` has at least one byte more. False at an end, a reset or the
    /// deadline.
    bool receive_more(std::chrono::milliseconds patience = kPatience);
    /// Reads until the text has come. Returns everything up to its end and removes that from the
    /// buffer.
    std::optional<std::string> take_until(std::string_view text);
    std::optional<std::string> take(std::size_t bytes);
    /// Everything up to the end of the connection, however it ends.
    std::string take_all(std::chrono::milliseconds patience = kPatience);
    /// Whether the other side closes within that time. Bytes before the end are kept.
    bool closed_within(std::chrono::milliseconds patience);

    void shut_down_sending();
    void close();
    /// Closes with a reset.
    void reset();
    void set_receive_buffer(int bytes);

    [[nodiscard]] Closing closing() const { return closing_; }
    [[nodiscard]] const std::string& buffered() const { return buffered_; }
    [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }

  private:
    net::FileDescriptor descriptor_;
    std::string buffered_;
    Closing closing_ = Closing::open;
};

[[nodiscard]] net::FileDescriptor connect_to(const net::Address& address);

}  // namespace weir::proxy::testing
