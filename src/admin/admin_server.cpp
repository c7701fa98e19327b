#include "admin/admin_server.h"

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "admin/answers.h"
#include "admin/quota_api.h"
#include "admin/report_json.h"
#include "admin/request_target.h"

namespace weir::admin {
namespace {

constexpr std::string_view kQuotas = "/v1/quotas";

bool is_read(const AdminRequest& request) {
    return request.method == "GET" || request.method == "HEAD";
}

Response peers(const AdminSources& sources) {
    Json list = Json::array();
    for (const auto& peer : sources.peers()) {
        list.push_back(to_json(peer));
    }
    return json_answer(200, {{"peers", std::move(list)}});
}

Json count_by_state(const std::vector<engine::PeerReport>& all) {
    std::map<std::string, std::uint64_t> states;
    for (const auto& peer : all) {
        if (!peer.self) {
            ++states[std::string(peer.state)];
        }
    }
    return states;
}

Response status(const AdminSources& sources) {
    Json value{{"version", sources.build.version}, {"revision", sources.build.revision}};
    if (sources.uptime_seconds) {
        value["uptime_seconds"] = sources.uptime_seconds();
    }
    if (sources.health) {
        value["health"] = to_json(sources.health());
    }
    if (sources.peers) {
        value["peers"] = count_by_state(sources.peers());
    }
    if (sources.gossip) {
        value["gossip"] = to_json(sources.gossip());
    }
    if (sources.problems) {
        value["problems"] = to_json(sources.problems())["problems"];
    }
    if (sources.config) {
        const auto config = sources.config();
        value["config_hash"] = config.hash;
        value["quotas_hash"] = config.quotas_hash;
        value["last_reload_successful"] = config.last_reload_successful;
    }
    if (sources.log_level) {
        value["log_level"] = sources.log_level();
    }
    return json_answer(200, value);
}

Caller caller_of(const RequestTarget& target) {
    const auto text = [&](const char* name, std::size_t most) {
        const auto found = target.query.find(name);
        return found == target.query.end() ? "" : found->second.substr(0, most);
    };
    return {text("who", definitions::kMaximumWho), text("why", definitions::kMaximumWhy)};
}

Response drain(const AdminSources& sources, const AdminRequest& request,
               const RequestTarget& target) {
    if (request.method != "POST") {
        return method_not_allowed("POST");
    }
    sources.drain(caller_of(target));
    return json_answer(202, sources.health ? to_json(sources.health()) : Json::object());
}

/// The level in a body like {"level": "debug"}; nothing if the body is anything else.
std::optional<std::string> level_in(const std::string& body) {
    constexpr std::size_t kLongest = 256;
    if (body.size() > kLongest) {
        return std::nullopt;
    }
    const Json value = Json::parse(body, nullptr, false);
    if (!value.is_object() || value.size() != 1 || !value.contains("level") ||
        !value["level"].is_string()) {
        return std::nullopt;
    }
    return value["level"].get<std::string>();
}

Response log_level(const AdminSources& sources, const AdminRequest& request,
                   const RequestTarget& target) {
    if (is_read(request)) {
        return json_answer(200, {{"level", sources.log_level()}});
    }
    if (request.method != "PUT") {
        return method_not_allowed("GET, HEAD, PUT");
    }
    const auto level = level_in(request.body);
    if (!level) {
        return problem(400, R"(send {"level": "debug"})");
    }
    if (!sources.set_log_level(*level, caller_of(target))) {
        return problem(422, "the levels are debug, info, warning, error and off");
    }
    return json_answer(200, {{"level", sources.log_level()}});
}

Response quotas(const AdminSources& sources, const AdminRequest& request,
                const RequestTarget& target) {
    const QuotaApi api(*sources.quotas);
    const std::string_view path = target.raw_path;
    if (path == kQuotas) {
        return api.list(request, target);
    }
    // Names are decoded after the path is cut, so that an encoded slash and a plain one name the
    // same quota.
    const auto name = percent_decode(path.substr(kQuotas.size() + 1));
    if (!name) {
        return problem(400, "bad escape in the quota's name");
    }
    return api.one(request, target, *name);
}

Response answer(const AdminSources& sources, const AdminRequest& request,
                const RequestTarget& target) {
    const std::string& path = target.raw_path;
    if (sources.quotas != nullptr &&
        (path == kQuotas || path.starts_with(std::string(kQuotas) + "/"))) {
        return quotas(sources, request, target);
    }
    if (path == "/v1/drain" && sources.drain) {
        return drain(sources, request, target);
    }
    if (path == "/v1/log-level" && sources.log_level && sources.set_log_level) {
        return log_level(sources, request, target);
    }
    const bool is_report = (path == "/v1/config" && sources.config) ||
                           (path == "/v1/peers" && sources.peers) ||
                           (path == "/v1/problems" && sources.problems) || path == "/v1/status";
    if (!is_report) {
        return problem(404, "no such resource; docs/admin-api.md lists them");
    }
    if (!is_read(request)) {
        return method_not_allowed("GET, HEAD");
    }
    if (path == "/v1/config") {
        return json_answer(200, to_json(sources.config()));
    }
    if (path == "/v1/peers") {
        return peers(sources);
    }
    if (path == "/v1/problems") {
        return json_answer(200, to_json(sources.problems()));
    }
    return status(sources);
}

}  // namespace

AdminHandler::AdminHandler(std::shared_ptr<const AccessRules> rules, AdminSources sources)
    : sources_(std::move(sources)), rules_(std::move(rules)) {}

AdminHandler::AdminHandler(AdminSources sources, AccessRules rules)
    : AdminHandler(std::make_shared<const AccessRules>(std::move(rules)), std::move(sources)) {}

Response AdminHandler::operator()(const AdminRequest& request) const {
    if (auto refused = refuse_access(*rules_, request)) {
        return *refused;
    }
    const auto target = parse_target(request.target);
    if (!target) {
        return problem(400, "bad request target");
    }
    return answer(sources_, request, *target);
}

AdminServer::AdminServer(boost::asio::io_context& control, AdminOptions options,
                         AdminSources sources)
    : control_(control), options_(std::move(options)), sources_(std::move(sources)) {}
AdminServer::~AdminServer() = default;

Result<void> AdminServer::start() {
    rules_->allowed_hosts = options_.allowed_hosts;
    if (auto read = reload_token(); !read) {
        return read;
    }
    if (options_.token_file.empty() && !is_local(options_.listen)) {
        return error(ErrorCode::invalid_argument,
                     "admin listens on " + to_string(options_.listen) +
                         ", which others can reach: set admin_token_file, or listen on 127.0.0.1 "
                         "or a unix socket");
    }
    server_.emplace(control_, options_.listen, options_.limits, AdminHandler(rules_, sources_));
    return server_->start();
}

Result<void> AdminServer::reload_token() {
    if (options_.token_file.empty()) {
        return {};
    }
    auto token = read_token(options_.token_file);
    if (!token) {
        return token.error();
    }
    rules_->token = std::move(*token);
    return {};
}

void AdminServer::stop() {
    if (server_) {
        server_->stop();
    }
}

const config::ListenAddress& AdminServer::bound() const {
    return server_ ? server_->bound() : options_.listen;
}

const HttpServerStatistics& AdminServer::statistics() const {
    static const HttpServerStatistics kNone;
    return server_ ? server_->statistics() : kNone;
}

}  // namespace weir::admin
