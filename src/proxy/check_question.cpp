#include "proxy/check_question.h"

#include <algorithm>

#include "limiter/definition.h"
#include "routing/escapes.h"
#include "routing/weight.h"

namespace weir::proxy {
namespace {

using http::FieldId;

constexpr std::string_view kCheck = "/check";
constexpr std::string_view kPeek = "/peek";
constexpr std::string_view kObtain = "/v1/obtain";
constexpr std::string_view kOtherPaths = "This listener answers /check, /peek and /v1/obtain only.";

constexpr http::FieldIds kNotCopied =
    bit(FieldId::connection) | bit(FieldId::content_length) | bit(FieldId::expect) |
    bit(FieldId::host) | bit(FieldId::keep_alive) | bit(FieldId::proxy_authenticate) |
    bit(FieldId::proxy_authorization) | bit(FieldId::proxy_connection) | bit(FieldId::te) |
    bit(FieldId::transfer_encoding) | bit(FieldId::upgrade) | bit(FieldId::x_forwarded_host);

/// What a field says about the original request. If several fields say the same kind of thing, they
/// must agree.
enum class Statement : std::uint8_t { none, method, uri, url, host };

Statement statement_of(std::string_view name) {
    struct Entry {
        std::string_view name;
        Statement statement;
    };
    static constexpr std::array kEntries{Entry{"x-forwarded-method", Statement::method},
                                         Entry{"x-original-method", Statement::method},
                                         Entry{"x-forwarded-uri", Statement::uri},
                                         Entry{"x-original-uri", Statement::uri},
                                         Entry{"x-original-url", Statement::url},
                                         Entry{"x-forwarded-host", Statement::host}};
    for (const auto& entry : kEntries) {
        if (http::equals_ignoring_case(entry.name, name)) {
            return entry.statement;
        }
    }
    return Statement::none;
}

bool is_uri(std::string_view text) { return text.starts_with('/') || text == "*"; }

/// Whether the text can be a word of a request line: it has no character that ends one.
bool is_word(std::string_view text) { return text.find_first_of(" \t") == std::string_view::npos; }

bool is_name(std::string_view name) {
    return !name.empty() && name.size() <= limiter::kMaxNameBytes &&
           std::all_of(name.begin(), name.end(), [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return byte >= 0x20 && byte != 0x7f && c != '{' && c != '}' && c != '"' && c != '\\';
           });
}

/// Visits the options of a query, until one is not good.
template <class Visit>
bool for_each_option(std::string_view query, Visit visit) {
    while (!query.empty()) {
        const auto option = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(option.size() + 1, query.size()));
        const auto equals = std::min(option.find('='), option.size());
        if (!visit(option.substr(0, equals), option.substr(std::min(equals + 1, option.size())))) {
            return false;
        }
    }
    return true;
}

bool unclear(CheckQuestion& question, std::string_view explanation, unsigned status = 400) {
    question.kind = CheckQuestion::Kind::unclear;
    question.status = status;
    question.explanation = explanation;
    return false;
}

}  // namespace

bool asks_for_403(std::string_view target) {
    const auto path = target.substr(0, target.find('?'));
    // Behind "/check/" the query is that of the original request.
    if (path != kCheck && path != kPeek) {
        return false;
    }
    return !for_each_option(target.substr(std::min(path.size() + 1, target.size())),
                            [](auto name, auto value) { return name != "deny" || value != "403"; });
}

/// What the fields and the path of a check say about the original request.
struct CheckReader::Statements {
    std::string_view method;
    std::string_view uri;
    std::string_view query;  ///< of a path behind "/check", which has no '?' in `uri`
    bool has_query = false;
    std::string_view host;
    bool contradictory = false;

    void state(std::string_view& what, std::string_view value) {
        if (value.empty()) {
            return;
        }
        contradictory = contradictory || (!what.empty() && what != value);
        what = value;
    }
    void state_host(std::string_view value) {
        if (value.empty()) {
            return;
        }
        contradictory =
            contradictory || (!host.empty() && !http::equals_ignoring_case(host, value));
        host = value;
    }
    [[nodiscard]] std::string_view own_query() const {
        const auto begin = uri.find('?');
        return begin == std::string_view::npos ? std::string_view() : uri.substr(begin + 1);
    }
    /// Reads a URL like "https://shop.example/a?b", or a URI without scheme and host.
    void state_url(std::string_view url) {
        const auto scheme = url.find("://");
        if (is_uri(url) || scheme == std::string_view::npos) {
            return state(uri, url);
        }
        const auto rest = url.substr(scheme + 3);
        const auto end = std::min(rest.find_first_of("/?#"), rest.size());
        state_host(rest.substr(0, end));
        state(uri, end == rest.size() ? std::string_view("/") : rest.substr(end));
    }
};

