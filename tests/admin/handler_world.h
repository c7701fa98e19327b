#pragma once
// A handler of the admin listener, with made-up sources for everything that it shows and changes.
// For tests.

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/admin_server.h"
#include "admin/sample_sources.h"

namespace weir::admin::test {

using Json = nlohmann::json;

/// A made-up QuotaDirectory, which refuses definitions whose parent does not exist.
class FakeDirectory : public QuotaDirectory {
  public:
    std::vector<QuotaRow> page(std::string_view prefix, std::string_view after,
                               std::size_t count) const override {
        std::vector<QuotaRow> page;
        for (const auto& [name, row] : rows) {
            if (!name.starts_with(prefix) || (!after.empty() && name <= after)) {
                continue;
            }
            if (page.size() == count) {
                break;
            }
            page.push_back(row);
        }
        return page;
    }
    std::optional<QuotaRow> find(std::string_view name) const override {
        const auto found = rows.find(std::string(name));
        return found == rows.end() ? std::nullopt : std::optional(found->second);
    }
    QuotaReport report(std::string_view name) const override {
        QuotaReport report;
        report.row = find(name);
        if (name == "s3/live") {
            report.row = find("s3/{bucket}");
            engine::LimitReport limit;
            limit.unit = "requests";
            limit.period = std::chrono::seconds(1);
            limit.level = 12.5;
            limit.owners = {parse_endpoint("10.0.0.1:7946").value()};
            report.instance = engine::InstanceReport{
                .name = std::string(name), .waiting_requests = 7, .limits = {limit}};
            report.figures = sample_quota("s3/{bucket}");
        }
        return report;
    }
    std::vector<QuotaHistoryRow> history(std::string_view name) const override {
        if (name != "s3/gone") {
            return {};
        }
        QuotaHistoryRow row;
        row.version = {.epoch = 4, .writer = 0xab};
        row.state = "current";
        row.kind = "removed";
        row.who = "ada";
        row.age = std::chrono::seconds(90);
        return {row};
    }
    ChangeOutcome put(const limiter::QuotaDefinition& definition,
                      const definitions::Edit& edit) override {
        const auto known = find(definition.name);
        if (edit.expected && *edit.expected != (known ? known->tag : "")) {
            ChangeOutcome outdated;
            outdated.code = ErrorCode::conflict;
            outdated.message = "the quota has changed meanwhile";
            return outdated;
        }
        if (definition.parent && !rows.contains(*definition.parent)) {
            ChangeOutcome refused;
            refused.errors = {{.index = 0,
                               .quota = definition.name,
                               .field = "parent",
                               .message = "there is no quota of that name",
                               .suggestion = "s3"}};
            return refused;
        }
        last_edit = edit;
        if (edit.dry_run) {
            return accepted();
        }
        rows[definition.name] = {.name = definition.name,
                                 .definition = definition,
                                 .source = "api epoch 1",
                                 .problem = "",
                                 .who = edit.who,
                                 .why = edit.why,
                                 .expires_in = edit.lifetime,
                                 .tag = "tag-" + std::to_string(epoch_)};
        return accepted();
    }
    definitions::TogetherReport put_together(std::span<const definitions::WantedDefinition> wanted,
                                             const definitions::Edit& edit) override {
        definitions::TogetherReport report;
        last_edit = edit;
        for (const definitions::WantedDefinition& one : wanted) {
            if (one.expected && *one.expected == "outdated") {
                report.code = ErrorCode::conflict;
                report.message = "the quota has changed meanwhile";
                return report;
            }
            if (one.definition.parent == "nobody") {
                report.errors.push_back({.index = 0,
                                         .quota = one.definition.name,
                                         .field = "parent",
                                         .message = "there is no quota 'nobody'",
                                         .suggestion = ""});
            }
        }
        if (!report.errors.empty()) {
            return report;
        }
        for (const definitions::WantedDefinition& one : wanted) {
            report.versions.push_back(*accepted().version);
            if (!edit.dry_run) {
                rows[one.definition.name].definition = one.definition;
            }
        }
        return report;
    }
    ChangeOutcome hide(std::string_view name, const definitions::Edit&) override {
        rows[std::string(name)].definition.reset();
        return accepted();
    }
    ChangeOutcome remove(std::string_view name, const definitions::Edit& edit) override {
        if (edit.dry_run && rows.contains(std::string(name))) {
            return accepted();
        }
        if (rows.erase(std::string(name)) > 0) {
            return accepted();
        }
        ChangeOutcome refused;
        refused.code = ErrorCode::not_found;
        refused.message = "the API layer has no such quota";
        return refused;
    }

