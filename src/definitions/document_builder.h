#pragma once
// Encodes the definitions of a long document one after the other and then checks them with each
// other, in a few bytes for each beside its encoded form. It says only whether all of them are
// valid together. Who needs to know what is wrong uses validate() (rules.h), which needs all
// definitions at once; tests/definitions/document_builder_test.cpp holds the two to each other.
//
// Thread-safety: none; not for a thread for which requests wait. Ownership: owns what it collects.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "definitions/rules.h"
#include "limiter/definition.h"

namespace weir::definitions {

class DocumentBuilder {
  public:
    /// `bytes` is how long the document will be at most. Memory that is not needed for it is never
    /// touched, and so costs nothing.
    explicit DocumentBuilder(std::size_t bytes) { bytes_.reserve(bytes); }
    /// Adds a definition. False if it is wrong by itself or the document gets too long: then the
    /// builder is of no use any more.
    [[nodiscard]] bool add(const limiter::QuotaDefinition& definition);
    /// The document as encode_document() makes it; nothing if the definitions are not valid
    /// together. To be called once.
    [[nodiscard]] std::optional<std::vector<std::byte>> finish();
    [[nodiscard]] std::size_t size() const { return places_.size(); }

  private:
    using Number = std::uint32_t;  // of a definition, in the order of names
    static constexpr Number kNone = 0xffffffff;
    class Templates;

    [[nodiscard]] std::string_view name(Number added) const;
    [[nodiscard]] std::string_view parent(Number added) const;
    [[nodiscard]] std::size_t end_of(Number added) const;
    void note_parent(const std::optional<std::string>& text);
    void sort();
    [[nodiscard]] bool names_differ() const;
    [[nodiscard]] std::optional<Number> find(std::string_view name) const;
    [[nodiscard]] bool find_parents(std::vector<Number>& parents) const;
    [[nodiscard]] bool chains_are_good(const std::vector<Number>& parents) const;
    [[nodiscard]] std::vector<std::byte> in_order();

    std::vector<std::byte> bytes_;        // encoded, in the order in which they came
    std::vector<std::uint32_t> places_;   // where each begins
    std::vector<std::uint32_t> parents_;  // where the text of each one's parent is, or kNone
    std::string parent_texts_;            // each with its length before it
    Number with_parent_ = kNone;          // the last definition that brought such a text
    std::vector<LimitCounts> limits_;     // how many each has
    std::vector<Number> order_;           // by name; empty if they came in that order
    std::vector<std::byte> buffer_;
};

}  // namespace weir::definitions
