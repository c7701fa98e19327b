#include "routing/capture_source.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/characters.h"
#include "base/closest.h"
#include "base/hash.h"
#include "routing/escapes.h"
#include "routing/source_values.h"

namespace weir::routing {
namespace {

constexpr std::string_view kReadable = "readable";

/// The address of the sender, with the bits behind the prefix set to 0.
SourceValue network_of_sender(const http::RequestHead& head, const Client& client,
                              const CaptureSource& source, std::string& buffer) {
    auto sender = sender_of(head.fields(), client);
    if (!sender) {
        return std::nullopt;
    }
    const auto prefixes = source.prefixes();
    const unsigned kept = sender->is_v4() ? 96 + prefixes.v4 : prefixes.v6;
    for (unsigned byte = kept / 8; byte < sender->address.size(); ++byte) {
        const unsigned bits = byte == kept / 8 ? kept % 8 : 0;
        sender->address[byte] &= static_cast<std::uint8_t>(0xff00U >> bits);
    }
    buffer.clear();
    append_address(buffer, *sender);
    return buffer;
}

/// What stands behind the word of a source.
enum class Argument : std::uint8_t { none, token, parameter, prefixes };

struct SourceWord {
    std::string_view word;
    Argument argument = Argument::none;
    /// How it is written, for messages.
    std::string_view form;
    /// The value may be a secret: names have its hash.
    bool secret = true;
    /// The request field that is read, if it is always the same.
    std::string_view field;
    SourceValue (*read)(const http::RequestHead& head, const Client& client,
                        const CaptureSource& source, std::string& buffer) = nullptr;
};

constexpr std::array kEntries{
    SourceWord{"header", Argument::token, "{header:x-api-key}", true, "",
               [](const auto& head, const auto& client, const auto& source, auto& /*buffer*/) {
                   return field_value(head, client, source.argument(), source.value_pattern());
               }},
    SourceWord{"cookie", Argument::token, "{cookie:session}", true, "cookie",
               [](const auto& head, const auto& /*client*/, const auto& source, auto& buffer) {
                   return cookie_value(head.fields(), source.argument(), buffer);
               }},
    SourceWord{"query", Argument::parameter, "{query:token}", true, "",
               [](const auto& head, const auto& /*client*/, const auto& source, auto& buffer) {
                   return parameter_value(head.query(), source.argument(), buffer);
               }},
    SourceWord{"basic-user", Argument::none, "{basic-user}", true, "authorization",
               [](const auto& head, const auto& /*client*/, const auto& /*source*/, auto& buffer) {
                   return basic_user(head.fields(), buffer);
               }},
    SourceWord{"client", Argument::prefixes, "{client}", false, "", &network_of_sender},
};
constexpr std::size_t kHeader = 0;
static_assert(kEntries[kHeader].word == "header");

bool is_parameter(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return is_alphanumeric(c) || std::string_view("-._~").find(c) != std::string_view::npos;
    });
}

bool holds_control(std::string_view value) {
    return std::any_of(value.begin(), value.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

void append_digest(std::string& out, std::string_view value) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const auto byte : one_way_hash(value)) {
        out += kDigits[byte >> 4U];
        out += kDigits[byte & 15U];
    }
}

/// Reads "v4/24" or "v6/56" into the prefixes. False if it is neither.
bool read_prefix(std::string_view text, CaptureSource::Prefixes& prefixes) {
    const bool v4 = text.starts_with("v4/");
    if (!v4 && !text.starts_with("v6/")) {
        return false;
    }
    const char* const end = text.data() + text.size();
    unsigned bits = 0;
    const auto [stop, code] = std::from_chars(text.data() + 3, end, bits);
    if (code != std::errc{} || stop != end || bits == 0 || bits > (v4 ? 32U : 128U)) {
        return false;
    }
    (v4 ? prefixes.v4 : prefixes.v6) = bits;
    return true;
}

std::string quoted(std::string_view text) { return "\"" + std::string(text.substr(0, 100)) + "\""; }

/// The text before the first of these separators, which is removed from `rest` together with the
/// separator.
std::string_view cut(std::string_view& rest, std::string_view separators) {
    const auto end = std::min(rest.find_first_of(separators), rest.size());
    const auto part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

}  // namespace

