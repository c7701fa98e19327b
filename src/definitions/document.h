#pragma once
// A document of quota definitions in its encoded form (codec.h), with an index of the place where
// each definition begins. So a million definitions take little more memory than their bytes. It is
// read in steps, because reading a whole document would block the control thread.
//
// Thread-safety: none, not even for find(), which remembers the place of the last name.
// Ownership: it shares the bytes, which never change.
// Invariants: the definitions that were read are well-formed and in the order of their names.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "definitions/definition_error.h"
#include "definitions/need.h"
#include "limiter/definition.h"

namespace weir::definitions {

class DefinitionDocument {
  public:
    using Bytes = std::shared_ptr<const std::vector<std::byte>>;
    /// The name and the encoded value of a definition, as views into the document.
    struct Item {
        std::string_view name;
        std::string_view value;
        bool sound =
            false;  // the document is complete, and none of its definitions is wrong by itself
    };

    explicit DefinitionDocument(Bytes bytes) : bytes_(std::move(bytes)) {}

    /// Reads up to `budget` more definitions. Fails when the bytes are not well-formed (truncated)
    /// or not in the order of names (invalid_argument); the document is unusable then. Errors that
    /// validate_alone() finds and duplicate names are added to `errors`, and reading goes on.
    Result<void> read(std::size_t budget, std::vector<DefinitionError>* errors);
    [[nodiscard]] bool complete() const { return read_ == bytes_->size(); }

    /// How many definitions have been read; item() takes numbers below that.
    [[nodiscard]] std::size_t size() const { return places_.size(); }
    [[nodiscard]] Item item(std::size_t number) const;
    [[nodiscard]] std::optional<Item> find(std::string_view name) const;
    /// The number of the first item whose name is not less than this one; size() if there is none.
    [[nodiscard]] std::size_t lower_bound(std::string_view name) const;
    [[nodiscard]] const Bytes& bytes() const { return bytes_; }
    /// About how much memory the definitions that were read take when they are in force, without
    /// the document itself.
    [[nodiscard]] std::uint64_t need() const { return need_.bytes(); }

  private:
    [[nodiscard]] bool is_at(std::size_t number, std::string_view name) const;

    Bytes bytes_;
    std::size_t read_ = 0;
    bool sound_ = true;
    std::vector<std::uint32_t> places_;
    MemoryNeed need_;
    /// The number after the last one that find() found: callers mostly ask in the order of names.
    mutable std::size_t likely_ = 0;
};

/// A hash that tells the contents of a name apart.
[[nodiscard]] std::uint64_t content_hash_of(std::string_view name, std::string_view value);

}  // namespace weir::definitions
