"""Ledoit and Wolf's intensity and the prior that stands for shrinkage, against scikit-learn and the formulas."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage

from softcount.core.chunks import Chunks
from softcount.core.covariance_prior import CovariancePlan, LabeledMoments
from softcount.core.execute import ThreadExecutor
from softcount.core.shrinkage import ledoit_wolf_by_class, ledoit_wolf_intensity
from softcount.families import DenseBlock, Gaussian, Moments, MultivariateGaussian


def standardized(n_samples, n_features, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) @ (np.eye(n_features) + 0.3 * rng.normal(size=(n_features,) * 2))
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize(("n_samples", "n_features"), [(5, 3), (30, 10), (12, 40), (400, 6), (50, 1)])
def test_the_intensity_is_that_of_scikit_learn(n_samples, n_features):
    Z = standardized(n_samples, n_features)
    fourth = float(np.sum(np.sum(Z**2, axis=1) ** 2))
    found = ledoit_wolf_intensity(float(n_samples), Z.T @ Z / n_samples, fourth)
    np.testing.assert_allclose(found, ledoit_wolf_shrinkage(Z), rtol=1e-10, atol=1e-14)


def test_a_weight_of_three_is_three_rows_and_any_number_of_chunks_gives_the_same():
    Z = standardized(40, 5)
    weight = np.arange(40) % 4

    def by_class(values, weights, rows_per_chunk):
        chunks = Chunks((DenseBlock(values),), None, weights, rows_per_chunk=rows_per_chunk)
        mean = np.average(values, axis=0, weights=weights)[:, None]
        variance = np.average((values - mean.T) ** 2, axis=0, weights=weights)[:, None]
        return ledoit_wolf_by_class(chunks, ThreadExecutor(2), lambda c: c.weight[:, None], mean, variance)

    weighted = by_class(Z, weight.astype(float), 7)
    copied = by_class(np.repeat(Z, weight, axis=0), np.ones(weight.sum()), 1000)
    np.testing.assert_allclose(weighted.intensity, copied.intensity, rtol=1e-10)
    np.testing.assert_allclose(weighted.shrunk(), copied.shrunk(), rtol=1e-10, atol=1e-13)


def labeled(seed=0):
    """Moments of three classes of 10, 20 and 30 rows in four columns."""
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(n, 4)) @ np.diag([1.0, 2.0, 0.5, 1.0]) for n in (10, 20, 30)]
    weight = np.tile([10.0, 20.0, 30.0], (4, 1))
    mean = np.stack([r.mean(axis=0) for r in rows], axis=1)
    scatter = np.stack([(r - r.mean(axis=0)).T @ (r - r.mean(axis=0)) for r in rows])
    moments = Moments(weight, mean, scatter)
    return LabeledMoments.from_moments(weight[0], moments), moments


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("s", [0.0, 0.3, 0.99, 1.0])
def test_the_prior_makes_the_mode_the_shrunk_covariance(s, unbiased):
    moments_by_class, moments = labeled()
    plan = CovariancePlan("full", False, unbiased, s, 0.0)
    prior = plan.prior(moments_by_class, None, iterates=False)
    found = MultivariateGaussian().solve(moments, prior)["cov"]
    for k, n in enumerate((10.0, 20.0, 30.0)):
        cov = moments.scatter[k] / (n - unbiased)
        expected = (1.0 - s) * cov + s * np.trace(cov) / 4.0 * np.eye(4)
        np.testing.assert_allclose(found[k], expected, rtol=1e-11, atol=1e-13)


def test_the_priors_strength_follows_the_weight_of_all_rows():
    """Ten times the rows with the same moments are shrunk by the same share: the prior grows with them."""
    moments_by_class, moments = labeled()
    prior = CovariancePlan("tied", True, False, 0.4, 0.0).prior(moments_by_class, None, iterates=True)
    family = MultivariateGaussian(shared=True)
    once, tenfold = family.solve(moments, prior)["cov"], family.solve(moments.scaled(10.0), prior)["cov"]
    np.testing.assert_allclose(once, tenfold, rtol=1e-12)


@pytest.mark.parametrize("s", [0.0, 0.3, 1.0])
def test_the_mode_maximizes_the_objective_the_prior_stands_for(s):
    """The expected log-likelihood plus the log-prior is lower at every nearby covariance."""
    moments_by_class, moments = labeled()
    family = Gaussian()
    diagonal = Moments(moments.weight, moments.mean, np.diagonal(moments.scatter, axis1=1, axis2=2).T)
    prior = CovariancePlan("diag", False, True, s, 0.0).prior(moments_by_class, None, iterates=False)
    prior = family.anchored(prior, diagonal.pooled())
    params = family.solve(diagonal, prior)

    def objective(var):
        log_likelihood = -0.5 * np.sum(diagonal.weight * np.log(var) + diagonal.scatter / var)
        return log_likelihood + family.log_prior({"mean": params["mean"], "var": var}, prior)

    best = objective(params["var"])
    for factor in (0.99, 1.01):
        if s < 1.0:
            assert objective(params["var"] * factor) < best
        else:
            # An infinitely strong prior adds nothing to the objective: the variance is simply fixed.
            np.testing.assert_allclose(family.log_prior(params, prior), 0.0)


def test_a_class_without_labeled_rows_is_given_a_share_only_where_em_follows():
    weight = np.array([[6.0, 2.0, 0.0]])
    moments = LabeledMoments(weight[0], weight, np.zeros((1, 3)), np.array([[6.0, 2.0, 0.0]]))
    plan = CovariancePlan("diag", False, False, 0.5, 0.0)
    closed, open_ = (plan.prior(moments, None, iterates=i).relative for i in (False, True))
    np.testing.assert_allclose(closed[1], [[0.75, 0.25, 0.0]])
    np.testing.assert_allclose(open_[1], [[0.75, 0.25, 0.5]])
