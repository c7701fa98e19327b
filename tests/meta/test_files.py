"""Every source is built, files and functions stay small, and texts name nothing of one machine."""

import ast
import re
import statistics

import pytest

from cpp_functions import Function, functions_of
from source_tree import ROOT, SOURCE_SUFFIXES, files_below, shown

# A path of somebody's machine, a private registry or a proxy has no place in a project.
LOCAL = re.compile(
    r"(?<![\w./-])/(root|home|work|Users)/[\w.]|\bfile:///|\bPIP_INDEX_URL\b|\bGOPROXY=http"
    r"|https?://(localhost|127\.0\.0\.1)[:/]\S*(simple|pypi|npm)\b"
)
TEXT_SUFFIXES = {".md", ".txt", ".yaml", ".yml", ".json", ".py", ".h", ".cpp", ".cmake", ".sh", ""}

MOST_LINES_OF_A_FILE = 500
MOST_LINES_OF_A_FUNCTION = 60
# The engine only composes: what needs more lines is a part with a file of its own.
MOST_LINES_OF_THE_ENGINE = 349


def project_files():
    skipped = {".git", "build", "__pycache__", ".cache", ".pytest_cache", "node_modules"}
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and not skipped.intersection(parts) and not parts[0].startswith("build-"):
            yield path


def listed_sources(folder):
    names = set()
    for parent in [folder, *folder.parents]:
        listing = parent / "CMakeLists.txt"
        if listing.exists():
            names |= {(parent / name).resolve()
                      for name in re.findall(r"[\w./-]+\.(?:cpp|c)\b", listing.read_text())}
        if parent == ROOT:
            return names
    return names


def test_every_source_is_listed_in_a_cmakelists():
    orphans = [
        shown(path)
        for folder in ("src", "tests")
        for path in files_below(folder, {".cpp", ".c"})
        if path.resolve() not in listed_sources(path.parent)
    ]
    assert orphans == []


def test_half_of_the_files_are_short_and_nine_in_ten_not_long():
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in files_below("src"))
    assert statistics.median(lengths) <= 120
    assert lengths[int(len(lengths) * 0.9)] <= 350, lengths[-20:]


def bounded_files():
    return [path for folder, suffixes in (("src", SOURCE_SUFFIXES), ("include", SOURCE_SUFFIXES),
                                          ("tests", SOURCE_SUFFIXES | {".py"}))
            for path in files_below(folder, suffixes)]


def long_files(files):
    return {shown(path) for path in files
            if len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES_OF_A_FILE}


def long_functions(name, text):
    functions = python_functions_of if name.endswith(".py") else functions_of
    return {f"{name}: {function.name}" for function in functions(text)
            if function.length > MOST_LINES_OF_A_FUNCTION}


def python_functions_of(text):
    return [Function(node.name, node.lineno, node.end_lineno - node.lineno + 1)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def test_no_file_is_longer_than_the_bound():
    assert long_files(bounded_files()) == set()


def test_the_engine_only_composes():
    lines = (ROOT / "src/engine/engine.cpp").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES_OF_THE_ENGINE


def test_no_function_is_longer_than_the_bound():
    long = set()
    for path in bounded_files():
        long |= long_functions(shown(path), path.read_text(encoding="utf-8"))
    assert long == set()


LONG_CPP = """
namespace weir {{

class Limiter {{
  public:
    [[nodiscard]] bool allows(int weight = {{}}) const {{
{body}    }}
    int level_{{0}};
}};

template <class T>
Limiter::Limiter(const T& amount) : level_{{amount}} {{
{body}}}

bool operator==(const Limiter& one, const Limiter& other) {{
{body}}}

TEST_CASE("a brace in a text {{ is none, in a character neither") {{
    CHECK(first != '{{' && quote != '"');
{body}}}

}}  // namespace weir
"""


CASE = "a brace in a text { is none, in a character neither"


@pytest.mark.parametrize("body, long", [
    (57, set()),
    (58, {"Limiter::Limiter", CASE}),  # two lines before the body, the others have one
    (59, {"Limiter::Limiter", CASE, "allows", "operator=="})])
def test_a_long_function_of_cpp_would_be_seen(body, long):
    text = LONG_CPP.format(body="    work([] { return 1'000; });\n" * body)
    assert {function.name for function in functions_of(text)} == {
        "Limiter::Limiter", CASE, "allows", "operator=="}
    assert long_functions("a.cpp", text) == {f"a.cpp: {name}" for name in long}


def test_a_long_function_of_python_would_be_seen():
    text = "def outer():\n    def inner():\n" + "        pass\n" * 59
    assert long_functions("a.py", text) == {"a.py: outer"}
    assert long_functions("a.py", text + "        pass\n") == {"a.py: outer", "a.py: inner"}


def test_a_long_file_would_be_seen(monkeypatch):
    shortest = min(bounded_files(), key=lambda path: len(path.read_text(encoding="utf-8")))
    assert long_files([shortest]) == set()
    monkeypatch.setitem(globals(), "MOST_LINES_OF_A_FILE", 0)
    assert long_files([path for path in bounded_files() if path.name == "source_tree.py"]) == {
        "tests/meta/source_tree.py"}


def test_texts_name_nothing_of_one_machine():
    wrong = []
    for path in project_files():
        if path.suffix not in TEXT_SUFFIXES:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # test data
        wrong += [f"{shown(path)}: {found.group()}" for found in LOCAL.finditer(text)]
    assert wrong == []


def test_relative_links_of_the_documents_lead_somewhere():
    link = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
    broken = []
    for path in project_files():
        if path.suffix != ".md":
            continue
        for target in link.findall(path.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                broken.append(f"{shown(path)}: {target}")
    assert broken == []
