#pragma once
// The admin listener. It serves the API under /v1 (docs/admin-api.md) on a loopback address or a
// unix socket; on any other address every request needs a bearer token. It checks the fields Host
// and Origin, so that a web page cannot reach it through a rebound name.
//
// Thread-safety: none; control thread only.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/access.h"
#include "admin/http_server.h"
#include "admin/sources.h"

namespace weir::admin {

struct AdminOptions {
    config::ListenAddress listen = {};
    /// The file whose first line is the token. It is needed unless `listen` is local.
    std::string token_file = {};
    /// Host names that may be used besides addresses and localhost.
    std::vector<std::string> allowed_hosts = {};
    HttpLimits limits = {};
};

/// Answers requests without sockets. What the sources point to must outlive it.
class AdminHandler {
  public:
    AdminHandler(AdminSources sources, AccessRules rules);
    /// The same, but the rules may change between two requests.
    AdminHandler(std::shared_ptr<const AccessRules> rules, AdminSources sources);
    [[nodiscard]] Response operator()(const AdminRequest& request) const;

  private:
    AdminSources sources_;
    std::shared_ptr<const AccessRules> rules_;
};

class AdminServer {
  public:
    AdminServer(boost::asio::io_context& control, AdminOptions options, AdminSources sources);
    AdminServer(const AdminServer&) = delete;
    AdminServer& operator=(const AdminServer&) = delete;
    ~AdminServer();

    /// Fails when the address is not local and there is no usable token.
    [[nodiscard]] Result<void> start();
    /// Reads the token file again, if there is one. When that fails, the former token stays.
    [[nodiscard]] Result<void> reload_token();
    void stop();
    [[nodiscard]] const config::ListenAddress& bound() const;
    [[nodiscard]] const HttpServerStatistics& statistics() const;

  private:
    boost::asio::io_context& control_;
    AdminOptions options_;
    AdminSources sources_;
    std::shared_ptr<AccessRules> rules_ = std::make_shared<AccessRules>();
    std::optional<HttpServer> server_;
};

}  // namespace weir::admin
