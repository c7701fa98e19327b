// Bodies that PUT /v1/quotas/NAME may get, from anywhere: whole definitions and merge patches.
// Never a crash, a hang or an exception; what is taken has no mistake that the parser of documents
// sees, and survives being shown and sent back. A line break parts the definition that stands from
// the patch; without one the body is a whole definition.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "admin/definition_json.h"
#include "config/parse.h"

namespace {

using weir::admin::ParsedDefinition;

constexpr std::string_view kName = "q";

bool is_sound(std::string_view text) {
    weir::config::Diagnostics diagnostics;
    static_cast<void>(weir::config::parse_documents(text, "body.json", {}, diagnostics));
    return !diagnostics.has_errors();
}

void judge(const ParsedDefinition& parsed, std::string_view text) {
    const bool taken = parsed.definition.has_value() || parsed.absent;
    if (taken == !parsed.errors.empty()) {
        std::abort();
    }
    for (const auto& error : parsed.errors) {
        if (to_string(error).empty()) {
            std::abort();
        }
    }
    if (taken && !is_sound(text)) {
        std::abort();
    }
    if (!parsed.definition) {
        return;
    }
    if (parsed.definition->name != kName) {
        std::abort();
    }
    const auto shown = weir::admin::definition_to_json(*parsed.definition).dump();
    const auto again = weir::admin::parse_definition(shown, kName);
    if (!again.definition || *again.definition != *parsed.definition) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto line = text.find('\n');
    const auto whole = text.substr(0, line);
    const auto standing = weir::admin::parse_definition(whole, kName);
    judge(standing, whole);
    if (line == std::string_view::npos || !standing.definition) {
        return 0;
    }
    const auto patch = text.substr(line + 1);
    const auto patched = weir::admin::patch_definition(*standing.definition, patch);
    judge(patched, patch);
    if (!patched.definition) {
        return 0;
    }
    // A merge patch says how things shall be: twice is as good as once (RFC 7386).
    const auto twice = weir::admin::patch_definition(*patched.definition, patch);
    if (!twice.definition || *twice.definition != *patched.definition) {
        std::abort();
    }
    return 0;
}
