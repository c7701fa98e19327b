#include "config/long_quotas.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "config/parse.h"
#include "config/quota_head.h"
#include "config/quota_reader.h"
#include "config/tree_builder.h"
#include "definitions/codec.h"
#include "definitions/document_builder.h"

namespace weir::config {
namespace {

/// The characters of a source, of which one piece is in memory. A text with a byte that no text may
/// have, or with more bytes than it should, ends there and is not good().
class Pieces {
  public:
    explicit Pieces(const LongSource& source) : source_(source), buffer_(kPiece) { next_piece(); }

    [[nodiscard]] bool over() const { return at_ == end_; }
    [[nodiscard]] const char& front() const { return buffer_[at_]; }
    void pop_front() {
        if (++at_ == end_) {
            next_piece();
        }
    }
    [[nodiscard]] bool good() const { return good_; }

  private:
    static constexpr std::size_t kPiece = 64U * 1024;

    void next_piece() {
        // Behind end_ are the first bytes of a character, at most three.
        std::memmove(buffer_.data(), buffer_.data() + end_, cut_off_);
        const std::size_t size = source_.read(std::span(buffer_).subspan(cut_off_));
        const bool first = read_ == 0;
        read_ += size;
        std::string_view rest(buffer_.data(), cut_off_ + size);
        const bool json = !first || is_json(rest, source_.file);
        const bool last = size == 0;
        const bool bad = has_bad_byte(rest) || (last && !rest.empty());
        good_ = good_ && json && !bad && read_ <= source_.bytes;
        at_ = 0;
        end_ = good_ ? cut_off_ + size - rest.size() : 0;
        cut_off_ = rest.size();
        if (good_ && end_ == 0 && !last) {
            next_piece();  // nothing but the beginning of a character has come
        }
    }

    const LongSource& source_;
    std::vector<char> buffer_;
    std::size_t at_ = 0;
    std::size_t end_ = 0;
    std::size_t cut_off_ = 0;
    std::size_t read_ = 0;
    bool good_ = true;
};

/// Goes through pieces as nlohmann's parser wants it. All that are not at the end are equal.
class CharacterIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CharacterIterator() = default;
    explicit CharacterIterator(Pieces& pieces) : pieces_(&pieces) {}

    const char& operator*() const { return pieces_->front(); }
    CharacterIterator& operator++() {
        pieces_->pop_front();
        return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const CharacterIterator& one, const CharacterIterator& other) {
        return one.at_end() == other.at_end();
    }

  private:
    [[nodiscard]] bool at_end() const { return pieces_ == nullptr || pieces_->over(); }

    Pieces* pieces_ = nullptr;
};

/// Takes the events of nlohmann's parser. Everything outside of the list of quotas goes into one
/// small document, each quota into a document of its own, which is read when it is complete. False
/// from any event ends the reading.
class QuotaEvents {
  public:
    QuotaEvents(const LongSource& source, definitions::DocumentBuilder& quotas)
        : file_(source.file),
          quotas_(quotas),
          head_(file_, limits_, diagnostics_),
          values_left_(values_allowed(source.bytes, limits_)) {
        limits_.depth -= kQuotaDepth;
    }

    /// The head of the document, without its quotas, after all events.
    [[nodiscard]] Document take_head() { return head_.take(); }
    [[nodiscard]] bool good() const { return !diagnostics_.has_errors(); }

    bool null() { return scalar(NodeKind::null, {}); }
    bool boolean(bool value) { return scalar(NodeKind::plain, value ? "true" : "false"); }
    bool number_integer(nlohmann::json::number_integer_t value) {
        // "-0" would be a 0 here, and is no number of anything for the other reader.
        return value != 0 && scalar(NodeKind::plain, std::to_string(value));
    }
    bool number_unsigned(nlohmann::json::number_unsigned_t value) {
        return scalar(NodeKind::plain, std::to_string(value));
    }
    bool number_float(nlohmann::json::number_float_t, const std::string& text) {
        return scalar(NodeKind::plain, text);
    }
    bool string(const std::string& value) { return scalar(NodeKind::quoted, value); }
    bool binary(nlohmann::json::binary_t&) { return false; }
    bool key(const std::string& name) {
        if (depth_ == 1) {
            in_quotas_ = name == "quotas";
        }
        return builder().key(name, kNowhere);
    }
    bool start_object(std::size_t) { return open(NodeKind::map); }
    bool start_array(std::size_t) { return open(NodeKind::list); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
        return false;
    }

