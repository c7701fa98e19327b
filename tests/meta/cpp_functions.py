"""Finds the functions of C++ text as clang-format lays it out, with the lines that they take."""

import re
from typing import NamedTuple

BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\[^'\n]+|\\'|[^'\\\n])'",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# A template's parameters may hold "class" and "=", which mean something else outside of them.
TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<[^<>]*>)*>")
ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")
# What may stand between the end of one definition and the next one.
LEAD = re.compile(r"(?:\s|(?:public|protected|private):)*")
HOLDS_FUNCTIONS = re.compile(r"^(?:inline\s+)?(?:namespace|class|struct|union|extern)\b")
TEST_CASE = re.compile(r'\bTEST_CASE(?:_\w+)?\([^"]*((?:"(?:\\.|[^"\\\n])*"\s*)+)')


class Function(NamedTuple):
    name: str
    line: int
    length: int


def _spaces(found):
    return re.sub(r"[^\n]", " ", found.group())


def _kind(head, opens_after_space):
    """What the brace behind this text opens: "scope", "function" or "other"."""
    head = ATTRIBUTE.sub(" ", TEMPLATE.sub(" ", head))
    head = head[LEAD.match(head).end() :].rstrip()
    if "(" not in head:
        return "scope" if HOLDS_FUNCTIONS.match(head) else "other"
    if HOLDS_FUNCTIONS.match(head) and not re.search(r"\)\s*(?:const|noexcept|override|final)*\s*$", head):
        return "scope"
    before_parameters = head[: head.index("(")]
    assigned = "=" in before_parameters and "operator" not in before_parameters
    return "other" if assigned or not opens_after_space else "function"


def _name(text, begin, head):
    case = TEST_CASE.search(text, begin, begin + len(head) + 1)
    if case:
        return "".join(re.findall(r'"((?:\\.|[^"\\])*)"', case.group(1)))
    plain = ATTRIBUTE.sub(" ", TEMPLATE.sub(" ", head))
    found = re.search(r"([\w:~]+|operator\W+)\s*\(", plain)
    return found.group(1).strip() if found else plain.split("(")[0].strip()


def functions_of(text):
    """Every function whose body is in the text, test cases among them; those inside of a function
    (lambdas, local classes) are a part of it."""
    code = DIRECTIVE.sub(_spaces, BLANKED.sub(_spaces, text))
    found, open_scopes, begin, parentheses = [], [], 0, 0
    depth_inside, function_begin = 0, None
    for place, character in enumerate(code):
        if depth_inside:
            depth_inside += {"{": 1, "}": -1}.get(character, 0)
            if depth_inside == 0 and function_begin is not None:
                head = code[function_begin:place]
                first = function_begin + LEAD.match(head).end()
                line = text.count("\n", 0, first) + 1
                length = text.count("\n", first, place) + 1
                name = _name(text, first, code[first : code.index("{", first)])
                found.append(Function(name, line, length))
                begin, function_begin = place + 1, None
        elif character in "()":
            parentheses += 1 if character == "(" else -1
        elif character == ";" and parentheses == 0:
            begin = place + 1
        elif character == "{":
            head = code[begin:place]
            kind = "other" if parentheses else _kind(head, code[place - 1].isspace())
            if kind == "scope":
                open_scopes.append(place)
                begin = place + 1
            else:
                depth_inside = 1
                function_begin = begin if kind == "function" else None
        elif character == "}":
            assert open_scopes, f"line {text.count(chr(10), 0, place) + 1}: a brace too many"
            open_scopes.pop()
            begin = place + 1
    assert not open_scopes and not depth_inside, "a brace too few"
    return found
