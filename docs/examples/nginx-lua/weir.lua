-- weir inside nginx, through LuaJIT's FFI: each worker process is a member of the fleet.
--
--     init_worker_by_lua_block { weir = require("weir").open{settings_file = "/etc/weir/embed.yaml"} }
--     access_by_lua_block      { weir:limit(ngx.var.host) }
--     log_by_lua_block         { weir:finish() }
--     exit_worker_by_lua_block { weir:close() }
--
-- Open it in init_worker_by_lua and not earlier: nginx forks its workers after init_by_lua, and a
-- forked child has no thread that hears the fleet. No call here waits: a check is arithmetic.

local ffi = require("ffi")

-- From weir.h, version 1 of the interface.
ffi.cdef[[
typedef struct weir_fleet weir_fleet;
typedef struct weir_worker weir_worker;
typedef struct weir_error {
    uint32_t size;
    int32_t code;
    char message[1016];
} weir_error;
typedef struct weir_options {
    uint32_t size;
    uint32_t reserved;
    const char *settings_file;
    const char *settings;
    const char *quota_document;
    void (*log)(void *context, const char *message);
    void *log_context;
} weir_options;
typedef struct weir_request {
    uint32_t size;
    int32_t mode;
    double requests;
    double request_bytes;
    double cost;
    const char *key;
    size_t key_length;
} weir_request;
typedef struct weir_charge {
    uint64_t opaque[32];
} weir_charge;
typedef struct weir_decision {
    uint32_t size;
    uint8_t admitted;
    uint8_t shadow_refused;
    uint8_t hidden;
    uint8_t reason;
    int32_t unit;
    uint32_t quota_length;
    const char *quota;
    double amount;
    double period_seconds;
    double remaining;
    double reset_seconds;
    double retry_after_seconds;
    double discard_probability;
    weir_charge charge;
    double wait_seconds;
} weir_decision;
typedef struct weir_name {
    const char *text;
    size_t length;
} weir_name;
typedef struct weir_name_list {
    const weir_name *names;
    size_t count;
} weir_name_list;
uint32_t weir_abi_version(void);
int32_t weir_open(const weir_options *options, weir_fleet **fleet, weir_error *error);
void weir_close(weir_fleet *fleet);
int32_t weir_worker_open(weir_fleet *fleet, weir_worker **worker, weir_error *error);
int32_t weir_check(weir_worker *worker, const char *name, size_t length,
                   const weir_request *request, weir_decision *decision);
int32_t weir_check_many(weir_worker *worker, const weir_name_list *lists, size_t count,
                        const weir_request *request, weir_decision *decision);
int32_t weir_finish(weir_worker *worker, weir_charge *charge);
int32_t weir_refund(weir_worker *worker, weir_charge *charge);
int32_t weir_metrics(weir_fleet *fleet, char **text, size_t *length, weir_error *error);
void weir_free(char *text);
uint32_t weir_live_peers(weir_fleet *fleet);
]]

local ABI_VERSION = 1
local CHARGE, PEEK = 0, 1
local MOST_LISTS, MOST_NAMES = 4, 16
local REASON_NONE, REASON_ERROR, REASON_ISOLATED = 0, 4, 5

local Weir = {}
Weir.__index = Weir

local function sized(kind)
    local value = ffi.new(kind)
    value.size = ffi.sizeof(kind)
    return value
end

-- options: library (file name), settings_file, settings (lines "key = value"), quota_document.
-- Raises an error that nginx writes to its log.
function Weir.open(options)
    local library = ffi.load(options.library or "libweir.so.1")
    if library.weir_abi_version() ~= ABI_VERSION then
        error("libweir.so speaks another version of the interface")
    end
    local failure = sized("weir_error")
    local chosen = sized("weir_options")
    chosen.settings_file = options.settings_file
    chosen.settings = options.settings
    chosen.quota_document = options.quota_document
    local fleet = ffi.new("weir_fleet *[1]")
    if library.weir_open(chosen, fleet, failure) ~= 0 then
        error("weir: " .. ffi.string(failure.message))
    end
    local worker = ffi.new("weir_worker *[1]")
    if library.weir_worker_open(fleet[0], worker, failure) ~= 0 then
        error("weir: " .. ffi.string(failure.message))
    end
    local opened = setmetatable({
        library = library, fleet = fleet[0], worker = worker[0],
        -- nginx's worker runs one request at a time until it waits, so one of each is enough.
        request = sized("weir_request"), decision = sized("weir_decision"),
        names = ffi.new("weir_name[?]", MOST_NAMES), lists = ffi.new("weir_name_list[?]", MOST_LISTS),
    }, Weir)
    -- For a charge that nobody finished. Lua may find it after close().
    function opened.finish_lost(charge)
        if opened.worker then opened.library.weir_finish(opened.worker, charge) end
    end
    return opened
