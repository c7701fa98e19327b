"""How pages look: short lines, tables without paragraphs, and a first sentence that says for whom they are."""

import re

import pytest

from source_tree import ROOT, shown

COLUMNS = 110  # of a line of text or of a listing
CELL = 100  # letters of one cell of a table as it is shown, without the targets of links
ROW = 210  # letters of a whole row as it is shown: Markdown has no way to break it

PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md",
                *(ROOT / "docs").rglob("*.md"),
                ROOT / "tests" / "tools" / "README.md"])
pages = pytest.mark.parametrize("page", PAGES, ids=shown)


def lines(page):
    """(number, line, whether it is a row of a table) of each line."""
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        yield number, line, line.startswith("|") and not inside


def as_shown(text):
    """Without the targets of links, which readers do not see."""
    return re.sub(r"\]\([^)\s]+\)", "]", text)


@pages
def test_no_line_is_longer_than_the_columns(page):
    # A link that fills a line by itself cannot be broken.
    lone_link = re.compile(r"\s*(- )?!?\[[^\]]*\]\(\S+\)\S*$")
    assert [number for number, line, row in lines(page)
            if not row and len(line) > COLUMNS and not lone_link.match(line)] == []


@pages
def test_no_cell_of_a_table_is_a_paragraph(page):
    wrong = []
    for number, line, row in lines(page):
        if row:
            shown_row = as_shown(line)
            wrong += [number] * (len(shown_row) > ROW)
            wrong += [number for cell in shown_row.strip("|").split("|") if len(cell.strip()) > CELL]
    assert wrong == []


@pages
def test_the_first_sentence_says_for_whom_the_page_is(page):
    text = page.read_text(encoding="utf-8")
    title, first = text.split("\n\n")[:2]
    assert title.startswith("# ")
    assert re.match(r"(This page|weir|[A-Z]\w+) is for .{10,}", first), first
