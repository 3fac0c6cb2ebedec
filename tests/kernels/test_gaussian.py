"""Gaussian kernels equal the specification."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels import specification
from tests.kernels.data import cases
from tests.kernels.specification import assert_equal

TYPES = st.sampled_from(["float64", "float32"])
MISSING = st.sampled_from([0.0, 0.02, 0.5, 1.0])
SMALL = cases(max_rows=80, max_features=12, classes=st.sampled_from([1, 2, 3, 8, 17]))


@given(case=SMALL, dtype=TYPES, missing=MISSING)
def test_scores_equal_the_specification(kernels, case, dtype, missing):
    X = case.reals(dtype, missing)
    mean, precision = case.table(impossible=0), case.rng.random((case.n_features, case.n_classes)) + 0.01
    out = case.start(case.n_rows, case.n_classes)
    expected = specification.gaussian_scores(X, mean, precision, out)
    kernels.gaussian_scores(X, mean, precision, out)
    assert_equal(out, expected)


@given(case=SMALL, dtype=TYPES, missing=MISSING)
def test_moments_equal_the_specification(kernels, case, dtype, missing):
    X, resp, center = case.reals(dtype, missing), case.resp(), case.table(impossible=0)
    outs = [case.start(case.n_features, case.n_classes) for _ in range(3)]
    expected = specification.gaussian_moments(X, resp, center, outs)
    kernels.gaussian_moments(X, resp, center, *outs)
    for out, values in zip(outs, expected, strict=True):
        assert_equal(out, values)


@given(case=SMALL, dtype=TYPES, missing=MISSING)
def test_moments_of_known_classes_equal_the_specification(kernels, case, dtype, missing):
    X, class_codes, weight = case.reals(dtype, missing), case.class_codes(), case.weight()
    center = case.table(impossible=0)
    outs = [case.start(case.n_features, case.n_classes) for _ in range(3)]
    resp = specification.member(class_codes, weight, case.n_classes)
    expected = specification.gaussian_moments(X, resp, center, outs)
    kernels.gaussian_class_moments(X, class_codes, weight, center, *outs)
    for out, values in zip(outs, expected, strict=True):
        assert_equal(out, values)


@pytest.mark.parametrize("n_features", [1, 31, 32, 33, 1500])
def test_wide_rows_equal_the_formula(kernels, n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(65, n_features))
    X[rng.random(X.shape) < 0.01] = np.nan
    mean, precision = rng.normal(size=(n_features, 3)), rng.random((n_features, 3)) + 0.5
    out = np.zeros((65, 3))
    kernels.gaussian_scores(X, mean, precision, out)
    terms = 0.5 * np.log(precision / (2 * np.pi)) - 0.5 * precision * (X[:, :, None] - mean) ** 2
    np.testing.assert_allclose(out, np.nansum(terms, axis=1), rtol=1e-12)
    class_codes = rng.integers(0, 3, size=65).astype(np.int32)
    outs = [np.zeros((n_features, 3)) for _ in range(3)]
    kernels.gaussian_class_moments(X, class_codes, None, mean, *outs)
    for power, moment in enumerate(outs):
        member = (class_codes[:, None] == np.arange(3))[:, None, :]
        expected = np.nansum(member * (X[:, :, None] - mean) ** power * ~np.isnan(X)[:, :, None], axis=0)
        np.testing.assert_allclose(moment, expected, rtol=1e-12, atol=1e-12)


def test_a_variance_of_one_around_a_mean_of_a_hundred_million_keeps_its_digits(kernels):
    rng = np.random.default_rng(0)
    noise = rng.integers(-8, 9, size=(1000, 1)) / 8.0
    outs = [np.zeros((1, 1)) for _ in range(3)]
    kernels.gaussian_moments(noise + 1e8, np.ones((1000, 1)), np.full((1, 1), 1e8), *outs)
    assert outs[1][0, 0] == noise.sum()
    assert outs[2][0, 0] == (noise**2).sum()
    scores = np.zeros((1000, 1))
    kernels.gaussian_scores(noise + 1e8, np.full((1, 1), 1e8), np.ones((1, 1)), scores)
    np.testing.assert_allclose(scores, -0.5 * (np.log(2 * np.pi) + noise**2), rtol=1e-14)


def test_rows_of_weight_zero_add_nothing_even_where_their_squares_overflow(kernels):
    X = np.array([[1e200, 1e-300], [1.0, 2.0]])
    outs = [np.zeros((2, 1)) for _ in range(3)]
    kernels.gaussian_class_moments(X, np.zeros(2, np.int32), np.array([0.0, 1.0]), np.zeros((2, 1)), *outs)
    assert [out.ravel().tolist() for out in outs] == [[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]]


def test_a_column_without_an_observed_cell_has_weight_exactly_zero(kernels):
    X = np.array([[np.nan, 1.0], [np.nan, 2.0], [np.nan, np.nan]])
    outs = [np.zeros((2, 1)) for _ in range(3)]
    kernels.gaussian_class_moments(X, np.zeros(3, np.int32), np.array([0.1, 0.2, 0.3]), np.zeros((2, 1)), *outs)
    assert outs[0][0, 0] == 0.0
    np.testing.assert_allclose(outs[0][1, 0], 0.3, rtol=1e-15)


@given(case=SMALL, dtype=TYPES)
def test_full_scores_equal_the_specification(kernels, case, dtype):
    X, mean = case.reals(dtype, missing=0), case.table(impossible=0).T.copy()
    factors = np.triu(case.rng.normal(size=(case.n_classes, case.n_features, case.n_features)))
    log_det, out = case.start(case.n_classes), case.start(case.n_rows, case.n_classes)
    expected = specification.gaussian_full_scores(X, mean, factors, log_det, out)
    kernels.gaussian_full_scores(X, mean, factors, log_det, out)
    assert_equal(out, expected)


@given(case=SMALL, dtype=TYPES)
def test_full_moments_equal_the_specification(kernels, case, dtype):
    X, resp, center = case.reals(dtype, missing=0), case.resp(), case.table(impossible=0).T.copy()
    k, d = case.n_classes, case.n_features
    outs = [case.start(k), case.start(k, d), case.start(k, d, d)]
    expected = specification.gaussian_full_moments(X, resp, center, outs)
    kernels.gaussian_full_moments(X, resp, center, *outs)
    for out, values in zip(outs, expected, strict=True):
        assert_equal(out, values)


@pytest.mark.parametrize("n_features", [1, 2, 7, 16, 33, 70])
def test_full_kernels_equal_matrix_products_in_any_dimension(kernels, n_features):
    rng = np.random.default_rng(0)
    X, resp = rng.normal(size=(150, n_features)), rng.random((150, 2))
    mean, factors = rng.normal(size=(2, n_features)), np.triu(rng.normal(size=(2, n_features, n_features)))
    out, outs = (
        np.zeros((150, 2)),
        [np.zeros(2), np.zeros((2, n_features)), np.zeros((2, n_features, n_features))],
    )
    kernels.gaussian_full_scores(X, mean, factors, np.zeros(2), out)
    kernels.gaussian_full_moments(X, resp, mean, *outs)
    for k in range(2):
        shifted = X - mean[k]
        square = ((shifted @ factors[k]) ** 2).sum(axis=1)
        np.testing.assert_allclose(out[:, k], -0.5 * (n_features * np.log(2 * np.pi) + square), rtol=1e-12)
        scatter = (shifted * resp[:, k, None]).T @ shifted
        np.testing.assert_allclose(outs[2][k], scatter, rtol=1e-12, atol=1e-10)
        np.testing.assert_array_equal(outs[2][k], outs[2][k].T)


def test_a_scatter_matrix_ignores_rows_of_weight_zero_however_large(kernels):
    X = np.array([[1e200, 1e200], [1.0, 2.0]])
    outs = [np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2, 2))]
    kernels.gaussian_full_moments(X, np.array([[0.0], [1.0]]), np.zeros((1, 2)), *outs)
    assert outs[2][0].tolist() == [[1.0, 2.0], [2.0, 4.0]]
