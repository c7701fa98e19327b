#include "admin/status_server.h"

#include <optional>
#include <utility>

#include "admin/answers.h"
#include "admin/gzip.h"
#include "admin/request_target.h"

namespace weir::admin {
namespace {

/// In shorter texts gzip's head and checksum take as much as compression saves.
constexpr std::size_t kWorthCompressing = 1024;

void add_line(std::string& text, std::string_view name, bool good, std::string_view what) {
    text += good ? "[+]" : "[-]";
    text += name;
    text += good ? " ok" : " failed: ";
    if (!good) {
        text += what;
    }
    text += '\n';
}

}  // namespace

StatusHandler::StatusHandler(std::function<Health()> health, const Metrics& metrics,
                             std::function<ProblemList()> problems)
    : health_(std::move(health)), metrics_(&metrics), problems_(std::move(problems)) {}

Response StatusHandler::operator()(const AdminRequest& request) const {
    if (request.method != "GET" && request.method != "HEAD") {
        Response answer = text_answer(405, "only GET and HEAD are allowed here\n");
        answer.fields.emplace_back("Allow", "GET, HEAD");
        return answer;
    }
    const auto target = parse_target(request.target);
    if (!target) {
        return text_answer(400, "bad request target\n");
    }
    // Any answer shows that the control thread works.
    if (target->raw_path == "/livez") {
        return text_answer(200, "ok\n");
    }
    if (target->raw_path == "/readyz") {
        return ready(target->query.contains("verbose"));
    }
    if (target->raw_path == "/metrics") {
        return metrics(request);
    }
    return text_answer(404, "there are /livez, /readyz and /metrics\n");
}

Response StatusHandler::ready(bool verbose) const {
    const Health health = health_();
    const unsigned status = health.ready() ? 200 : 503;
    if (!verbose) {
        const bool loads = health.loading && !health.draining;
        return text_answer(status, health.ready() ? "ok\n"
                                   : loads        ? "not ready: loading quotas\n"
                                                  : "not ready\n");
    }
    std::string text;
    add_line(text, "listening", health.listening, "the traffic port is not open");
    add_line(text, "configured", health.configured, "no valid configuration is in force");
    add_line(text, "loaded", !health.loading, "loading the quotas of the files");
    add_line(text, "serving", !health.draining, "draining");
    if (problems_) {
        for (const Problem& problem : problems_().problems) {
            text +=
                "[!]" + std::string(row_of(problem.kind).label) + ": " + line_of(problem) + "\n";
        }
    }
    text += health.ready() ? "readyz check passed\n" : "readyz check failed\n";
    return text_answer(status, std::move(text));
}

Response StatusHandler::metrics(const AdminRequest& request) const {
    Response answer{.status = 200,
                    .content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = metrics_->text(),
                    .fields = {{"Vary", "Accept-Encoding"}}};
    if (answer.body.size() < kWorthCompressing || !accepts_gzip(request.accept_encoding)) {
        return answer;
    }
    if (auto packed = gzip(answer.body)) {
        answer.body = std::move(*packed);
        answer.fields.emplace_back("Content-Encoding", "gzip");
    }
    return answer;
}

StatusServer::StatusServer(boost::asio::io_context& control, config::ListenAddress address,
                           std::function<Health()> health, const Metrics& metrics,
                           std::function<ProblemList()> problems, HttpLimits limits)
    : server_(control, std::move(address), limits,
              StatusHandler(std::move(health), metrics, std::move(problems))) {}

}  // namespace weir::admin
