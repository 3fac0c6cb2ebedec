"""How much evidence a document is: the closed form against a count of all pairs of words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcount.core import repetition
from softcount.core.repetition import row_totals, token_correlation, with_evidence
from softcount.families.blocks import CodesBlock, DenseBlock, SparseBlock


def sparse_block(X: NDArray[Any]) -> SparseBlock:
    table = csr_array(X)
    return SparseBlock(table.indptr, table.indices, table.data, X.shape[1])


def correlation(X: NDArray[Any], weight: NDArray[Any] | None = None) -> float:
    total, square = row_totals(DenseBlock(X))
    words = X.sum(axis=0) if weight is None else weight @ X
    return token_correlation(total, square, words, weight)


def documents(n_rows: int, seed: int, burst: float = 0.0, n_words: int = 6) -> NDArray[Any]:
    """Documents with word distributions of their own, the farther from the common one the burstier."""
    rng = np.random.default_rng(seed)
    common = rng.dirichlet(np.ones(n_words))
    lengths = rng.integers(1, 15, n_rows)
    own = [common if burst == 0.0 else rng.dirichlet(common / burst) for _ in range(n_rows)]
    return np.array([rng.multinomial(n, p) for n, p in zip(lengths, own, strict=True)], dtype=np.float64)


def by_all_pairs(X: NDArray[Any]) -> float:
    """The definition: the chance of two equal words inside a document, and in two documents, pair by pair."""
    words = [np.repeat(np.arange(X.shape[1]), row.astype(int)) for row in X]
    inside = []
    for row in words:
        if row.size >= 2:
            same = sum(row[a] == row[b] for a in range(row.size) for b in range(row.size) if a != b)
            inside.append(same / (row.size * (row.size - 1)))
    same, pairs = 0, 0
    for i, first in enumerate(words):
        for j, second in enumerate(words):
            if i != j:
                same += int((first[:, None] == second).sum())
                pairs += first.size * second.size
    between = same / pairs
    return float(np.clip((np.mean(inside) - between) / (1.0 - between), 0.0, 1.0))


@pytest.mark.parametrize("burst", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_correlation_equals_a_count_of_all_pairs_of_words(burst: float, seed: int) -> None:
    X = documents(12, seed, burst)
    assert correlation(X) == pytest.approx(by_all_pairs(X), rel=1e-12, abs=1e-15)


def test_bursty_documents_have_a_larger_correlation_than_independent_words() -> None:
    calm, bursty = correlation(documents(2000, 0)), correlation(documents(2000, 0, burst=0.2))
    assert calm < 0.01
    # Dirichlet(common / 0.2) has the intraclass correlation 1 / (1 + 1 / 0.2).
    assert bursty == pytest.approx(1.0 / 6.0, abs=0.03)


def test_a_weight_is_that_many_documents_and_zero_is_none() -> None:
    X = documents(30, 3, burst=0.3)
    weight = np.random.default_rng(1).integers(0, 4, 30).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    assert correlation(X, weight) == pytest.approx(correlation(repeated), rel=1e-12)


def test_words_that_never_repeat_are_not_discounted() -> None:
    X = (documents(50, 4) > 0).astype(float)
    assert correlation(X) == 0.0
    block = DenseBlock(X)
    assert with_evidence(block, X.sum(axis=1), correlation(X)) is block


@pytest.mark.parametrize(
    "X", [np.zeros((3, 2)), np.array([[1.0, 0.0]]), np.array([[4.0, 0.0], [2.0, 0.0]]), np.array([[3.0, 2.0]])]
)
def test_documents_that_leave_nothing_to_compare_have_no_correlation(X: NDArray[Any]) -> None:
    assert correlation(X) == 0.0


@pytest.mark.parametrize("cells_at_once", [2**17, 1000])
def test_dense_and_sparse_rows_have_the_same_totals_in_pieces_and_whole(
    monkeypatch: pytest.MonkeyPatch, cells_at_once: int
) -> None:
    monkeypatch.setattr(repetition, "CELLS_AT_ONCE", cells_at_once)
    X = documents(3000, 5)
    total, square = row_totals(DenseBlock(X))
    np.testing.assert_array_equal(total, X.sum(axis=1))
    np.testing.assert_array_equal(square, (X * X).sum(axis=1))
    for mine, other in zip(row_totals(sparse_block(X)), (total, square), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_missing_cells_are_left_out_of_the_totals() -> None:
    X = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, 3.0]])
    total, square = row_totals(DenseBlock(X, has_missing=True))
    assert total.tolist() == [3.0, 3.0]
    assert square.tolist() == [5.0, 9.0]


def test_stored_entries_without_data_count_as_one() -> None:
    block = SparseBlock(np.array([0, 2, 3]), np.array([0, 2, 1]), None, 3)
    for values in row_totals(block):
        assert values.tolist() == [2.0, 1.0]


def test_evidence_is_the_reciprocal_of_the_design_effect() -> None:
    block = with_evidence(DenseBlock(np.ones((3, 2))), np.array([0.0, 1.0, 21.0]), 0.05)
    assert isinstance(block, DenseBlock)
    assert block.evidence is not None
    np.testing.assert_allclose(block.evidence, [1.0, 1.0, 0.5])


def test_categories_are_not_discounted() -> None:
    block = CodesBlock(np.array([[0, 1], [-1, 0]], dtype=np.int32), np.array([0, 2, 4]))
    assert with_evidence(block, np.array([5.0, 5.0]), 0.5) is block
    assert row_totals(block)[0].tolist() == [2.0, 1.0]
