#pragma once
// What is wrong with settings or a quota document: all of it, each with its place. Collected while
// reading goes on, so that a user sees every error at once. Not thread-safe; one per reading.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/document.h"

namespace weir::config {

enum class Severity { error, warning };

struct Diagnostic {
    Severity severity = Severity::error;
    std::string file;  ///< or what stands for one: "WEIR_LISTEN", "--listen"
    Place place;
    std::string path;  ///< "quotas[3].limits[0].rate"
    std::string what;
    /// The word that was probably meant, or a sentence (it has a space); may be empty.
    std::string suggestion;

    friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

/// "file:line:column: path: what, did you mean 'suggestion'?"; a warning says so before its path, a
/// suggestion that is a sentence stands as it is.
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);

class Diagnostics {
  public:
    /// More than this are only counted: a list that nobody can read helps nobody.
    static constexpr std::size_t kMaxKept = 1000;

    void add(Diagnostic diagnostic);
    void error(NodeRef at, std::string what);
    /// At another place than the node's own.
    void error(NodeRef at, Place place, std::string what);
    void error(NodeRef at, std::string what, std::string_view suggestion);
    void error_at_key(NodeRef member, std::string what, std::string_view suggestion);
    void warning(NodeRef at, std::string what);

    /// From here on they are only counted: a suggestion would be looked for in vain.
    [[nodiscard]] bool full() const { return kept_.size() >= kMaxKept; }
    [[nodiscard]] bool has_errors() const { return errors_ != 0; }
    [[nodiscard]] std::size_t error_count() const { return errors_; }
    /// In order of file (as first met) and place.
    [[nodiscard]] std::vector<Diagnostic> sorted() const;
    /// One line each, and how many more there were.
    [[nodiscard]] std::string text() const;
    /// The errors as one, for whoever needs a value that failed.
    [[nodiscard]] Error as_error() const;

  private:
    void add(Severity severity, NodeRef at, Place place, std::string what,
             std::string_view suggestion);

    std::vector<Diagnostic> kept_;
    std::size_t errors_ = 0;
    std::size_t dropped_ = 0;
};

/// The candidate that `text` was probably meant to be, or nothing: at most a third of its letters
/// (at least one) may differ, a swap of neighbours counting once (Damerau 1964).
[[nodiscard]] std::string_view closest(std::string_view text,
                                       const std::vector<std::string_view>& candidates);

}  // namespace weir::config
