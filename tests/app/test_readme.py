"""What the README and the documents show is read by the real weir as it stands there."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIR = pathlib.Path(os.environ["WEIR_BIN_DIR"]) / "weir"


def test_the_readmes_files_are_valid(tmp_path):
    blocks = re.findall(r"```yaml\n# (\S+)\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert [name for name, _ in blocks] == ["limits.yaml", "weir.yaml"]
    for name, text in blocks:
        (tmp_path / name).write_text(text)
    done = subprocess.run([WEIR, "validate", "--config", "weir.yaml"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 quota(s)" in done.stdout


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md",
         *(ROOT / "docs" / f"{name}.md" for name in ("start-here", "recipes", "not-supported", "troubleshooting"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_links_of_the_first_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", page.read_text())
    assert targets
    for target, anchor in targets:
        path = page.parent / target if target else page
        assert path.exists(), target
        headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE) if anchor else []
        anchors = [re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings]
        assert not anchor or anchor in anchors, (target, anchor)


def complete_quota_documents():
    """Every block of a document that is a whole quota document."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for number, text in enumerate(re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)):
            # Stories of the simulator are read by tests/sim/story_file_test.cpp.
            if "apiVersion: weir/v1" in text and "kind: Story" not in text:
                yield pytest.param(text, id=f"{page.stem}-{number}")


@pytest.mark.parametrize("text", complete_quota_documents())
def test_a_quota_document_of_the_documents_is_valid(text, tmp_path):
    path = tmp_path / "quotas.yaml"
    path.write_text(text)
    done = subprocess.run([WEIR, "validate", path], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_documents_show_quota_documents():
    assert len(list(complete_quota_documents())) >= 2
