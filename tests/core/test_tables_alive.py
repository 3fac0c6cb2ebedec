"""How many tables of columns by classes are alive at a time: their number does not grow with iterations or lanes."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from softcount import BernoulliNB, MultinomialNB

N_COLUMNS, N_CLASSES = 50_000, 20
TABLE = 8 * N_COLUMNS * N_CLASSES


def most_tables(kind: Any, n_rows: int) -> float:
    """Most memory that a fit of several iterations holds above its data, in tables."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, N_COLUMNS, n_rows).astype(np.int32)
    X = csr_array((np.ones(n_rows), words, np.arange(n_rows + 1, dtype=np.int32)), shape=(n_rows, N_COLUMNS))
    y = np.where(np.arange(n_rows) < 2 * N_CLASSES, np.arange(n_rows) % N_CLASSES, np.nan)
    model = kind(max_iter=3, tol=0.0, unlabeled_weight=1.0, calibrate="none", n_jobs=2)
    tracemalloc.start()
    try:
        model.fit(X, y)
        return tracemalloc.get_traced_memory()[1] / TABLE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # The parameters before (two tables) and their counts; the new ones, their scorer, and their counts.
        (BernoulliNB, 2 + 1 + 2 + 1 + 1),
        # The parameters before and their counts; the new ones, which are their own scorer, and their counts.
        (MultinomialNB, 1 + 1 + 1 + 1),
    ],
)
def test_a_fit_holds_two_generations_of_parameters_and_counts(kind: Any, expected: int) -> None:
    assert most_tables(kind, 3000) == pytest.approx(expected, abs=0.5)


def test_counts_of_lanes_are_merged_where_they_lie() -> None:
    # Two lanes more cost two tables, and the scores of their rows.
    chunk, scores = 65_536, 65_536 * N_CLASSES * 8 / TABLE
    one, two = most_tables(MultinomialNB, chunk), most_tables(MultinomialNB, 2 * chunk)
    assert two - one <= 1.0 + scores + 0.5
