// weir as a library for C++17 or later: the interface of weir.h with owning classes, strings and
// typed values. Everything here is inline and calls the C interface, so that a program depends only
// on the C symbols of libweir.so and not on how a compiler lays out classes.
//
// Threads: a Fleet may be used by any thread; a Worker by one thread at a time, so open one per
// thread (at most 64). weir.h says what the hot path never does, and what holds after a fork.
// Ownership: Fleet and Worker own their handles and can be moved. A Worker must not outlive its
// Fleet.
// Errors: expected failures are values of the type Expected<T>. Nothing is thrown but
// std::bad_alloc, when a std::string of the caller cannot be made. Limiting fails open: check()
// always returns a decision.
#ifndef WEIR_WEIR_HPP
#define WEIR_WEIR_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "weir/weir.h"

namespace weir {
inline namespace v1 {

/// Why a call failed: a weir_code for programs, a message for people.
struct Failure {
    std::int32_t code = WEIR_OK;
    std::string message;
};

/// A value, or the reason why there is none.
template <class T>
class [[nodiscard]] Expected {
  public:
    Expected(T value) : held_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
    Expected(Failure failure) : held_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

    explicit operator bool() const { return held_.index() == 0; }
    /// Allowed only if there is a value.
    T& operator*() { return *std::get_if<0>(&held_); }
    const T& operator*() const { return *std::get_if<0>(&held_); }
    T* operator->() { return std::get_if<0>(&held_); }
    /// Allowed only if there is no value.
    [[nodiscard]] const Failure& failure() const { return *std::get_if<1>(&held_); }

  private:
    std::variant<T, Failure> held_;
};

/// Success without a value, or the reason of the failure.
using Outcome = Expected<std::monostate>;

enum class Mode : std::int32_t {
    charge = WEIR_CHARGE,
    peek = WEIR_PEEK,
    charge_without_judging = WEIR_CHARGE_WITHOUT_JUDGING,
};

enum class Reason : std::uint8_t {
    none = WEIR_REASON_NONE,
    no_quota = WEIR_REASON_NO_QUOTA,
    limit = WEIR_REASON_LIMIT,
    zero = WEIR_REASON_ZERO,
    error = WEIR_REASON_ERROR,
    isolated = WEIR_REASON_ISOLATED,
    too_much = WEIR_REASON_TOO_MUCH,
    above_share = WEIR_REASON_ABOVE_SHARE,
};

enum class Unit : std::int32_t {
    requests = WEIR_REQUESTS,
    request_bytes = WEIR_REQUEST_BYTES,
    response_bytes = WEIR_RESPONSE_BYTES,
    cost = WEIR_COST,
};

/// What one request weighs, and how it is to be decided.
struct Request {
    Mode mode = Mode::charge;
    double requests = 1;
    double request_bytes = 0;
    double cost = 1;
    /// The value of the request field by which a quota is enforced for a share of the requests.
    std::string_view key = {};
};

/// One decision with the figures that it was made from; see weir_decision.
class Decision {
  public:
    [[nodiscard]] bool admitted() const { return raw_.admitted != 0; }
    [[nodiscard]] bool shadow_refused() const { return raw_.shadow_refused != 0; }
    /// Clients must not be told this quota's name.
    [[nodiscard]] bool hidden() const { return raw_.hidden != 0; }
    [[nodiscard]] Reason reason() const { return static_cast<Reason>(raw_.reason); }
    [[nodiscard]] Unit unit() const { return static_cast<Unit>(raw_.unit); }
    /// The quota that the figures describe; valid until the worker's next call.
    [[nodiscard]] std::string_view quota() const { return {raw_.quota, raw_.quota_length}; }
    [[nodiscard]] double amount() const { return raw_.amount; }
    /// 0 for a limit of requests in flight.
    [[nodiscard]] double period_seconds() const { return raw_.period_seconds; }
    [[nodiscard]] double remaining() const { return raw_.remaining; }
    [[nodiscard]] double reset_seconds() const { return raw_.reset_seconds; }
    [[nodiscard]] double retry_after_seconds() const { return raw_.retry_after_seconds; }
    [[nodiscard]] double discard_probability() const { return raw_.discard_probability; }
    /// How long until such a request would be admitted for certain, as long as nobody else is;
    /// below 0 if that cannot be said.
    [[nodiscard]] double wait_seconds() const { return raw_.wait_seconds; }
    /// What was charged, for finish(), refund() or correct(). It may be copied; only one copy may
    /// be finished and given back.
    [[nodiscard]] weir_charge& charge() { return raw_.charge; }

  private:
    friend class Worker;
    Decision() { raw_.size = sizeof(raw_); }
    weir_decision raw_{};
};

/// What was obtained, and the decision about it.
struct Grant {
    double granted = 0;
    Decision decision;
};

/// The handle with which one thread checks requests.
class Worker {
  public:
    /// Decides about one request under the quota `name` and all quotas above it, and charges it. An
    /// admitted request must be finished: by finish(), refund() or an InFlight.
    [[nodiscard]] Decision check(std::string_view name, const Request& request = {}) {
        const weir_request raw = to_raw(request);
        Decision decision;
        // The code need not be looked at: after a failure the decision says Reason::error.
        static_cast<void>(
            weir_check(raw_.get(), or_empty(name), name.size(), &raw, &decision.raw_));
        return decision;
    }
    /// The same under the first quota of each list that exists, and all quotas above these. There
    /// may be WEIR_MOST_LISTS lists with WEIR_MOST_NAMES names in all; with more the decision says
    /// Reason::error. See weir_check_many.
    [[nodiscard]] Decision check_many(
        std::initializer_list<std::initializer_list<std::string_view>> lists,
        const Request& request = {}) {
        const weir_request raw = to_raw(request);
        std::array<weir_name, WEIR_MOST_NAMES> names{};
        std::array<weir_name_list, WEIR_MOST_LISTS + 1> raw_lists{};  // one more is refused
        std::size_t named = 0;
        std::size_t count = 0;
        for (const auto& list : lists) {
            if (count > WEIR_MOST_LISTS || named + list.size() > names.size()) {
                count = raw_lists.size();
                break;
            }
            raw_lists[count++] = {names.data() + named, list.size()};
            for (const std::string_view name : list) {
                names[named++] = {or_empty(name), name.size()};
            }
        }
        Decision decision;
        static_cast<void>(
            weir_check_many(raw_.get(), raw_lists.data(), count, &raw, &decision.raw_));
        return decision;
    }
    /// Takes as many of `wanted` units as there are, at least `minimum` of them or nothing; `each`
    /// says what one unit weighs. See weir_obtain.
    [[nodiscard]] Grant obtain(std::string_view name, double wanted, double minimum = 0,
                               const Request& each = {}) {
        const weir_request raw = to_raw(each);
        Grant grant{0, Decision()};
        static_cast<void>(weir_obtain(raw_.get(), or_empty(name), name.size(), &raw, wanted,
                                      minimum, &grant.decision.raw_, &grant.granted));
        return grant;
    }
    /// Gives back the units that were obtained and not used.
    void give_back(weir_charge& charge, double unused) {
        static_cast<void>(weir_return(raw_.get(), &charge, unused));
    }
    /// Decides without charging.
    [[nodiscard]] Decision peek(std::string_view name, Request request = {}) {
        request.mode = Mode::peek;
        return check(name, request);
    }
    /// The request has ended: limits of requests in flight do not count it any more. To be called
    /// once for every admitted request, by any worker of the same fleet. Corrections still work.
    void finish(weir_charge& charge) { static_cast<void>(weir_finish(raw_.get(), &charge)); }
    /// Gives the whole charge back, because the request never reached its service, and ends it.
    void refund(weir_charge& charge) { static_cast<void>(weir_refund(raw_.get(), &charge)); }
    /// Corrects the charge to the true weight in one unit; `last` is false while `actual` is only
    /// the weight so far.
    void correct(weir_charge& charge, Unit unit, double actual, bool last = true) {
        static_cast<void>(weir_correct(raw_.get(), &charge, static_cast<std::int32_t>(unit), actual,
                                       last ? 1 : 0));
    }

  private:
    friend class Fleet;
    explicit Worker(weir_worker* raw) : raw_(raw) {}
    static const char* or_empty(std::string_view name) {
        return name.data() == nullptr ? "" : name.data();
    }
    static weir_request to_raw(const Request& request) {
        weir_request raw = WEIR_REQUEST_INIT;
        raw.mode = static_cast<std::int32_t>(request.mode);
        raw.requests = request.requests;
        raw.request_bytes = request.request_bytes;
        raw.cost = request.cost;
        raw.key = request.key.data();
        raw.key_length = request.key.size();
        return raw;
    }
    struct Close {
        void operator()(weir_worker* raw) const { weir_worker_close(raw); }
    };
    std::unique_ptr<weir_worker, Close> raw_;
};

/// A request that is in flight as long as this object lives. Both the worker and the decision must
/// outlive it. The charge may be refunded or corrected meanwhile.
class InFlight {
  public:
    InFlight(Worker& worker, Decision& decision) : worker_(worker), decision_(decision) {}
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ~InFlight() { worker_.finish(decision_.charge()); }

  private:
    Worker& worker_;
    Decision& decision_;
};

/// See weir_options.
struct Options {
    std::string settings_file;
    /// Lines "key = value"; they win over the file.
    std::string settings;
    std::string quota_document;
    /// Called on the control thread with each warning; it must return soon, must not throw and must
    /// not call into the library.
    std::function<void(std::string_view)> log;
};

/// Who changes a definition, why, and for how long the change holds (0: until it is removed).
struct Edit {
    std::string who;
    std::string why;
    double lifetime_seconds = 0;
};

/// This process's membership of a fleet.
class Fleet {
  public:
    [[nodiscard]] static Expected<Fleet> open(Options options) {
        auto log = std::make_unique<Log>(std::move(options.log));
        weir_options raw = WEIR_OPTIONS_INIT;
        raw.settings_file = or_null(options.settings_file);
        raw.settings = or_null(options.settings);
        raw.quota_document = or_null(options.quota_document);
        if (*log) {
            raw.log = &write_log;
            raw.log_context = log.get();
        }
        weir_fleet* fleet = nullptr;
        weir_error error = WEIR_ERROR_INIT;
        if (weir_open(&raw, &fleet, &error) != WEIR_OK) {
            return to_failure(error);
        }
        return Fleet(std::move(log), fleet);
    }

    [[nodiscard]] Expected<Worker> worker() {
        weir_worker* worker = nullptr;
        weir_error error = WEIR_ERROR_INIT;
        if (weir_worker_open(raw_.get(), &worker, &error) != WEIR_OK) {
            return to_failure(error);
        }
        return Worker(worker);
    }

    /// `definition` is one quota as in a quota document, as JSON. It is in force here within some
    /// 10 ms.
    Outcome set_quota(const std::string& definition, const Edit& edit = {}) {
        weir_error error = WEIR_ERROR_INIT;
        weir_quota_set(raw_.get(), definition.c_str(), edit.who.c_str(), edit.why.c_str(),
                       edit.lifetime_seconds, &error);
        return to_outcome(error);
    }
    Outcome hide_quota(const std::string& name, const Edit& edit = {}) {
        weir_error error = WEIR_ERROR_INIT;
        weir_quota_hide(raw_.get(), name.c_str(), edit.who.c_str(), edit.why.c_str(),
                        edit.lifetime_seconds, &error);
        return to_outcome(error);
    }
    Outcome remove_quota(const std::string& name, const Edit& edit = {}) {
        weir_error error = WEIR_ERROR_INIT;
        weir_quota_remove(raw_.get(), name.c_str(), edit.who.c_str(), edit.why.c_str(), &error);
        return to_outcome(error);
    }
    /// The quota's definition, its source and its level now, as JSON.
    [[nodiscard]] Expected<std::string> describe_quota(const std::string& name) {
        weir_error error = WEIR_ERROR_INIT;
        char* text = nullptr;
        std::size_t length = 0;
        weir_quota_get(raw_.get(), name.c_str(), &text, &length, &error);
        return to_text(text, length, error);
    }
    /// Metrics in Prometheus' text format.
    [[nodiscard]] Expected<std::string> metrics() {
        weir_error error = WEIR_ERROR_INIT;
        char* text = nullptr;
        std::size_t length = 0;
        weir_metrics(raw_.get(), &text, &length, &error);
        return to_text(text, length, error);
    }
    /// This member, its peers and the configuration in force, as JSON.
    [[nodiscard]] Expected<std::string> report() {
        weir_error error = WEIR_ERROR_INIT;
        char* text = nullptr;
        std::size_t length = 0;
        weir_report(raw_.get(), &text, &length, &error);
        return to_text(text, length, error);
    }
    [[nodiscard]] std::uint32_t live_peers() const { return weir_live_peers(raw_.get()); }
    Outcome reload() {
        weir_error error = WEIR_ERROR_INIT;
        weir_reload(raw_.get(), &error);
        return to_outcome(error);
    }

  private:
    using Log = std::function<void(std::string_view)>;
    struct Close {
        void operator()(weir_fleet* raw) const { weir_close(raw); }
    };
    struct Free {
        void operator()(char* text) const { weir_free(text); }
    };

    Fleet(std::unique_ptr<Log> log, weir_fleet* raw) : log_(std::move(log)), raw_(raw) {}

    static const char* or_null(const std::string& text) {
        return text.empty() ? nullptr : text.c_str();
    }
    static void write_log(void* context, const char* message) noexcept {
        (*static_cast<Log*>(context))(message);
    }
    static Failure to_failure(const weir_error& error) { return {error.code, error.message}; }
    static Outcome to_outcome(const weir_error& error) {
        if (error.code != WEIR_OK) {
            return to_failure(error);
        }
        return std::monostate();
    }
    static Expected<std::string> to_text(char* text, std::size_t length, const weir_error& error) {
        const std::unique_ptr<char, Free> owned(text);
        if (error.code != WEIR_OK) {
            return to_failure(error);
        }
        return std::string(text, length);
    }

    std::unique_ptr<Log> log_;  ///< must outlive the fleet
    std::unique_ptr<weir_fleet, Close> raw_;
};

}  // namespace v1
}  // namespace weir

#endif
