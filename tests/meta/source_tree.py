"""The project's own files, for the tests about the source."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE_SUFFIXES = {".h", ".cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^">]+)[">]', re.MULTILINE)


def files_below(folder, suffixes=SOURCE_SUFFIXES):
    return sorted(
        path
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in suffixes and "__pycache__" not in path.parts
    )


def shown(path):
    return str(path.relative_to(ROOT))


def includes(path):
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def without_comments(text):
    """C++ text with comments and string literals blanked, line numbers kept."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL
    )
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def matches(path, pattern):
    """(line number, line) of each place outside comments where the pattern matches."""
    lines = without_comments(path.read_text(encoding="utf-8")).splitlines()
    return [(number, line.strip()) for number, line in enumerate(lines, 1) if pattern.search(line)]
