#include "app/problem_reporter.h"

#include <algorithm>
#include <utility>

#include "admin/report_json.h"
#include "config/values.h"
#include "definitions/exchange.h"
#include "definitions/store.h"
#include "engine/engine.h"
#include "net/clock.h"
#include "node/file_differences.h"

namespace weir::app {

ProblemReporter::ProblemReporter(boost::asio::io_context& control, node::Host& host,
                                 const LiveSettings& live, Log& log, ProxyFacts proxy)
    : host_(host), live_(live), log_(log), proxy_(std::move(proxy)), timer_(control) {}

void ProblemReporter::stop() {
    stopped_ = true;
    timer_.cancel();
}

void ProblemReporter::look() {
    if (stopped_) {
        return;
    }
    for (const node::ProblemLine& line : watch_.look(facts(), net::now())) {
        write(line);
    }
    look_after(kLook);
}

void ProblemReporter::look_after(std::chrono::seconds wait) {
    timer_.expires_after(wait);
    timer_.async_wait([this](const boost::system::error_code& failure) {
        if (!failure) {
            look();
        }
    });
}

void ProblemReporter::write(const node::ProblemLine& line) {
    LogFields fields;
    if (line.problem) {
        fields = {{"kind", std::string(admin::row_of(line.problem->kind).label)},
                  {"subject", line.problem->subject},
                  {"seconds", std::to_string(static_cast<long>(to_seconds(line.problem->age)))}};
        if (line.is_warning) {
            fields.emplace_back("suggestion", line.problem->suggestion);
        }
    }
    line.is_warning ? log_.warning(line.message, fields) : log_.info(line.message, fields);
}

node::ProblemFacts ProblemReporter::facts() {
    const config::Settings& settings = host_.settings();
    node::ProblemFacts facts;
    facts.anchor = settings.role == config::MemberRole::anchor;
    facts.loading = host_.loading();
    facts.quotas = host_.cluster().engine().definitions().size();
    if (!facts.anchor) {
        add_proxy(facts);
    }
    if (settings.cluster) {
        add_gossip(facts);
    }
    add_files(facts);
    return facts;
}

void ProblemReporter::add_proxy(node::ProblemFacts& facts) {
    facts.answers_checks = host_.settings().check.has_value();
    add_routes(facts);
    facts.upstream = to_string(host_.settings().upstream);
    facts.upstream_unresolved = live_.upstream_failure();
    facts.upstream_failures = proxy_.upstream_failures();
    facts.crowded = proxy_.crowded();
    facts.most_connections = proxy_.most_connections();
    facts.asked_in_vain = proxy_.asked_in_vain();
}

void ProblemReporter::add_routes(node::ProblemFacts& facts) {
    const routing::RoutingSettings& routing = host_.settings().routing;
    const definitions::DefinitionStore& store = host_.cluster().engine().definitions();
    facts.routes = routing.routes.size();
    if (!std::exchange(routes_known_, true)) {
        without_requests_ = node::routes_without_requests(routing);
        definitions_hash_ = ~store.content_hash();
        search_.reset();
        without_quota_.clear();
    }
    if (!search_ && !facts.loading && store.content_hash() != definitions_hash_) {
        definitions_hash_ = store.content_hash();
        search_.emplace(routing.routes);
        search_->find_exact([&](const std::string& name) { return store.has(name); });
        searched_to_.clear();
    }
    if (search_) {
        search_quotas(store);
    }
    facts.searching = search_.has_value();
    facts.without_quota = without_quota_;
    facts.without_requests = without_requests_;
}

void ProblemReporter::search_quotas(const definitions::DefinitionStore& store) {
    const Instant end = net::now() + kSearchTime;
    for (std::size_t missing = search_->missing(); missing > 0; missing = search_->missing()) {
        const std::size_t count = std::max<std::size_t>(kComparisonsAtOnce / missing, 1);
        const std::vector<std::string> names = store.names_in_force(searched_to_, count);
        search_->look_at({names.begin(), names.end()});
        if (names.size() < count) {
            break;
        }
        searched_to_ = names.back();
        if (net::now() >= end) {
            return;
        }
    }
    const std::size_t missing = std::max<std::size_t>(search_->missing(), 1);
    const std::vector<std::string> candidates =
        store.names_in_force("", kMostSuggestions / missing);
    without_quota_ = search_->findings({candidates.begin(), candidates.end()});
    search_.reset();
}

void ProblemReporter::add_gossip(node::ProblemFacts& facts) {
    const engine::Engine& engine = host_.cluster().engine();
    const cluster::SeedReport seeds = host_.cluster().seed_report();
    facts.has_seeds = !host_.settings().cluster->join.empty();
    facts.seeds = seeds.known;
    facts.unresolved = seeds.never_found;
    for (const Endpoint& seed : seeds.silent) {
        facts.silent.push_back(to_string(seed));
    }
    facts.live_peers = seeds.live_peers;
    facts.uncertain_windows = engine.uncertain_windows();
    for (const engine::StrangerStatus& one : engine.seal_status(net::now()).strangers) {
        facts.unreadable.push_back(
            {to_string(one.from), std::string(admin::describe_refusal(one.reason))});
    }
}

void ProblemReporter::add_files(node::ProblemFacts& facts) {
    const admin::ConfigFigures config = host_.config_figures();
    facts.set_problems = host_.set_problems();
    facts.too_large = host_.sets_too_large();
    facts.without_file = host_.sets_without_file();
    facts.empty_folders = host_.empty_folders();
    if (!host_.files_too_large().empty()) {
        facts.too_large["files"] = host_.files_too_large();
    }
    for (const admin::QuotaSetFigures& set : config.quota_sets) {
        if (set.conflict && set.problem.empty()) {
            facts.set_problems[set.name] =
                "set " + set.name + ": generation " + std::to_string(set.generation) +
                " is in force here and with other content elsewhere in the fleet";
        }
    }
    for (const auto& difference : host_.cluster().engine().file_differences()) {
        facts.files_differ[difference.count.set] = node::words_of(difference);
    }
    facts.reload_errors = config.errors;
    facts.after_restart = config.after_restart;
}

}  // namespace weir::app
