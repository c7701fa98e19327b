// Quota documents and settings from anywhere: YAML and JSON, never a crash, a hang or an
// exception; what is accepted survives being written and read again. No input takes much memory or
// time, however much is wrong in it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/load_settings.h"
#include "config/quota_document.h"
#include "fuzz/bounded_cost.h"

namespace {
/// Aliases may copy 100,000 values, whatever the size of the input.
constexpr std::size_t kBytesForAliases = std::size_t{64} << 20;
constexpr std::size_t kBytesPerByte = 1000;
constexpr double kMostSeconds = 2;
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weir::config;
    const BoundedCost cost(kBytesForAliases + kBytesPerByte * size, kMostSeconds);
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const char* file : {"f.yaml", "f.json"}) {
        Diagnostics diagnostics;
        const auto sets = parse_quota_sets({{file, text}}, diagnostics);
        for (const Diagnostic& diagnostic : diagnostics.sorted()) {
            if (to_string(diagnostic).empty()) {
                std::abort();
            }
        }
        if (diagnostics.has_errors()) {
            continue;
        }
        for (const QuotaSet& set : sets) {
            for (const auto& quota : set.quotas) {
                Diagnostics again;
                const auto read = parse_quota({"q.json", quota_json(quota, -1)}, again);
                if (!read || *read != quota) {
                    std::abort();
                }
            }
        }
    }
    Diagnostics diagnostics;
    static_cast<void>(load_settings(SourceText{"w.yaml", text}, {}, diagnostics));
    return 0;
}