    std::map<std::string, QuotaRow> rows;
    definitions::Edit last_edit;

  private:
    ChangeOutcome accepted() {
        ChangeOutcome outcome;
        outcome.version = definitions::Version{.epoch = ++epoch_, .writer = 0xffffffffffffffff};
        return outcome;
    }
    std::uint64_t epoch_ = 0;
};

struct World {
    FakeDirectory directory;
    Health health{.listening = true, .configured = true, .draining = false};
    std::string level = "info";
    Caller caller;
    AdminHandler handler{sources(), {}};

    AdminSources sources() {
        AdminSources result;
        result.health = [this] { return health; };
        result.config = sample_config;
        result.problems = sample_problems;
        result.peers = [] {
            return std::vector<engine::PeerReport>{
                {.address = parse_endpoint("10.0.0.1:7946").value(),
                 .incarnation = 0xfedcba9876543210,
                 .state = "alive",
                 .silence = std::nullopt,
                 .self = true,
                 .round_trip = std::nullopt,
                 .key = 0x0a0b0c0d},
                {.address = parse_endpoint("[2001:db8::1]:7946").value(),
                 .incarnation = 5,
                 .state = "suspect",
                 .silence = std::chrono::milliseconds(1500),
                 .self = false,
                 .round_trip = std::chrono::milliseconds(250),
                 .key = 0}};
        };
        result.gossip = [] {
            GossipTrouble trouble;
            trouble.clustered = true;
            trouble.seal.keys = {0x0a0b0c0d, 7};
            trouble.seal.strangers = {{parse_endpoint("10.0.0.9:7946").value(), "unknown_key",
                                       0xffeeddcc, 12, std::chrono::milliseconds(500)},
                                      {parse_endpoint("10.0.0.8:7946").value(), "unsealed", 0, 1,
                                       std::chrono::seconds(2)}};
            trouble.silent_seeds = {parse_endpoint("10.0.0.9:7946").value()};
            trouble.limits = {{"s3/photos", "requests", std::chrono::seconds(60),
                               std::chrono::milliseconds(1500), 2, 1, true}};
            return trouble;
        };
        result.build = {.version = "0.1.0", .revision = "abc", .compiler = "g++"};
        result.quotas = &directory;
        result.drain = [this](const Caller& by) {
            health.draining = true;
            caller = by;
        };
        result.log_level = [this] { return level; };
        result.set_log_level = [this](std::string_view wanted, const Caller& by) {
            caller = by;
            if (wanted != "debug" && wanted != "info") {
                return false;
            }
            level = wanted;
            return true;
        };
        result.uptime_seconds = [] { return 12.5; };
        return result;
    }

    Response put_if(std::string target, std::string match, std::string none = "") {
        AdminRequest request;
        request.method = "PUT";
        request.target = std::move(target);
        request.host = "127.0.0.1:9901";
        request.body = R"({"limits": [{"rate": "1r/s"}]})";
        request.content_type = "application/json";
        request.if_match = std::move(match);
        request.if_none_match = std::move(none);
        return handler(request);
    }
    Response send(std::string method, std::string target, std::string body = "",
                  std::string type = "application/json") {
        AdminRequest request;
        request.method = std::move(method);
        request.target = std::move(target);
        request.host = "127.0.0.1:9901";
        request.body = std::move(body);
        request.content_type = std::move(type);
        return handler(request);
    }
    Json get(std::string target, unsigned status = 200) {
        const auto answer = send("GET", std::move(target));
        CHECK(answer.status == status);
        return Json::parse(answer.body);
    }
};

inline const std::string kTen = R"({"limits": [{"rate": "10r/s"}]})";

}  // namespace weir::admin::test
