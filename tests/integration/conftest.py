"""Fixtures: a folder for each test's processes, kept when the test fails. Which tests begin first."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness.paths import RUNS  # noqa: E402
from harness.processes import bad_endings  # noqa: E402
from harness.world import World  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "long: not in CI (the full matrix has its own command)")
    config.addinivalue_line("markers", "quick: one of the ten that `scripts/test quick` runs")
    config.addinivalue_line("markers", "smoke: also run under the address and undefined behaviour sanitizers")
    config.addinivalue_line("markers", "races: also run under the thread sanitizer")
    config.addinivalue_line("markers", "slow: takes ten seconds or more, and so begins early")


def pytest_collection_modifyitems(items):
    """First those that run one after another, then the other slow ones: a worker that begins one of
    them at the end keeps all the others waiting."""
    items.sort(key=lambda item: (not is_heavy(item), item.get_closest_marker("slow") is None))


def is_heavy(item):
    """Whether it loads the machine, and is one of those that run one after another."""
    return item.get_closest_marker("xdist_group") is not None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    setattr(item, f"report_{report.when}", report)


@pytest.fixture
def folder(request):
    """A fresh folder for logs and configuration; it stays when the test fails, and so it does when one
    of its processes does not end well."""
    name = request.node.name.replace("/", "-").replace("[", "-").replace("]", "")
    path = RUNS / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    yield path
    endings = bad_endings(path)
    report = getattr(request.node, "report_call", None)
    good = report is not None and not report.failed
    if good and not endings:
        shutil.rmtree(path, ignore_errors=True)
        return
    print(f"logs are kept in {path}")
    if good:
        pytest.fail("\n".join(endings), pytrace=False)
    print(*endings, sep="\n")


@pytest.fixture
def world(folder):
    with World(folder) as made:
        yield made
