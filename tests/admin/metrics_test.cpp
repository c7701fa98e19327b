#include "admin/metrics.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "admin/families.h"
#include "admin/sample_sources.h"
#include "net/clock.h"

using namespace weir;
using namespace weir::admin;
using namespace weir::admin::test;

namespace {

Instant still() { return Instant{}; }

std::string text_of(MetricsSources sources) { return Metrics(std::move(sources), still).text(); }

bool has_line(const std::string& text, const std::string& line) {
    return text.find("\n" + line + "\n") != std::string::npos;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream input(text);
    for (std::string line; std::getline(input, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// What promtool says about the text; empty if it is content.
std::string promtool(const std::string& text) {
    std::string input = "/tmp/weir-metrics-XXXXXX";
    const int descriptor = ::mkstemp(input.data());
    REQUIRE(descriptor >= 0);
    ::close(descriptor);
    std::ofstream(input, std::ios::binary) << text;
    const std::string output = input + ".out";
    const std::string command =
        "timeout 60 promtool check metrics < " + input + " > " + output + " 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream said(output);
    std::string complaint{std::istreambuf_iterator<char>(said), std::istreambuf_iterator<char>()};
    ::unlink(input.c_str());
    ::unlink(output.c_str());
    return status == 0 && complaint.empty() ? "" : std::to_string(status) + ": " + complaint;
}

bool has_promtool() { return std::system("command -v promtool > /dev/null 2>&1") == 0; }

using Described = std::map<std::string, std::pair<std::string, std::set<std::string>>>;

/// A family of metrics as the page shows it.
struct Shown {
    std::string type;
    std::string help;
    std::set<std::string> labels{};  // without `le` of histograms
    std::size_t samples = 0;
};

/// The names of the labels in `name{first="value",second="value"} 1`.
std::set<std::string> labels_of(const std::string& sample) {
    std::set<std::string> labels;
    std::string name;
    bool in_value = false;
    for (std::size_t at = sample.find('{') + 1;
         at < sample.size() && (in_value || sample[at] != '}'); ++at) {
        if (in_value) {
            at += sample[at] == '\\' ? 1U : 0U;
            in_value = sample[at] != '"' || sample[at - 1] == '\\';
        } else if (sample[at] == '"') {
            in_value = true;
            labels.insert(std::exchange(name, {}));
        } else if (sample[at] != ',' && sample[at] != '=') {
            name += sample[at];
        }
    }
    labels.erase("le");
    return labels;
}

std::map<std::string, Shown> shown_on(const std::string& page) {
    std::map<std::string, Shown> all;
    Shown* current = nullptr;
    for (const std::string& line : lines_of(page)) {
        const std::string about = line.substr(0, 7);
        if (about == "# HELP " || about == "# TYPE ") {
            const auto end = line.find(' ', 7);
            current = &all[line.substr(7, end - 7)];
            (about == "# HELP " ? current->help : current->type) = line.substr(end + 1);
        } else if (current != nullptr) {
            ++current->samples;
            if (line.find('{') < line.find(' ')) {
                current->labels.merge(labels_of(line));
            }
        }
    }
    return all;
}

/// The rows `| name | type | labels |` of docs/metrics.md.
Described documented() {
    std::ifstream input(std::string(WEIR_SOURCE_DIR) + "/docs/metrics.md");
    REQUIRE(input.is_open());
    Described all;
    for (std::string line; std::getline(input, line);) {
        if (!line.starts_with("| `")) {
            continue;
        }
        std::istringstream cells(line);
        std::string cell;
        std::vector<std::string> row;
        while (std::getline(cells, cell, '|') && row.size() < 4) {
            row.push_back(cell);
        }
        REQUIRE(row.size() == 4);
        const auto trimmed = [](const std::string& text, const char* edge) {
            const auto begin = text.find_first_not_of(edge);
            return begin == std::string::npos
                       ? std::string()
                       : text.substr(begin, text.find_last_not_of(edge) - begin + 1);
        };
        auto& [type, labels] = all[trimmed(row[1], " `")];
        type = trimmed(row[2], " ");
        std::istringstream list(row[3]);
        while (std::getline(list, cell, ',')) {
            if (!trimmed(cell, " `").empty()) {
                labels.insert(trimmed(cell, " `"));
            }
        }
    }
    return all;
}

}  // namespace

TEST_CASE("promtool finds nothing to complain about") {
    REQUIRE_MESSAGE(has_promtool(), "the Debian package prometheus brings promtool");
    CHECK(promtool(text_of(sample_sources())) == "");
    CHECK(promtool("x{ 1\n") != "");  // it would complain
}

TEST_CASE("every metric is documented with its type and labels, every documented one exists") {
    const auto code = shown_on(text_of(sample_sources()));
    const auto docs = documented();
    for (const auto& [metric, what] : code) {
        const std::string& name = metric;  // clang 14 captures no structured binding
        CAPTURE(name);
        REQUIRE_MESSAGE(docs.contains(name), "not documented");
        CHECK(docs.at(name).first == what.type);
        CHECK(docs.at(name).second == what.labels);
    }
    for (const auto& [metric, what] : docs) {
        const std::string& name = metric;
        CHECK_MESSAGE(code.contains(name), name << " is no metric");
    }
}

TEST_CASE("every metric has a help text of one line and a sample") {
    for (const auto& [metric, family] : shown_on(text_of(sample_sources()))) {
        const std::string& name = metric;  // clang 14 captures no structured binding
        CAPTURE(name);
        CHECK(family.help.size() > 10);
        CHECK(family.samples > 0);
        CHECK((name.starts_with("weir_") || name.starts_with("process_")));
        CHECK(name.ends_with("_total") == (family.type == "counter"));
    }
}

TEST_CASE("figures come out under their labels") {
    const std::string text = text_of(sample_sources());
    for (const auto* line : {
             R"(weir_requests_total{outcome="refused",reason="limit"} 4)",
             R"(weir_connections{side="client"} 3)",
             R"(weir_inflight_requests 2)",
             R"(weir_tunnels 1)",
             R"(weir_quota_offered_total{quota="s3/{bucket}/write"} 14)",
             R"(weir_quota_discard_probability{quota="s3"} 0.25)",
             R"(weir_quota_discard_probability_max{quota="s3"} 0.5)",
             R"(weir_quota_limit{quota="s3",unit="requests",period="1m"} 50)",
             R"(weir_quota_window_limit{quota="s3",unit="requests",period="1h"} 1000)",
             R"(weir_quota_window_admitted{quota="s3",unit="requests",period="1h"} 30)",
             R"(weir_quota_window_allowance{quota="s3",unit="requests",period="1h"} 400)",
             R"(weir_quota_concurrency_limit{quota="s3"} 64)",
             R"(weir_quota_in_flight{quota="s3"} 12)",
             R"(weir_quotas 2)",
             R"(weir_peers{state="alive"} 2)",
             R"(weir_peers{state="dead"} 0)",
             R"(weir_gossip_packets_total{direction="out",type="ping"} 6)",
             R"(weir_gossip_bytes_total{direction="out"} 1000)",
             R"(weir_gossip_sync_bytes_total 600)",
             R"(weir_gossip_rejected_packets_total{reason="seal"} 7)",
             R"(weir_gossip_refused_values_total{peer="10.0.0.1:7946"} 3)",
             R"(weir_gossip_key_info{use="first",id="0a0b0c0d"} 1)",
             R"(weir_gossip_key_info{use="second",id="00000007"} 1)",
             "weir_gossip_second_key_packets_total 3",
             R"(weir_gossip_staleness_seconds 0.25)",
             R"(weir_config_info{hash="00112233",quotas_hash="44556677"} 1)",
             R"(weir_config_reloads_total{result="success"} 2)",
             R"(weir_quota_set_generation{set="storage"} 7)",
             R"(weir_quota_set_info{set="storage",hash="0000000000000abc"} 1)",
             R"(weir_metrics_series_dropped_total 0)",
         }) {
        CHECK_MESSAGE(has_line(text, line), line);
    }
}

TEST_CASE("buckets are cumulative and end with everything") {
    const std::string text = text_of(sample_sources());
    const std::string name = "weir_upstream_duration_seconds";
    CHECK(has_line(text, name + "_bucket{le=\"0.001\"} 3"));
    CHECK(has_line(text, name + "_bucket{le=\"0.1\"} 5"));
    CHECK(has_line(text, name + "_bucket{le=\"+Inf\"} 6"));
    CHECK(has_line(text, name + "_count 6"));
    CHECK(has_line(text, name + "_sum 0.75"));
}

TEST_CASE("large counters keep their last digit") {
    auto sources = sample_sources();
    sources.proxy = [] {
        auto proxy = sample_proxy();
        proxy.requests = {{"admitted", "quota", 9'007'199'254'740'991}};
        return proxy;
    };
    const std::string text = text_of(std::move(sources));
    const std::string head = R"(weir_requests_total{outcome="admitted",reason="quota"} )";
    const auto at = text.find(head);
    REQUIRE(at != std::string::npos);
    CHECK(std::strtod(text.c_str() + at + head.size(), nullptr) == 9'007'199'254'740'991.0);
}

TEST_CASE("quota names of any kind leave the text parsable and the series apart") {
    const std::vector<std::string> names = {"plain",
                                            "quo\"te",
                                            "new\nline",
                                            "back\\slash",
                                            "<script>alert(1)</script>",
                                            std::string(10'000, 'x'),
                                            std::string(10'000, 'x') + "y",
                                            "broken \xff utf-8",
                                            "broken \xfe utf-8",
                                            "cut \xe2\x82",
                                            "surrogate \xed\xa0\x80",
                                            "overlong \xc0\xaf",
                                            "euro \xe2\x82\xac",
                                            std::string("nul \0 byte", 10),
                                            "}"};
    auto sources = sample_sources();
    sources.limiter = [names] {
        LimiterFigures limiter;
        for (const auto& name : names) {
            limiter.quotas.push_back(sample_quota(name));
        }
        return limiter;
    };
    const std::string text = text_of(std::move(sources));
    REQUIRE(has_promtool());
    CHECK(promtool(text) == "");
    std::set<std::string> series;
    for (const auto& line : lines_of(text)) {
        if (!line.starts_with("weir_quota_offered_total{")) {
            continue;
        }
        CHECK(series.insert(line).second);
        CHECK(line.size() < 2 * kMaxLabelBytes + 100);
    }
    CHECK(series.size() == names.size());
}

TEST_CASE("label values that are fine stay as they are") {
    CHECK(label_value("s3/{bucket}") == "s3/{bucket}");
    CHECK(label_value("euro \xe2\x82\xac \xf0\x9f\x98\x80") ==
          "euro \xe2\x82\xac \xf0\x9f\x98\x80");
    CHECK(label_value("") == "");
    const std::string longest(kMaxLabelBytes, 'a');
    CHECK(label_value(longest) == longest);
    CHECK(label_value(longest + "a").size() == kMaxLabelBytes);
    // Cut between characters, not within one.
    std::string euros;
    while (euros.size() < 2 * kMaxLabelBytes) {
        euros += "\xe2\x82\xac";
    }
    const std::string cut = label_value(euros);
    CHECK(cut.size() <= kMaxLabelBytes);
    CHECK(cut.find("\xef\xbf\xbd") == std::string::npos);
}

TEST_CASE("series are bounded, the rest is summed and counted") {
    auto sources = sample_sources();
    sources.max_quota_series = 10;
    sources.limiter = [] {
        LimiterFigures limiter;
        for (int i = 0; i < 25; ++i) {
            limiter.quotas.push_back(sample_quota(std::to_string(i)));
        }
        limiter.definitions = limiter.quotas.size();
        return limiter;
    };
    const std::string text = text_of(std::move(sources));
    std::size_t offered = 0;
    for (const auto& line : lines_of(text)) {
        if (line.starts_with("weir_quota_offered_total{")) {
            ++offered;
        }
    }
    CHECK(offered == 11);
    CHECK(has_line(text, R"(weir_quota_offered_total{quota="__other__"} 210)"));
    CHECK(has_line(text, "weir_metrics_series_dropped_total 15"));
    CHECK(has_line(text, "weir_quotas 25"));
}

TEST_CASE("without sources there are still build and process figures") {
    const std::string text = text_of({.build = {.version = "1", .revision = "", .compiler = ""}});
    CHECK(text.find("weir_build_info{version=\"1\"") != std::string::npos);
    CHECK(text.find("process_cpu_seconds_total") != std::string::npos);
    CHECK(text.find("weir_requests_total") == std::string::npos);
}

TEST_CASE("a page says when its figures were read") {
    const double before = weir::to_seconds(weir::net::unix_time());
    const std::string text = text_of({});
    const double after = weir::to_seconds(weir::net::unix_time());
    const std::string name = "\nweir_page_timestamp_seconds ";
    const auto at = text.find(name);
    REQUIRE(at != std::string::npos);
    const double read = std::stod(text.substr(at + name.size()));
    CHECK(before <= read);
    CHECK(read <= after);
}

TEST_CASE("a cheap scrape is always fresh, an expensive one is given again for a while") {
    Instant now{};
    Duration cost{};
    std::uint64_t count = 0;
    auto sources = sample_sources();
    sources.proxy = [&] {
        now += cost;
        auto proxy = sample_proxy();
        proxy.inflight_requests = ++count;
        return proxy;
    };
    const Metrics metrics(std::move(sources), [&] { return now; });
    CHECK(has_line(metrics.text(), "weir_inflight_requests 1"));
    CHECK(has_line(metrics.text(), "weir_inflight_requests 2"));
    cost = std::chrono::milliseconds(50);
    CHECK(has_line(metrics.text(), "weir_inflight_requests 3"));
    now += std::chrono::milliseconds(499);
    CHECK(has_line(metrics.text(), "weir_inflight_requests 3"));
    now += std::chrono::milliseconds(1);
    CHECK(has_line(metrics.text(), "weir_inflight_requests 4"));
}
