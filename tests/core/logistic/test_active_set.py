"""The elastic-net quadratic: optimality conditions, and agreement with coordinate descent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcount.core.elastic_net import coordinate_descent
from softcount.core.logistic.active_set import minimize_elastic_net


def make_quadratic(seed):
    rng = np.random.default_rng(seed)
    n_columns, n_rows = int(rng.integers(1, 25)), int(rng.integers(2, 50))
    X = rng.normal(size=(n_rows, n_columns))
    X[:, n_columns // 2 :] += X[:, : n_columns - n_columns // 2] * rng.uniform(0.0, 5.0)
    gram = X.T @ X + 1e-3 * np.eye(n_columns)
    linear = 3.0 * X.T @ rng.normal(size=n_rows)
    start = rng.normal(size=n_columns) * (rng.random(n_columns) < 0.5)
    return gram, linear, start, rng.choice([0.0, 0.5, 2.0, 10.0], n_columns)


@given(st.integers(0, 10**6))
def test_the_answer_satisfies_the_conditions_of_optimality(seed):
    gram, linear, start, l1 = make_quadratic(seed)
    coef, is_lowest = minimize_elastic_net(gram, linear, start, l1)
    slope = linear - gram @ coef
    scale = np.abs(linear).max() + 1.0
    assert is_lowest
    assert np.all(np.abs(slope - l1 * np.sign(coef))[coef != 0.0] <= 1e-9 * scale)
    assert np.all(np.abs(slope[coef == 0.0]) <= l1[coef == 0.0] + 1e-9 * scale)


@pytest.mark.parametrize("seed", range(10))
def test_coordinate_descent_finds_the_same_point(seed):
    gram, linear, start, l1 = make_quadratic(seed)
    gram = gram + np.eye(len(gram))
    coef, _ = minimize_elastic_net(gram, linear, start, l1)
    other = coordinate_descent(gram, linear, start, l1, np.zeros_like(l1), tolerance=1e-13)
    np.testing.assert_allclose(coef, other, atol=1e-8)


def test_a_few_steps_are_lower_than_the_start_and_say_that_they_are_not_all():
    gram, linear, _, l1 = make_quadratic(11)

    def value(coef):
        return 0.5 * coef @ gram @ coef - linear @ coef + l1 @ np.abs(coef)

    start = 5.0 * np.ones(len(linear))
    coef, is_lowest = minimize_elastic_net(gram, linear, start, l1, most_steps=1)
    assert not is_lowest
    assert value(coef) < value(start)


def test_a_singular_quadratic_has_an_answer():
    gram = np.ones((3, 3))
    coef, is_lowest = minimize_elastic_net(gram, 2.0 * np.ones(3), np.zeros(3), np.full(3, 0.5))
    assert is_lowest
    assert coef.sum() == pytest.approx(1.5)
    assert np.all(coef >= 0.0)


def test_columns_without_curvature_stay_zero():
    coef, _ = minimize_elastic_net(np.diag([1.0, 0.0]), np.array([2.0, 0.0]), np.ones(2), np.zeros(2))
    np.testing.assert_array_equal(coef, [2.0, 0.0])
