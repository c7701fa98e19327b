#pragma once
// A small blocking HTTP client for the admin listener, with which `weir quota`, `status` and
// `drain` ask a running sidecar. It makes one connection for each request and bounds its time and
// its size. A running sidecar does not use it, because it blocks. Thread-safety: requests share
// nothing, so any thread may send one. It owns its address and its token.

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace weir::app {

struct AdminReply {
    unsigned status = 0;
    std::string body;
};

class AdminClient {
  public:
    static constexpr std::chrono::seconds kTimeout{10};
    static constexpr std::size_t kMaxReply = 64U * 1024 * 1024;

    /// If `token` is empty, the requests carry no token.
    AdminClient(config::ListenAddress address, std::string token);

    /// An error means that there was no answer; its message says how to reach another listener.
    [[nodiscard]] Result<AdminReply> get(const std::string& target) const;
    /// Sends a PUT. With `tag` the change is made only if the quota still has this tag (an empty
    /// one: only if the quota does not exist); without it the change is made in any case.
    [[nodiscard]] Result<AdminReply> put(const std::string& target, const std::string& json,
                                         const std::optional<std::string>& tag = {}) const;
    [[nodiscard]] Result<AdminReply> remove(const std::string& target) const;
    [[nodiscard]] Result<AdminReply> post(const std::string& target,
                                          const std::string& json = {}) const;

  private:
    [[nodiscard]] Result<AdminReply> send(const std::string& method, const std::string& target,
                                          const std::string& body,
                                          const std::optional<std::string>& tag = {}) const;

    config::ListenAddress address_;
    std::string token_;
};

/// The text for a path segment or a query's value: all characters but the unreserved ones are
/// escaped.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace weir::app
