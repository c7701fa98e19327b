"""Where the programs under test lie. WEIR_BIN_DIR chooses the build; default: the release preset."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("WEIR_BIN_DIR", ROOT / "build" / "release" / "bin"))
RUNS = ROOT / "build" / "test-logs" / "runs"


def program(name):
    path = BIN / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is not built (WEIR_BIN_DIR chooses another build)")
    return str(path)
