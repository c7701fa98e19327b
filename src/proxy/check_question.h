#pragma once
// What another proxy asks when it sends a request to /check: a quota by its name, or what would
// become of the request that stands in front of that proxy. In the second case that request's head
// is written out again and goes through the same parser and gate as if it had come here, so that a
// check is never laxer than the traffic port. docs/check.md explains the forms.
//
// Thread-safety: none; work space of one worker. A question's views are valid until the next
// read(), and as long as the bytes of the head that was read.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "http/gate_policy.h"
#include "http/request_head.h"

namespace weir::proxy {

struct CheckQuestion {
    enum class Kind : std::uint8_t {
        routed,     ///< what the routes say of original()
        named,      ///< `names`, the first that exists
        malformed,  ///< the original request would be rejected: see `rejection`
        unclear,    ///< it cannot be told what is asked: see `status` and `explanation`
    };
    Kind kind = Kind::unclear;
    bool peek = false;           ///< charge nothing
    bool deny_with_403 = false;  ///< for a host that can pass on nothing else
    double weight = 1;           ///< of `names`
    std::span<const std::string_view> names{};
    http::Rejection rejection = http::Rejection::none;
    unsigned status = 400;
    std::string_view explanation{};
};

class CheckReader {
  public:
    /// Names in one question, tried in order.
    static constexpr std::size_t kMaxNames = 8;

    /// `asked`: the complete head of the check itself.
    [[nodiscard]] CheckQuestion read(const http::RequestHead& asked,
                                     const http::GatePolicy& policy);
    /// The head that a `routed` question is about.
    [[nodiscard]] const http::RequestHead& original() const { return original_; }

  private:
    struct Statements;

    bool read_options(std::string_view query, CheckQuestion& question);
    bool read_option(std::string_view name, std::string_view value, CheckQuestion& question);
    bool add_name(std::string_view encoded, CheckQuestion& question);
    void read_fields(const http::RequestHead& asked, Statements& statements) const;
    void pose(const http::RequestHead& asked, const Statements& statements,
              const http::GatePolicy& policy, CheckQuestion& question);
    void write_head(const http::RequestHead& asked, const Statements& statements);

    http::RequestHead original_;
    std::string text_;  // of the original head
    std::string decoded_;
    std::array<std::size_t, kMaxNames> ends_{};
    std::array<std::string_view, kMaxNames> names_{};
    std::size_t count_ = 0;
    bool weighed_ = false;
};

}  // namespace weir::proxy
