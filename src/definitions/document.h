#pragma once
// A document of quota definitions in its encoded form (codec.h) with a place for
// each of them, so that a million take little more than their bytes. Read in steps: a document is
// not to hold the control thread for long. Its content does not change once it is read; owns or
// shares the bytes. Not thread-safe: it remembers where it was asked last.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "limiter/definition.h"

namespace weir::definitions {

class DefinitionDocument {
  public:
    using Bytes = std::shared_ptr<const std::vector<std::byte>>;
    /// A definition's name and encoded value; views into the document.
    struct Item {
        std::string_view name;
        std::string_view value;
        bool sound = false;  // nothing in its document is wrong by itself
    };

    explicit DefinitionDocument(Bytes bytes) : bytes_(std::move(bytes)) {}

    /// Reads up to `budget` more definitions. Errors: not well-formed, not in the order of names,
    /// a definition that is wrong by itself (validate_alone). After one it is of no use.
    Result<void> read(std::size_t budget, std::vector<limiter::DefinitionError>* errors);
    [[nodiscard]] bool complete() const { return read_ == bytes_->size(); }

    [[nodiscard]] std::size_t size() const { return places_.size(); }
    [[nodiscard]] Item item(std::size_t number) const;
    [[nodiscard]] std::optional<Item> find(std::string_view name) const;
    /// The first item whose name is not below.
    [[nodiscard]] std::size_t lower_bound(std::string_view name) const;
    [[nodiscard]] const Bytes& bytes() const { return bytes_; }

  private:
    [[nodiscard]] bool is_at(std::size_t number, std::string_view name) const;

    Bytes bytes_;
    std::size_t read_ = 0;
    bool sound_ = true;
    std::vector<std::uint32_t> places_;
    /// Where the next question is likely to be about: documents are gone through in their order.
    mutable std::size_t likely_ = 0;
};

/// Tells contents of one name apart.
[[nodiscard]] std::uint64_t content_hash_of(std::string_view name, std::string_view value);

}  // namespace weir::definitions
