/* weir as a library. A program that calls it becomes a member of a fleet in its own right, beside
 * sidecars and other programs, and applies the fleet's rate limits itself. A check asks no other
 * process: it is arithmetic on the program's own memory. News of the fleet arrives by UDP on a
 * thread of the library.
 *
 * Handles. A weir_fleet is one membership: settings, quotas, a UDP socket, one control thread. A
 * weir_worker is what one thread checks with. Both are opaque, made by ..._open and ended by
 * ..._close. Memory that the library returns belongs to the library, unless this header says
 * otherwise.
 *
 * Threads. Functions of a weir_fleet may be called by any thread at any time between its open and
 * its close. A weir_worker may be used by one thread at a time; the program may pass it from one
 * thread to another through a lock or a channel. Open one per thread, at most 64.
 *
 * Hot path. weir_check, weir_check_many, weir_obtain, weir_finish, weir_refund, weir_return and
 * weir_correct take no lock that waits, make no system call and, for names that are known already,
 * allocate nothing. The first check of a name that falls under a template makes an instance for the
 * name, under a lock that is tried a bounded number of times. The first check of a quota with an
 * exact name waits for that lock; later ones do not. All other functions may wait and allocate:
 * they are for start-up and for administration.
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
 * Units. Times are seconds, as double. Weights are double, too: requests, bytes, or whatever the
 * program counts costs in.
 *
 * Growth. Structs begin with their size. The program sets it (the ..._INIT macros do), and the
 * library reads and writes no more than that. So a program compiled for an older header works with
 * a newer library of the same WEIR_ABI_VERSION; within one version functions are added and never
 * removed. docs/embedding.md explains everything else. */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <stddef.h>
#include <stdint.h>

#define WEIR_ABI_VERSION 1u

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

/* ---- codes and kinds ------------------------------------------------------------------------- */

/* The result of a function that can fail. */
enum weir_code {
    WEIR_OK = 0,
    WEIR_INVALID = 1,   /* an argument, a setting or a document is wrong: the message says which */
    WEIR_NOT_FOUND = 2, /* no such quota, file or address */
    WEIR_CONFLICT = 3,  /* the change contradicts what is in force, or a file is not weir's */
    WEIR_EXHAUSTED = 4, /* no memory, or no room for another worker or override */
    WEIR_IO = 5,        /* the system refused an operation on a socket or a file */
    WEIR_FORKED = 6,    /* the handle was opened by the parent process: open one here */
    WEIR_INTERNAL = 7   /* a defect of the library */
};

/* What a check does with the request. */
enum weir_mode {
    WEIR_CHARGE = 0,                /* decide; charge if admitted */
    WEIR_PEEK = 1,                  /* decide, charge nothing; a refusal still counts as offered */
    WEIR_CHARGE_WITHOUT_JUDGING = 2 /* charge and admit: a tier in front has decided by a peek */
};

/* Why a request was admitted or refused. */
enum weir_reason {
    WEIR_REASON_NONE = 0,       /* admitted by every quota that applies */
    WEIR_REASON_NO_QUOTA = 1,   /* admitted: no quota has this name */
    WEIR_REASON_LIMIT = 2,      /* refused: a limit is reached or nearly reached */
    WEIR_REASON_ZERO = 3,       /* refused: the limit is 0 */
    WEIR_REASON_ERROR = 4,      /* admitted: the call was wrong */
    WEIR_REASON_ISOLATED = 5,   /* refused: the limit's owners cannot be heard (when_isolated) */
    WEIR_REASON_TOO_MUCH = 6,   /* refused: a limit never has weir_obtain's minimum free at once */
    WEIR_REASON_ABOVE_SHARE = 7 /* refused: above its share of a quota that sheds fairly (fair) */
};

/* What a limit counts. */
enum weir_unit {
    WEIR_REQUESTS = 0,
    WEIR_REQUEST_BYTES = 1,
    WEIR_RESPONSE_BYTES = 2,
    WEIR_COST = 3 /* whatever the program counts costs in */
};

