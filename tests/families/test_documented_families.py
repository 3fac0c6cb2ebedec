"""The page about exponential families: its code runs, its table is complete, and its example keeps the laws."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from softcount import priors
from softcount.families import FAMILIES
from tests.laws import family_tables, test_family_blocks, test_family_density, test_family_solve

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "exponential-families.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def names():
    """What the code blocks of the page define, run from top to bottom."""
    found = {}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec"), found)  # the page is part of the repository
    return found


def test_the_code_on_the_page_runs_and_its_assertions_hold(names):
    assert len(BLOCKS) >= 5
    assert sum(block.count("assert ") for block in BLOCKS) >= 12
    assert "case" in names


def test_both_tables_have_a_row_for_every_family():
    rows = re.findall(r"^\| `(\w+)` \|", TEXT, flags=re.MULTILINE)
    assert sorted(rows) == sorted(2 * list(FAMILIES))


def test_the_table_names_classes_and_priors_that_exist():
    for name, cls in FAMILIES.items():
        assert re.search(rf"^\| `{name}` \| `{cls.__name__}[`(]", TEXT, flags=re.MULTILINE)
    for prior in ("Beta", "Dirichlet", "Gamma", "NormalInverseGamma", "NormalInverseWishart"):
        assert f"`{prior}`" in TEXT
        assert hasattr(priors, prior)


def test_the_table_names_the_parameters_there_are():
    second = TEXT[TEXT.index("| name | values |") :]
    for name, cls in FAMILIES.items():
        row = re.search(rf"^\| `{name}` \|.*$", second, flags=re.MULTILINE)
        assert row is not None
        written = re.findall(r"`(\w+)`", row.group(0).split("|")[3])
        assert written == list(cls().standard())


def wanted(law):
    """Names of a law's arguments."""
    return law.__code__.co_varnames[: law.__code__.co_argcount]


LAWS_OF_A_DISTRIBUTION = [
    law for name, law in vars(test_family_density).items() if name.startswith("test_") and "case" in wanted(law)
]


@pytest.mark.parametrize("law", LAWS_OF_A_DISTRIBUTION, ids=lambda law: law.__name__)
def test_the_example_keeps_the_laws_of_a_distribution(law, names):
    case = names["case"]
    if "params" in wanted(law):
        for params in case.params:
            law(case, params)
    else:
        law(case)


@pytest.mark.parametrize("missing", [False, True])
def test_the_example_keeps_the_laws_of_columns(names, missing):
    table = family_tables.Table(names["case"], missing=missing)
    test_family_blocks.test_the_scorer_adds_the_log_density_of_the_observed_cells(table)
    test_family_blocks.test_counting_known_classes_equals_counting_sure_responsibilities(table)
    test_family_blocks.test_counts_of_parts_add_up_to_the_counts_of_the_whole(table)
    test_family_blocks.test_a_row_of_weight_k_counts_as_k_rows_and_of_zero_as_none(table)
    test_family_blocks.test_evidence_of_cells_adds_up_to_the_difference_of_the_scores(table)
    for alpha in (0.0, 0.7):
        test_family_solve.test_the_solution_maximizes_likelihood_and_prior(table, alpha)
        test_family_solve.test_a_class_without_weight_gets_finite_parameters_and_scores(table, alpha)
        test_family_solve.test_constant_columns_give_scores_that_are_numbers(table, alpha)
    assert np.isfinite(table.scores()).all()