end

-- Puts lists of names in place for the library, and returns how many lists there are. The names
-- must live until it has been called.
local function fill(self, lists)
    local named = 0
    for i, list in ipairs(lists) do
        if i > MOST_LISTS or named + #list > MOST_NAMES then error("weir: too many lists or names") end
        local first = named
        for j = 1, #list do
            local name = list[j]  -- nil where a variable has no value
            if name then
                self.names[named].text, self.names[named].length = name, #name
                named = named + 1
            end
        end
        self.lists[i - 1].names, self.lists[i - 1].count = self.names + first, named - first
    end
    return #lists
end

-- Decides about one request of this weight. `quota` is a name, or several lists of names, of each of
-- which the first quota that exists applies: {{"user/7", "anonymous"}, {"space/9"}}. The result is
-- valid until the next call.
function Weir:check(quota, weight, mode)
    local request = self.request
    request.mode = mode or CHARGE
    request.requests, request.cost = weight or 1, weight or 1
    if type(quota) == "table" then
        self.library.weir_check_many(self.worker, self.lists, fill(self, quota), request, self.decision)
    else
        self.library.weir_check(self.worker, quota, #quota, request, self.decision)
    end
    return self.decision
end

local function refuse(decision)
    ngx.header["Retry-After"] = math.ceil(decision.retry_after_seconds) + math.random(0, 1)
    if decision.hidden == 0 then
        ngx.header["X-Weir-Quota"] = ffi.string(decision.quota, decision.quota_length)
    end
    -- The quota is pessimistic and its owners are silent: the client has not sent too many requests.
    return ngx.exit(decision.reason == REASON_ISOLATED and 503 or 429)
end

-- Keeps a copy of the charge until finish(). An internal redirect (error_page, ngx.exec) clears
-- ngx.ctx; then Lua finishes the request when it collects the copy, some time after its end.
local function keep(self, decision)
    local charge = ffi.gc(ffi.new("weir_charge", decision.charge), self.finish_lost)
    local kept = ngx.ctx.weir_charges
    if kept then
        kept[#kept + 1] = charge
    else
        ngx.ctx.weir_charges = {charge}
    end
end

-- In access_by_lua: charges the quota, or ends the request with 429 (503 if the quota is pessimistic
-- and the fleet cannot be heard). finish() must follow when the request has ended.
function Weir:limit(quota, weight)
    local decision = self:check(quota, weight, CHARGE)
    if decision.admitted == 0 then return refuse(decision) end
    if decision.reason == REASON_NONE then keep(self, decision) end
end

-- In log_by_lua: the request has ended, so limits of requests in flight do not count it any more.
function Weir:finish()
    local kept = ngx.ctx.weir_charges
    if not kept then return end
    ngx.ctx.weir_charges = nil
    for _, charge in ipairs(kept) do
        self.library.weir_finish(self.worker, ffi.gc(charge, nil))
    end
end

-- In access_by_lua, in front of a sidecar that charges: refuses as above those requests that the
-- sidecar would refuse, before they take a connection, and charges nothing. A field tells the sidecar,
-- which must have nginx among its judging_proxies, not to decide again. A client's own field is replaced.
function Weir:peek(quota, weight)
    local decision = self:check(quota, weight, PEEK)
    if decision.admitted == 0 then return refuse(decision) end
    if decision.reason == REASON_ERROR then
        ngx.req.clear_header("X-Weir-Judged")
    else
        ngx.req.set_header("X-Weir-Judged", "1")
    end
end

function Weir:peers()
    return self.library.weir_live_peers(self.fleet)
end

-- In content_by_lua: this worker's metrics in Prometheus' text format.
function Weir:metrics()
    local text, length, failure = ffi.new("char *[1]"), ffi.new("size_t[1]"), sized("weir_error")
    if self.library.weir_metrics(self.fleet, text, length, failure) ~= 0 then
        return nil, ffi.string(failure.message)
    end
    local copy = ffi.string(text[0], length[0])
    self.library.weir_free(text[0])
    return copy
end

-- In exit_worker_by_lua: says goodbye, so that the fleet knows at once that this member has left.
function Weir:close()
    self.library.weir_close(self.fleet)
    self.fleet, self.worker = nil, nil
end

return Weir
