"""Every source is built, files stay small, and texts name nothing of one machine."""

import re
import statistics

from source_tree import ROOT, files_below, shown

# A path of somebody's machine, a private registry or a proxy has no place in a project.
LOCAL = re.compile(
    r"(?<![\w./-])/(root|home|work|Users)/[\w.]|\bfile:///|\bPIP_INDEX_URL\b|\bGOPROXY=http"
    r"|https?://(localhost|127\.0\.0\.1)[:/]\S*(simple|pypi|npm)\b"
)
TEXT_SUFFIXES = {".md", ".txt", ".yaml", ".yml", ".json", ".py", ".h", ".cpp", ".cmake", ".sh", ""}


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
