"""How many tables of columns by classes are alive at a time: their number does not grow with iterations or lanes."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from softcount import BernoulliMixture, BernoulliNB, MultinomialNB
from softcount.core import mixture

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
        # Two of parameters, their scorer, the counts, and the two that scikit-learn's names stand for.
        (BernoulliNB, 2 + 1 + 1 + 2),
        # Parameters that are their own scorer, the counts, and the same two.
        (MultinomialNB, 1 + 1 + 2),
    ],
)
def test_a_fit_holds_no_more_tables_than_the_fitted_estimator(kind: Any, expected: int) -> None:
    assert most_tables(kind, 3000) == pytest.approx(expected, abs=0.5)


def test_a_fit_that_leaves_parameters_out_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = csr_array(rng.integers(0, 2, (300, 40)) * (rng.random((300, 40)) < 0.3))
    y = np.where(np.arange(300) < 30, np.arange(300) % 3, np.nan)
    plain = {"tol": 0.0, "unlabeled_weight": 1.0, "calibrate": "none", "max_iter": 12}
    for accelerate in (False, True):
        expected = BernoulliNB(accelerate=accelerate, **plain).fit(X, y)
        with monkeypatch.context() as patched:
            patched.setattr(mixture, "BARE_BYTES", 0)
            found = BernoulliNB(accelerate=accelerate, **plain).fit(X, y)
        assert [step.objective for step in found.history_] == [step.objective for step in expected.history_]
        for name in ("log_prob", "log_not"):
            np.testing.assert_array_equal(found.params_.blocks[0][name], expected.params_.blocks[0][name])
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
        assert found.params_.source is None


def test_rows_with_missing_cells_keep_their_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 10)) < 0.1, np.nan, rng.integers(0, 2, (300, 10)))
    expected = BernoulliMixture(2, n_init=1, random_state=0).fit(X)
    monkeypatch.setattr(mixture, "BARE_BYTES", 0)
    found = BernoulliMixture(2, n_init=1, random_state=0).fit(X)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_counts_of_lanes_are_merged_where_they_lie() -> None:
    # Two lanes more cost two tables, and the scores of their rows.
    chunk, scores = 65_536, 65_536 * N_CLASSES * 8 / TABLE
    one, two = most_tables(MultinomialNB, chunk), most_tables(MultinomialNB, 2 * chunk)
    assert two - one <= 1.0 + scores + 0.5
