#pragma once
// Collects what is wrong with settings or a quota document, each error with its place. Reading goes
// on after an error, so that a user sees all of them at once.
//
// Thread-safety: none; each reading has diagnostics of its own. It owns its texts.

#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"

namespace weir::config {

enum class Severity { error, warning };

struct Diagnostic {
    Severity severity = Severity::error;
    std::string file;  ///< the file or other source of the value: "WEIR_LISTEN", "--listen"
    TextPlace place;
    std::string path;  ///< "quotas[3].limits[0].rate"
    std::string what;
    /// The word that was probably meant, or a whole sentence that says what to do. A text with a
    /// space counts as a sentence. May be empty.
    std::string suggestion;

    friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

/// A line like "file:line:column: path: what, did you mean 'suggestion'?". For a warning the word
/// "warning" stands before the path. A suggestion that is a sentence is appended as it is.
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);

class Diagnostics {
  public:
    /// Errors beyond this number are only counted, and so are warnings: nobody reads a longer list.
    static constexpr std::size_t kMaxKept = 100;

    void add(Diagnostic diagnostic);
    void error(NodeRef at, std::string what);
    /// The same for an error at another place than the node's.
    void error(NodeRef at, TextPlace place, std::string what);
    void error(NodeRef at, std::string what, std::string_view suggestion);
    void error_at_key(NodeRef member, std::string what, std::string_view suggestion);

    /// Counts errors of which nothing is kept. Only if full().
    void count_errors(std::size_t more);

    /// Whether further errors are only counted, so that looking for a suggestion is of no use.
    [[nodiscard]] bool full() const { return errors_ >= kMaxKept; }
    [[nodiscard]] bool has_errors() const { return errors_ != 0; }
    [[nodiscard]] std::size_t error_count() const { return errors_; }
    [[nodiscard]] std::size_t warning_count() const { return warnings_; }
    /// All diagnostics that were kept, ordered by file (in the order in which the files came) and
    /// by place.
    [[nodiscard]] std::vector<Diagnostic> sorted() const;
    /// All diagnostics that were kept, one on each line, and the number of those that were not
    /// kept.
    [[nodiscard]] std::string text() const;

  private:
    void add(NodeRef at, TextPlace place, std::string what, std::string_view suggestion);

    std::vector<Diagnostic> kept_;
    std::size_t errors_ = 0;
    std::size_t warnings_ = 0;
};

}  // namespace weir::config
