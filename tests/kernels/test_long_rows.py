"""Rows longer than what a kernel takes at a time, and numbers at the limits of their types."""

import numpy as np
import pytest

from tests.kernels.data import COUNT_TYPES

TOKENS = 1_000_000


@pytest.mark.parametrize("index_type", ["int32", "int64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_row_of_a_million_tokens_is_counted_for_its_class(kernels, index_type, weighted):
    indptr, indices, occurrences = million_tokens(index_type)
    data = np.full(TOKENS, 0.25) if weighted else None
    by_class = np.zeros((3, 1000))
    codes, weight = np.array([-1, 2, 2], np.int32), np.array([7.0, 0.3, 0.0])
    kernels.csr_class_counts(indptr, indices, data, codes, weight, by_class)
    assert (by_class[:2] == 0.0).all()
    np.testing.assert_allclose(by_class[2], 0.3 * occurrences * (0.25 if weighted else 1.0), rtol=1e-12)


@pytest.mark.parametrize("index_type", ["int32", "int64"])
@pytest.mark.parametrize("n_classes", [1, 2, 5, 20])
def test_a_row_of_a_million_tokens_is_counted_word_by_word(kernels, index_type, n_classes):
    indptr, indices, occurrences = million_tokens(index_type)
    for data, size in ((None, 1.0), (np.full(TOKENS, 3, np.uint8), 3.0)):
        index = kernels.csr_word_index(indptr, indices, data, 1000)
        counts = np.zeros((1000, n_classes))
        kernels.csr_accumulate_words(index, np.full((3, n_classes), 0.3) * [[0.0], [1.0], [0.0]], counts)
        np.testing.assert_allclose(counts, np.repeat(0.3 * size * occurrences[:, None], n_classes, 1), rtol=1e-12)


def million_tokens(index_type):
    """Three rows, of which the second has all the tokens, and how often it has each of a thousand words."""
    indices = np.random.default_rng(1).integers(0, 1000, size=TOKENS)
    return np.array([0, 0, TOKENS, TOKENS]), indices.astype(index_type), np.bincount(indices, minlength=1000)


@pytest.mark.parametrize("dtype", COUNT_TYPES)
def test_numbers_at_the_limits_of_their_type_are_read(kernels, dtype):
    if dtype.startswith("float"):
        values = np.array([np.finfo(dtype).max / 4, np.finfo(dtype).tiny, -1.5, 0.5, 3.0], dtype)
    else:
        bounds = np.iinfo(dtype)
        values = np.array([bounds.max, bounds.min, bounds.max // 2 + 1, 1, 2], dtype)
    indptr, columns, ones = np.arange(6), np.zeros(5, np.int32), np.ones((1, 1))
    expected = values.astype(np.float64)[:, None]
    for n_cells in (1, 9):
        scores, dense = np.zeros((5, 1)), np.zeros((5, 1))
        kernels.csr_scores(indptr, columns, values, ones, scores)
        np.testing.assert_array_equal(scores, expected)
        table = np.zeros((5, n_cells), dtype)
        table[:, -1] = values
        kernels.dense_scores(table, np.ones((n_cells, 1)), dense)
        np.testing.assert_array_equal(dense, expected)
        counts = np.zeros((n_cells, 5))
        kernels.dense_class_counts(table, np.arange(5, dtype=np.int32), None, counts)
        np.testing.assert_array_equal(counts[-1], expected[:, 0])


def test_known_classes_of_rows_wider_than_a_piece_are_counted_in_every_column(kernels):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 4, size=(7, 2100)).astype(np.float64)
    X[3, 1500] = np.nan
    codes, weight = np.array([0, 1, -1, 1, 0, 1, 1], np.int32), rng.random(7)
    member = (codes[:, None] == np.arange(2)) * weight[:, None]
    counts = np.zeros((2100, 2))
    kernels.dense_class_counts(X, codes, weight, counts)
    np.testing.assert_allclose(counts, np.nan_to_num(X).T @ member, rtol=1e-12)
    moments = [np.zeros((2100, 2)) for _ in range(3)]
    kernels.gaussian_class_moments(X, codes, weight, np.zeros((2100, 2)), *moments)
    np.testing.assert_allclose(moments[0], (~np.isnan(X)).T.astype(float) @ member, rtol=1e-12)
    np.testing.assert_allclose(moments[1], counts, rtol=1e-12)


def test_an_impossible_level_in_the_last_column_of_full_rows_is_skipped_by_zeros(kernels):
    for n_classes in (4, 5, 9, 17):
        X, table = np.ones((9, 7)), np.zeros((7, n_classes))
        X[:4, -1] = 0.0
        table[-1, -1] = -np.inf
        out = np.zeros((9, n_classes))
        kernels.dense_scores(X, table, out)
        assert (out[:4] == 0.0).all()
        assert np.isneginf(out[4:, -1]).all()


def test_a_word_index_keeps_counts_of_one_and_two_apart(kernels):
    index = kernels.csr_word_index(np.array([0, 2]), np.array([0, 1]), np.array([1, 2]), 2)
    assert index.counts.tolist() == [1, 2]
