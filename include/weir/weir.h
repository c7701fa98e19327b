/* weir as a library: a program that calls it is a member of a fleet of its own right, beside
 * sidecars and other programs, and holds the fleet's rate limits by itself. It asks nobody: a check
 * is arithmetic on its own memory; what the fleet does comes by UDP on a thread of the library's.
 *
 * Handles. A weir_fleet is one membership: settings, quotas, a UDP socket, one control thread. A
 * weir_worker is what one thread checks with. Both are opaque, made by ..._open and ended by
 * ..._close; what the library gives out belongs to the library unless said otherwise here.
 *
 * Threads. Functions of a weir_fleet may be called by any thread at any time between its open and
 * its close. A weir_worker may be used by one thread at a time; it may wander from thread to thread
 * if the program hands it over properly (a lock, a channel). Open one per thread, at most 64.
 *
 * Hot path. weir_check, weir_refund and weir_correct take no lock that waits, make no system call
 * and, for a name that is known already, allocate nothing. A name that falls under a template is
 * made on first use, under a lock that is tried a bounded number of times; a quota with an exact
 * name waits for that lock once in its life. All other functions may wait and allocate: they are
 * for start-up and for administration.
 *
 * Errors. Functions that can fail return a weir_code (0 is success) and write the reason to a
 * weir_error, if one is given. No C++ exception ever crosses this interface. Limiting fails open:
 * whatever goes wrong, a decision says "admitted" with WEIR_REASON_ERROR.
 *
 * Forks. A child process has no control thread: open after fork (nginx: in init_worker_by_lua). In
 * the child, handles of the parent answer WEIR_FORKED, and closing them does nothing.
 *
 * Signals. The library's threads block all signals; no signal handler is installed. Nothing is
 * written to standard output or standard error.
 *
 * Units. Seconds as double; weights as double: requests, bytes, or whatever a cost is counted in.
 *
 * Growth. Structs begin with their size, which the program sets (the ..._INIT macros do) and the
 * library respects: a program compiled for an older header works with a newer library of the same
 * WEIR_ABI_VERSION. Functions are only added within one. docs/embedding.md tells the rest. */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <stddef.h>
#include <stdint.h>

#define WEIR_ABI_VERSION 0u

#if defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

