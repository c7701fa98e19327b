// The C interface's functions for start-up and administration (include/weir/weir.h).

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "embed/fleet.h"
#include "embed/guard.h"
#include "embed/options.h"
#include "net/entropy.h"
#include "node/version.h"
#include "weir/weir.h"

struct weir_fleet {
    std::unique_ptr<weir::embed::Fleet> fleet;
};

namespace weir::embed {
namespace {

constexpr const char* kForked =
    "opened before fork(): open it in the process that uses it (nginx: init_worker_by_lua)";

/// Checks what all functions of an open fleet must check first, then calls `function`.
template <class Function>
std::int32_t with_fleet(weir_fleet* handle, weir_error* error, Function function) noexcept {
    if (handle == nullptr) {
        return tell(error, WEIR_INVALID, "fleet is NULL");
    }
    if (handle->fleet->forked()) {
        return tell(error, WEIR_FORKED, kForked);
    }
    return guarded(error, [&] { return function(*handle->fleet); });
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

Result<definitions::Edit> to_edit(const char* who, const char* why, double lifetime_seconds) {
    definitions::Edit edit;
    edit.who = text_or_empty(who);
    edit.why = text_or_empty(why);
    if (!std::isfinite(lifetime_seconds) || lifetime_seconds < 0) {
        return error(ErrorCode::invalid_argument, "lifetime_seconds must be 0 or more, and finite");
    }
    constexpr double kLongest = 365.0 * 86400;
    if (lifetime_seconds > 0) {
        edit.lifetime = from_seconds(std::min(lifetime_seconds, kLongest));
    }
    return edit;
}

/// Makes one change of a definition, after checking its author, reason and lifetime.
template <class Change>
std::int32_t edit_quota(weir_fleet* fleet, const char* subject, const char* who, const char* why,
                        double lifetime_seconds, weir_error* error, Change change) noexcept {
    if (subject == nullptr) {
        return tell(error, WEIR_INVALID, "definition or name is NULL");
    }
    return with_fleet(fleet, error, [&](Fleet& open) {
        auto edit = to_edit(who, why, lifetime_seconds);
        if (!edit) {
            return tell(error, edit.error());
        }
        return tell(error, change(open, std::move(*edit)));
    });
}

/// Makes a text and gives it to the caller, who must free it.
template <class Make>
std::int32_t give_text(weir_fleet* fleet, char** text, std::size_t* length, weir_error* error,
                       Make make) noexcept {
    if (text == nullptr) {
        return tell(error, WEIR_INVALID, "text is NULL");
    }
    *text = nullptr;
    if (length != nullptr) {
        *length = 0;
    }
    return with_fleet(fleet, error, [&](Fleet& open) {
        const Result<std::string> made = make(open);
        if (!made) {
            return tell(error, made.error());
        }
        char* const copy = static_cast<char*>(std::malloc(made->size() + 1));
        if (copy == nullptr) {
            return tell(error, WEIR_EXHAUSTED, "out of memory");
        }
        std::memcpy(copy, made->c_str(), made->size() + 1);
        *text = copy;
        if (length != nullptr) {
            *length = made->size();
        }
        return succeed(error);
    });
}

std::int32_t open_fleet(const weir_options& options, weir_fleet** out, weir_error* error) {
    auto source = to_source(options);
    if (!source) {
        return tell(error, source.error());
    }
    auto handle = std::make_unique<weir_fleet>();
    auto opened =
        Fleet::open(std::move(*source), {options.log, options.log_context}, net::system_seed());
    if (!opened) {
        return tell(error, opened.error());
    }
    handle->fleet = std::move(*opened);
    *out = handle.release();
    return succeed(error);
}

}  // namespace
}  // namespace weir::embed

namespace embed = weir::embed;

uint32_t weir_abi_version(void) noexcept { return WEIR_ABI_VERSION; }

const char* weir_version(void) noexcept { return WEIR_VERSION; }

const char* weir_code_text(int32_t code) noexcept {
    switch (code) {
        case WEIR_OK:
            return "success";
        case WEIR_INVALID:
            return "an argument, a setting or a document is wrong";
        case WEIR_NOT_FOUND:
            return "no such quota, file or address";
        case WEIR_CONFLICT:
            return "contradicts what is in force";
        case WEIR_EXHAUSTED:
            return "out of memory or of workers";
        case WEIR_IO:
            return "a socket or a file failed";
        case WEIR_FORKED:
            return "opened by the parent process";
        case WEIR_INTERNAL:
            return "a defect of the library";
        default:
            return "not a code of this library";
    }
}

int32_t weir_open(const weir_options* options, weir_fleet** fleet, weir_error* error) noexcept {
    if (fleet == nullptr) {
        return embed::tell(error, WEIR_INVALID, "fleet is NULL");
    }
    *fleet = nullptr;
    if (options == nullptr) {
        return embed::tell(error, WEIR_INVALID, "options is NULL");
    }
    return embed::guarded(error, [&] { return embed::open_fleet(*options, fleet, error); });
}

void weir_close(weir_fleet* fleet) noexcept {
    // In a child process there is no control thread to end, and the parent's objects are not
    // touched.
    if (fleet == nullptr || fleet->fleet->forked()) {
        return;
    }
    static_cast<void>(embed::guarded(nullptr, [&] {
        delete fleet;
        return WEIR_OK;
    }));
}

int32_t weir_worker_open(weir_fleet* fleet, weir_worker** worker, weir_error* error) noexcept {
    if (worker == nullptr) {
        return embed::tell(error, WEIR_INVALID, "worker is NULL");
    }
    *worker = nullptr;
    return embed::with_fleet(fleet, error, [&](embed::Fleet& open) {
        const auto opened = open.open_worker();
        if (!opened) {
            return embed::tell(error, opened.error());
        }
        *worker = *opened;
        return embed::succeed(error);
    });
}

int32_t weir_quota_set(weir_fleet* fleet, const char* definition, const char* who, const char* why,
                       double lifetime_seconds, weir_error* error) noexcept {
    return embed::edit_quota(fleet, definition, who, why, lifetime_seconds, error,
                             [&](embed::Fleet& open, weir::definitions::Edit edit) {
                                 return open.set_quota(definition, std::move(edit));
                             });
}

int32_t weir_quota_hide(weir_fleet* fleet, const char* name, const char* who, const char* why,
                        double lifetime_seconds, weir_error* error) noexcept {
    return embed::edit_quota(fleet, name, who, why, lifetime_seconds, error,
                             [&](embed::Fleet& open, weir::definitions::Edit edit) {
                                 return open.hide_quota(name, std::move(edit));
                             });
}

int32_t weir_quota_remove(weir_fleet* fleet, const char* name, const char* who, const char* why,
                          weir_error* error) noexcept {
    return embed::edit_quota(fleet, name, who, why, 0, error,
                             [&](embed::Fleet& open, weir::definitions::Edit edit) {
                                 return open.remove_quota(name, std::move(edit));
                             });
}

int32_t weir_quota_get(weir_fleet* fleet, const char* name, char** text, size_t* length,
                       weir_error* error) noexcept {
    if (name == nullptr) {
        return embed::tell(error, WEIR_INVALID, "name is NULL");
    }
    return embed::give_text(fleet, text, length, error,
                            [&](embed::Fleet& open) { return open.describe_quota(name); });
}

int32_t weir_metrics(weir_fleet* fleet, char** text, size_t* length, weir_error* error) noexcept {
    return embed::give_text(fleet, text, length, error,
                            [](embed::Fleet& open) { return open.metrics(); });
}

int32_t weir_report(weir_fleet* fleet, char** text, size_t* length, weir_error* error) noexcept {
    return embed::give_text(fleet, text, length, error,
                            [](embed::Fleet& open) { return open.report(); });
}

void weir_free(char* text) noexcept { std::free(text); }

uint32_t weir_live_peers(weir_fleet* fleet) noexcept {
    std::uint32_t count = 0;
    static_cast<void>(embed::with_fleet(fleet, nullptr, [&](embed::Fleet& open) {
        count = open.live_peers();
        return WEIR_OK;
    }));
    return count;
}

int32_t weir_reload(weir_fleet* fleet, weir_error* error) noexcept {
    return embed::with_fleet(fleet, error,
                             [&](embed::Fleet& open) { return embed::tell(error, open.reload()); });
}
