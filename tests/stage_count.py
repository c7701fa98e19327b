"""How many tests of a stage passed, failed and were skipped."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    reasons: list = field(default_factory=list)  # of what was skipped


def junit_count(path, succeeded):
    if not path.exists():
        return Count(failed=1)
    cases = list(ElementTree.parse(path).iter("testcase"))
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    skips = [(case.get("name"), case.find("skipped")) for case in cases]
    reasons = [f"{name}: {skip.get('message')}" for name, skip in skips if skip is not None]
    skipped = len(reasons)
    if not succeeded and failed == 0 or not cases:
        failed += 1  # a crash, a time-out, or nothing to run where there must be something
    return Count(max(0, len(cases) - failed - skipped), failed, skipped, reasons)
