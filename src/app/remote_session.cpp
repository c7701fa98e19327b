#include "app/remote_session.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "admin/access.h"

namespace weir::app {
namespace {

/// The text of a problem document, with one line for each error.
std::string problem_text(const Json& problem, bool several = false) {
    std::string text = text_of(problem, "detail");
    if (!problem.is_object() || !problem.contains("errors")) {
        return text;
    }
    // The store's own summary names each error as well; once is enough.
    if (text.find(": ") != std::string::npos) {
        text = "the definition is not valid";
    }
    for (const Json& error : problem["errors"]) {
        const std::string path = text_of(error, "path");
        const std::string quota = several ? text_of(error, "quota") : "";
        text += "\n  " + (quota.empty() ? "" : quota + ": ") + (path.empty() ? "" : path + ": ") +
                text_of(error, "message");
        const std::string suggestion = text_of(error, "suggestion");
        const bool sentence =
            suggestion.starts_with("did you mean") || suggestion.find(' ') != std::string::npos;
        text += suggestion.empty() ? ""
                : sentence         ? ", " + suggestion
                                   : ", did you mean '" + suggestion + "'?";
    }
    return text;
}

std::string printable(std::string text) {
    for (char& c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) {
            c = '?';
        }
    }
    return text;
}

/// The width in characters: continuation bytes of UTF-8 take no column.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    }));
}

}  // namespace

int complain(const std::string& text) {
    std::fputs(("weir: " + text + "\n").c_str(), stderr);
    return 1;
}

RemoteSession::RemoteSession(const RemoteOptions& options) {
    std::string token;
    if (!options.token_file.empty()) {
        auto read = admin::read_token(options.token_file);
        if (!read) {
            complain(read.error().message);
            return;
        }
        token = std::move(*read);
    }
    client_.emplace(options.admin, std::move(token));
}

std::optional<Json> RemoteSession::read(const Result<AdminReply>& reply, bool may_be_missing) {
    if (!reply) {
        complain(reply.error().message);
        return std::nullopt;
    }
    if (reply->status == 404 && may_be_missing) {
        return Json(nullptr);
    }
    Json json = Json::parse(reply->body, nullptr, false);
    if (reply->status >= 200 && reply->status < 300 && !json.is_discarded()) {
        return json;
    }
    const std::string what = json.is_discarded() ? "" : problem_text(json);
    complain(what.empty() ? "the sidecar answered " + std::to_string(reply->status) : what);
    return std::nullopt;
}

std::optional<Json> RemoteSession::get(const std::string& target) {
    return client_ ? read(client_->get(target), false) : std::nullopt;
}
std::optional<Json> RemoteSession::find(const std::string& target) {
    return client_ ? read(client_->get(target), true) : std::nullopt;
}
std::optional<Json> RemoteSession::put_if(const std::string& target, const std::string& body,
                                          const std::string& tag, bool& changed) {
    changed = false;
    if (!client_) {
        return std::nullopt;
    }
    const auto reply = client_->put(target, body, tag);
    changed = reply && reply->status == 412;
    return changed ? std::nullopt : read(reply, false);
}
std::optional<Json> RemoteSession::remove(const std::string& target) {
    return client_ ? read(client_->remove(target), false) : std::nullopt;
}
std::optional<Json> RemoteSession::post(const std::string& target) {
    return client_ ? read(client_->post(target), false) : std::nullopt;
}

std::optional<RemoteSession::Answer> RemoteSession::post(const std::string& target,
                                                         const std::string& body) {
    if (!client_) {
        return std::nullopt;
    }
    const auto reply = client_->post(target, body);
    if (!reply) {
        complain(reply.error().message);
        return std::nullopt;
    }
    Answer answer{reply->status, Json::parse(reply->body, nullptr, false), {}};
    if (answer.status == 200 && !answer.body.is_discarded()) {
        return answer;
    }
    if (!answer.body.is_discarded()) {
        answer.problem = problem_text(answer.body, true);
    }
    if (answer.problem.empty()) {
        answer.problem = "the sidecar answered " + std::to_string(answer.status);
    }
    return answer;
}

std::string text_of(const Json& object, const char* key) {
    if (!object.is_object() || !object.contains(key)) {
        return {};
    }
    const Json& member = object[key];
    return member.is_string() ? member.get<std::string>() : member.is_null() ? "" : member.dump();
}

double number_of(const Json& object, const char* key) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_number()) {
        return 0;
    }
    return object[key].get<double>();
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width(printable(row[i])));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string cell = printable(row[i]);
            line += cell + std::string(widths[i] - width(cell) + 2, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string short_number(double number) {
    std::array<char, 64> buffer{};
    const bool is_whole = std::abs(number) >= 1000 || number == std::round(number);
    std::snprintf(buffer.data(), buffer.size(), is_whole ? "%.0f" : "%.3g", number);
    return buffer.data();
}

}  // namespace weir::app
