#pragma once
// What all remote commands share: asking, reading JSON, telling errors. Internal to app.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "app/admin_client.h"
#include "app/remote.h"

namespace weir::app {

using Json = nlohmann::ordered_json;

class RemoteSession {
  public:
    explicit RemoteSession(const RemoteOptions& options);

    /// The answer's JSON; nothing after having told on standard error what went wrong.
    [[nodiscard]] std::optional<Json> get(const std::string& target);
    [[nodiscard]] std::optional<Json> put(const std::string& target, const std::string& body);
    /// Only if the quota has this tag still (empty: if there is none); `changed` is set, and
    /// nothing told, if it has not.
    [[nodiscard]] std::optional<Json> put_if(const std::string& target, const std::string& body,
                                             const std::string& tag, bool& changed);
    /// Any answer of the sidecar, a refusal too; nothing after having told that there was none.
    struct Answer {
        unsigned status = 0;
        Json body;
        std::string problem;  ///< of a refusal, as text
    };
    [[nodiscard]] std::optional<Answer> post(const std::string& target, const std::string& body);
    [[nodiscard]] std::optional<Json> remove(const std::string& target);
    [[nodiscard]] std::optional<Json> post(const std::string& target);
    /// Like get(), but a 404 is null and not an error.
    [[nodiscard]] std::optional<Json> find(const std::string& target);

  private:
    [[nodiscard]] std::optional<Json> read(const Result<AdminReply>& reply, bool may_be_missing);

    std::optional<AdminClient> client_;
};

/// "weir: " and the text, on standard error; gives the exit code 1.
int complain(const std::string& text);

/// A member as text, empty if it is missing, null or of another kind.
[[nodiscard]] std::string text_of(const Json& object, const char* key);
/// A member as a number, 0 if it is missing.
[[nodiscard]] double number_of(const Json& object, const char* key);

/// Rows in columns of equal width, two blanks between them; the first row is the heading. Control
/// characters of cells are shown as '?'.
[[nodiscard]] std::string format_table(const std::vector<std::vector<std::string>>& rows);

/// Three significant digits or whole: "0.125", "1500".
[[nodiscard]] std::string short_number(double number);

}  // namespace weir::app