std::optional<std::variant<CaptureSource, PatternError>> CaptureSource::parse(std::string_view text,
                                                                              std::size_t column) {
    const auto word = text.substr(0, text.find_first_of(":,"));
    const auto* const entry = std::find_if(kEntries.begin(), kEntries.end(),
                                           [&](const SourceWord& one) { return one.word == word; });
    if (entry == kEntries.end()) {
        return std::nullopt;
    }
    CaptureSource source;
    source.entry_ = static_cast<std::size_t>(entry - kEntries.begin());
    auto rest = text.substr(word.size());
    const bool given = rest.starts_with(':');
    const auto fail = [&](std::string_view part, std::string message) {
        const auto at = static_cast<std::size_t>(part.data() - text.data());
        return PatternError{column + at, std::move(message), {}};
    };
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
    if (entry->argument == Argument::token || entry->argument == Argument::parameter) {
        const auto argument =
            given ? cut(rest, ",") : std::string_view(text.substr(word.size(), 0));
        const bool good =
            entry->argument == Argument::token ? is_token(argument) : is_parameter(argument);
        if (!good) {
            return fail(argument, quoted(argument) + " is not a name; write it like " +
                                      std::string(entry->form));
        }
        source.argument_ = argument;
    } else if (given && (entry->argument == Argument::none || rest.empty())) {
        return fail(rest, "nothing is named here; write " + std::string(entry->form));
    }
    while (!rest.empty()) {
        const auto option = cut(rest, ",");
        if (entry->argument == Argument::prefixes) {
            if (!read_prefix(option, source.prefixes_)) {
                return fail(option, quoted(option) +
                                        " is not a prefix of addresses, as in {client:v4/24,v6/56} "
                                        "(up to 32 and 128 bits)");
            }
        } else if (option == kReadable) {
            source.readable_ = true;
        } else {
            auto error =
                fail(option, quoted(option) + " is not an option; there is only 'readable'");
            error.suggestion = closest(option, std::array{kReadable});
            return error;
        }
    }
    return source;
}

CaptureSource CaptureSource::of_field(std::string_view name, SegmentPattern value, bool readable) {
    CaptureSource source;
    source.entry_ = kHeader;
    source.argument_ = name;
    source.value_ = std::move(value);
    source.readable_ = readable;
    return source;
}

std::optional<std::string_view> CaptureSource::value(const http::RequestHead& head,
                                                     const Client& client,
                                                     std::string& buffer) const {
    const auto value = kEntries[entry_].read(head, client, *this, buffer);
    return value && !value->empty() && !holds_control(*value) ? value : std::nullopt;
}

bool CaptureSource::may_have_value(const http::RequestHead& head, const Client& client) const {
    return entry_ != kHeader || some_field_fits(head, client, argument_, value_);
}

bool CaptureSource::has_value(const http::RequestHead& head, const Client& client,
                              std::string& buffer) const {
    return value(head, client, buffer).has_value();
}

bool CaptureSource::append(std::string& out, const http::RequestHead& head, const Client& client,
                           std::string& buffer) const {
    const auto found = value(head, client, buffer);
    if (!found) {
        return false;
    }
    if (kEntries[entry_].secret && !readable_) {
        append_digest(out, *found);
    } else {
        append_safe(out, *found);
    }
    return true;
}

std::string_view CaptureSource::field() const {
    return entry_ == kHeader ? std::string_view(argument_) : kEntries[entry_].field;
}

bool CaptureSource::is_client_address() const {
    return kEntries[entry_].argument == Argument::prefixes;
}

std::string CaptureSource::describe() const {
    const std::string word(kEntries[entry_].word);
    return argument_.empty() ? word : word + ":" + argument_;
}

std::string CaptureSource::suggest(std::string_view text) {
    const auto word = text.substr(0, text.find_first_of(":,"));
    std::array<std::string_view, kEntries.size()> words;
    std::transform(kEntries.begin(), kEntries.end(), words.begin(),
                   [](const SourceWord& entry) { return entry.word; });
    const auto meant = closest(word, words);
    return meant.empty() ? ""
                         : "{" + std::string(meant) + std::string(text.substr(word.size())) + "}";
}

std::string CaptureSource::forms() {
    std::string list;
    for (const auto& entry : kEntries) {
        list += (list.empty() ? "" : ", ") + std::string(entry.form);
    }
    return list;
}

}  // namespace weir::routing