  private:
    static constexpr TextPlace kNowhere{};
    static constexpr std::size_t kQuotaDepth = 2;  // of a quota: within the set and its list

    [[nodiscard]] TreeBuilder& builder() { return quota_ ? *quota_ : head_; }

    bool scalar(NodeKind kind, std::string_view text) {
        // A quota that is no map is an error, whose place the other reader finds.
        return !at_quota() && count() && builder().scalar(kind, text, kNowhere);
    }

    bool open(NodeKind kind) {
        if (at_quota()) {
            if (kind != NodeKind::map) {
                return false;
            }
            quota_.emplace(file_, limits_, diagnostics_);
        }
        ++depth_;
        return count() && builder().open(kind, kNowhere);
    }

    bool close() {
        --depth_;
        if (!builder().close()) {
            return false;
        }
        if (!at_quota() || !quota_) {
            return true;
        }
        const Document document = quota_->take();
        quota_.reset();
        const limiter::QuotaDefinition definition = read_quota(document.root(), diagnostics_);
        return good() && quotas_.add(definition);
    }

    /// Whether the next value is a quota, or the last one was.
    [[nodiscard]] bool at_quota() const { return in_quotas_ && depth_ == kQuotaDepth; }

    bool count() { return values_left_-- > 0; }

    const std::string& file_;
    definitions::DocumentBuilder& quotas_;
    Diagnostics diagnostics_;
    ParseLimits limits_;
    TreeBuilder head_;
    std::optional<TreeBuilder> quota_;  // the quota that is being read
    std::size_t values_left_;           // a quota that has more is an error, too
    std::size_t depth_ = 0;
    bool in_quotas_ = false;  // the last key of the set was "quotas"
};

/// Adds the quotas of one text. Nothing, instead of its head, if it has an error.
std::optional<QuotaSet> read_part(const LongSource& source, definitions::DocumentBuilder& quotas) {
    if (source.bytes > ParseLimits{}.json_bytes) {
        return std::nullopt;
    }
    Pieces pieces(source);
    QuotaEvents events(source, quotas);
    if (!nlohmann::json::sax_parse(CharacterIterator(pieces), CharacterIterator(), &events) ||
        !events.good() || !pieces.good()) {
        return std::nullopt;
    }
    const Document document = events.take_head();
    if (document.empty() || document.root()->kind == NodeKind::null) {
        return std::nullopt;
    }
    Diagnostics diagnostics;
    QuotaSet head = read_set_head(document.root(), diagnostics);
    return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(head));
}

}  // namespace

LongSource long_source(const SourceText& text) {
    return {text.file, text.text.size(),
            [left = std::string_view(text.text)](std::span<char> buffer) mutable {
                const std::size_t size = left.copy(buffer.data(), buffer.size());
                left.remove_prefix(size);
                return size;
            }};
}

std::optional<QuotaSet> read_long_set(const std::vector<LongSource>& sources) {
    std::optional<QuotaSet> set;
    std::size_t bytes = 0;
    for (const LongSource& source : sources) {
        bytes += source.bytes;
    }
    definitions::DocumentBuilder quotas(bytes);
    for (const LongSource& source : sources) {
        std::optional<QuotaSet> part = read_part(source, quotas);
        if (!part) {
            return std::nullopt;
        }
        if (!set) {
            set = std::move(part);
            continue;
        }
        if (set->name != part->name || set->generation != part->generation) {
            return std::nullopt;
        }
        set->file += ", " + part->file;
    }
    const std::size_t size = quotas.size();
    auto encoded = set ? quotas.finish() : std::nullopt;
    if (!encoded) {
        return std::nullopt;
    }
    set->encoded_hash = definitions::document_hash(*encoded);
    set->encoded = std::make_shared<const std::vector<std::byte>>(std::move(*encoded));
    set->encoded_quotas = size;
    return set;
}

}  // namespace weir::config