#ifdef __cplusplus
#define WEIR_NOTHROW noexcept
extern "C" {
#else
#define WEIR_NOTHROW
#endif

/* ---- kinds of answers ------------------------------------------------------------------------ */

enum weir_code {
    WEIR_OK = 0,
    WEIR_INVALID = 1,   /* an argument, a setting or a document is wrong: the message says which */
    WEIR_NOT_FOUND = 2, /* no such quota, file or address */
    WEIR_CONFLICT = 3,  /* contradicts what is in force */
    WEIR_EXHAUSTED = 4, /* out of memory, or of workers */
    WEIR_IO = 5,        /* a socket or a file */
    WEIR_FORKED = 6,    /* opened by the parent process: open it again here */
    WEIR_INTERNAL = 7   /* a defect of the library */
};

enum weir_mode {
    WEIR_CHARGE = 0,                /* decide; charge if admitted */
    WEIR_PEEK = 1,                  /* decide, charge nothing; a refusal counts as offered */
    WEIR_CHARGE_WITHOUT_JUDGING = 2 /* somebody in front has decided by peeking */
};

enum weir_reason {
    WEIR_REASON_NONE = 0,     /* admitted by its limits */
    WEIR_REASON_NO_QUOTA = 1, /* admitted: no quota has this name */
    WEIR_REASON_LIMIT = 2,    /* refused by a limit */
    WEIR_REASON_ZERO = 3,     /* refused by a limit of 0 */
    WEIR_REASON_ERROR = 4,    /* admitted: the call was wrong */
    WEIR_REASON_ISOLATED = 5  /* refused: the fleet cannot be heard, and the quota is pessimistic */
};

enum weir_unit {
    WEIR_REQUESTS = 0,
    WEIR_REQUEST_BYTES = 1,
    WEIR_RESPONSE_BYTES = 2,
    WEIR_COST = 3
};

typedef struct weir_fleet weir_fleet;
typedef struct weir_worker weir_worker;

/* What went wrong, for a person. Cut to fit; always ends with a 0 byte; empty after a success. */
typedef struct weir_error {
    uint32_t size;
    int32_t code;
    char message[1016];
} weir_error;

#define WEIR_ERROR_INIT              \
    {                                \
        sizeof(weir_error), 0, { 0 } \
    }

/* The version of the interface that the library speaks; compare it with WEIR_ABI_VERSION. */
WEIR_API uint32_t weir_abi_version(void) WEIR_NOTHROW;
/* The library's own version, like "0.1.0". Lives for ever. */
WEIR_API const char* weir_version(void) WEIR_NOTHROW;
/* One sentence about a weir_code. Lives for ever. */
WEIR_API const char* weir_code_text(int32_t code) WEIR_NOTHROW;

/* ---- membership ------------------------------------------------------------------------------ */

/* Anything may be left 0. `settings` holds lines "key = value" with the keys of
 * docs/configuration.md ("cluster.join = dns://weir-peers:7946"; lists have commas); they win over
 * the file. The keys that concern the proxy and its listeners are read and have no effect, so a
 * sidecar's own file will do. cluster.listen may have port 0: then any free port is taken and told
 * to the peers, so that many members live on one address. */
typedef struct weir_options {
    uint32_t size;
    uint32_t reserved;
    const char* settings_file;  /* YAML or JSON */
    const char* settings;       /* lines "key = value", a '#' begins a comment line */
    const char* quota_document; /* a QuotaSet as YAML or JSON, beside those of the key "quotas" */
    /* Warnings and failed reloads, one line each, from the control thread: must return soon and
     * must not call into the library. Not for LuaJIT callbacks. */
    void (*log)(void* context, const char* message);
    void* log_context;
} weir_options;

#define WEIR_OPTIONS_INIT \
    { sizeof(weir_options), 0, 0, 0, 0, 0, 0 }

/* Reads settings and quotas, binds the socket, starts the control thread. From then on limits hold,
 * at first by this program's own counts; the fleet is met within about a second. The options need
 * not live longer than the call. */
WEIR_API int32_t weir_open(const weir_options* options, weir_fleet** fleet,
                           weir_error* error) WEIR_NOTHROW;
/* Says goodbye to the peers, ends the control thread (within a second, mostly at once) and all
 * workers. None of them may be in use. NULL is allowed. */
WEIR_API void weir_close(weir_fleet* fleet) WEIR_NOTHROW;

WEIR_API int32_t weir_worker_open(weir_fleet* fleet, weir_worker** worker,
                                  weir_error* error) WEIR_NOTHROW;
/* NULL is allowed. */
WEIR_API void weir_worker_close(weir_worker* worker) WEIR_NOTHROW;

/* ---- deciding -------------------------------------------------------------------------------- */

/* What one request weighs. Anything not finite counts as the maximum (limiter.max_weight), anything
 * below 0 as 0. Response bytes are not given: their running mean stands for them until
 * weir_correct. */
typedef struct weir_request {
    uint32_t size;
    int32_t mode; /* weir_mode */
    double requests;
    double request_bytes;
    double cost;
    /* For quotas that are enforced for a share of the values of a request's field
     * ("enforce: 25%" by a field): its value in this request. May be NULL. */
    const char* key;
    size_t key_length;
} weir_request;

#define WEIR_REQUEST_INIT \
    { sizeof(weir_request), WEIR_CHARGE, 1, 0, 1, 0, 0 }

/* What was charged, to give it back or to correct it later; all 0 when nothing was. It may be
 * copied and kept for as long as the request takes; give back only one copy. */
typedef struct weir_charge {
    uint64_t opaque[12];
} weir_charge;

/* One decision with the figures that it was made from. `quota`, `amount` and so on describe the
 * quota that refused or, of an admitted request, the one nearest to refusing. */
typedef struct weir_decision {
    uint32_t size;
    uint8_t admitted;
    uint8_t shadow_refused; /* a quota in shadow mode would have refused it */
    uint8_t hidden;         /* this quota is not to be named to clients */
    uint8_t reason;         /* weir_reason */
    int32_t unit;           /* weir_unit of the limit described */
    uint32_t quota_length;
    const char* quota; /* ends with a 0 byte; lives until the worker's next call; never NULL */
    double amount;     /* of the limit, per ... */
    double period_seconds;
    double remaining;           /* whole units left, after this request */
    double reset_seconds;       /* until nothing is owed any more */
    double retry_after_seconds; /* at least 1; add some jitter before telling a client */
    double discard_probability; /* the chance that this request had to be refused */
    weir_charge charge;
} weir_decision;

/* Decides about one request under the quota `name` (`length` bytes) and all its ancestors. Without
 * `request` it is one request of weight 1 to be charged. */
WEIR_API int32_t weir_check(weir_worker* worker, const char* name, size_t length,
                            const weir_request* request, weir_decision* decision) WEIR_NOTHROW;
/* Gives everything back: the request never reached its service. Clears the charge, so that a second
 * call changes nothing. */
WEIR_API int32_t weir_refund(weir_worker* worker, weir_charge* charge) WEIR_NOTHROW;
/* The true weight of a unit is known now (response bytes, a cost that the service stated): charges
 * or gives back the difference. While more may follow (a long response, of which `actual` bytes
 * have been sent so far) `last` is 0; with `last` it is the whole and moves the running mean. */
WEIR_API int32_t weir_correct(weir_worker* worker, weir_charge* charge, int32_t unit, double actual,
                              int32_t last) WEIR_NOTHROW;

/* ---- administration -------------------------------------------------------------------------- */

/* Changes of quota definitions, as by `weir quota set | set --absent | rm`: in force here within
 * some 10 ms, in the fleet within a second, above the files' definitions. `definition` is the JSON
 * of one quota as in a quota document. `who` and `why` are kept with the change (NULL: nothing
 * said). `lifetime_seconds` above 0: taken back after that time. */
WEIR_API int32_t weir_quota_set(weir_fleet* fleet, const char* definition, const char* who,
                                const char* why, double lifetime_seconds,
                                weir_error* error) WEIR_NOTHROW;
WEIR_API int32_t weir_quota_hide(weir_fleet* fleet, const char* name, const char* who,
                                 const char* why, double lifetime_seconds,
                                 weir_error* error) WEIR_NOTHROW;
WEIR_API int32_t weir_quota_remove(weir_fleet* fleet, const char* name, const char* who,
                                   const char* why, weir_error* error) WEIR_NOTHROW;

/* Texts: `*text` belongs to the caller, who gives it back to weir_free; it ends with a 0 byte that
 * `*length` (may be NULL) does not count. */

/* A quota's definition, where it comes from and its live level, as GET /v1/quotas/NAME has it. */
WEIR_API int32_t weir_quota_get(weir_fleet* fleet, const char* name, char** text, size_t* length,
                                weir_error* error) WEIR_NOTHROW;
/* Prometheus' text format (docs/metrics.md), without the process's own metrics. */
WEIR_API int32_t weir_metrics(weir_fleet* fleet, char** text, size_t* length,
                              weir_error* error) WEIR_NOTHROW;
/* This member and its peers as JSON: {"address": ..., "peers": [...], "config": {...}}. */
WEIR_API int32_t weir_report(weir_fleet* fleet, char** text, size_t* length,
                             weir_error* error) WEIR_NOTHROW;
WEIR_API void weir_free(char* text) WEIR_NOTHROW;

/* Peers that are alive; 0 when alone or when anything is wrong. */
WEIR_API uint32_t weir_live_peers(weir_fleet* fleet) WEIR_NOTHROW;
/* Reads quota files and gossip keys again, now. (Quota files are watched anyway.) What was in force
 * stays if anything is wrong with them. Settings take a new weir_open. */
WEIR_API int32_t weir_reload(weir_fleet* fleet, weir_error* error) WEIR_NOTHROW;

#ifdef __cplusplus
}
#endif

#endif
