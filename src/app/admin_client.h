#pragma once
// A small blocking HTTP client for the admin listener: what `weir quota`, `status` and `drain` talk
// through. One request per connection, bounded in time and size. Not for the running sidecar.

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

    /// `token` may be empty.
    AdminClient(config::ListenAddress address, std::string token);

    /// An error only if there was no answer; its message says how to reach another listener.
    [[nodiscard]] Result<AdminReply> get(const std::string& target) const;
    /// `tag`: only if the quota has it still (empty: only if there is none); nothing: in any case.
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

/// For a path segment or a query's value: everything but unreserved characters escaped.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace weir::app