CheckQuestion CheckReader::read(const http::RequestHead& asked, const http::GatePolicy& policy) {
    CheckQuestion question;
    count_ = 0;
    lists_ = 0;
    weighed_ = false;
    decoded_.clear();
    const auto path = asked.path();
    if (path == kObtain) {
        read_obtain(asked, question);
        return question;
    }
    question.peek = path.starts_with(kPeek);
    const auto prefix = question.peek ? kPeek : kCheck;
    if (!path.starts_with(prefix)) {
        unclear(question, kOtherPaths, 404);
        return question;
    }
    Statements statements;
    const auto rest = path.substr(prefix.size());
    if (is_uri(rest)) {
        // Path and query are those of the original request, so nothing in them is an option.
        statements.uri = rest;
        statements.query = asked.query();
        statements.has_query = asked.has_query();
    } else if (!rest.empty()) {
        unclear(question, kOtherPaths, 404);
        return question;
    } else if (!read_options(asked.query(), question)) {
        return question;
    } else {
        read_fields(asked, statements);
        if (!asked.query().empty() && statements.own_query() == asked.query()) {
            unclear(question,
                    "The options of /check are the original request's query: the proxy in front "
                    "must not hand that on (Caddy: 'uri /check?').");
            return question;
        }
        if (count_ > 0) {
            return question;
        }
    }
    pose(asked, statements, policy, question);
    return question;
}

void CheckReader::read_obtain(const http::RequestHead& asked, CheckQuestion& question) {
    question.obtains = true;
    question.wish = {.wanted = 0, .minimum = 0, .each = {}};
    const bool good = for_each_option(asked.query(), [&](auto name, auto value) {
        return name == "quota" ? add_name(value, question) : read_wish(name, value, question);
    });
    if (!good) {
        return;
    }
    const auto& wish = question.wish;
    if (asked.method() != http::Method::post) {
        unclear(question, "/v1/obtain takes something away, so it is asked by POST.");
    } else if (count_ == 0) {
        unclear(question, "'quota' is missing.");
    } else if (!(wish.wanted > 0)) {
        unclear(question, "'n' is missing: how many are wanted, a number above 0.");
    } else if (wish.minimum > wish.wanted) {
        unclear(question, "'minimum' must not be more than 'n'.");
    } else {
        take_names(question);
    }
}

bool CheckReader::read_wish(std::string_view name, std::string_view value,
                            CheckQuestion& question) {
    auto& wish = question.wish;
    if (name == "n") {
        return (routing::parse_weight(value, wish.wanted) && wish.wanted > 0) ||
               unclear(question, "'n' must be a number above 0.");
    }
    if (name == "minimum") {
        return routing::parse_weight(value, wish.minimum) ||
               unclear(question, "'minimum' must be a number like 1 or 0.5.");
    }
    if (name == "of") {
        wish.each = {.requests = value == "requests" ? 1.0 : 0.0,
                     .request_bytes = value == "request-bytes" ? 1.0 : 0.0,
                     .cost = value == "cost" ? 1.0 : 0.0};
        return wish.each.requests + wish.each.request_bytes + wish.each.cost > 0 ||
               unclear(question, "'of' must be requests, request-bytes or cost.");
    }
    if (name == "peek") {
        question.peek = value == "1";
        return value == "1" || value == "0" || unclear(question, "'peek' must be 1 or 0.");
    }
    return unclear(question, "An unknown option; /v1/obtain has quota, n, minimum, of and peek.");
}

void CheckReader::take_names(CheckQuestion& question) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        names_[i] = std::string_view(decoded_).substr(begin, ends_[i] - begin);
        begin = ends_[i];
    }
    question.kind = CheckQuestion::Kind::named;
    question.lists = {{names_.data(), count_}, {list_ends_.data(), lists_}};
}

bool CheckReader::read_options(std::string_view query, CheckQuestion& question) {
    if (!for_each_option(
            query, [&](auto name, auto value) { return read_option(name, value, question); })) {
        return false;
    }
    if (count_ == 0) {
        return !weighed_ ||
               unclear(question, "'weight' is the weight of a 'quota', which is missing.");
    }
    take_names(question);
    return true;
}

