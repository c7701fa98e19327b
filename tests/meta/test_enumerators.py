"""Each enumerator of an error, ending or event says when it occurs, in a comment beside or above it."""

import re

from source_tree import ROOT, files_below

ENUMERATION = re.compile(r"enum class (\w+)[^{;]*\{(.*?)\};", re.DOTALL)
# Names of enumerations that say what went wrong, how something ended, or what happened.
TELLING = re.compile(r"Error|Rejection|Fault|Ending|End$|Refus|Ambiguity|Doubt|Problem|Objection|Interrupt|Event$|Failure")
NO_EVENT = {"none", "no", "count"}


def silent(body):
    """The enumerators of the text between the braces that no comment explains."""
    found, explained = [], False
    for line in map(str.strip, body.splitlines()):
        if line.startswith("//"):
            explained = True
            continue
        code, _, comment = line.partition("//")
        names = [name.split("=")[0].strip() for name in code.split(",") if name.strip()]
        if len(names) > 1 or not (comment or explained):
            found += [name for name in names if name not in NO_EVENT]
        explained = explained and not names
    return found


def told():
    for path in files_below("src"):
        if path.suffix == ".h":
            for name, body in ENUMERATION.findall(path.read_text()):
                if TELLING.search(name):
                    yield f"{path.relative_to(ROOT)} {name}", silent(body)


def test_each_enumerator_says_when_it_occurs():
    assert {where: names for where, names in told() if names} == {}


def test_enumerations_are_seen():
    assert len(list(told())) >= 12
    assert silent("a,  // when\n b,\n // when\n c, d,\n count") == ["b", "c", "d"]
