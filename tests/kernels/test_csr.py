"""Sparse kernels equal the specification, whatever the types, sizes and special values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcount.kernels import word_index_pays
from tests.kernels import specification
from tests.kernels.data import COUNT_TYPES, cases, sparse_chunk
from tests.kernels.specification import assert_equal

INDEX_TYPES = st.sampled_from(["int32", "int64"])


@given(case=cases(), dtype=st.sampled_from(COUNT_TYPES), index_type=INDEX_TYPES, binary=st.booleans())
def test_scores_equal_the_specification(kernels, case, dtype, index_type, binary):
    X = case.counts(dtype, largest=1 if binary else 5)
    table, out = case.table(), case.start(case.n_rows, case.n_classes)
    expected = specification.scores(X, table, out)
    kernels.csr_scores(*sparse_chunk(X, index_type, binary=binary), table, out)
    assert_equal(out, expected)


@given(case=cases(), dtype=st.sampled_from(COUNT_TYPES), index_type=INDEX_TYPES, binary=st.booleans())
def test_expected_counts_equal_the_specification(kernels, case, dtype, index_type, binary):
    X = case.counts(dtype, largest=1 if binary else 5)
    resp, out = case.resp(), case.start(case.n_features, case.n_classes)
    expected = specification.accumulate(X, resp, out)
    kernels.csr_accumulate(*sparse_chunk(X, index_type, binary=binary), resp, out)
    assert_equal(out, expected)


@given(case=cases(), dtype=st.sampled_from(COUNT_TYPES), index_type=INDEX_TYPES, binary=st.booleans())
def test_counting_word_by_word_equals_counting_row_by_row(kernels, case, dtype, index_type, binary):
    X = case.counts(dtype, largest=1 if binary else 100)
    resp, out = case.resp(), case.start(case.n_features, case.n_classes)
    expected = specification.accumulate(X, resp, out)
    index = kernels.csr_word_index(*sparse_chunk(X, index_type, binary=binary), case.n_features)
    kernels.csr_accumulate_words(index, resp, out)
    assert_equal(out, expected)


@given(case=cases(), dtype=st.sampled_from(COUNT_TYPES), index_type=INDEX_TYPES, binary=st.booleans())
def test_counts_of_known_classes_equal_the_specification(kernels, case, dtype, index_type, binary):
    X = case.counts(dtype, largest=1 if binary else 5)
    class_codes, weight = case.class_codes(), case.weight()
    out = case.start(case.n_features, case.n_classes)
    expected = specification.class_counts(X, class_codes, weight, out)
    by_class = np.ascontiguousarray(out.T)
    kernels.csr_class_counts(*sparse_chunk(X, index_type, binary=binary), class_codes, weight, by_class)
    assert_equal(by_class.T, expected)


def test_the_word_index_takes_two_bytes_per_binary_and_three_per_counted_entry(kernels):
    rng = np.random.default_rng(0)
    X = (rng.random((5000, 100)) < 0.3).astype(np.int64)
    indptr, indices, data = sparse_chunk(X, explicit_zeros=False)
    overhead = 100 * 8 + 4
    index = kernels.csr_word_index(indptr, indices, data, 100)
    assert index.counts is None
    assert index.nbytes <= 2 * X.sum() + overhead
    index = kernels.csr_word_index(indptr, indices, data * 7, 100)
    assert set(index.counts) == {7}
    assert index.nbytes <= 3 * X.sum() + overhead


def test_an_index_by_words_pays_for_tables_larger_than_a_cache():
    assert word_index_pays(50_000, 20)
    assert not word_index_pays(50_000, 2)
    assert not word_index_pays(2_000, 20)


def test_the_word_index_lists_rows_in_order_and_leaves_out_zeros_and_absent_columns(kernels):
    X = np.array([[0, 2, 0, 1], [0, 0, 0, 1], [0, 3, 0, 0]])
    index = kernels.csr_word_index(*sparse_chunk(X), 4)
    assert index.words.tolist() == [1, 3]
    assert index.starts.tolist() == [0, 2, 4]
    assert index.rows.tolist() == [0, 2, 0, 1]
    assert index.counts.tolist() == [2, 3, 1, 1]


@pytest.mark.parametrize("value", [256.0, 0.5, -1.0, np.nan, np.inf])
def test_values_that_do_not_fit_a_byte_have_no_word_index(kernels, value):
    indptr, indices = np.array([0, 2], np.int32), np.array([0, 1], np.int32)
    assert kernels.csr_word_index(indptr, indices, np.array([1.0, value]), 2) is None


def test_a_column_listed_twice_in_a_row_counts_twice(kernels):
    indptr, indices, data = np.array([0, 3]), np.array([1, 0, 1]), np.array([2.0, 1.0, 3.0])
    table, out = np.array([[1.0, 2.0], [10.0, 20.0]]), np.zeros((1, 2))
    kernels.csr_scores(indptr, indices, data, table, out)
    assert out.tolist() == [[51.0, 102.0]]
    index = kernels.csr_word_index(indptr, indices, data, 2)
    counts = np.zeros((2, 1))
    kernels.csr_accumulate_words(index, np.ones((1, 1)), counts)
    assert counts.tolist() == [[1.0], [5.0]]


@pytest.mark.parametrize("index_type", ["int32", "int64"])
def test_a_column_listed_twice_in_a_row_is_noticed_in_any_order(kernels, index_type):
    def repeats(starts, columns):
        return kernels.csr_repeats(np.array(starts, index_type), np.array(columns, index_type), 4)

    assert not repeats([0, 3, 5], [3, 0, 2, 3, 0])
    assert repeats([0, 3, 5], [3, 0, 3, 3, 0])
    assert repeats([0, 3, 5], [3, 0, 2, 1, 1])
    # Entries outside the chunk have no part in it, and empty rows have none.
    assert not repeats([1, 3, 3, 4], [0, 0, 2, 0, 0])
    assert not repeats([0], [])


@pytest.mark.parametrize("n_classes", [1, 2, 3, 8, 20])
@pytest.mark.parametrize("binary", [True, False])
def test_a_row_of_a_million_tokens_keeps_twelve_digits(kernels, n_classes, binary):
    rng = np.random.default_rng(1)
    indices = rng.integers(0, 1000, size=1_000_000).astype(np.int32)
    indptr = np.array([0, indices.size])
    data = None if binary else np.full(indices.size, 0.25)
    table = rng.normal(size=(1000, n_classes)) - 8.0
    occurrences = np.bincount(indices, minlength=1000) * (1.0 if binary else 0.25)
    out = np.zeros((1, n_classes))
    kernels.csr_scores(indptr, indices, data, table, out)
    np.testing.assert_allclose(out, (occurrences @ table.astype(np.longdouble))[None].astype(float), rtol=1e-12)
    counts = np.zeros((1000, n_classes))
    kernels.csr_accumulate(indptr, indices, data, np.full((1, n_classes), 0.3), counts)
    np.testing.assert_allclose(counts, np.repeat(0.3 * occurrences[:, None], n_classes, axis=1), rtol=1e-12)


def test_explicit_zeros_meet_minus_infinity_without_becoming_nan(kernels):
    for n_classes in (1, 2, 3, 4, 7, 40):
        out = np.zeros((2, n_classes))
        table = np.full((1, n_classes), -np.inf)
        kernels.csr_scores(np.array([0, 1, 2]), np.array([0, 0]), np.array([0.0, 2.0]), table, out)
        assert (out[0] == 0.0).all()
        assert np.isneginf(out[1]).all()


def test_an_empty_chunk_changes_nothing(kernels):
    indptr, indices = np.array([5], np.int32), np.arange(9, dtype=np.int32)
    table, counts = np.ones((9, 2)), np.ones((9, 2))
    kernels.csr_scores(indptr, indices, None, table, np.zeros((0, 2)))
    kernels.csr_accumulate(indptr, indices, None, np.zeros((0, 2)), counts)
    kernels.csr_class_counts(indptr, indices, None, np.zeros(0, np.int32), None, np.ones((2, 9)))
    index = kernels.csr_word_index(indptr, indices, None, 9)
    kernels.csr_accumulate_words(index, np.zeros((0, 2)), counts)
    assert (counts == 1.0).all()
    assert index.rows.size == 0
