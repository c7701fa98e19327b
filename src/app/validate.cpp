#include "app/validate.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "node/files.h"

namespace weir::app {
namespace {

using ReportJson = nlohmann::ordered_json;

/// What came of reading the settings, or the documents that were named.
struct ReadPart {
    config::Diagnostics diagnostics;
    std::size_t sets = 0;
    std::size_t quotas = 0;

    [[nodiscard]] bool is_good(bool strict) const {
        return !diagnostics.has_errors() && (!strict || diagnostics.warning_count() == 0);
    }
};

std::size_t count_quotas(const std::vector<config::QuotaSet>& sets) {
    std::size_t count = 0;
    for (const config::QuotaSet& set : sets) {
        count += set.size();
    }
    return count;
}

ReadPart read_documents(const std::vector<std::string>& paths) {
    ReadPart part;
    const std::vector<std::string> files = node::expand_quota_paths(paths, part.diagnostics);
    const std::vector<config::QuotaSet> sets =
        config::parse_quota_sets(node::read_sources(files, part.diagnostics), part.diagnostics);
    part.sets = sets.size();
    part.quotas = count_quotas(sets);
    return part;
}

ReadPart read_settings(const node::ConfigSource& source) {
    const node::Loaded loaded = node::load(source);
    return {loaded.diagnostics, loaded.sets.size(), count_quotas(loaded.sets)};
}

void print_text(const ReadPart& part, bool strict) {
    std::fputs(part.diagnostics.text().c_str(), stderr);
    if (tell_if_bad(part.diagnostics, strict)) {
        std::printf("valid: %zu quota set(s), %zu quota(s)\n", part.sets, part.quotas);
    }
}

std::string_view word_of(config::Severity severity) {
    return severity == config::Severity::error ? "error" : "warning";
}

/// What is wrong and what was probably meant, as one text without the place.
std::string message_of(config::Diagnostic diagnostic) {
    diagnostic.file.clear();
    diagnostic.place = {};
    diagnostic.severity = config::Severity::error;
    return to_string(diagnostic).substr(std::string_view(": ").size());
}

ReportJson json_of(const config::Diagnostic& one) {
    const auto or_null = [](std::uint32_t number) {
        return number == 0 ? ReportJson(nullptr) : ReportJson(number);
    };
    return {{"severity", word_of(one.severity)},
            {"file", one.file},
            {"line", or_null(one.place.line)},
            {"column", or_null(one.place.column)},
            {"path", one.path},
            {"message", one.what},
            {"suggestion", one.suggestion}};
}

void print_json(const std::vector<ReadPart>& parts, bool good) {
    ReportJson report = {{"valid", good},   {"errors", 0}, {"warnings", 0},
                         {"quota_sets", 0}, {"quotas", 0}, {"diagnostics", ReportJson::array()}};
    const auto add = [&report](const char* key, std::size_t count) {
        report[key] = report[key].get<std::size_t>() + count;
    };
    for (const ReadPart& part : parts) {
        add("errors", part.diagnostics.error_count());
        add("warnings", part.diagnostics.warning_count());
        add("quota_sets", part.sets);
        add("quotas", part.quotas);
        for (const config::Diagnostic& one : part.diagnostics.sorted()) {
            report["diagnostics"].push_back(json_of(one));
        }
    }
    std::puts(report.dump(2, ' ', false, ReportJson::error_handler_t::replace).c_str());
}

/// A text within a command of GitHub's CI; a property of one must have no colons and commas either.
std::string escaped(std::string_view text, bool property) {
    std::string all;
    for (const char c : text) {
        const bool special =
            c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
        if (!special) {
            all += c;
            continue;
        }
        char code[4];
        std::snprintf(code, sizeof(code), "%%%02X", static_cast<unsigned>(c));
        all += code;
    }
    return all;
}

void print_github(const ReadPart& part) {
    for (const config::Diagnostic& one : part.diagnostics.sorted()) {
        std::string text =
            "::" + std::string(word_of(one.severity)) + " file=" + escaped(one.file, true);
        if (one.place.line != 0) {
            text += ",line=" + std::to_string(one.place.line) +
                    ",col=" + std::to_string(one.place.column);
        }
        std::printf("%s::%s\n", text.c_str(), escaped(message_of(one), false).c_str());
    }
}

}  // namespace

bool tell_if_bad(const config::Diagnostics& diagnostics, bool strict) {
    if (diagnostics.has_errors()) {
        std::fprintf(stderr, "weir: %zu error(s)\n", diagnostics.error_count());
        return false;
    }
    if (strict && diagnostics.warning_count() > 0) {
        std::fprintf(stderr, "weir: %zu warning(s), which are errors because of --strict\n",
                     diagnostics.warning_count());
        return false;
    }
    return true;
}

int validate(const node::ConfigSource& source, const std::vector<std::string>& documents,
             const ValidateOptions& options) {
    std::vector<ReadPart> parts;
    if (source.file || documents.empty()) {
        parts.push_back(read_settings(source));
    }
    if (!documents.empty()) {
        parts.push_back(read_documents(documents));
    }
    bool good = true;
    for (const ReadPart& part : parts) {
        good = good && part.is_good(options.strict);
        if (options.format == ReportFormat::text) {
            print_text(part, options.strict);
        } else if (options.format == ReportFormat::github) {
            print_github(part);
        }
    }
    if (options.format == ReportFormat::json) {
        print_json(parts, good);
    }
    return good ? 0 : 1;
}

}  // namespace weir::app
