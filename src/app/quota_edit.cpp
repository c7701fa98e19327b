#include "app/quota_edit.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <variant>

#include "app/edit_words.h"
#include "app/limit_edit.h"
#include "config/values.h"
#include "definitions/fields.h"

namespace weir::app {
namespace {

using definitions::Overloaded;
using definitions::QuotaField;
using limiter::QuotaDefinition;

Result<void> edit_share(std::string_view flag, const std::string& text,
                        const definitions::ShareValue& value, QuotaDefinition& definition) {
    const auto share = config::parse_percentage(text);
    if (!share) {
        return bad_flag(flag, share.error().message);
    }
    value.set(definition, *share);
    return {};
}

Result<void> edit_key(std::string_view flag, const std::string& text,
                      const definitions::KeyValue& value, QuotaDefinition& definition) {
    if (text.starts_with(definitions::kHeaderKey)) {
        value.set(definition, text.substr(definitions::kHeaderKey.size()));
    } else if (text == definitions::kQuotaKey) {
        value.set(definition, {});
    } else {
        return bad_flag(flag, "'" + text + "' must be quota or header:<name>");
    }
    return {};
}

Result<void> edit_count(std::string_view flag, const std::string& text,
                        const definitions::CountValue<QuotaDefinition>& value,
                        QuotaDefinition& definition) {
    const auto count = config::parse_unsigned(text);
    if (!count) {
        return bad_flag(flag, count.error().message);
    }
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    value.set(definition, std::min(*count, kMost));
    return {};
}

/// Bounds are those of the rules, which name the field.
Result<void> edit_duration(std::string_view flag, const std::string& text,
                           const definitions::DurationValue& value, QuotaDefinition& definition) {
    if (text == kDefault) {
        value.set(definition, std::nullopt);
        return {};
    }
    const auto time = config::parse_duration(text);
    if (!time) {
        return bad_flag(flag, time.error().message);
    }
    value.set(definition, *time);
    return {};
}

Result<void> edit_flag(std::string_view flag, const std::string& text,
                       const definitions::FlagValue& value, QuotaDefinition& definition) {
    if (text == kDefault) {
        value.set(definition, std::nullopt);
        return {};
    }
    const auto given = config::parse_boolean(text);
    if (!given) {
        return bad_flag(flag, given.error().message);
    }
    value.set(definition, *given);
    return {};
}

/// Bounds are those of the rules, which name the field.
Result<void> edit_number(std::string_view flag, const std::string& text,
                         const definitions::NumberValue& value, QuotaDefinition& definition) {
    const auto number = config::parse_number(text);
    if (!number) {
        return bad_flag(flag, number.error().message);
    }
    value.set(definition, *number);
    return {};
}

/// Changes whether answers name the quota; the families of fields stay as they are.
Result<void> edit_headers(std::string_view flag, const std::string& text,
                          QuotaDefinition& definition) {
    constexpr std::array<std::string_view, 2> kWords = {"shown", "hidden"};
    const auto word = parse_word(flag, text, kWords);
    if (!word) {
        return word.error();
    }
    definitions::set_headers(definition, *word == 1, definition.options->headers);
    return {};
}

Result<void> edit_quota_field(const QuotaField& field, const std::string& text,
                              QuotaDefinition& definition) {
    const std::string flag = flag_of(field.key);
    return std::visit(
        Overloaded{
            [&](const definitions::TextValue<QuotaDefinition>& value) {
                value.set(definition, text == kNone ? std::nullopt : std::optional(text));
                return Result<void>();
            },
            [&](const definitions::WordValue<QuotaDefinition>& value) {
                return edit_word(flag, text, value, definition);
            },
            [&](const definitions::CountValue<QuotaDefinition>& value) {
                return edit_count(flag, text, value, definition);
            },
            [&](const definitions::DurationValue& value) {
                return edit_duration(flag, text, value, definition);
            },
            [&](const definitions::ShareValue& value) {
                return edit_share(flag, text, value, definition);
            },
            [&](const definitions::KeyValue& value) {
                return edit_key(flag, text, value, definition);
            },
            [&](const definitions::FlagValue& value) {
                return edit_flag(flag, text, value, definition);
            },
            [&](const definitions::NumberValue& value) {
                return edit_number(flag, text, value, definition);
            },
            [&](const definitions::HeadersValue&) { return edit_headers(flag, text, definition); },
            [](const definitions::LimitsValue&) { return Result<void>(); },  // edit_limits()
        },
        field.value);
}

Result<void> edit_quota(QuotaDefinition& definition, const QuotaEdit& edit) {
    if (edit.find("mode") != nullptr) {
        definition.enforced_share = 1;  // unless --enforce says otherwise
    }
    for (const QuotaField& field : definitions::quota_fields()) {
        const std::string* const text = edit.find(field.key);
        if (text == nullptr) {
            continue;
        }
        if (auto done = edit_quota_field(field, *text, definition); !done) {
            return done;
        }
    }
    return {};
}

}  // namespace

std::optional<std::string>& QuotaEdit::operator[](std::string_view key) {
    return values_[std::string(key)];
}

const std::string* QuotaEdit::find(std::string_view key) const {
    const auto found = values_.find(key);
    return found == values_.end() || !found->second ? nullptr : &*found->second;
}

bool QuotaEdit::empty() const {
    return std::none_of(values_.begin(), values_.end(),
                        [](const auto& one) { return one.second.has_value(); });
}

std::string flag_of(std::string_view key) {
    std::string flag(key);
    std::replace_if(
        flag.begin(), flag.end(), [](char c) { return c == '_' || c == '.'; }, '-');
    return flag;
}

Result<QuotaDefinition> apply_edit(QuotaDefinition definition, const QuotaEdit& edit) {
    if (auto done = edit_quota(definition, edit); !done) {
        return done.error();
    }
    if (auto done = edit_limits(definition, edit); !done) {
        return done.error();
    }
    return definition;
}

}  // namespace weir::app
