"""Plays cases of Autobahn's test suite against two servers and tells where the outcomes differ."""

import json
import subprocess

from harness.paths import ROOT

# Framing, pings, reserved bits, opcodes, fragments, UTF-8, closing: a few seconds for both servers.
SOME = ["1.*", "2.*", "3.*", "4.*", "5.*", "6.1.*", "6.2.*", "7.*", "10.*", "12.1.1", "13.1.1"]
ALL = ["*"]
# In a few cases both sides fail the connection at once, and either may be the first: then the outcomes of
# several plays are compared.
PLAYS = 6
# Outcomes that Autobahn accepts of a server. Where it fails a connection, the machine decides between the two: what
# it sent before is seen or not, and it is seen to fail in time or late.
ACCEPTED = {("OK", "OK"), ("NON-STRICT", "OK")}


def play(folder, servers, cases, timeout_s):
    """{case: {agent: (behavior, how it closed)}}; `servers` is {agent: address}."""
    wstest = subprocess.run([ROOT / "scripts" / "install-autobahn"], check=True, timeout=600, stdout=subprocess.PIPE,
                            text=True).stdout.strip()
    folder.mkdir(exist_ok=True)
    plan = folder / "plan.json"
    plan.write_text(json.dumps({
        "outdir": str(folder / "out"), "cases": cases, "exclude-cases": [], "exclude-agent-cases": {},
        "servers": [{"agent": agent, "url": f"ws://{address}"} for agent, address in servers.items()]}))
    with open(folder / "wstest.log", "ab") as log:
        subprocess.run([wstest, "-m", "fuzzingclient", "-s", plan], check=True, timeout=timeout_s, cwd=folder,
                       stdout=log, stderr=subprocess.STDOUT)
    outcomes = {}
    for agent, played in json.loads((folder / "out" / "index.json").read_text()).items():
        for case, found in played.items():
            outcomes.setdefault(case, {})[agent] = (found["behavior"], found["behaviorClose"])
    return outcomes


def differs(found):
    """Whether weir makes a difference. It does not where all is accepted and it also has outcomes of the server
    alone."""
    strange = found["weir"] - found["direct"]
    return bool(strange) and not (strange <= ACCEPTED and found["weir"] & found["direct"])


def compare(folder, direct, proxied, cases, timeout_s):
    """(how many cases were played, {case: outcomes} of those with an outcome through weir that the server alone
    never has in PLAYS plays, the cases whose messages the server itself got wrong)."""
    servers = {"direct": direct, "weir": proxied}
    outcomes = play(folder, servers, cases, timeout_s)
    assert all(set(found) == set(servers) for found in outcomes.values()), "a case was not played against both"
    seen = {case: {agent: {one} for agent, one in found.items()} for case, found in outcomes.items()
            if found["direct"] != found["weir"]}
    for _ in range(1, PLAYS):
        for case, found in (play(folder, servers, sorted(seen), timeout_s) if seen else {}).items():
            for agent, one in found.items():
                seen[case][agent].add(one)
    differing = {case: found for case, found in seen.items() if differs(found)}
    failed = [case for case, found in outcomes.items() if found["direct"][0] == "FAILED"]
    return len(outcomes), differing, failed
