"""Covariances kept off the boundary: the constrained maximum, and the units it is measured in."""

import numpy as np
import pytest

from softcount.families import DenseBlock, Gaussian, MomentPrior, Moments, MultivariateGaussian
from softcount.families.covariance import (
    as_matrix,
    column_units,
    directions_at_bound,
    free_scatter,
    raised_covariance,
)
from softcount.families.gaussian_full_rows import FullGaussianScorer


def singular_scatter(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0]
    return (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)) / 3.0


def test_a_matrix_that_clears_the_bound_is_returned_unchanged():
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert raised_covariance(cov, np.array([0.1, 0.1])) is cov


def test_no_direction_is_left_below_the_bound_in_the_columns_units():
    bound = np.array([0.01, 1.0, 0.0001, 0.01, 0.01])
    raised = raised_covariance(singular_scatter(), bound)
    values = np.linalg.eigvalsh(raised / np.sqrt(np.outer(bound, bound)))
    np.testing.assert_allclose(values.min(), 1.0, rtol=1e-8)
    assert directions_at_bound({"cov": raised[None]}, bound, is_spherical=False) == [3]


def test_the_raised_matrix_is_the_most_likely_one_under_the_constraint():
    S, bound = singular_scatter(), np.array([0.01, 1.0, 0.0001, 0.01, 0.01])
    unit = np.sqrt(bound)

    def log_likelihood(cov):
        return -np.linalg.slogdet(cov)[1] - np.trace(np.linalg.solve(cov, S))

    best = log_likelihood(raised_covariance(S, bound))
    rng = np.random.default_rng(1)
    for _ in range(200):
        noise = rng.normal(size=(5, 5)) * rng.choice([1e-3, 0.1, 1.0])
        nudged = raised_covariance(S, bound) + unit[:, None] * (noise + noise.T) * unit
        feasible = raised_covariance(nudged, bound)
        assert log_likelihood(feasible) <= best + 1e-9


def test_units_are_within_class_variances_and_constant_columns_have_their_own():
    within, total = np.array([4.0, 0.0, 1e-40, 0.0]), np.array([9.0, 2.0, 1e-40, 0.0])
    unit, is_constant = column_units(within, total, np.array([1.0, 1.0, 5.0, 0.0]))
    np.testing.assert_allclose(unit, [4.0, 2.0, 25.0, 1.0])
    np.testing.assert_array_equal(is_constant, [False, False, True, True])


def test_a_number_or_a_row_of_numbers_is_a_diagonal_prior_scatter():
    np.testing.assert_array_equal(as_matrix(2.0, 2), [[2.0, 0.0], [0.0, 2.0]])
    np.testing.assert_array_equal(as_matrix([1.0, 3.0], 2), [[1.0, 0.0], [0.0, 3.0]])
    np.testing.assert_array_equal(as_matrix([[1.0, 0.5], [0.5, 3.0]], 2), [[1.0, 0.5], [0.5, 3.0]])


def test_a_prior_scatter_is_averaged_over_the_cells_that_share_a_variance():
    scatter = np.array([[1.0, 3.0], [5.0, 7.0]])
    np.testing.assert_array_equal(free_scatter(scatter, shared=True, spherical=False), [[2.0], [6.0]])
    np.testing.assert_array_equal(free_scatter(scatter, shared=True, spherical=True), [[4.0]])


@pytest.mark.parametrize("family", [Gaussian(), MultivariateGaussian()], ids=["diag", "full"])
def test_infinite_degrees_of_freedom_fix_the_covariance(family):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    tally = family.tally(DenseBlock(X), 2)
    tally.add(DenseBlock(X), rng.random((30, 2)))
    fixed = np.array([[2.0, 3.0], [4.0, 5.0]]) if family.name == "gaussian" else np.array([[2.0, 0.3], [0.3, 1.0]])
    prior = MomentPrior(scatter=fixed, dof=np.inf, floor=0.0)
    params = family.solve(tally.statistics(), prior)
    np.testing.assert_allclose(params["var"] if "var" in params else params["cov"][0], fixed)
    assert family.log_prior(params, prior) == 0.0


def test_a_spherical_variance_is_one_for_all_columns_also_where_a_class_has_no_weight():
    moments = Moments(np.array([[3.0, 0.0], [3.0, 0.0]]), np.zeros((2, 2)), np.array([[3.0, 0.0], [9.0, 0.0]]))
    var = Gaussian(spherical=True).solve(moments, MomentPrior(smoothing=0.0))["var"]
    np.testing.assert_allclose(var, 2.0)


@pytest.mark.parametrize("has_missing", [False, True])
def test_turning_rows_once_for_a_shared_covariance_gives_the_scores_of_each_class(has_missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) + 1e4
    if has_missing:
        X[::3, 1] = np.nan
    cov = np.cov(rng.normal(size=(4, 20)))
    params = {"mean": rng.normal(size=(4, 3)) + 1e4, "cov": np.broadcast_to(cov, (3, 4, 4)).copy()}
    shared, separate = np.zeros((50, 3)), np.zeros((50, 3))
    block = DenseBlock(X, has_missing)
    MultivariateGaussian(shared=True).scorer(params).add(block, shared)
    FullGaussianScorer(params).add(block, separate)
    np.testing.assert_allclose(shared, separate, rtol=1e-9)
