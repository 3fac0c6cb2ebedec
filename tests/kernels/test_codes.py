"""Categorical kernels equal the specification."""

import numpy as np
import pytest
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


# ---- a whole pass
def one_pass(kernels, codes, offsets, table, log_weights, *, weight=None, n_runs=1):
    """Counts, class weights and log-likelihoods of a pass."""
    found = np.zeros(table.shape), np.zeros(table.shape[1]), np.zeros(n_runs)
    kernels.codes_pass(codes, offsets, table, log_weights, weight, *found)
    return found


def log_weights_for(case, n_runs=1):
    return np.log(case.rng.dirichlet(np.ones(case.n_classes), n_runs)).ravel()


@given(case=cases(max_rows=70), dtype=CODE_TYPES)
def test_a_pass_counts_what_its_three_steps_count(kernels, case, dtype):
    codes, offsets, X = draw_codes(case, dtype)
    table, log_weights, weight = -np.abs(case.table(int(offsets[-1]))), log_weights_for(case), case.weight()
    scores, _ = specification.scores(X, table, np.tile(log_weights, (case.n_rows, 1)))
    resp, _, log_likelihood = specification.normalize_rows(scores, weight, log_weights)
    expected, _ = specification.accumulate(X, resp, np.zeros(table.shape))
    counts, class_weight, found = one_pass(kernels, codes, offsets, table, log_weights, weight=weight)
    np.testing.assert_allclose(counts, expected, rtol=1e-12, atol=1e-100)
    np.testing.assert_allclose(class_weight, resp.sum(axis=0), rtol=1e-12, atol=1e-100)
    np.testing.assert_allclose(found[0], log_likelihood, rtol=1e-12, atol=1e-12)


@given(case=cases(max_rows=70), n_runs=st.integers(2, 5))
def test_each_run_of_a_pass_gets_the_bits_that_it_gets_alone(kernels, case, n_runs):
    codes, offsets, _ = draw_codes(case, "int8")
    tables = [-np.abs(case.table(int(offsets[-1]))) for _ in range(n_runs)]
    log_weights, weight = log_weights_for(case, n_runs).reshape(n_runs, -1), case.weight()
    wide = one_pass(kernels, codes, offsets, np.hstack(tables), log_weights.ravel(), weight=weight, n_runs=n_runs)
    for run in range(n_runs):
        own = slice(run * case.n_classes, (run + 1) * case.n_classes)
        counts, class_weight, found = one_pass(kernels, codes, offsets, tables[run], log_weights[run], weight=weight)
        np.testing.assert_array_equal(wide[0][:, own], counts)
        np.testing.assert_array_equal(wide[1][own], class_weight)
        assert wide[2][run] == found[0]


@pytest.mark.parametrize("n_columns", [12, 700])
def test_rows_that_are_found_a_part_at_a_time_are_counted_once(kernels, n_columns):
    rng = np.random.default_rng(0)
    n_rows, n_runs, n_classes = 5000 if n_columns == 12 else 50, 3, 2
    codes, offsets = rng.integers(0, 3, (n_rows, n_columns)).astype(np.int8), np.arange(n_columns + 1) * 3
    shares = 1.0 + 1e-3 * rng.random((n_columns, 3, n_runs * n_classes))
    table = np.log(shares / shares.sum(axis=1, keepdims=True)).reshape(3 * n_columns, -1)
    counts, class_weight, found = one_pass(kernels, codes, offsets, table, np.full(6, -np.log(2.0)), n_runs=n_runs)
    np.testing.assert_allclose(counts.reshape(n_columns, 3, n_runs, n_classes).sum(axis=(1, 3)), n_rows, rtol=1e-12)
    np.testing.assert_allclose(class_weight.reshape(n_runs, n_classes).sum(axis=1), n_rows, rtol=1e-12)
    np.testing.assert_allclose(found, -n_rows * n_columns * np.log(3.0), rtol=1e-3)


