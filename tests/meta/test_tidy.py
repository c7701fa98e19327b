"""scripts/tidy finds faults by the project's list of checks, names their file, and looks at every module."""

import runpy
import shutil
import subprocess

import pytest

from source_tree import ROOT

SCRIPT = ROOT / "scripts" / "tidy"
TIDY = runpy.run_path(str(SCRIPT))
needs_tidy = pytest.mark.skipif(shutil.which(TIDY["TIDY"]) is None, reason=f"there is no {TIDY['TIDY']}")

CLEAN = """
namespace {
constexpr int kShared = 1;
}
int first() { return kShared; }
"""
USE_AFTER_MOVE = """
#include "faulty.h"
#include <string>
#include <utility>
namespace {
constexpr int kShared = 2;
std::string twice(std::string text) {
    std::string kept = std::move(text);
    return kept + text;
}
}
int second(const Base& base) { return kShared + base.number() + static_cast<int>(twice("x").size()); }
"""
NO_OVERRIDE = """
#pragma once
struct Base {
    virtual ~Base() = default;
    virtual int number() const { return 1; }
};
struct Derived : Base {
    int number() const { return 2; }
};
"""


@needs_tidy
def test_faults_are_found_also_in_a_source_that_has_a_private_name_of_another(tmp_path):
    files = {name: tmp_path / name for name in ("clean.cpp", "faulty.cpp", "faulty.h")}
    for path, text in zip(files.values(), (CLEAN, USE_AFTER_MOVE, NO_OVERRIDE)):
        path.write_text(text)
    ran = subprocess.run([SCRIPT, *files.values()], capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "3 files, apart from the others: faulty.cpp\n" in ran.stdout
    assert f"{files['faulty.cpp']}:9:19: error: 'text' used after it was moved" in ran.stdout
    assert f"{files['faulty.h']}:8:9: error: annotate this function with 'override'" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "2 findings"


@needs_tidy
def test_a_source_without_a_fault_is_good(tmp_path):
    path = tmp_path / "clean.cpp"
    path.write_text(CLEAN)
    ran = subprocess.run([SCRIPT, path], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "0 findings"), ran.stdout + ran.stderr


def test_what_is_neither_a_module_nor_a_file_is_told():
    with pytest.raises(SystemExit, match="nowhere is neither a module of src/ nor a file"):
        TIDY["unit_of"]("named", ["nowhere"], {})


def test_its_modules_are_those_of_src():
    modules = sorted(path.parent.name for path in (ROOT / "src").glob("*/CMakeLists.txt"))
    assert sorted(module for unit in TIDY["MODULES"].values() for module in unit) == modules
