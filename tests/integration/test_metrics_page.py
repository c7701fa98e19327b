"""The page of running sidecars: all that docs/metrics.md lists and nothing else, whatever is in the names."""

import gzip
import json
import os
import re
import subprocess
import urllib.parse

import pytest

from harness import http
from harness.paths import ROOT
from harness.processes import wait_equal
from harness.sidecar import quota, quota_set

pytestmark = pytest.mark.smoke

ROW = re.compile(r"^\| `([a-z_]+)` \| (counter|gauge|histogram) \| ([^|]*)\|", re.MULTILINE)
# Nobody lies here and no sidecar has two keys: these families have no sample to show their labels.
WITHOUT_SAMPLES = {"weir_gossip_refused_values_total"}
# Of programs that embed the limiter, not of sidecars.
EMBEDDED = {"weir_embedded_checks_total"}

HOSTILE = ['say "x"', "two\nlines", "back\\slash", "<script>alert(1)</script>", "{}", "x" * 10_000,
           "\x00\x7f", "é\u2028☃", "weir_up 1", "__other__", "a,b=\"c\"} 1"]


def documented():
    text = (ROOT / "docs" / "metrics.md").read_text()
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in ROW.findall(text)}


def page_of(sidecar):
    answer = http.get(sidecar.status, "/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return answer.text


def families_in(text):
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    helps = re.findall(r"^# HELP (\S+) \S", text, re.MULTILINE)
    assert sorted(helps) == sorted(kinds), "each family has a help text"
    labels = {name: set() for name in kinds}
    for name, have, _ in http.parse_metrics(text):
        family = name if name in kinds else re.sub("_(bucket|sum|count)$", "", name)
        labels[family] |= set(have) - {"le"}
    return {name: (kinds[name], labels[name]) for name in kinds}


def promtool(text):
    return subprocess.run(["promtool", "check", "metrics"], input=text.encode(), timeout=30,
                          capture_output=True)


@pytest.mark.quick
def test_the_page_and_its_documentation_agree(world):
    quotas = [quota("bucket", "10r/s"), quota("{bucket}", "10r/s")]
    quotas[1]["limits"] += [{"concurrency": 100}, {"window": "1000r/h"}]
    fleet = world.fleet(2, quotas, start=False)
    for one in fleet:
        one.settings = {**one.settings, "snapshot": {"file": str(one.folder / f"overrides-{one.name}")}}
    fleet.start()
    for i in range(20):
        http.get(fleet[0].address, f"/bucket/{i}")
        http.get(fleet[0].address, f"/many-{i}/x")
    docs = documented()
    assert len(docs) > 50 and EMBEDDED < set(docs)
    docs = {name: row for name, row in docs.items() if name not in EMBEDDED}

    def differences():
        page = families_in(page_of(fleet[0]))
        return {name: (page.get(name), docs.get(name)) for name in page.keys() | docs.keys()
                if page.get(name) != docs.get(name)
                and not (name in WITHOUT_SAMPLES and page.get(name, "")[0] == docs[name][0])}
    # Some samples come with the first that happens of their kind.
    wait_equal(differences, {}, "the page, and what is documented")


def test_gzip_when_asked(world):
    fleet = world.fleet(1, [quota("bucket", "10r/s")])
    answer = http.get(fleet[0].status, "/metrics", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert b"# TYPE weir_build_info gauge" in gzip.decompress(answer.body)
    plain = http.get(fleet[0].status, "/metrics", headers={"Accept-Encoding": "gzip;q=0"})
    assert "content-encoding" not in plain.headers and "# TYPE" in plain.text


def test_hostile_keys_and_names_do_not_break_the_page(world):
    fleet = world.fleet(1, [quota("{bucket}", "10r/s")], start=False)
    # Control characters and stray braces are refused in documents; anything goes in requests.
    names = [text[:500] for text in HOSTILE if not re.search(r"[\x00-\x1f\x7f{}]", text)]
    assert len(names) >= 6
    quotas = [quota("{bucket}", "10r/s")] + [quota(f"n{i} {text}", "5r/s") for i, text in enumerate(names)]
    document = quota_set(quotas, name='set "x"\\<script>')
    fleet[0].quota_file.write_text(json.dumps(document))
    fleet.start()
    for text in HOSTILE:
        # Over-long and doubtful paths are refused by the gate; that is an answer too.
        answer = http.get(fleet[0].address, "/" + urllib.parse.quote(text[:5000], safe="") + "/object")
        assert answer.status in (200, 400, 414, 431)
    text = page_of(fleet[0])
    done = promtool(text)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")
    shown = set(re.findall(r'^weir_quota_offered_total{quota="(.*)"} ', text, re.MULTILINE))
    assert "{bucket}" in shown and len(shown) == len(quotas), shown
    assert not any("object" in one for one in shown)
    assert os.path.getsize(fleet[0].process.log) < 1_000_000
