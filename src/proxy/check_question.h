#pragma once
// Reads the question of another proxy that sends a request to /check. It asks either about quotas
// by name, or whether a request that it has received may pass. In the second case the head of that
// request is written out again and passes the same parser and gate as a request to the traffic
// port, so that a check is never less strict. docs/check.md explains the forms.
//
// Thread-safety: none; each worker has a reader. A question's views are valid until the next read()
// and only while the bytes of the head that was read are.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/gate_policy.h"
#include "http/request_head.h"
#include "limiter/decision.h"
#include "routing/name_lists.h"

namespace weir::proxy {

struct CheckQuestion {
    enum class Kind : std::uint8_t {
        routed,     ///< the routes decide which quotas apply to original()
        named,      ///< the first quota of each of the lists that exists
        malformed,  ///< the original request would be rejected, because of `rejection`
        unclear,  ///< the question cannot be understood: `status` and `explanation` are the answer
    };
    Kind kind = Kind::unclear;
    bool peek = false;     ///< charge nothing
    bool obtains = false;  ///< grant a part: `wish` instead of `weight`
    double weight = 1;     ///< the weight of a request of kind `named`
    limiter::Wish wish{};
    routing::NameLists lists{};
    http::Rejection rejection = http::Rejection::none;
    unsigned status = 400;
    std::string_view explanation{};
};

/// Whether the target of a question asks for refusals with 403. Proxies that need this say so in
/// every question, so it counts whatever else is wrong with the question.
[[nodiscard]] bool asks_for_403(std::string_view target);

class CheckReader {
  public:
    /// `asked` is the complete head of the check itself.
    [[nodiscard]] CheckQuestion read(const http::RequestHead& asked,
                                     const http::GatePolicy& policy);
    /// The head of the request that a `routed` question is about.
    [[nodiscard]] const http::RequestHead& original() const { return original_; }

  private:
    struct Statements;

    bool read_options(std::string_view query, CheckQuestion& question);
    bool read_option(std::string_view name, std::string_view value, CheckQuestion& question);
    void read_obtain(const http::RequestHead& asked, CheckQuestion& question);
    bool read_wish(std::string_view name, std::string_view value, CheckQuestion& question);
    /// The names that were read, for the question.
    void take_names(CheckQuestion& question);
    bool add_name(std::string_view encoded, CheckQuestion& question);
    bool begin_list(std::string_view encoded, CheckQuestion& question);
    void read_fields(const http::RequestHead& asked, Statements& statements) const;
    void pose(const http::RequestHead& asked, const Statements& statements,
              const http::GatePolicy& policy, CheckQuestion& question);
    void write_head(const http::RequestHead& asked, const Statements& statements);

    http::RequestHead original_;
    std::string text_;  // text of the original head
    std::string decoded_;
    std::array<std::size_t, routing::kMaxQuotaNames> ends_{};
    std::array<std::string_view, routing::kMaxQuotaNames> names_{};
    std::array<std::uint8_t, routing::kMaxNameLists> list_ends_{};
    std::size_t count_ = 0;
    std::size_t lists_ = 0;
    bool weighed_ = false;
};

}  // namespace weir::proxy
