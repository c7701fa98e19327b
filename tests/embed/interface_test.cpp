#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fleet.h"
#include "limiter/limiter.h"
#include "sanitized.h"

namespace weir::embed {
namespace {

std::string error_of_opening(const char* settings, const char* quotas, std::int32_t code) {
    weir_options options = WEIR_OPTIONS_INIT;
    options.settings = settings;
    options.quota_document = quotas;
    weir_error error = WEIR_ERROR_INIT;
    weir_fleet* fleet = nullptr;
    CHECK(weir_open(&options, &fleet, &error) == code);
    CHECK(fleet == nullptr);
    CHECK(error.code == code);
    return error.message;
}

/// Waits for what the control thread does; real time, so with a wide margin.
template <class Condition>
bool becomes_true(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
        if (condition()) {
            return true;
        }
        ::usleep(10'000);
    }
    return false;
}

}  // namespace

TEST_CASE("decisions come with the figures that they were made from") {
    const TestFleet fleet;
    const weir_decision first = fleet.check("few");
    CHECK(first.admitted == 1);
    CHECK(first.reason == WEIR_REASON_NONE);
    CHECK(quota_of(first) == "few");
    CHECK(first.amount == 3);
    CHECK(first.period_seconds == doctest::Approx(60));
    CHECK(first.remaining == 2);
    CHECK(fleet.check("few").admitted == 1);
    CHECK(fleet.check("few").admitted == 1);
    const weir_decision refused = fleet.check("few");
    CHECK(refused.admitted == 0);
    CHECK(refused.reason == WEIR_REASON_LIMIT);
    CHECK(std::string(refused.quota) == "few");
    CHECK(refused.retry_after_seconds >= 1);
    CHECK(refused.discard_probability == 1);
    CHECK(fleet.check("none").reason == WEIR_REASON_ZERO);
    const weir_decision unlimited = fleet.check("unheard/of");
    CHECK(unlimited.admitted == 1);
    CHECK(unlimited.reason == WEIR_REASON_NO_QUOTA);
    CHECK(std::string(unlimited.quota).empty());
}

TEST_CASE("a template's instances have limits of their own and are named") {
    const TestFleet fleet;
    for (int i = 0; i < 5; ++i) {
        CHECK(fleet.check("b/one").admitted == 1);
    }
    const weir_decision refused = fleet.check("b/one");
    CHECK(refused.admitted == 0);
    CHECK(quota_of(refused) == "b/one");
    CHECK(fleet.check("b/two").admitted == 1);
}

TEST_CASE("a peek charges nothing, a charge without judging charges what is full") {
    const TestFleet fleet;
    for (int i = 0; i < 10; ++i) {
        CHECK(fleet.check("few", WEIR_PEEK).admitted == 1);
    }
    for (int i = 0; i < 10; ++i) {
        CHECK(fleet.check("few", WEIR_CHARGE_WITHOUT_JUDGING).admitted == 1);
    }
    CHECK(fleet.check("few", WEIR_PEEK).admitted == 0);
}

TEST_CASE("a refund gives back once, whatever is done twice") {
    const TestFleet fleet;
    weir_decision last{};
    for (int i = 0; i < 3; ++i) {
        last = fleet.check("few");
    }
    CHECK(weir_refund(fleet.worker, &last.charge) == WEIR_OK);
    CHECK(weir_refund(fleet.worker, &last.charge) == WEIR_OK);  // empty by now
    CHECK(fleet.check("few").admitted == 1);
    CHECK(fleet.check("few").admitted == 0);
}

TEST_CASE("the end of a request leaves a charge that no limit of requests in flight is in") {
    const TestFleet fleet;
    weir_decision last{};
    for (int i = 0; i < 3; ++i) {
        last = fleet.check("few");
        CHECK(weir_finish(fleet.worker, &last.charge) == WEIR_OK);
    }
    CHECK(fleet.check("few").admitted == 0);
    CHECK(weir_refund(fleet.worker, &last.charge) == WEIR_OK);
    CHECK(weir_finish(fleet.worker, &last.charge) == WEIR_OK);  // empty by now
    CHECK(fleet.check("few").admitted == 1);
    weir_decision bytes = fleet.check("bytes");
    CHECK(weir_finish(fleet.worker, &bytes.charge) == WEIR_OK);
    CHECK(weir_correct(fleet.worker, &bytes.charge, WEIR_RESPONSE_BYTES, 1e9, 1) == WEIR_OK);
    CHECK(fleet.check("bytes").admitted == 0);
}

TEST_CASE("a correction charges what a response really weighed") {
    const TestFleet fleet;
    weir_decision decision = fleet.check("bytes");
    CHECK(decision.unit == WEIR_RESPONSE_BYTES);
    CHECK(weir_correct(fleet.worker, &decision.charge, WEIR_RESPONSE_BYTES, 1e9, 1) == WEIR_OK);
    CHECK(fleet.check("bytes").admitted == 0);
}

TEST_CASE("units are obtained as far as there are any, and given back if they are not used") {
    const TestFleet fleet;
    weir_decision decision{};
    decision.size = sizeof(decision);
    double granted = -1;
    const auto obtain = [&](double wanted, double minimum, const weir_request* each = nullptr) {
        return weir_obtain(fleet.worker, "few", 3, each, wanted, minimum, &decision, &granted);
    };
    CHECK(obtain(2, 0) == WEIR_OK);
    CHECK(granted == 2);
    CHECK(decision.remaining == 1);
    CHECK(obtain(5, 2) == WEIR_OK);
    CHECK(granted == 0);
    CHECK(decision.admitted == 0);
    CHECK(decision.reason == WEIR_REASON_LIMIT);
    CHECK(decision.wait_seconds > 0);
    CHECK(obtain(5, 4) == WEIR_OK);
    CHECK(decision.reason == WEIR_REASON_TOO_MUCH);
    CHECK(obtain(5, 1) == WEIR_OK);
    CHECK(granted == 1);
    CHECK(weir_return(fleet.worker, &decision.charge, 1) == WEIR_OK);
    CHECK(weir_return(fleet.worker, &decision.charge, 1) == WEIR_OK);  // nothing is left of it
    weir_request twice = WEIR_REQUEST_INIT;
    twice.requests = 0.5;
    CHECK(obtain(5, 0, &twice) == WEIR_OK);
    CHECK(granted == 2);
    for (const double wrong : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
        CHECK(obtain(wrong, 0) == WEIR_INVALID);
        CHECK(decision.reason == WEIR_REASON_ERROR);
        CHECK(granted == 0);
    }
    CHECK(obtain(3, 4) == WEIR_INVALID);
    CHECK(granted == 3);  // limiting fails open
    CHECK(obtain(3, -1) == WEIR_INVALID);
    CHECK(weir_obtain(fleet.worker, "few", 3, nullptr, 1, 0, &decision, nullptr) == WEIR_INVALID);
    CHECK(weir_obtain(fleet.worker, "no", 2, nullptr, 7, 0, &decision, &granted) == WEIR_OK);
    CHECK(granted == 7);
    CHECK(decision.reason == WEIR_REASON_NO_QUOTA);
    CHECK(weir_return(fleet.worker, &decision.charge, std::nan("")) == WEIR_INVALID);
}

TEST_CASE("charges of another fleet are refused") {
    const TestFleet one;
    const TestFleet other;
    weir_decision decision = one.check("few");
    CHECK(weir_refund(other.worker, &decision.charge) == WEIR_INVALID);
    CHECK(weir_finish(other.worker, &decision.charge) == WEIR_INVALID);
    CHECK(weir_correct(other.worker, &decision.charge, WEIR_COST, 1, 1) == WEIR_INVALID);
    CHECK(weir_refund(one.worker, &decision.charge) == WEIR_OK);
}

TEST_CASE("wrong calls fail open and say so") {
    const TestFleet fleet;
    weir_decision decision{};
    decision.size = sizeof(decision);
    CHECK(weir_check(nullptr, "few", 3, nullptr, &decision) == WEIR_INVALID);
    CHECK(decision.admitted == 1);
    CHECK(decision.reason == WEIR_REASON_ERROR);
    CHECK(std::string(decision.quota).empty());
    CHECK(weir_check(fleet.worker, nullptr, 3, nullptr, &decision) == WEIR_INVALID);
    CHECK(weir_check(fleet.worker, "few", 3, nullptr, nullptr) == WEIR_INVALID);
    weir_request request = WEIR_REQUEST_INIT;
    request.mode = 99;
    CHECK(weir_check(fleet.worker, "few", 3, &request, &decision) == WEIR_INVALID);
    CHECK(decision.reason == WEIR_REASON_ERROR);
    request = WEIR_REQUEST_INIT;
    request.size = 8;
    CHECK(weir_check(fleet.worker, "few", 3, &request, &decision) == WEIR_INVALID);
    decision.size = 8;
    CHECK(weir_check(fleet.worker, "few", 3, nullptr, &decision) == WEIR_INVALID);
    CHECK(weir_correct(fleet.worker, &decision.charge, 99, 1, 1) == WEIR_INVALID);
    CHECK(weir_refund(fleet.worker, nullptr) == WEIR_INVALID);
    CHECK(weir_finish(fleet.worker, nullptr) == WEIR_INVALID);
    CHECK(weir_finish(nullptr, &decision.charge) == WEIR_INVALID);
    CHECK(weir_live_peers(nullptr) == 0);
    weir_close(nullptr);
    weir_worker_close(nullptr);
    weir_free(nullptr);
}

TEST_CASE("a shorter struct of an older program gets what it knows") {
    const TestFleet fleet;
    struct Older {
        weir_decision known;
    } older{};
    older.known.size = offsetof(weir_decision, wait_seconds);
    older.known.wait_seconds = -7;
    for (int i = 0; i < 4; ++i) {
        CHECK(weir_check(fleet.worker, "few", 3, nullptr, &older.known) == WEIR_OK);
    }
    CHECK(older.known.admitted == 0);
    CHECK(older.known.wait_seconds == -7);
    weir_decision whole = fleet.check("few");
    CHECK(whole.admitted == 0);
    CHECK(whole.wait_seconds > 0);
    CHECK(whole.wait_seconds <= whole.retry_after_seconds + 1);
}

TEST_CASE("a longer struct of a newer program keeps its unknown end") {
    const TestFleet fleet;
    struct Newer {
        weir_decision known;
        std::uint64_t added;
    } newer{};
    newer.known.size = sizeof(newer);
    newer.added = 77;
    CHECK(weir_check(fleet.worker, "few", 3, nullptr, &newer.known) == WEIR_OK);
    CHECK(newer.known.size == sizeof(newer));
    CHECK(newer.known.admitted == 1);
    CHECK(newer.added == 77);
}

TEST_CASE("weights that are no numbers count as the heaviest, and no text can hurt") {
    const TestFleet fleet;
    CHECK(fleet.check("all", WEIR_CHARGE, std::nan("")).admitted == 1);  // the bucket was empty
    CHECK(fleet.check("all").admitted == 0);
    CHECK(fleet.check(std::string(100'000, 'x')).reason == WEIR_REASON_NO_QUOTA);
    CHECK(fleet.check("").reason == WEIR_REASON_NO_QUOTA);
    CHECK(fleet.check(std::string_view("few\0x", 5)).reason == WEIR_REASON_NO_QUOTA);
}

TEST_CASE("opening names what is wrong, with place and suggestion") {
    CHECK(error_of_opening("cluster.nmae = x", nullptr, WEIR_INVALID) ==
          "options.settings: line 1: unknown key 'cluster.nmae', did you mean 'cluster.name'?");
    const std::string bad = error_of_opening(nullptr, R"({"kind": "QuotaSet"})", WEIR_INVALID);
    CHECK(bad.starts_with("options.quota_document:1:1"));
    CHECK(error_of_opening("cluster.name = x", nullptr, WEIR_INVALID).find("key_file") !=
          std::string::npos);
    CHECK(
        error_of_opening("cluster.insecure = true\ncluster.listen = 192.0.2.1:0", nullptr, WEIR_IO)
            .find("192.0.2.1") != std::string::npos);
    weir_options options = WEIR_OPTIONS_INIT;
    options.settings_file = "/nowhere/weir.yaml";
    weir_error error = WEIR_ERROR_INIT;
    weir_fleet* fleet = nullptr;
    CHECK(weir_open(&options, &fleet, &error) == WEIR_INVALID);
    CHECK(std::string(error.message).starts_with("/nowhere/weir.yaml: "));
    CHECK(weir_open(nullptr, &fleet, &error) == WEIR_INVALID);
    CHECK(weir_open(&options, nullptr, &error) == WEIR_INVALID);
}

TEST_CASE("a snapshot is for sidecars: many processes may read one file of settings") {
    const std::string path = "weir-embedded-" + std::to_string(::getpid());
    const std::string settings = "snapshot.file = " + path;
    {
        const TestFleet fleet(settings.c_str());
        CHECK(fleet.check("few").admitted == 1);
    }  // a sidecar would write it now, if not before
    CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("at most 64 workers; a closed one's place is used again, its counts stay") {
    const TestFleet fleet;
    weir_error error = WEIR_ERROR_INIT;
    std::vector<weir_worker*> workers(limiter::Limiter::kMaxThreads - 1);
    for (weir_worker*& worker : workers) {
        REQUIRE(weir_worker_open(fleet.fleet, &worker, &error) == WEIR_OK);
    }
    weir_worker* more = nullptr;
    CHECK(weir_worker_open(fleet.fleet, &more, &error) == WEIR_EXHAUSTED);
    CHECK(std::string(error.message).find("64") != std::string::npos);
    weir_decision decision{};
    decision.size = sizeof(decision);
    CHECK(weir_check(workers.back(), "all", 3, nullptr, &decision) == WEIR_OK);
    weir_worker_close(workers.back());
    CHECK(weir_worker_open(fleet.fleet, &more, &error) == WEIR_OK);
    char* text = nullptr;
    REQUIRE(weir_metrics(fleet.fleet, &text, nullptr, &error) == WEIR_OK);
    CHECK(taken(text).find("weir_embedded_checks_total{outcome=\"admitted\"} 1") !=
          std::string::npos);
}

TEST_CASE("several threads check at once, each with a worker: no count is lost") {
    const TestFleet fleet;
    constexpr int kThreads = 4;
    constexpr int kChecks = 20'000;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            weir_worker* worker = nullptr;
            REQUIRE(weir_worker_open(fleet.fleet, &worker, nullptr) == WEIR_OK);
            weir_decision decision{};
            decision.size = sizeof(decision);
            for (int n = 0; n < kChecks; ++n) {
                const std::string name = "b/" + std::to_string((n * (i + 1)) % 500);
                weir_check(worker, name.data(), name.size(), nullptr, &decision);
            }
            weir_worker_close(worker);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    char* text = nullptr;
    REQUIRE(weir_metrics(fleet.fleet, &text, nullptr, nullptr) == WEIR_OK);
    const std::string metrics = taken(text);
    const auto value = [&](const std::string& outcome) {
        const std::string key = "weir_embedded_checks_total{outcome=\"" + outcome + "\"} ";
        return std::stod(metrics.substr(metrics.find(key) + key.size()));
    };
    CHECK(value("admitted") + value("refused") == kThreads * kChecks);
    CHECK(value("admitted") <= 500 * 6);
}

TEST_CASE("definitions are edited, shown and taken back") {
    const TestFleet fleet;
    weir_error error = WEIR_ERROR_INIT;
    char* text = nullptr;
    CHECK(weir_quota_set(fleet.fleet, R"({"name": "few", "limits": [{"rate": "0r/s"}]})", "me",
                         "a test", 60, &error) == WEIR_OK);
    CHECK(becomes_true([&] { return fleet.check("few", WEIR_PEEK).admitted == 0; }));
    REQUIRE(weir_quota_get(fleet.fleet, "few", &text, nullptr, &error) == WEIR_OK);
    const std::string shown = taken(text);
    CHECK(shown.find("a test") != std::string::npos);
    CHECK(weir_quota_hide(fleet.fleet, "few", nullptr, nullptr, 0, &error) == WEIR_OK);
    CHECK(becomes_true([&] { return fleet.check("few").reason == WEIR_REASON_NO_QUOTA; }));
    CHECK(weir_quota_remove(fleet.fleet, "few", nullptr, nullptr, &error) == WEIR_OK);
    CHECK(becomes_true([&] { return fleet.check("few", WEIR_PEEK).reason == WEIR_REASON_NONE; }));
    CHECK(weir_quota_remove(fleet.fleet, "few", nullptr, nullptr, &error) == WEIR_NOT_FOUND);
    CHECK(weir_quota_set(fleet.fleet, "{", nullptr, nullptr, 0, &error) == WEIR_INVALID);
    CHECK(weir_quota_set(fleet.fleet, R"({"name": "few"})", nullptr, nullptr, std::nan(""),
                         &error) == WEIR_INVALID);
    CHECK(weir_quota_set(fleet.fleet, nullptr, nullptr, nullptr, 0, &error) == WEIR_INVALID);
    CHECK(weir_quota_get(fleet.fleet, "nothing", &text, nullptr, &error) == WEIR_NOT_FOUND);
    CHECK(text == nullptr);
}

TEST_CASE("many members on one address with ports of their own find each other") {
    const TestFleet first("cluster.insecure = true\ncluster.listen = 127.0.0.1:0");
    char* text = nullptr;
    REQUIRE(weir_report(first.fleet, &text, nullptr, nullptr) == WEIR_OK);
    const std::string report = taken(text);
    const std::string key = "\"address\":\"";
    const std::size_t begin = report.find(key) + key.size();
    const std::string address = report.substr(begin, report.find('"', begin) - begin);
    CHECK(address.starts_with("127.0.0.1:"));
    CHECK(address != "127.0.0.1:0");
    const std::string settings =
        "cluster.insecure = true\ncluster.listen = 127.0.0.1:0\ncluster.join = " + address;
    const TestFleet second(settings.c_str());
    const TestFleet third(settings.c_str());
    const TestFleet fourth(settings.c_str());
    for (const TestFleet* one : {&first, &second, &third, &fourth}) {
        CHECK(becomes_true([&] { return weir_live_peers(one->fleet) == 3; }));
    }
}

// Without sanitizers: their allocators have locks that a child inherits as they are, so that it
// waits for ever if the control thread held one in the moment of the fork.
TEST_CASE("a child process is told to open for itself, and its parent is not disturbed" *
          doctest::skip(kSanitized)) {
    const TestFleet fleet;
    weir_decision refund = fleet.check("few");
    const pid_t child = ::fork();
    if (child == 0) {
        weir_decision decision{};
        decision.size = sizeof(decision);
        weir_error error = WEIR_ERROR_INIT;
        weir_worker* worker = nullptr;
        bool good = weir_check(fleet.worker, "none", 4, nullptr, &decision) == WEIR_FORKED;
        good = good && decision.admitted == 1 && decision.reason == WEIR_REASON_ERROR;
        good = good && weir_worker_open(fleet.fleet, &worker, &error) == WEIR_FORKED;
        good = good && std::string(error.message).find("fork") != std::string::npos;
        good = good && weir_refund(fleet.worker, &refund.charge) == WEIR_FORKED;
        good = good && weir_finish(fleet.worker, &refund.charge) == WEIR_FORKED;
        good = good && weir_live_peers(fleet.fleet) == 0;
        weir_worker_close(fleet.worker);
        weir_close(fleet.fleet);
        {
            const TestFleet own;  // what it opens itself works
            good = good && own.check("none").admitted == 0;
        }
        ::_exit(good ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(fleet.check("none").admitted == 0);
    char* text = nullptr;
    CHECK(weir_metrics(fleet.fleet, &text, nullptr, nullptr) == WEIR_OK);
    weir_free(text);
}

namespace {
volatile std::sig_atomic_t signals_elsewhere = 0;
pthread_t main_thread;
void note_signal(int) {
    if (pthread_equal(pthread_self(), main_thread) == 0) {
        signals_elsewhere = 1;
    }
}
}  // namespace

TEST_CASE("the library's threads take no signals of the program, and its mask is as before") {
    main_thread = pthread_self();
    struct sigaction action {};
    action.sa_handler = &note_signal;
    struct sigaction before {};
    REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
    const TestFleet fleet;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    CHECK(sigismember(&mask, SIGUSR1) == 0);
    // While this thread blocks it, a signal for the process would go to any other that takes it.
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    ::kill(::getpid(), SIGUSR1);
    char* text = nullptr;
    CHECK(weir_report(fleet.fleet, &text, nullptr, nullptr) == WEIR_OK);  // its thread has run
    weir_free(text);
    CHECK(signals_elsewhere == 0);
    pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
    ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("the interface tells its version and explains its codes") {
    CHECK(weir_abi_version() == WEIR_ABI_VERSION);
    CHECK(std::string(weir_version()) == WEIR_VERSION);
    std::set<std::string> texts;
    for (std::int32_t code = WEIR_OK; code <= WEIR_INTERNAL; ++code) {
        texts.insert(weir_code_text(code));
    }
    CHECK(texts.size() == WEIR_INTERNAL + 1);
    CHECK(std::string(weir_code_text(-1)) == "not a code of this library");
}

TEST_CASE("a reload reads the key file again and keeps what is in force when it is bad") {
    std::string path = "/tmp/weir-embed-key-XXXXXX";
    const int descriptor = ::mkstemp(path.data());
    REQUIRE(descriptor >= 0);
    const std::string key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    REQUIRE(::write(descriptor, key.data(), key.size()) == static_cast<ssize_t>(key.size()));
    const std::string settings = "cluster.listen = 127.0.0.1:0\ncluster.key_file = " + path + "\n";
    const TestFleet fleet(settings.c_str());
    weir_error error = WEIR_ERROR_INIT;
    CHECK(weir_reload(fleet.fleet, &error) == WEIR_OK);
    REQUIRE(::ftruncate(descriptor, 3) == 0);
    CHECK(weir_reload(fleet.fleet, &error) != WEIR_OK);
    CHECK(std::string(error.message).find(path) != std::string::npos);
    CHECK(fleet.check("none").admitted == 0);
    char* text = nullptr;
    REQUIRE(weir_report(fleet.fleet, &text, nullptr, &error) == WEIR_OK);
    const std::string report = taken(text);
    CHECK(report.find("\"last_reload_successful\":false") != std::string::npos);
    CHECK(report.find(path) != std::string::npos);
    ::close(descriptor);
    ::unlink(path.c_str());
}

}  // namespace weir::embed
