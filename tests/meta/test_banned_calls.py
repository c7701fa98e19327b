"""What the code must not call: each rule names the folders that are free of it and why."""

import re

import pytest

from source_tree import ROOT, files_below, matches, shown

CLOCK = re.compile(
    r"(steady|system|high_resolution)_clock\s*::\s*now|\bclock_gettime\b|\bgettimeofday\b"
    r"|\bstd::time\s*\(|::time\s*\(\s*(nullptr|0|NULL)"
)
RANDOMNESS = re.compile(
    r"\brandom_device\b|\bstd::rand\b|\bs?rand\s*\(|\bmt19937|\bdefault_random_engine\b|\bgetrandom\s*\("
)
SECRET_RANDOMNESS = re.compile(r"\brandombytes_\w+\s*\(")
SLEEP = re.compile(r"\bsleep_for\b|\bsleep_until\b|\busleep\s*\(|\bnanosleep\b|\bsleep\s*\(\s*\d")
UNWANTED = re.compile(r"\bstd::regex\b|\bstd::format\b|\bstd::expected\b|\busing namespace std;")

# A property whose result nobody looks at cannot fail: the program prints the counterexample and succeeds.
UNJUDGED = re.compile(r"^\s*rc::check\s*\(")

# rule: (pattern, where it holds, exempt prefixes)
RULES = {
    # Only the network layer reads the real clock; everything else takes `now`.
    "clock": (CLOCK, "src", ["src/net/"]),
    # Only the composition root draws a seed; everything else gets a generator.
    "randomness": (RANDOMNESS, "src", ["src/app/", "src/net/"]),
    # The sealing nonces have an interface with one real implementation.
    "secret randomness": (SECRET_RANDOMNESS, "src", ["src/app/", "src/net/", "src/gossip/seal.cpp"]),
    "sleep in the product": (SLEEP, "src", []),
    # Suites with real sockets and real time, all labelled integration, may wait.
    "sleep in unit tests": (SLEEP, "tests", ["tests/tools/", "tests/bench/", "tests/proxy/",
                                         "tests/embed/"]),
    "unwanted library parts": (UNWANTED, "src", []),
    "unwanted library parts in tests": (UNWANTED, "tests", []),
    "properties that nobody judges": (UNJUDGED, "tests", []),
}


def violations(pattern, folder, exempt):
    return [
        f"{shown(path)}:{number}: {line}"
        for path in files_below(folder)
        if not any(shown(path).startswith(prefix) for prefix in exempt)
        for number, line in matches(path, pattern)
    ]


@pytest.mark.parametrize("rule", sorted(RULES))
def test_rule(rule):
    assert violations(*RULES[rule]) == []


@pytest.mark.parametrize("pattern,text", [
    (CLOCK, "auto t = std::chrono::steady_clock::now();"),
    (CLOCK, "::clock_gettime(CLOCK_MONOTONIC, &t);"),
    (RANDOMNESS, "std::random_device device;"),
    (RANDOMNESS, "int x = rand();"),
    (SLEEP, "std::this_thread::sleep_for(1ms);"),
    (UNWANTED, "std::regex r;"),
    (UNJUDGED, '    rc::check("what", [] {'),
])
def test_a_violation_would_be_seen(pattern, text):
    assert pattern.search(text)


@pytest.mark.parametrize("suite", ["proxy", "embed"])
def test_suites_that_may_wait_are_not_unit_tests(suite):
    listing = (ROOT / "tests" / suite / "CMakeLists.txt").read_text()
    assert listing.count("weir_test(") == listing.count("LABEL integration")


def test_headers_open_with_pragma_once_and_a_comment():
    wrong = []
    for path in files_below("src"):
        if path.suffix == ".h":
            lines = path.read_text(encoding="utf-8").splitlines()
            if lines[:1] != ["#pragma once"] or not any(
                    line.startswith(("//", "/*")) for line in lines[1:3]):
                wrong.append(shown(path))
    assert wrong == []


def test_shell_scripts_stop_at_the_first_failure():
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.is_file()]
    wrong = [
        shown(path) for path in scripts
        if path.read_text().startswith("#!/usr/bin/env bash") and "set -euo pipefail" not in path.read_text()
    ]
    assert wrong == []
