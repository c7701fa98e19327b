#include "admin/process_figures.h"

#include <doctest/doctest.h>

using namespace weir::admin;

TEST_CASE("a process' name cannot shift the fields behind it") {
    const KernelUnits units{
        .ticks_per_second = 100, .page_bytes = 4096, .boot_time_seconds = 1'000'000};
    const auto figures = parse_stat(
        "12 (a) 1 (b c) S 1 12 12 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 4500 8192000 512 99 1",
        units);
    REQUIRE(figures.has_value());
    CHECK(figures->cpu_seconds == doctest::Approx(3.0));
    CHECK(figures->start_time_seconds == doctest::Approx(1'000'045));
    CHECK(figures->virtual_bytes == 8192000);
    CHECK(figures->resident_bytes == 512 * 4096);
}

TEST_CASE("a stat line that is cut short gives nothing") {
    CHECK_FALSE(parse_stat("", {}).has_value());
    CHECK_FALSE(parse_stat("12 (weir) S 1 2 3", {}).has_value());
}

TEST_CASE("the boot time is found in its line") {
    CHECK(parse_boot_time("cpu 1 2\nbtime 1700000000\nprocesses 3\n") == 1'700'000'000);
    CHECK(parse_boot_time("cpu 1 2\n") == 0);
}

TEST_CASE("this process has figures") {
    const auto figures = read_process_figures();
    REQUIRE(figures.has_value());
    CHECK(figures->resident_bytes > 100'000);
    CHECK(figures->open_descriptors >= 3);
    CHECK(figures->max_descriptors >= figures->open_descriptors);
    CHECK(figures->start_time_seconds > 1'600'000'000);
}