typedef struct weir_fleet weir_fleet;
typedef struct weir_worker weir_worker;

/* What went wrong, as text for a person. A message that is too long is cut. The text always ends
 * with a 0 byte and is empty after a success. */
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
/* The library's own version, like "0.1.0". The text is constant and never freed. */
WEIR_API const char* weir_version(void) WEIR_NOTHROW;
/* One sentence about a weir_code. The text is constant and never freed. */
WEIR_API const char* weir_code_text(int32_t code) WEIR_NOTHROW;

/* ---- membership ------------------------------------------------------------------------------ */

/* Every member but `size` may stay 0. `settings` holds lines "key = value" with the keys of
 * docs/configuration.md ("cluster.join = dns://weir-peers:7946"; the elements of a list are
 * separated by commas). These lines win over the settings file. Keys of the proxy and its listeners
 * are accepted and have no effect, so that a sidecar's file can be used as it is. cluster.listen
 * may have port 0: then the library takes a free port and tells it to the peers, so that many
 * members can share one address. */
typedef struct weir_options {
    uint32_t size;
    uint32_t reserved;
    const char* settings_file;  /* YAML or JSON */
    const char* settings;       /* lines "key = value", a '#' begins a comment line */
    const char* quota_document; /* a QuotaSet as YAML or JSON, beside those of the key "quotas" */
    /* Called on the control thread with each warning and each failed reload, one line of text. It
     * must return soon and must not call into the library. It may not be a LuaJIT callback. */
    void (*log)(void* context, const char* message);
    void* log_context;
} weir_options;

#define WEIR_OPTIONS_INIT \
    { sizeof(weir_options), 0, 0, 0, 0, 0, 0 }

/* Reads settings and quotas, binds the socket, starts the control thread. From then on the limits
 * are enforced, at first by this program's own counts; the fleet is found within about a second.
 * The options are copied and need not outlive the call. */
WEIR_API int32_t weir_open(const weir_options* options, weir_fleet** fleet,
                           weir_error* error) WEIR_NOTHROW;
/* Says goodbye to the peers, ends the control thread (within a second, mostly at once) and closes
 * all workers of this fleet, none of which may be in use. NULL is allowed. */
WEIR_API void weir_close(weir_fleet* fleet) WEIR_NOTHROW;

/* Makes a worker of this fleet. The fleet owns it and closes it in weir_close at the latest. At
 * most 64 are open at once; one more is WEIR_EXHAUSTED. */
WEIR_API int32_t weir_worker_open(weir_fleet* fleet, weir_worker** worker,
                                  weir_error* error) WEIR_NOTHROW;
/* Closes the worker, which no thread may be using. NULL is allowed. */
WEIR_API void weir_worker_close(weir_worker* worker) WEIR_NOTHROW;

/* ---- deciding -------------------------------------------------------------------------------- */

/* What one request weighs. A weight that is not finite counts as the maximum (limiter.max_weight),
 * one below 0 counts as 0. Response bytes are not given here: the running mean of earlier responses
 * stands for them until weir_correct. */
typedef struct weir_request {
    uint32_t size;
    int32_t mode; /* weir_mode */
    double requests;
    double request_bytes;
    double cost;
    /* The value of the request field by which a quota is enforced for a share of the requests
     * ("enforce: 25%" by a field). May be NULL. */
    const char* key;
    size_t key_length;
} weir_request;

#define WEIR_REQUEST_INIT \
    { sizeof(weir_request), WEIR_CHARGE, 1, 0, 1, 0, 0 }

/* What was charged for one request, kept so that it can be given back or corrected later, and the
 * places that the request has under limits of requests in flight; all 0 when nothing was charged.
 * It may be copied and kept for as long as the request takes. Only one of the copies may be
 * finished and given back. */
typedef struct weir_charge {
    uint64_t opaque[32];
} weir_charge;

