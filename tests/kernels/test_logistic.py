"""The pass of a logistic regression of two classes equals 60-digit arithmetic and NumPy."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcount.kernels import fallback

SIZES = [(0, 3), (1, 1), (7, 5), (64, 4), (130, 50), (333, 17), (40, 700), (100, 0)]


def problem(n_rows, n_features, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    coef = scale * rng.normal(size=n_features + 1)
    return X, coef, rng.normal(size=n_rows), rng.choice([-1.0, 1.0], n_rows), rng.integers(0, 3, n_rows).astype(float)


def answer(kernels, *rows):
    score, log_likelihood = np.ones(rows[0].shape[1] + 1), np.ones(1)
    kernels.logistic_score(*rows, score, log_likelihood)
    return score, log_likelihood


@pytest.mark.parametrize(("n_rows", "n_features"), SIZES)
@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("with_weight", [False, True])
def test_score_and_likelihood_equal_numpys(kernels, n_rows, n_features, with_offset, with_weight):
    X, coef, offset, sign, weight = problem(n_rows, n_features, scale=3.0)
    given = (X, coef, offset if with_offset else None, sign, weight if with_weight else None)
    score, log_likelihood = answer(kernels, *given)
    expected, expected_likelihood = answer(fallback, *given)
    np.testing.assert_allclose(score, expected, rtol=1e-12, atol=1e-12 * max(1, n_rows))
    np.testing.assert_allclose(log_likelihood, expected_likelihood, rtol=1e-13)


@given(eta=st.floats(-740.0, 740.0), sign=st.sampled_from([-1.0, 1.0]))
def test_a_row_keeps_its_digits_in_both_tails(kernels, eta, sign):
    score, log_likelihood = np.zeros(2), np.zeros(1)
    kernels.logistic_score(np.ones((1, 1)), np.array([0.0, eta]), None, np.array([sign]), None, score, log_likelihood)
    with mpmath.workdps(400):
        odds = mpmath.exp(-mpmath.mpf(sign * eta))
        expected_likelihood, expected = -mpmath.log(1 + odds), sign * odds / (1 + odds)
    # Subnormal numbers have fewer digits.
    assert float(log_likelihood[0]) == pytest.approx(float(expected_likelihood), rel=1e-14, abs=1e-307)
    assert float(score[1]) == pytest.approx(float(expected), rel=1e-14, abs=1e-307)


def test_a_row_that_is_no_number_makes_the_sums_none(kernels):
    X, coef, offset, sign, weight = problem(70, 6)
    X[33, 4] = np.nan
    score, log_likelihood = answer(kernels, X, coef, offset, sign, weight + 1.0)
    assert np.isnan(score).all()
    assert np.isnan(log_likelihood).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coef": np.zeros(6)}, "coef"),
        ({"sign": np.ones(6)}, "sign"),
        ({"offset": np.ones(8)}, "offset"),
        ({"weight": np.ones(8)}, "weight"),
        ({"score": np.zeros(4)}, "score"),
        ({"log_likelihood": np.zeros(2)}, "log_likelihood"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(kernels, change, message):
    X, coef, offset, sign, weight = problem(7, 4)
    arguments = {"coef": coef, "offset": offset, "sign": sign, "weight": weight}
    arguments |= {"score": np.zeros(5), "log_likelihood": np.zeros(1)} | change
    with pytest.raises(ValueError, match=message):
        kernels.logistic_score(X, *arguments.values())