bool CheckReader::read_option(std::string_view name, std::string_view value,
                              CheckQuestion& question) {
    if (name == "quota") {
        return add_name(value, question);
    }
    if (name == "also") {
        return begin_list(value, question);
    }
    if (name == "weight") {
        weighed_ = true;
        return routing::parse_weight(value, question.weight) ||
               unclear(question, "'weight' must be a number like 2 or 0.5.");
    }
    if (name == "peek") {
        question.peek = question.peek || value == "1";
        return value == "1" || value == "0" || unclear(question, "'peek' must be 1 or 0.");
    }
    if (name == "deny") {
        // ClientConnection shows the answer so, also if the question is not clear.
        return value == "403" || value == "429" || unclear(question, "'deny' must be 403 or 429.");
    }
    return unclear(question, "The options of /check are quota, also, weight, peek and deny.");
}

bool CheckReader::add_name(std::string_view encoded, CheckQuestion& question) {
    if (count_ == routing::kMaxQuotaNames) {
        return unclear(question, "More than 16 quotas are named.");
    }
    const auto begin = decoded_.size();
    const bool good = routing::append_decoded(decoded_, encoded);
    if (!good || !is_name(std::string_view(decoded_).substr(begin))) {
        return unclear(question, "'quota' does not hold a quota's name, percent-encoded.");
    }
    ends_[count_++] = decoded_.size();
    lists_ = std::max<std::size_t>(lists_, 1);
    list_ends_[lists_ - 1] = static_cast<std::uint8_t>(count_);
    return true;
}

/// Begins another list of names with this one.
bool CheckReader::begin_list(std::string_view encoded, CheckQuestion& question) {
    if (count_ == 0) {
        return unclear(question, "'also' begins another list, and no 'quota' stands before it.");
    }
    if (lists_ == routing::kMaxNameLists) {
        return unclear(question, "More than 4 lists of quotas are given.");
    }
    ++lists_;
    return add_name(encoded, question);
}

void CheckReader::read_fields(const http::RequestHead& asked, Statements& statements) const {
    const auto& fields = asked.fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        switch (statement_of(fields.name(i))) {
            case Statement::method:
                statements.state(statements.method, fields.value(i));
                break;
            case Statement::uri:
                statements.state(statements.uri, fields.value(i));
                break;
            case Statement::url:
                statements.state_url(fields.value(i));
                break;
            case Statement::host:
                statements.state_host(fields.value(i));
                break;
            case Statement::none:
                break;
        }
    }
}

void CheckReader::pose(const http::RequestHead& asked, const Statements& statements,
                       const http::GatePolicy& policy, CheckQuestion& question) {
    if (statements.contradictory) {
        unclear(question, "Two fields about the original request contradict each other.");
    } else if (statements.uri.empty()) {
        unclear(question,
                "Neither 'quota' nor X-Forwarded-Uri, X-Original-URI or X-Original-URL says what "
                "to check.");
    } else if (!is_uri(statements.uri) || !is_word(statements.uri) || !is_word(statements.method)) {
        unclear(question, "The original request's method or URI is not one.");
    } else {
        write_head(asked, statements);
        original_.reset();
        const auto state = original_.parse(text_, policy);
        question.kind = CheckQuestion::Kind::routed;
        if (state == http::ParseState::complete && original_.size() == text_.size()) {
            return;
        }
        question.kind = CheckQuestion::Kind::malformed;
        question.rejection = state == http::ParseState::rejected
                                 ? original_.rejection()
                                 : http::Rejection::bad_request_line;
    }
}

void CheckReader::write_head(const http::RequestHead& asked, const Statements& statements) {
    text_ = statements.method.empty() ? asked.method_text() : statements.method;
    text_ += ' ';
    text_ += statements.uri;
    if (statements.has_query) {
        text_ += '?';
        text_ += statements.query;
    }
    text_ += " HTTP/1.1\r\nHost: ";
    text_ += statements.host.empty() ? asked.host() : statements.host;
    text_ += "\r\n";
    const auto& fields = asked.fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto& field = fields[i];
        const bool left_out = field.dropped || (bit(field.id) & kNotCopied) != 0 ||
                              statement_of(fields.name(i)) != Statement::none;
        if (!left_out) {
            text_ += fields.line(i);
        }
    }
    text_ += "\r\n";
}

}  // namespace weir::proxy