/* One decision with the figures that it was made from. The fields from `unit` to
 * `discard_probability` describe one limit: of a refused request the limit that refused, of an
 * admitted one the limit that came nearest to refusing. If there is no such limit, `quota` is empty
 * and these fields are 0. Of a limit of requests in flight, `period_seconds` and `reset_seconds`
 * are 0: `amount` of them may be in flight at once, and only the end of one makes room. */
typedef struct weir_decision {
    uint32_t size;
    uint8_t admitted;
    uint8_t shadow_refused; /* a quota in shadow mode would have refused the request */
    uint8_t hidden;         /* clients must not be told this quota's name */
    uint8_t reason;         /* weir_reason */
    int32_t unit;           /* weir_unit of the limit */
    uint32_t quota_length;
    const char* quota;     /* ends with a 0 byte; valid until the worker's next call; never NULL */
    double amount;         /* what the limit allows ... */
    double period_seconds; /* ... in this period */
    double remaining;      /* whole units left, after this request */
    double reset_seconds;  /* until the level is back at the limit's `low` border */
    double retry_after_seconds; /* at least 1; add some jitter before telling a client */
    double discard_probability; /* the chance with which such a request is refused */
    weir_charge charge;
    /* Added after 0.1.0: if refused, how long until such a request would be admitted for certain,
     * as long as nobody else is admitted meanwhile; below 0 if that cannot be said (a limit of 0,
     * an isolated one, one of requests in flight). The program may wait for so long and check
     * again. Else 0. */
    double wait_seconds;
} weir_decision;

/* Decides about one request under the quota `name` (`length` bytes) and all quotas above it. When
 * `request` is NULL, it is one request of weight 1 that is charged. When an admitted request has
 * ended, weir_finish must be called with its charge. */
WEIR_API int32_t weir_check(weir_worker* worker, const char* name, size_t length,
                            const weir_request* request, weir_decision* decision) WEIR_NOTHROW;
/* A name of `length` bytes, and a list of names in the order in which they are tried. These two
 * structs never grow. */
typedef struct weir_name {
    const char* text;
    size_t length;
} weir_name;
typedef struct weir_name_list {
    const weir_name* names;
    size_t count;
} weir_name_list;

#define WEIR_MOST_LISTS 4u  /* of one request */
#define WEIR_MOST_NAMES 16u /* in all lists of one request */

/* Decides about one request to which several quotas apply that are no parents of each other, such
 * as its user's and its tenant's: of each of the `count` lists the first quota that exists, and all
 * quotas above these. Each quota counts once, also when several lists lead to it. The request is
 * admitted when all of them let it pass, and charged to all or none. Lists without a quota do not
 * count; if no list has one, the reason is WEIR_REASON_NO_QUOTA. When requests are refused for a
 * quota of any list, the clients of the first list are refused evenly: the names of clients stand
 * there. The charge is finished, given back and corrected as that of weir_check. */
WEIR_API int32_t weir_check_many(weir_worker* worker, const weir_name_list* lists, size_t count,
                                 const weir_request* request, weir_decision* decision) WEIR_NOTHROW;
/* The request has ended: limits of requests in flight do not count it any more. To be called once
 * for every admitted request, however it ended, by any worker of the same fleet. A request for
 * which it is never called counts until the fleet is closed. The rest of the charge stays, so that
 * weir_correct still works; a second call changes nothing. A request that no such limit counted
 * costs this call next to nothing. */
WEIR_API int32_t weir_finish(weir_worker* worker, weir_charge* charge) WEIR_NOTHROW;
/* Gives the whole charge back, because the request never reached its service, and ends the request
 * as weir_finish does. Clears the charge, so that a second call of either changes nothing. */
WEIR_API int32_t weir_refund(weir_worker* worker, weir_charge* charge) WEIR_NOTHROW;
/* Corrects a charge once the true weight in one unit is known (response bytes, a cost that the
 * service stated): the difference is charged or given back. `last` is 0 while `actual` is only the
 * weight so far, for instance during a long response; else `actual` is the whole weight and also
 * moves the running mean. */
