"""Finds the assertions of C++ text, and those among them that say nothing."""

import re

from cpp_functions import DIRECTIVE
from source_tree import without_comments

CALL = re.compile(r"\bWEIR_ASSERT\s*\(")
COMPARISON = re.compile(r"(?<![<>=!-])(==|<=|>=)(?![=>])")
NUMBER = r"(?:0[xX][\da-fA-F']+|\d[\d'.]*(?:[eE][+-]?\d+)?)[uUlLfF]*"
ZERO = re.compile(r"0[uUlL]*|std::size_t\{0?\}|std::uint\d+_t\{0?\}")
# Calls that give an unsigned number, whatever the object is.
UNSIGNED_CALL = re.compile(r"(?:\.|->)(?:size|length|capacity|count|remaining|room)\(\)$|^sizeof\b")
UNSIGNED_TYPE = r"(?:std::)?(?:uint(?:8|16|32|64)_t|size_t|uintptr_t)|unsigned(?:\s+\w+)?"
NO_TYPE = {"return", "const", "case", "goto", "throw", "in", "else", "co_return", "new", "delete"}
# A constant, a literal, or what is made of these alone: a question for static_assert.
CONSTANT = re.compile(
    rf"(?:{NUMBER}|\"\"|true|false|nullptr|sizeof\s*\([^()]*\)|(?:\w+::)*k[A-Z]\w*"
    r"|static_cast<[^<>]*>|std::|::|[-+*/%!<>=&|() ])+")


def _closing(text, opening):
    """The place of the parenthesis that closes the one at this place."""
    depth = 0
    for place in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise AssertionError("a parenthesis is not closed")


def expressions_of(text):
    """What each WEIR_ASSERT of the text asserts. static_assert is another word, and the macro's own
    definition none of its uses."""
    code = DIRECTIVE.sub("", without_comments(text))
    found = []
    for call in CALL.finditer(code):
        opening = call.end() - 1
        found.append(" ".join(code[opening + 1 : _closing(code, opening)].split()))
    return found


def _split(expression, operator):
    """The operands of an operator that stands outside of all parentheses."""
    operands, depth, begin, place = [], 0, 0, 0
    while place < len(expression):
        character = expression[place]
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        if depth == 0 and expression.startswith(operator, place):
            operands.append(expression[begin:place])
            begin = place = place + len(operator)
        else:
            place += 1
    return [operand.strip() for operand in [*operands, expression[begin:]]]


def _bare(expression):
    """Without parentheses around the whole."""
    expression = expression.strip()
    while expression.startswith("(") and _closing(expression, 0) == len(expression) - 1:
        expression = expression[1:-1].strip()
    return expression


def _unsigned(operand, text):
    operand = _bare(operand)
    name = re.search(r"(\w+)$", operand)
    if not name:
        return bool(UNSIGNED_CALL.search(operand))
    types = re.findall(rf"((?:[\w:]|unsigned )+)&? {name.group(1)}\b(?!\()", text)
    types = [type for type in types if type not in NO_TYPE]
    return bool(types) and all(re.fullmatch(UNSIGNED_TYPE, type) for type in types)


def _comparison_is_empty(expression, text):
    found = list(COMPARISON.finditer(expression))
    if len(found) != 1:
        return False
    left, right = expression[: found[0].start()].strip(), expression[found[0].end() :].strip()
    if _bare(left) == _bare(right):
        return True
    operator = found[0].group(1)
    if operator == ">=" and ZERO.fullmatch(right):
        return _unsigned(left, text)
    return operator == "<=" and bool(ZERO.fullmatch(left)) and _unsigned(right, text)


def says_nothing(expression, text=""):
    """Whether the expression holds whatever the program does. `text` is where the declarations of
    its names are looked for."""
    expression = _bare(expression)
    any_of = _split(expression, "||")
    if len(any_of) > 1:
        bare = [_bare(operand) for operand in any_of]
        opposite = any(f"!{operand}" in bare or f"!({operand})" in bare for operand in bare)
        return opposite or any(says_nothing(operand, text) for operand in bare)
    all_of = _split(expression, "&&")
    if len(all_of) > 1:
        return all(says_nothing(operand, text) for operand in all_of)
    if re.fullmatch(r"this( != nullptr)?", expression) or CONSTANT.fullmatch(expression):
        return True
    return _comparison_is_empty(expression, text)


def assertions_of(text, declarations=""):
    """The assertions of a text that could fail."""
    return [expression for expression in expressions_of(text)
            if not says_nothing(expression, text + declarations)]
