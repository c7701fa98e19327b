"""The files that the README shows are read by the real weir as they stand there."""

import os
import pathlib
import re
import subprocess

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


def test_the_readmes_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text())
    assert len(targets) > 10
    for target in targets:
        assert (ROOT / target).exists(), target
