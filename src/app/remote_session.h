#pragma once
// What the commands that ask a running sidecar share: they send requests, read JSON, and print
// errors. Internal to app. Not thread-safe. It owns a copy of the options.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/admin_client.h"
#include "app/remote.h"

namespace weir::app {

using Json = nlohmann::ordered_json;

class RemoteSession {
  public:
    /// So often an edit is tried when other edits of the same quota come in between.
    static constexpr int kTriesOfEdit = 20;

    explicit RemoteSession(const RemoteOptions& options);

    /// Returns the JSON of the answer, or nothing when the request failed; then the reason has been
    /// printed on standard error.
    [[nodiscard]] std::optional<Json> get(const std::string& target);
    /// Sends a change that is made only if the quota still has this tag (empty: if it does not
    /// exist). Otherwise `changed` is set, and no error is printed.
    [[nodiscard]] std::optional<Json> put_if(const std::string& target, const std::string& body,
                                             const std::string& tag, bool& changed);
    /// An answer of the sidecar, which may be a refusal. When there was no answer, post() prints
    /// that and returns nothing.
    struct Answer {
        unsigned status = 0;
        Json body;
        std::string problem;  ///< the text of a refusal
    };
    [[nodiscard]] std::optional<Answer> post(const std::string& target, const std::string& body);
    [[nodiscard]] std::optional<Json> remove(const std::string& target);
    [[nodiscard]] std::optional<Json> post(const std::string& target);
    /// Like get(), but an answer of 404 gives null and is no error.
    [[nodiscard]] std::optional<Json> find(const std::string& target);

  private:
    [[nodiscard]] std::optional<Json> read(const Result<AdminReply>& reply, bool may_be_missing);

    std::optional<AdminClient> client_;
};

/// Prints "weir: " and the text on standard error; returns the exit code 1.
int complain(const std::string& text);

/// A member as text, empty if it is missing, null or of another kind.
[[nodiscard]] std::string text_of(const Json& object, const char* key);
/// A member as a number, 0 if it is missing.
[[nodiscard]] double number_of(const Json& object, const char* key);

/// The rows as a table, in columns of equal width with two blanks between them. The first row is
/// the heading. Control characters in cells are shown as '?'.
[[nodiscard]] std::string format_table(const std::vector<std::vector<std::string>>& rows);

/// The number with three significant digits, or as a whole number: "0.125", "1500".
[[nodiscard]] std::string short_number(double number);

}  // namespace weir::app
