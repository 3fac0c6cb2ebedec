"""Scores become responsibilities as the specification says, to the last digits."""

from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels import specification
from tests.kernels.data import cases


def uniform(n_classes):
    return np.full(n_classes, -log(n_classes))


@given(case=cases(max_rows=70), spread=st.sampled_from([1e-3, 1.0, 30.0, 1e4]), wants_log_norm=st.booleans())
def test_responsibilities_equal_the_specification(kernels, case, spread, wants_log_norm):
    scores = case.rng.normal(size=(case.n_rows, case.n_classes)) * spread - 100.0
    scores[case.rng.random(scores.shape) < 0.2] = -inf
    weight, fallback = case.weight(), np.log(case.rng.dirichlet(np.ones(case.n_classes)))
    log_norm_out = np.zeros(case.n_rows) if wants_log_norm else None
    resp, log_norm, log_likelihood = specification.normalize_rows(scores, weight, fallback)
    got = kernels.normalize_rows(scores, weight, fallback, log_norm_out)
    np.testing.assert_allclose(scores, resp, rtol=1e-12, atol=1e-320)
    if log_norm_out is not None:
        np.testing.assert_allclose(log_norm_out, log_norm, rtol=1e-13)
    assert got == pytest.approx(log_likelihood, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 8, 17, 100, 1000])
def test_rows_sum_to_their_weight(kernels, n_classes):
    rng = np.random.default_rng(0)
    scores, weight = rng.normal(size=(200, n_classes)) * 20, rng.random(200)
    kernels.normalize_rows(scores, weight, uniform(n_classes), None)
    np.testing.assert_allclose(scores.sum(axis=1), weight, rtol=1e-14)


def test_an_impossible_row_gets_the_fallback_and_makes_the_likelihood_minus_infinity(kernels):
    scores, log_norm = np.array([[-inf, -inf], [0.0, 0.0]]), np.zeros(2)
    total = kernels.normalize_rows(scores, np.array([2.0, 1.0]), np.log([0.25, 0.75]), log_norm)
    assert total == -inf
    np.testing.assert_allclose(scores, [[0.5, 1.5], [0.5, 0.5]], rtol=1e-15)
    assert log_norm.tolist() == [-inf, log(2)]


def test_a_row_of_weight_zero_adds_nothing_even_if_impossible(kernels):
    scores = np.array([[-inf, -inf], [0.0, 0.0]])
    assert kernels.normalize_rows(scores, np.array([0.0, 1.0]), uniform(2), None) == log(2)
    assert scores[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n_classes", [1, 5, 64, 65, 300])
def test_impossible_rows_with_and_without_weight_are_told_apart_however_many_classes_there_are(kernels, n_classes):
    scores, weight = np.full((3, n_classes), -inf), np.array([0.0, 2.0, 0.0])
    scores[2] = -1.0
    assert kernels.normalize_rows(scores[::2].copy(), weight[::2].copy(), uniform(n_classes), None) == 0.0
    assert kernels.normalize_rows(scores, weight, uniform(n_classes), None) == -inf
    np.testing.assert_allclose(scores, np.outer(weight, np.full(n_classes, 1.0 / n_classes)))


def test_a_class_the_fallback_excludes_stays_excluded(kernels):
    scores = np.full((1, 3), -inf)
    kernels.normalize_rows(scores, None, np.array([-inf, 0.0, -inf]), None)
    assert scores.tolist() == [[0.0, 1.0, 0.0]]


def test_no_rows_have_likelihood_one(kernels):
    assert kernels.normalize_rows(np.zeros((0, 4)), None, uniform(4), np.zeros(0)) == 0.0


def test_nan_is_passed_on_and_not_hidden(kernels):
    scores = np.array([[0.0, np.nan, 0.0, 0.0, 0.0]])
    assert np.isnan(kernels.normalize_rows(scores, None, uniform(5), None))
    assert np.isnan(scores).all()


def test_exponentials_are_within_two_units_in_the_last_place_down_to_the_smallest_number(kernels):
    distance = np.concatenate([np.linspace(0, 40, 4001), np.linspace(40, 746, 20001)])
    scores = np.stack([np.zeros_like(distance), -distance], axis=1)
    kernels.normalize_rows(scores, None, uniform(2), None)
    # The other class has 1 / (1 + e), which is known to half a unit.
    for x, got in zip(distance, scores[:, 1], strict=True):
        exact = exp(-x) / (1.0 + exp(-x))
        assert abs(got - exact) <= 3 * np.spacing(exact)


def test_logarithms_are_within_two_units_in_the_last_place(kernels):
    scores = -np.linspace(0, 40, 8001)[:, None] * np.array([0.0, 1.0])
    exact = np.log1p(np.exp(scores[:, 1]))
    log_norm = np.zeros(len(scores))
    kernels.normalize_rows(scores, None, uniform(2), log_norm)
    assert (np.abs(log_norm - exact) <= 3e-16 + 2 * np.spacing(exact)).all()


@pytest.mark.parametrize("n_classes", [65, 66, 67, 71, 131])
def test_the_last_of_many_classes_may_be_the_likeliest_by_far(kernels, n_classes):
    scores = np.full((3, n_classes), -900.0)
    scores[:, -1] = [-100.0, 0.0, -900.0]
    log_norm = np.zeros(3)
    kernels.normalize_rows(scores, None, uniform(n_classes), log_norm)
    np.testing.assert_allclose(log_norm, [-100.0, 0.0, -900.0 + log(n_classes)], rtol=1e-14)
    assert scores[0, -1] == scores[1, -1] == 1.0
    np.testing.assert_allclose(scores[2], 1.0 / n_classes)
