"""Categorical kernels equal the specification."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels import specification
from tests.kernels.data import cases
from tests.kernels.specification import assert_equal

CODE_TYPES = st.sampled_from(["int8", "uint8", "int16", "int32", "int64"])


def draw_codes(case, dtype, missing_rate=0.2):
    """Codes with some cells missing, the offsets of the columns, and the same as a 0/1 table."""
    n_levels = case.rng.integers(1, 6, size=case.n_features)
    offsets = np.concatenate([[0], np.cumsum(n_levels)]).astype(np.int64)
    codes = case.rng.integers(0, n_levels, size=(case.n_rows, case.n_features)).astype(dtype)
    missing = 255 if dtype == "uint8" else -1
    codes[case.rng.random(codes.shape) < missing_rate] = missing
    return codes, offsets, specification.one_hot(codes.astype(np.int64), offsets, missing)


@given(case=cases(), dtype=CODE_TYPES)
def test_scores_equal_the_specification(kernels, case, dtype):
    codes, offsets, X = draw_codes(case, dtype)
    table, out = case.table(int(offsets[-1])), case.start(case.n_rows, case.n_classes)
    expected = specification.scores(X, table, out)
    kernels.codes_scores(codes, offsets, table, out)
    assert_equal(out, expected)


@given(case=cases(), dtype=CODE_TYPES)
def test_expected_counts_equal_the_specification(kernels, case, dtype):
    codes, offsets, X = draw_codes(case, dtype)
    resp, out = case.resp(), case.start(int(offsets[-1]), case.n_classes)
    expected = specification.accumulate(X, resp, out)
    kernels.codes_accumulate(codes, offsets, resp, out)
    assert_equal(out, expected)


@given(case=cases(), dtype=CODE_TYPES)
def test_counts_of_known_classes_equal_the_specification(kernels, case, dtype):
    codes, offsets, X = draw_codes(case, dtype)
    class_codes, weight = case.class_codes(), case.weight()
    out = case.start(int(offsets[-1]), case.n_classes)
    expected = specification.class_counts(X, class_codes, weight, out)
    kernels.codes_class_counts(codes, offsets, class_codes, weight, out)
    assert_equal(out, expected)


def test_a_row_of_missing_cells_adds_nothing(kernels):
    offsets = np.array([0, 2, 5])
    out = np.zeros((1, 3))
    kernels.codes_scores(np.full((1, 2), -1, np.int32), offsets, np.full((5, 3), -np.inf), out)
    assert (out == 0.0).all()


def test_two_thousand_columns_and_ten_thousand_levels_are_read_to_the_last(kernels):
    rng = np.random.default_rng(0)
    offsets = np.arange(2001) * 5
    codes = rng.integers(0, 5, size=(3, 2000)).astype(np.int16)
    table, out = rng.normal(size=(10_000, 6)), np.zeros((3, 6))
    kernels.codes_scores(codes, offsets, table, out)
    np.testing.assert_allclose(out, table[codes + offsets[:-1]].sum(axis=1), rtol=1e-12, atol=1e-11)


def test_codes_in_columns_one_after_the_other_are_read_as_well(kernels):
    codes = np.asfortranarray(np.array([[0, 1], [1, 0], [-1, 1]], np.int32))
    counts = np.zeros((4, 1))
    kernels.codes_accumulate(codes, np.array([0, 2, 4]), np.ones((3, 1)), counts)
    assert counts.ravel().tolist() == [1.0, 1.0, 1.0, 2.0]
