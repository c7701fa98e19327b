#pragma once
// How a fault is written in a story file: "kill: {sidecar: 3, for: 7s}". The reader, the writer and
// docs/simulator.md use the same two tables: one of faults and one of their fields. Pure.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/document.h"
#include "config/reader.h"
#include "sim/faults.h"

namespace weir::sim {

/// What the fields of a fault may name: a sidecar by its number, from 0 to `sidecars` - 1, and a
/// quota by a name that one of `quotas` defines. Anything else is an error.
struct FaultContext {
    std::uint32_t sidecars = 0;
    std::span<const limiter::QuotaDefinition> quotas;
};

/// A field of some faults, such as `for`.
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
/// All faults, in the order of FaultKind.
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

/// These texts read back as the same number: "65.2s", "50%" for 0.5, "12.5r/s".
[[nodiscard]] std::string seconds_text(double seconds);
[[nodiscard]] std::string share_text(double share);
[[nodiscard]] std::string rate_text(double per_second);

}  // namespace weir::sim
