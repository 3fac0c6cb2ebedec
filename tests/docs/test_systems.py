"""The table of systems: what it names is there, and a user can call it."""

import inspect
import math
import re

import pytest

import softcount
from tests.docs.test_pages import LINK, ROOT

PAGE = ROOT / "docs" / "reference" / "systems.md"
#: The systems there are to be, whatever is added to them.
NUMBERED = [f"{part}{i}" for part, last in (("A", 10), ("B", 6), ("C", 7), ("D", 7)) for i in range(1, last + 1)]


def cells(line):
    """The cells of a row of a table; a bar inside a formula would end one, so there is none."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


ROWS = [
    cells(line)
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| | system"))
]


def named(row):
    return f"{row[0]} {row[3]}".strip()


def test_no_system_is_left_out():
    assert [row[0] for row in ROWS if row[0]] == NUMBERED


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_every_system_has_an_equation_and_a_name_that_can_be_called(row):
    _, _, equation, code, _, _ = row
    assert equation
    expression = code.strip("`")
    thing = eval(expression, {"inf": math.inf, **{name: getattr(softcount, name) for name in softcount.__all__}})
    if "(" in expression:
        accepted = inspect.signature(type(thing)).parameters
        assert set(re.findall(r"(\w+)=", expression)) <= set(accepted)
    else:
        assert callable(thing)


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_page_of_a_system_names_it(row):
    (target,) = LINK.findall(row[4])
    page = (PAGE.parent / target).read_text(encoding="utf-8")
    owner = re.match(r"(?:(?:priors|families)\.)?(\w+)", row[3].strip("`"))[1]
    assert owner in page


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_test_of_a_system_exists(row):
    (target,) = LINK.findall(row[5])
    sentence = re.match(r"\[(.*?)\]", row[5])[1]
    code = (PAGE.parent / target).read_text(encoding="utf-8")
    assert f"def test_{sentence.replace(' ', '_')}(" in code