WEIR_API int32_t weir_correct(weir_worker* worker, weir_charge* charge, int32_t unit, double actual,
                              int32_t last) WEIR_NOTHROW;

/* Takes as many of `wanted` units as every limit of the chain has free, at least `minimum` of them
 * or nothing, and charges them once on all levels. `each` says what one unit weighs and how to
 * decide; NULL is one request of cost 1. `wanted` is above 0, `minimum` is 0 to `wanted`. *granted
 * is what was taken: all of `wanted` or a whole number of units. If it is 0, the decision says who
 * refused, and `reset_seconds` when the minimum would be free. Limits of response bytes are charged
 * nothing; weir_correct may charge them afterwards. Under limits of requests in flight all units
 * that were granted are in flight until weir_finish, or until they are returned. When something
 * goes wrong, *granted is `wanted` (or 0 if that is not a number above 0). */
WEIR_API int32_t weir_obtain(weir_worker* worker, const char* name, size_t length,
                             const weir_request* each, double wanted, double minimum,
                             weir_decision* decision, double* granted) WEIR_NOTHROW;
/* Gives back the units of a weir_obtain that were not used; limits of requests in flight do not
 * count them any more. The charge keeps the rest, so that never more is given back than was taken.
 * weir_finish ends the rest. */
WEIR_API int32_t weir_return(weir_worker* worker, weir_charge* charge, double unused) WEIR_NOTHROW;

/* ---- administration -------------------------------------------------------------------------- */

/* Changes of quota definitions, as by `weir quota set`, `set --absent` and `rm`. A change is in
 * force here within some 10 ms and in the fleet within a second; it stands above the definitions of
 * files. `definition` is the JSON of one quota as in a quota document. `who` and `why` are kept
 * with the change and may be NULL. A change with `lifetime_seconds` above 0 is taken back after
 * that time. */
WEIR_API int32_t weir_quota_set(weir_fleet* fleet, const char* definition, const char* who,
                                const char* why, double lifetime_seconds,
                                weir_error* error) WEIR_NOTHROW;
WEIR_API int32_t weir_quota_hide(weir_fleet* fleet, const char* name, const char* who,
                                 const char* why, double lifetime_seconds,
                                 weir_error* error) WEIR_NOTHROW;
WEIR_API int32_t weir_quota_remove(weir_fleet* fleet, const char* name, const char* who,
                                   const char* why, weir_error* error) WEIR_NOTHROW;

/* The functions below that return a text: `*text` belongs to the caller, who must free it with
 * weir_free. It ends with a 0 byte, which `*length` does not count. `length` may be NULL. */

/* A quota's definition, its source and its level now, as JSON like the answer to GET
 * /v1/quotas/NAME. */
WEIR_API int32_t weir_quota_get(weir_fleet* fleet, const char* name, char** text, size_t* length,
                                weir_error* error) WEIR_NOTHROW;
/* The metrics of docs/metrics.md in Prometheus' text format, without those about the process. */
WEIR_API int32_t weir_metrics(weir_fleet* fleet, char** text, size_t* length,
                              weir_error* error) WEIR_NOTHROW;
/* This member and its peers as JSON: {"address": ..., "peers": [...], "config": {...}}. */
WEIR_API int32_t weir_report(weir_fleet* fleet, char** text, size_t* length,
                             weir_error* error) WEIR_NOTHROW;
/* Frees a text that a function of this header returned. NULL is allowed. */
WEIR_API void weir_free(char* text) WEIR_NOTHROW;

/* The number of peers that are alive; 0 when there are none or `fleet` cannot be used. */
WEIR_API uint32_t weir_live_peers(weir_fleet* fleet) WEIR_NOTHROW;
/* Reads quota files and gossip keys again, now. (Changes of quota files are noticed without it.)
 * When a file is wrong, what was in force stays in force. New settings need a new weir_open. */
WEIR_API int32_t weir_reload(weir_fleet* fleet, weir_error* error) WEIR_NOTHROW;

#ifdef __cplusplus
}
#endif

#endif
