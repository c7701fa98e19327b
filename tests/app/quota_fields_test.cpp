// Leads each field of the table (definitions/fields.h) through every place that a field has to
// pass: a document's text, the definition, JSON, the bytes on the wire, what people are shown, and
// the flags of `weir quota set`. A field that one of these places does not know fails here, and so
// does a member of a definition that has no row. tests/config/docs_test.cpp holds the docs to the
// table.

#include "definitions/fields.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "app/quota_edit.h"
#include "app/quota_text.h"
#include "config/quota_document.h"
#include "definitions/codec.h"
#include "definitions/rules.h"

namespace weir::app {
namespace {

using definitions::LimitField;
using definitions::Overloaded;
using definitions::QuotaField;
using limiter::QuotaDefinition;
using limiter::RateLimit;
using Document = nlohmann::json;

/// The last word that is not the default one.
template <class T>
std::string another_word(const definitions::WordValue<T>& value) {
    const std::size_t last = value.words.size() - 1;
    return std::string(value.words[value.get(T{}) == last ? 0 : last]);
}

/// A value that is not the default one, as a document has it.
Document example_of(const QuotaField& field) {
    return std::visit(
        Overloaded{
            [](const definitions::TextValue<QuotaDefinition>&) { return Document("text"); },
            [](const definitions::WordValue<QuotaDefinition>& value) {
                return Document(another_word(value));
            },
            [](const definitions::CountValue<QuotaDefinition>& value) {
                return Document(value.least + 7);
            },
            [](const definitions::DurationValue&) { return Document("7s"); },
            [](const definitions::ShareValue&) { return Document("25%"); },
            [](const definitions::KeyValue&) { return Document("header:x-client"); },
            [](const definitions::FlagValue&) { return Document(true); },
            [](const definitions::NumberValue&) { return Document(3.5); },
            [](const definitions::HeadersValue&) {
                return Document({"hidden", "x-ratelimit"});
            },
            [](const definitions::LimitsValue&) {
                return Document::parse(R"([{"rate": "10r/s"}])");
            },
        },
        field.value);
}

Document example_of(const LimitField& field) {
    return std::visit(Overloaded{
                          [](const definitions::RateValue&) { return Document("7c/m"); },
                          [](const definitions::WindowValue&) { return Document("7c/m"); },
                          [](const definitions::ConcurrencyValue&) { return Document(7); },
                          [](const definitions::UnitValue&) { return Document("cost"); },
                          [](const definitions::BurstValue&) { return Document("60c"); },
                          [](const definitions::WordValue<RateLimit>& value) {
                              return Document(another_word(value));
                          },
                          [](const definitions::CapacityValue&) { return Document("3c/s"); },
                          [](const definitions::TimeZoneValue&) { return Document("UTC"); },
                      },
                      field.value);
}

void put(Document& document, std::string_view key, const Document& value) {
    const std::string group(definitions::group_of(key));
    Document& map = group.empty() ? document : document[group];
    map[std::string(definitions::member_of(key))] = value;
}

/// A quota with nothing but what it must have.
Document plain() { return Document::parse(R"({"name": "q", "limits": []})"); }
Document plain_rate() { return Document::parse(R"({"rate": "100c/s", "of": "cost"})"); }
Document plain_window() { return Document::parse(R"({"window": "100c/h", "of": "cost"})"); }
Document plain_concurrency() { return Document::parse(R"({"concurrency": 64})"); }

std::string flag_text(const Document& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

QuotaDefinition read(const Document& document) {
    config::Diagnostics diagnostics;
    const auto definition = config::parse_quota({"q.json", document.dump()}, diagnostics);
    CAPTURE(diagnostics.text());
    REQUIRE(definition.has_value());
    return *definition;
}

/// Document, definition, JSON, bytes: the value arrives at each.
void check_layers(const Document& document, const QuotaDefinition& without) {
    const QuotaDefinition definition = read(document);
    CHECK_MESSAGE(definition != without, "the parser of documents does not set it");
    const std::string json = config::quota_json(definition, -1);
    CHECK_MESSAGE(Document::parse(json) == document, "JSON differs: ", json);
    CHECK(read(Document::parse(json)) == definition);

    const std::string bytes = definitions::encode_definition(definition);
    CHECK(bytes.size() <= definitions::most_encoded_bytes(definition));
    const auto decoded = definitions::decode_definition(definition.name, bytes);
    REQUIRE(decoded.has_value());
    CHECK_MESSAGE(*decoded == definition, "the bytes do not carry it");
}

/// A flag sets the same, and takes it back where the flags can say so.
template <class Field>
void check_flag(const Field& field, const std::string& text, const QuotaDefinition& without,
                const QuotaDefinition& with) {
    if (field.flag_help.empty()) {
        return;
    }
    QuotaEdit edit;
    edit[field.key] = text;
    const auto edited = apply_edit(without, edit);
    REQUIRE_MESSAGE(edited.has_value(), edited.error().message);
    CHECK_MESSAGE(*edited == with, "the flag does not set it");
}

TEST_CASE("each field of a quota passes every layer") {
    for (const QuotaField& field : definitions::quota_fields()) {
        CAPTURE(field.key);
        Document document = plain();
        put(document, field.key, example_of(field));
        const QuotaDefinition without = read(plain());
        const QuotaDefinition with = read(document);
        check_layers(document, without);
        CHECK(definitions::is_set(field, with));
        if (field.shown == definitions::Shown::options) {
            CHECK_FALSE(definitions::is_set(field, without));
            CHECK(options_text(with).find(definitions::member_of(field.key)) != std::string::npos);
            CHECK(options_text(without).empty());
        }
        if (field.key != "name") {
            CHECK_MESSAGE(definition_text(with) != definition_text(without), "it is not shown");
        }
        const Document example = example_of(field);
        if (std::holds_alternative<definitions::HeadersValue>(field.value)) {
            QuotaDefinition hidden = without;
            hidden.hide_headers = true;
            check_flag(field, "hidden", without, hidden);
        } else {
            check_flag(field, flag_text(example), without, with);
        }
    }
}

TEST_CASE("each field of a rate passes every layer") {
    for (const LimitField& field : definitions::limit_fields()) {
        if (!definitions::fits(field, limiter::LimitKind::rate)) {
            continue;
        }
        CAPTURE(field.key);
        Document before = plain();
        before["limits"].push_back(plain_rate());
        Document document = before;
        document["limits"][0][std::string(field.key)] = example_of(field);
        const QuotaDefinition without =
            std::holds_alternative<definitions::UnitValue>(field.value)
                ? read(Document::parse(R"({"name": "q", "limits": [{"rate": "100r/s"}]})"))
                : read(before);
        const QuotaDefinition with = read(document);
        check_layers(document, without);
        CHECK(definitions::is_set(field, with.limits[0]));
        CHECK_MESSAGE(limits_text(with) != limits_text(without), "it is not shown");
        if (!std::holds_alternative<definitions::UnitValue>(field.value)) {  // it chooses a limit
            check_flag(field, example_of(field).get<std::string>(), without, with);
        }
    }
}

TEST_CASE("each field of a window passes every layer") {
    std::size_t fields = 0;
    for (const LimitField& field : definitions::limit_fields()) {
        if (!definitions::fits(field, limiter::LimitKind::window)) {
            continue;
        }
        CAPTURE(field.key);
        ++fields;
        const bool unit = std::holds_alternative<definitions::UnitValue>(field.value);
        Document before = plain();
        before["limits"].push_back(unit ? Document::parse(R"({"window": "100r/h"})")
                                        : plain_window());
        if (std::holds_alternative<definitions::TimeZoneValue>(field.value)) {
            before["limits"][0]["from"] = "calendar";
        }
        Document document = before;
        if (unit) {
            document["limits"][0] = plain_window();
        }
        document["limits"][0][std::string(field.key)] = example_of(field);
        const QuotaDefinition without = read(before);
        const QuotaDefinition with = read(document);
        check_layers(document, without);
        CHECK(definitions::is_set(field, with.limits[0]));
        CHECK_MESSAGE(limits_text(with) != limits_text(without), "it is not shown");
        if (!unit) {  // it chooses a limit
            check_flag(field, flag_text(example_of(field)), without, with);
        }
    }
    CHECK(fields == 5);  // window, of, scope, from and timezone
}

TEST_CASE("each field of a limit of requests in flight passes every layer") {
    std::size_t fields = 0;
    for (const LimitField& field : definitions::limit_fields()) {
        if (!definitions::fits(field, limiter::LimitKind::concurrency)) {
            continue;
        }
        CAPTURE(field.key);
        ++fields;
        Document before = plain();
        before["limits"].push_back(plain_concurrency());
        Document document = before;
        document["limits"][0][std::string(field.key)] = example_of(field);
        const QuotaDefinition without = read(before);
        const QuotaDefinition with = read(document);
        check_layers(document, without);
        CHECK(definitions::is_set(field, with.limits[0]));
        CHECK_MESSAGE(limits_text(with) != limits_text(without), "it is not shown");
        check_flag(field, flag_text(example_of(field)), without, with);
    }
    CHECK(fields == 2);  // concurrency and scope
}

/// Complains of each field of another kind by name, when a limit of this kind has it.
void check_foreign_fields(const Document& plain_limit, limiter::LimitKind kind) {
    for (const LimitField& field : definitions::limit_fields()) {
        if (definitions::fits(field, kind) || field.one_of_these()) {
            continue;
        }
        CAPTURE(field.key);
        Document own = plain();
        own["limits"].push_back(plain_limit);
        QuotaDefinition quota = read(own);
        // A limit that may have the field has it; its other members become those of this kind.
        const bool of_window = definitions::fits(field, limiter::LimitKind::window);
        Document limit = of_window ? plain_window() : plain_rate();
        if (std::holds_alternative<definitions::TimeZoneValue>(field.value)) {
            limit["from"] = "calendar";
        }
        limit[std::string(field.key)] = example_of(field);
        Document document = plain();
        document["limits"].push_back(limit);
        RateLimit mixed = read(document).limits[0];
        mixed.kind = kind;
        mixed.amount = quota.limits[0].amount;
        mixed.period = quota.limits[0].period;
        quota.limits[0] = mixed;
        const auto errors = definitions::validate_alone(quota);
        const std::string place = "limits[0]." + std::string(field.key);
        CHECK(std::any_of(errors.begin(), errors.end(), [&](const auto& error) {
            return error.field == place && !error.suggestion.empty();
        }));
    }
}

TEST_CASE("what a limit has no use for is refused by name") {
    check_foreign_fields(plain_rate(), limiter::LimitKind::rate);
    check_foreign_fields(plain_window(), limiter::LimitKind::window);
    check_foreign_fields(plain_concurrency(), limiter::LimitKind::concurrency);
}

/// A quota with all fields, and with a limit of each kind that has all fields of its kind.
Document document_with_all() {
    Document document = plain();
    for (const QuotaField& field : definitions::quota_fields()) {
        put(document, field.key, example_of(field));
    }
    Document limit = plain_rate();
    Document window = plain_window();
    Document in_flight = Document::object();
    for (const LimitField& field : definitions::limit_fields()) {
        const std::string key(field.key);
        if (definitions::fits(field, limiter::LimitKind::rate)) {
            limit[key] = example_of(field);
        }
        if (definitions::fits(field, limiter::LimitKind::window)) {
            window[key] = example_of(field);
        }
        if (definitions::fits(field, limiter::LimitKind::concurrency)) {
            in_flight[key] = example_of(field);
        }
    }
    window["from"] = "calendar";  // which a time zone needs
    document["limits"] = Document::array({limit, in_flight, window});
    return document;
}

TEST_CASE("each member of a definition has a row, and each row is held to the rules") {
    const Document document = document_with_all();
    const QuotaDefinition full = read(document);
    const QuotaDefinition none;

    // As many names as there are members, or this does not compile: whoever adds a member adds a
    // row.
    const auto& [name, parent, limits, mode, max_instances, max_children, hide_headers,
                 when_isolated, enforced_share, options] = full;
    CHECK(name != none.name);
    CHECK(parent != none.parent);
    CHECK(limits != none.limits);
    CHECK(mode != none.mode);
    CHECK(max_instances != none.max_instances);
    CHECK(max_children != none.max_children);
    CHECK(hide_headers != none.hide_headers);
    CHECK(when_isolated != none.when_isolated);
    CHECK(enforced_share != none.enforced_share);
    const auto& [enforced_by, headers, refusal, hold, wait, fair, share, limits_of_later_version] =
        *options;
    CHECK(fair.has_value());
    CHECK(share != none.options->share);
    CHECK_FALSE(enforced_by.empty());
    CHECK(headers.has_value());
    CHECK(hold.has_value());
    CHECK(limits_of_later_version == 0);  // only decoding sets it
    const auto& [status, content_type, body] = refusal;
    CHECK(status != 0);
    CHECK_FALSE(content_type.empty());
    CHECK(body.has_value());
    const auto& [longest, queue] = wait;
    CHECK(longest.has_value());
    CHECK(queue != 0);
    const RateLimit no_limit;
    const auto& [kind, unit, amount, period, low, high, debt, law, scope, safe, from, timezone] =
        limits[0];
    CHECK(kind == no_limit.kind);
    CHECK(limits[1].kind != no_limit.kind);
    CHECK(from == no_limit.from);
    CHECK(timezone.empty());
    CHECK(limits[2].from != no_limit.from);
    CHECK_FALSE(limits[2].timezone.empty());
    CHECK(unit != no_limit.unit);
    CHECK(amount != no_limit.amount);
    CHECK(period != no_limit.period);
    CHECK(low.has_value());
    CHECK(high.has_value());
    CHECK(debt.has_value());
    CHECK(law != no_limit.law);
    CHECK(scope != no_limit.scope);
    CHECK(safe.has_value());

    // All of them together survive the layers, too.
    check_layers(document, none);
}

TEST_CASE("keys and numbers of the table are apart") {
    std::set<std::string_view> keys;
    for (const QuotaField& field : definitions::quota_fields()) {
        CHECK(keys.insert(field.key).second);
    }
    std::set<std::string_view> limit_keys;
    for (const LimitField& field : definitions::limit_fields()) {
        CHECK(limit_keys.insert(field.key).second);
        CHECK_MESSAGE(!keys.contains(field.key), "two flags of one name");
        for (const QuotaField& other : definitions::quota_fields()) {
            CHECK((field.number == 0 || field.number != other.number));
        }
    }
}

}  // namespace
}  // namespace weir::app
