"""What libweir.so shows, what is installed, and that the smallest program runs with it."""

import re
import subprocess

import pytest

from conftest import EXAMPLES, ROOT, run

HEADER = ROOT / "include" / "weir" / "weir.h"
SYMBOLS = ROOT / "tests" / "embedding" / "symbols.txt"
QUOTAS = (EXAMPLES / "quotas.yaml").read_text()


def test_the_library_exports_the_listed_symbols_and_no_other(installed):
    listing = run("nm", "-D", "--defined-only", "--without-symbol-versions",
                  installed.library / "libweir.so")
    exported = [line.split() for line in listing.splitlines()]
    functions = [name for _, kind, name in exported if kind != "A"]
    assert sorted(functions) == SYMBOLS.read_text().split()
    assert {kind for _, kind, _ in exported} <= {"T", "A"}


def test_the_header_declares_the_listed_symbols_and_no_other():
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    assert sorted(re.findall(r"\bWEIR_API[^;(]*?\b(weir_\w+)\(", text)) == SYMBOLS.read_text().split()


def test_the_file_name_carries_the_version_of_the_interface(installed):
    dynamic = run("readelf", "-d", installed.library / "libweir.so")
    version = re.search(r"#define WEIR_ABI_VERSION (\d+)u", HEADER.read_text()).group(1)
    assert f"soname: [libweir.so.{version}]" in dynamic
    assert "NODELETE" in dynamic
    assert (installed.library / f"libweir.so.{version}").exists()


def test_the_installed_files(installed):
    files = {str(path.relative_to(installed.prefix)) for path in installed.prefix.rglob("*")
             if not path.is_dir()}
    assert {"include/weir/weir.h", "include/weir/weir.hpp", "lib/libweir.so",
            "lib/pkgconfig/weir.pc", "lib/cmake/weir/weirConfig.cmake",
            "lib/cmake/weir/weirConfigVersion.cmake"} <= files
    assert not [name for name in files if name.endswith(".a") or "bin/" in name]


@pytest.mark.parametrize("compiler", [
    ["cc", "-xc", "-std=c99"], ["cc", "-xc", "-std=c11"], ["g++", "-xc++", "-std=c++17"],
    ["clang++-14", "-xc++", "-std=c++20"],
])
def test_the_headers_stand_alone(installed, tmp_path, compiler):
    header = "weir.hpp" if "++" in compiler[0] else "weir.h"
    source = tmp_path / "source"
    source.write_text(f"#include <weir/{header}>\n#include <weir/{header}>\nint main(void) {{ return 0; }}\n")
    run(*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wold-style-cast"
        if "++" in compiler[0] else "-Wstrict-prototypes", "-Werror",
        f"-I{installed.prefix}/include", "-fsyntax-only", source)


def normal(text):
    return re.sub(r"\s*([*(),;{}])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def test_what_nginx_declares_is_what_the_header_declares():
    """LuaJIT cannot read the header, so weir.lua repeats it; a difference would crash."""
    header = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    header = normal(re.sub(r"\b(WEIR_API|WEIR_NOTHROW)\b|^#.*$", "", header, flags=re.MULTILINE))
    cdef = re.search(r"ffi\.cdef\[\[(.*?)\]\]", (EXAMPLES / "nginx-lua" / "weir.lua").read_text(),
                     re.DOTALL).group(1)
    declarations = re.findall(r"typedef struct \w+\{.*?\}\w+;|[^;{}]+;", normal(cdef))
    assert len(declarations) > 14
    assert [one for one in declarations if normal(one) not in header] == []
    lua = (EXAMPLES / "nginx-lua" / "weir.lua").read_text()
    version = re.search(r"#define WEIR_ABI_VERSION (\d+)u", HEADER.read_text()).group(1)
    assert f"ABI_VERSION = {version}\n" in lua


def check(installed, built, *arguments, quotas=QUOTAS):
    return subprocess.run([built / "check", *arguments], input=quotas, capture_output=True,
                          text=True, timeout=30, env=installed.environment)


def test_the_c_program_is_told_what_it_may(installed, built):
    done = check(installed, built, "shared")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "admitted shared remaining=99 retry_after=1\n"
    refused = check(installed, built, "none",
                    quotas=QUOTAS + "  - name: none\n    limits: [{rate: 0r/s}]\n")
    assert refused.returncode == 3
    assert refused.stdout == "refused none remaining=0 retry_after=60\n"


def test_the_c_program_is_told_what_is_wrong(installed, built):
    done = check(installed, built, "shared", "cluster.lsiten=1.2.3.4:5")
    assert done.returncode == 1
    assert "line 1: unknown key 'cluster.lsiten', did you mean 'cluster.listen'?" in done.stderr


def test_the_snippets_of_the_document_are_parts_of_the_tested_files():
    document = (ROOT / "docs" / "embedding.md").read_text()
    files = [path.read_text() for path in EXAMPLES.rglob("*") if path.is_file()]
    snippets = re.findall(r"^```(?:c|cpp|nginx|go)\n(.*?)^```", document, re.DOTALL | re.MULTILINE)
    assert len(snippets) == 9
    assert [one for one in snippets if not any(one in text for text in files)] == []
