"""Each header says for which threads it is, and who owns what it holds or refers to."""

import re

from source_tree import files_below, shown

PLAIN = r"\bpure\b|plain (immutable )?(value|state)|\bconstants?\b|stateless|no state|without state"
THREADS = re.compile(PLAIN + r"|thread|worker|immutable|on the stack|\block\b", re.IGNORECASE)
OWNERS = re.compile(
    PLAIN + r"|\bown(s|ed|er|ership)?\b|borrow|outlive|refers?\b|copies|belongs? to|keeps? nothing|no reference"
    r"|valid (as long|until|only|while)|lives? as long|on the stack",
    re.IGNORECASE,
)
COMMENT = re.compile(r"//+!?<?(.*)|/\*(.*?)\*/")


def comments_of(path):
    text = " ".join(one or other for one, other in COMMENT.findall(path.read_text()))
    return re.sub(r"\s+", " ", text)


def headers():
    return [path for folder in ("src", "include") for path in files_below(folder, {".h", ".hpp"})]


def test_each_header_says_for_which_threads_it_is():
    assert [shown(path) for path in headers() if not THREADS.search(comments_of(path))] == []


def test_each_header_says_who_owns_what():
    assert [shown(path) for path in headers() if not OWNERS.search(comments_of(path))] == []


def test_headers_are_seen():
    assert len(headers()) > 300
