#pragma once
// How a fault is written in a story file: "kill: {sidecar: 3, for: 7s}". The reader and the writer
// use the same two tables, one of faults and one of their fields; a test compares docs/simulator.md
// with them. No state.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/document.h"
#include "config/reader.h"
#include "sim/faults.h"

namespace weir::sim {

/// What the fields of a fault may name. The number of a sidecar must be from 0 to `sidecars` - 1.
/// The name of a quota (also in "owner of q") must be that of one of `quotas`, or that of an
/// instance of a template among them. Anything else is an error.
struct FaultContext {
    std::uint32_t sidecars = 0;
    std::span<const limiter::QuotaDefinition> quotas;
};

/// A field of some faults, such as `for`. Every row of the table has both functions.
struct FaultField {
    std::string_view key;
    std::string_view value;    // an example of its value, for people
    std::string_view meaning;  // for people
    void (*read)(config::NodeRef node, const FaultContext& context, Fault& fault,
                 config::Diagnostics& diagnostics) = nullptr;
    std::string (*write)(const Fault& fault) = nullptr;
};
[[nodiscard]] std::span<const FaultField> fault_fields();

/// A kind of fault: its key and its fields.
struct FaultForm {
    FaultKind kind{};
    std::string_view key;
    std::vector<std::string_view> needed;    // fields, in the order in which they are written
    std::vector<std::string_view> optional;  // fields that may be left out
    std::string_view meaning;                // for people
};
/// All kinds of faults, in the order of FaultKind.
[[nodiscard]] std::span<const FaultForm> fault_forms();

/// The key of a kind of fault: "kill", "cut_one_way" …
[[nodiscard]] std::string_view to_string(FaultKind kind);

/// Reads the faults of a step of a story file and adds them to `faults`; `at` is the step's time in
/// seconds. A fault that needs only one field may be written with its value: "restart: 3". A fault
/// with errors is not added; `diagnostics` gets the errors. Returns how many faults the step names,
/// including those that were not added.
[[nodiscard]] std::size_t take_faults(config::MapReader& step, double at,
                                      const FaultContext& context, std::vector<Fault>& faults,
                                      config::Diagnostics& diagnostics);

/// The fault as one step of a story file: "{at: 65.2s, stop: {sidecar: 3, for: 7.1s}}".
[[nodiscard]] std::string describe(const Fault& fault);

/// Numbers as a story file has them: "65.2s", "50%" for 0.5, "12.5r/s". A number that was read from
/// a story file is the same after it has been written and read again.
[[nodiscard]] std::string seconds_text(double seconds);
[[nodiscard]] std::string share_text(double share);
[[nodiscard]] std::string rate_text(double per_second);

}  // namespace weir::sim