@pytest.mark.parametrize("n_rows", [40, 2000])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_neighboring_columns_of_few_levels_are_counted_as_each_would_be(kernels, n_rows, dtype):
    rng = np.random.default_rng(1)
    n_levels = np.array([2, 2, 2, 5, 5, 1, 1, 1, 70, 3, 7, 7, 2])
    offsets = np.concatenate([[0], np.cumsum(n_levels)])
    codes = rng.integers(0, n_levels, (n_rows, n_levels.size)).astype(dtype)
    missing = 255 if dtype == "uint8" else -1
    codes[rng.random(codes.shape) < 0.1] = missing
    table, weight = -2.0 * rng.random((int(offsets[-1]), 3)), rng.integers(0, 3, n_rows).astype(float)
    table[[0, 4, 20], [0, 1, 2]] = -np.inf
    X, log_weights = specification.one_hot(codes.astype(np.int64), offsets, missing), np.log([0.2, 0.3, 0.5])
    scores, _ = specification.scores(X, table, np.tile(log_weights, (n_rows, 1)))
    resp, _, log_likelihood = specification.normalize_rows(scores, weight, log_weights)
    expected, _ = specification.accumulate(X, resp, np.zeros(table.shape))
    counts, class_weight, found = one_pass(kernels, codes, offsets, table, log_weights, weight=weight)
    np.testing.assert_allclose(counts, expected, rtol=1e-12, atol=1e-100)
    np.testing.assert_allclose(class_weight, resp.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found[0], log_likelihood, rtol=1e-12)


@pytest.mark.parametrize("column", [0, 1, 11])
def test_a_code_out_of_range_is_named_by_its_place_though_its_column_shares_a_table(kernels, column):
    codes, offsets = np.zeros((2000, 12), np.int8), np.arange(13) * 5
    codes[1500, column], codes[1501, 3], codes[3, 4] = 5, 7, -1
    with pytest.raises(IndexError, match=rf"codes\[1500, {column}\] is 5"):
        one_pass(kernels, codes, offsets, np.full((60, 2), -1.6), np.full(2, -0.7))


def test_rows_whose_probability_would_underflow_are_counted_all_the_same(kernels):
    codes, offsets = np.zeros((20, 40), np.int8), np.arange(41)
    table = np.column_stack([np.full(40, -30.0), np.full(40, -30.0), np.full(40, -30.5)])
    counts, class_weight, found = one_pass(kernels, codes, offsets, table, np.log([0.25, 0.25, 0.5]))
    share = np.array([0.25, 0.25, 0.5 * np.exp(-20.0)]) / (0.5 + 0.5 * np.exp(-20.0))
    np.testing.assert_allclose(class_weight, 20.0 * share, rtol=1e-11)
    np.testing.assert_allclose(counts, np.tile(20.0 * share, (40, 1)), rtol=1e-11)
    np.testing.assert_allclose(found, 20.0 * (-1200.0 + np.log(0.5 + 0.5 * np.exp(-20.0))), rtol=1e-13)


def test_an_impossible_row_goes_to_the_classes_as_they_are(kernels):
    codes, offsets = np.array([[0], [1]], np.int8), np.array([0, 2])
    table = np.array([[0.0, 0.0], [-np.inf, -np.inf]])
    log_weights = np.log([0.25, 0.75])
    counts, class_weight, found = one_pass(kernels, codes, offsets, table, log_weights, weight=np.array([1.0, 2.0]))
    np.testing.assert_allclose(counts, [[0.25, 0.75], [0.5, 1.5]], rtol=1e-15)
    np.testing.assert_allclose(class_weight, [0.75, 2.25], rtol=1e-15)
    assert found[0] == -np.inf
    found = one_pass(kernels, codes, offsets, table, log_weights, weight=np.array([1.0, 0.0]))[2]
    assert abs(found[0]) < 1e-15
