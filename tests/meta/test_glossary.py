"""docs/glossary.md has the words of the public headers: its types exist, its words are used, and no type is
named with a word that the page says is not used."""

import re

from source_tree import ROOT, files_below, without_comments

PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TYPE = re.compile(r"^\s*(?:class|struct|enum(?:\s+class|\s+struct)?|using)\s+(?:\[\[\w+\]\]\s+)?([A-Z]\w*)", re.MULTILINE)


def headers():
    return [path for folder in ("src", "include") for path in files_below(folder, {".h", ".hpp"})]


def rows():
    """[words], {types}, [words that are not used] of each row of the page."""
    found = []
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if len(cells) == 4 and cells[0] != "word":
            found.append((cells[0].split(", "), set(re.findall(r"`(\w+)`", cells[2])),
                          [word for word in cells[3].split(", ") if word]))
    return found


def types():
    names = set()
    for path in headers():
        names |= set(TYPE.findall(without_comments(path.read_text(encoding="utf-8"))))
    return names


def parts(name):
    """The words of a name: QuotaSet is quota and set, safe_rate is safe and rate."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def test_the_page_has_rows():
    assert len(rows()) > 50
    assert sum(len(unused) for _, _, unused in rows()) > 8


def test_each_type_of_the_glossary_is_a_type_of_a_header():
    have = types()
    assert [name for _, named, _ in rows() for name in sorted(named) if name not in have] == []


def test_each_word_of_the_glossary_is_used_in_a_header():
    text = " ".join(" ".join(parts(path.read_text(encoding="utf-8"))) for path in headers())
    unknown = [word for words, _, _ in rows() for word in words
               if not re.search(r"\b" + r"\s?".join(parts(word)) + r"(?:s|es|ed)?\b", text)]
    assert unknown == []


def test_no_type_is_named_with_a_word_that_is_not_used():
    unused = {word for _, _, not_used in rows() for word in not_used}
    assert [name for name in sorted(types()) if unused.intersection(parts(name))] == []


def test_each_word_stands_once():
    words = [word for words, _, _ in rows() for word in words]
    assert sorted(words) == sorted(set(words))
