"""What the prose calls an invariant is asserted: at least so often for each function."""

import functools

import pytest

from assertions import assertions_of, expressions_of, says_nothing
from cpp_functions import functions_of
from source_tree import ROOT, files_below

LEAST = 0.3
# Modules that keep to it.
HELD = ["limiter", "definitions", "membership", "sync"]


def modules():
    return sorted(folder.name for folder in (ROOT / "src").iterdir() if folder.is_dir())


@functools.cache
def texts_of(module):
    """Each source with its header behind it, where members are declared; and each header."""
    texts = []
    for path in files_below(f"src/{module}"):
        header = path.with_suffix(".h")
        declared = header.read_text(encoding="utf-8") if path != header and header.exists() else ""
        texts.append((path.read_text(encoding="utf-8"), declared))
    return texts


@functools.cache
def count(module):
    """(assertions, functions) of a module, in headers and sources."""
    assertions = functions = 0
    for text, declared in texts_of(module):
        assertions += len(assertions_of(text, declared))
        functions += len(functions_of(text))
    return assertions, functions


@pytest.mark.parametrize("module", HELD)
def test_there_are_enough_assertions(module):
    assertions, functions = count(module)
    assert assertions >= LEAST * functions, f"{assertions} in {functions} functions"


def test_no_assertion_says_nothing():
    empty = [(module, expression) for module in modules() for text, declared in texts_of(module)
             for expression in expressions_of(text) if says_nothing(expression, text + declared)]
    assert empty == []


def test_table():
    """Shown by python3 -m pytest -s tests/meta/test_assertions.py."""
    print("\nmodule        assertions  functions  per function")
    for module in modules():
        assertions, functions = count(module)
        assert functions > 0, module
        print(f"{module:<12}  {assertions:>10}  {functions:>9}  {assertions / functions:>12.2f}")


MODULE = """
#define WEIR_ASSERT(expression) check(expression)
static_assert(sizeof(int) == 4);

class Table {{
  public:
    std::size_t size() const {{ return size_; }}

  private:
    std::size_t size_ = 0;
}};

void Table::add(int amount) {{
    // WEIR_ASSERT(amount > 1);
    static_assert(kCapacity > 0);
    {assertion}
}}
"""


@pytest.mark.parametrize("expression", [
    "size_ <= kCapacity", "amount >= 0", "size() == size_", "names_.size() > 0",
    "found != names_.end() && found->second.size() >= 0", "a < b || b < c",
    "by_id_.size() == by_age_.size()", "amount >= 0U + size_", "is_sorted(begin(), end())"])
def test_an_assertion_that_can_fail_counts(expression):
    text = MODULE.format(assertion=f"WEIR_ASSERT({expression});")
    assert assertions_of(text) == [expression]
    assert len(functions_of(text)) == 2


@pytest.mark.parametrize("assertion", [
    "static_assert(kCapacity > 0);",
    'static_assert(sizeof(Table) == 8, "small");',
    "WEIR_ASSERT(true);",
    "WEIR_ASSERT(!false);",
    "WEIR_ASSERT(1);",
    "WEIR_ASSERT((1 + 1) == 2);",
    "WEIR_ASSERT(kCapacity <= kMaximumMembers);",
    "WEIR_ASSERT(amount == amount);",
    "WEIR_ASSERT((names_.at(1)) <= names_.at(1));",
    "WEIR_ASSERT(size_ >= 0);",
    "WEIR_ASSERT(0 <= size_);",
    "WEIR_ASSERT(names_.size() >= 0);",
    "WEIR_ASSERT(table->names().size() >= 0U);",
    "WEIR_ASSERT(this != nullptr);",
    "WEIR_ASSERT(empty() || !empty());",
    "WEIR_ASSERT(amount > 1 || true);",
    "WEIR_ASSERT(true && size_ >= 0);",
])
def test_an_assertion_that_says_nothing_does_not_count(assertion):
    assert assertions_of(MODULE.format(assertion=assertion)) == []
