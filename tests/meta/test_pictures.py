"""The pictures of the documentation are what scripts/draw-docs draws, and pages show each of them."""

import runpy

from source_tree import ROOT

DRAW = runpy.run_path(str(ROOT / "scripts" / "draw-docs"))
FOLDER = ROOT / "docs" / "pictures"


def test_each_picture_is_what_its_description_draws():
    drawn = dict(DRAW["pictures"]())
    assert len(drawn) >= 5
    assert sorted(drawn) == sorted(FOLDER.glob("*.svg"))
    assert [path.name for path, text in drawn.items() if path.read_text(encoding="utf-8") != text] == []


def test_each_picture_is_on_a_page_with_words_for_who_cannot_see_it():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    missing = [path.name for path in FOLDER.glob("*.svg") if f"](pictures/{path.name})" not in pages]
    assert missing == []
    assert "![](" not in pages
