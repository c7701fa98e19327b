"""The pictures of the documentation are what scripts/draw-docs draws, and pages show each of them."""

import json
import re
import runpy
import sys
from xml.etree import ElementTree

from source_tree import ROOT

sys.path.insert(0, str(ROOT / "tests" / "demo"))

import picture  # noqa: E402

DRAW = runpy.run_path(str(ROOT / "scripts" / "draw-docs"))
FOLDER = ROOT / "docs" / "pictures"
DEMO = FOLDER / "demo.svg"  # by scripts/draw-demo
RECORD = json.loads((ROOT / "tests" / "demo" / "recorded.json").read_text(encoding="utf-8"))


def test_each_picture_is_what_its_description_draws():
    drawn = dict(DRAW["pictures"]())
    assert len(drawn) >= 5
    assert sorted([*drawn, DEMO]) == sorted(FOLDER.glob("*.svg"))
    assert [path.name for path, text in drawn.items() if path.read_text(encoding="utf-8") != text] == []


def test_each_picture_is_on_a_page_with_words_for_who_cannot_see_it():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    missing = [path.name for path in FOLDER.glob("*.svg") if path != DEMO and f"](pictures/{path.name})" not in pages]
    assert missing == []
    assert "![](" not in pages


def test_the_readmes_picture_of_the_demo_is_what_scripts_draw_demo_draws():
    assert DEMO.read_text(encoding="utf-8") == picture.svg(RECORD)
    assert "](docs/pictures/demo.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_recorded_run_has_each_second_and_both_events():
    assert [row["second"] for row in RECORD["rows"]] == list(range(1, 106))
    assert [event["second"] for event in RECORD["events"]] == [40, 80]
    assert all(event["what"] in picture.svg(RECORD) for event in RECORD["events"])


def test_the_demos_page_loads_nothing():
    page = picture.page(RECORD)
    assert not re.search(r"(?:src|href)=|url\(|@import|fetch\(", page)
    assert picture.svg(RECORD) in page
    drawn = ElementTree.fromstring(picture.svg(RECORD))
    assert {path.get("class") for path in drawn.iter("{http://www.w3.org/2000/svg}path")} >= {"line"}


def test_the_first_screen_of_the_readme_shows_a_refusal():
    first = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:30]
    assert "HTTP/1.1 429 Too Many Requests" in first
