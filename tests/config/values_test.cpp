#include "config/values.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

namespace weir::config {
namespace {

using namespace std::chrono_literals;

template <class T>
std::string failure(const Result<T>& result) {
    return result ? "" : result.error().message;
}

TEST_CASE("durations") {
    CHECK(parse_duration("250ms").value() == 250ms);
    CHECK(parse_duration("1.5s").value() == 1500ms);
    CHECK(parse_duration("2m").value() == 2min);
    CHECK(parse_duration("2h").value() == 2h);
    CHECK(parse_duration("30d").value() == 24h * 30);
    CHECK(parse_duration("1w").value() == 24h * 7);
    CHECK(parse_duration("0s").value() == 0s);
    for (const char* text : {"", "5", "s", "-1s", "+1s", "1 s", " 1s", "1s ", "1e3s", "1.s", ".5s",
                             "1S", "inf", "nans", "0x1s", "1s1"}) {
        CAPTURE(text);
        CHECK(failure(parse_duration(text)).find("is not a duration") != std::string::npos);
    }
    CHECK(failure(parse_duration("99999w")).find("hundred years") != std::string::npos);
    CHECK_FALSE(parse_duration(std::string(400, '9') + "s").has_value());
}

TEST_CASE("sizes") {
    CHECK(parse_size("4096B").value() == 4096);
    CHECK(parse_size("32KiB").value() == 32 * 1024);
    CHECK(parse_size("1.5MiB").value() == 1572864);
    CHECK(parse_size("2GiB").value() == std::uint64_t{2} << 30);
    CHECK(parse_size("500kB").value() == 500'000);
    CHECK(parse_size("3MB").value() == 3'000'000);
    CHECK(parse_size("1GB").value() == 1'000'000'000);
    for (const char* text : {"32", "32k", "32K", "32kb", "32 KiB", "-1B", ""}) {
        CAPTURE(text);
        CHECK(failure(parse_size(text)).find("is not a size") != std::string::npos);
    }
    CHECK(failure(parse_size("99999999999999GiB")).find("too large") != std::string::npos);
}

TEST_CASE("whole numbers, decimals and booleans") {
    CHECK(parse_unsigned("0").value() == 0);
    CHECK(parse_unsigned("18446744073709551615").value() == 18446744073709551615U);
    CHECK(failure(parse_unsigned("18446744073709551616")) == "'18446744073709551616' is too large");
    CHECK(failure(parse_unsigned("1.5")) == "'1.5' is not a whole number");
    CHECK(failure(parse_unsigned("-1")) == "'-1' is not a whole number");
    CHECK(failure(parse_unsigned("")) == "'' is not a whole number");
    CHECK(parse_number("0.25").value() == 0.25);
    CHECK(failure(parse_number("1e5")) == "'1e5' is not a number like 3 or 0.5");
    CHECK(parse_boolean("true").value());
    CHECK_FALSE(parse_boolean("false").value());
    CHECK(failure(parse_boolean("yes")) == "'yes' is neither true nor false");
}

TEST_CASE("rates") {
    struct Case {
        const char* text;
        double amount;
        Duration period;
        Measure measure;
    };
    for (const Case& expected : {
             Case{"100r/s", 100, 1s, Measure::requests},
             Case{"30r/m", 30, 1min, Measure::requests},
             Case{"1500r/10s", 1500, 10s, Measure::requests},
             Case{"0.5r/s", 0.5, 1s, Measure::requests},
             Case{"20r/100ms", 20, 100ms, Measure::requests},
             Case{"5MiB/s", 5242880, 1s, Measure::bytes},
             Case{"1.5kB/h", 1500, 1h, Measure::bytes},
             Case{"250c/s", 250, 1s, Measure::cost},
             Case{"0r/s", 0, 1s, Measure::requests},
             Case{"0", 0, 1s, Measure::none},
         }) {
        CAPTURE(expected.text);
        const Rate rate = parse_rate(expected.text).value();
        CHECK(rate.amount == expected.amount);
        CHECK(rate.period == expected.period);
        CHECK(rate.measure == expected.measure);
    }
}

TEST_CASE("rates that are refused, each with what would be right") {
    CHECK(failure(parse_rate("100")).find("a rate is an amount and a unit") != std::string::npos);
    CHECK(failure(parse_rate("100r")).find("lacks its time") != std::string::npos);
    CHECK(failure(parse_rate("20kr/s")).find("write thousands out") != std::string::npos);
    CHECK(failure(parse_rate("20k/s")).find("write thousands out") != std::string::npos);
    CHECK(failure(parse_rate("100r/y")).find("the time behind the slash") != std::string::npos);
    CHECK(failure(parse_rate("100r/0s")).find("from 1ms to 366d") != std::string::npos);
    CHECK(failure(parse_rate("100r/367d")).find("from 1ms to 366d") != std::string::npos);
    for (const char* text : {"100 r/s", "100r / s", " 100r/s", "100r/s ", "-5r/s", "+5r/s",
                             "1e3r/s", "r/s", "/s", "", "100r/", "100r/s/s", "nanr/s", "infr/s",
                             "100R/s", "100rps", "100r/ s", "0x10r/s", "1,000r/s"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_rate(text).has_value());
    }
}

TEST_CASE("bursts are amounts or seconds of the rate") {
    CHECK(parse_burst("2s").value().spec ==
          limiter::BurstSpec{limiter::BurstSpec::Kind::seconds, 2});
    CHECK(parse_burst("500ms").value().spec ==
          limiter::BurstSpec{limiter::BurstSpec::Kind::seconds, 0.5});
    CHECK(parse_burst("1m").value().spec ==
          limiter::BurstSpec{limiter::BurstSpec::Kind::seconds, 60});
    CHECK(parse_burst("50r").value().spec ==
          limiter::BurstSpec{limiter::BurstSpec::Kind::amount, 50});
    CHECK(parse_burst("1KiB").value().measure == Measure::bytes);
    CHECK(parse_burst("0").value().spec.value == 0);
    CHECK(failure(parse_burst("50")) ==
          "'50' lacks its unit: an amount is like 50r, seconds of the rate are like 50s");
    CHECK(failure(parse_burst("50x")).find("neither an amount") != std::string::npos);
    CHECK_FALSE(parse_burst("-1s").has_value());
    CHECK_FALSE(parse_burst("").has_value());
}

TEST_CASE("what is written reads back the same") {
    const bool holds = rc::check("rates, bursts and durations", [] {
        limiter::RateLimit limit;
        limit.unit = *rc::gen::element(limiter::Unit::requests, limiter::Unit::request_bytes,
                                       limiter::Unit::response_bytes, limiter::Unit::cost);
        limit.amount = static_cast<double>(*rc::gen::inRange<std::uint64_t>(0, 1ULL << 50)) / 8;
        limit.period = Duration(1ms) * *rc::gen::inRange<std::int64_t>(1, 366LL * 86400 * 1000);
        const Rate rate = parse_rate(format_rate(limit)).value();
        RC_ASSERT(rate.amount == limit.amount);
        RC_ASSERT(rate.period == limit.period);
        RC_ASSERT(rate.measure == measure_of(limit.unit));
        RC_ASSERT(parse_duration(format_duration(limit.period)).value() == limit.period);
        const auto kind =
            *rc::gen::element(limiter::BurstSpec::Kind::amount, limiter::BurstSpec::Kind::seconds);
        const limiter::BurstSpec burst{kind, limit.amount};
        RC_ASSERT(parse_burst(format_burst(burst, limit.unit)).value().spec == burst);
    });
    CHECK(holds);
    limiter::RateLimit limit;
    limit.amount = 100;
    CHECK(format_rate(limit) == "100r/s");
    limit.period = 10s;
    CHECK(format_rate(limit) == "100r/10s");
    limit.unit = limiter::Unit::request_bytes;
    limit.amount = 5 * 1048576.0;
    limit.period = 1min;
    CHECK(format_rate(limit) == "5MiB/m");
    CHECK(format_duration(90s) == "90s");
    CHECK(format_size(65536) == "64KiB");
    CHECK(format_size(1000) == "1000B");
}

TEST_CASE("addresses to listen on") {
    CHECK(parse_listen_address("0.0.0.0:8080").value().endpoint == Endpoint::v4(0, 8080));
    CHECK(parse_listen_address(":8080").value().endpoint == Endpoint::v4(0, 8080));
    CHECK(parse_listen_address("localhost:1").value().endpoint == Endpoint::v4(0x7f000001, 1));
    CHECK(to_string(parse_listen_address("[::1]:80").value()) == "[::1]:80");
    CHECK(to_string(parse_listen_address("unix:/run/w.sock").value()) == "unix:/run/w.sock");
    for (const char* text :
         {"", "8080", "host:80", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:-1", "::1:80",
          "[::1:80", "1.2.3:80", "1.2.3.4:80 ", "[host]:80", "[]:80", "a/b:1"}) {
        CAPTURE(text);
        CHECK(failure(parse_listen_address(text)).find("is not an address to listen on") !=
              std::string::npos);
    }
    for (const char* text : {"unix:w.sock", "unix:", "unix:@"}) {
        CAPTURE(text);
        CHECK(failure(parse_listen_address(text)).find("absolute path") != std::string::npos);
    }
    CHECK(failure(parse_listen_address("unix:/" + std::string(107, 'x'))).find("longer than") !=
          std::string::npos);
}

TEST_CASE("upstreams") {
    CHECK(to_string(parse_upstream_address("http://127.0.0.1:3000").value()) ==
          "http://127.0.0.1:3000");
    CHECK(to_string(parse_upstream_address("http://app/").value()) == "http://app:80");
    CHECK(to_string(parse_upstream_address("app:3000").value()) == "http://app:3000");
    CHECK(to_string(parse_upstream_address("http://[::1]:3000").value()) == "http://[::1]:3000");
    CHECK(parse_upstream_address("unix:/run/a.sock").value().is_unix());
    CHECK(failure(parse_upstream_address("https://app")).find("not in this version") !=
          std::string::npos);
    CHECK(failure(parse_upstream_address("http://app/v1")).find("paths are forwarded") !=
          std::string::npos);
    for (const char* text :
         {"", "app", "http://", "http://:80", "app:0", "app:x", "a b:80", "http://a\tb:80"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_upstream_address(text).has_value());
    }
    CHECK(parse_upstream_address(std::string(253, 'h') + ":80").has_value());
    CHECK_FALSE(parse_upstream_address(std::string(254, 'h') + ":80").has_value());
}

TEST_CASE("seeds") {
    const Seed name = parse_seed("dns://weir-peers.ns.svc:7947").value();
    CHECK(name.host == "weir-peers.ns.svc");
    CHECK(name.port == 7947);
    CHECK_FALSE(name.literal);
    CHECK(parse_seed("dns://weir-peers").value().port == 7946);
    CHECK(parse_seed("10.0.0.7:7000").value().literal == Endpoint::v4(0x0a000007, 7000));
    CHECK(parse_seed("[::1]").value().literal.has_value());
    CHECK(failure(parse_seed("weir-peers:7946")) ==
          "'weir-peers:7946' is a name: write dns://weir-peers:7946");
    for (const char* text : {"", "dns://", "dns://a b", "10.0.0.7:0", "10.0.0.7:x"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_seed(text).has_value());
    }
}

TEST_CASE("blocks of addresses") {
    const AddressBlock block = parse_address_block("10.1.0.0/16").value();
    CHECK(block.contains(parse_endpoint("10.1.255.3:80").value()));
    CHECK_FALSE(block.contains(parse_endpoint("10.2.0.1:80").value()));
    CHECK_FALSE(block.contains(parse_endpoint("[a01::1]:80").value()));
    CHECK(parse_address_block("0.0.0.0/0").value().contains(parse_endpoint("9.9.9.9:1").value()));
    CHECK(parse_address_block("127.0.0.1").value().contains(parse_endpoint("127.0.0.1:1").value()));
    CHECK(parse_address_block("2001:db8::/32")
              .value()
              .contains(parse_endpoint("[2001:db8:9::1]:1").value()));
    CHECK(failure(parse_address_block("10.1.2.3/16")).find("bits behind its prefix") !=
          std::string::npos);
    CHECK(failure(parse_address_block("10.0.0.0/33")).find("prefix length") != std::string::npos);
    CHECK(failure(parse_address_block("ten/8")).find("block of addresses") != std::string::npos);
}

TEST_CASE("statuses, percentages and field names") {
    const auto range = [](std::string_view text) {
        const auto parsed = parse_status_range(text).value();
        return std::pair(parsed.first, parsed.last);
    };
    CHECK(range("304") == std::pair(304U, 304U));
    CHECK(range("5xx") == std::pair(500U, 599U));
    CHECK(range("500-504") == std::pair(500U, 504U));
    for (const char* bad : {"", "xx", "6xx", "5XX", "99", "600", "504-500", "5xx-599", "304-",
                            "-304", "0304", "304-304-304"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_status_range(bad).has_value());
    }
    CHECK(parse_percentage("0%").value() == 0);
    CHECK(parse_percentage("12.5%").value() == 0.125);
    CHECK(parse_percentage("100%").value() == 1);
    CHECK(format_percentage(0.333) == "33.3%");
    for (const char* bad : {"", "%", "25", "100.1%", "-1%", "1 %", "1e1%"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_percentage(bad).has_value());
    }
    CHECK(parse_field_name("X-Cost").value() == "X-Cost");
    CHECK(parse_field_name("none").value().empty());
    for (const std::string& bad : {std::string(), std::string("a b"), std::string("a:"),
                                   std::string("\xc3\xa4"), std::string(65, 'a')}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_field_name(bad).has_value());
    }
}

}  // namespace
}  // namespace weir::config
