"""A conjugate prior of a variance that several means share counts the density of every mean."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount import GaussianMixture, GaussianNB, LatentClass, Mixture, NaiveBayes, priors

GAMMA = priors.NormalInverseGamma(mean=0.5, kappa=2.0, shape=3.0, scale=4.0)


def labeled_rows(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=90)
    return rng.normal(size=(90, 2)) * [1.0, 2.0] + y[:, None], y


def pooled_scatter(X, y, kappa=2.0, prior_mean=0.5):
    """Scatter within the classes, each merged with ``kappa`` pseudo-rows at the prior's mean."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for k in np.unique(y):
        rows = np.vstack([X[y == k], np.full((1, X.shape[1]), prior_mean)])
        weight = np.append(np.ones(len(rows) - 1), kappa)
        deviation = rows - weight @ rows / weight.sum()
        total += (deviation * weight[:, None]).T @ deviation
    return total


@pytest.mark.parametrize("cls", [NaiveBayes, Mixture, LatentClass])
@pytest.mark.parametrize("shared", [False, True])
def test_mixed_tables_give_what_gaussian_naive_bayes_gives(cls, shared):
    X, y = labeled_rows()
    reference = GaussianNB(shared_variance=shared, var_smoothing=0.0, feature_prior=GAMMA).fit(X, y)
    options = {"n_components": 3} if cls is not NaiveBayes else {}
    model = cls(
        families="gaussian", shared_variance=shared, var_smoothing=0.0, feature_prior={"gaussian": GAMMA}, **options
    ).fit(X, y)
    assert_allclose(model.params_.blocks[0]["var"], reference.params_.blocks[0]["var"], rtol=1e-12)
    assert_allclose(model.params_.blocks[0]["mean"], reference.params_.blocks[0]["mean"], rtol=1e-12)


@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_one_variance_for_all_columns_has_the_density_of_every_mean(estimate):
    X, y = labeled_rows()
    model = GaussianMixture(3, covariance_type="spherical", reg_covar=0.0, feature_prior=GAMMA, estimate=estimate).fit(
        X, y
    )
    added = 2.0 * 3.0 + 2.0 + X.shape[1] if estimate == "mode" else 2.0 * 3.0 - 2.0
    for k in range(3):
        scatter = np.trace(pooled_scatter(X[y == k], y[y == k]))
        expected = (scatter + 2.0 * 4.0) / (X[y == k].size + added)
        assert_allclose(model.covariances_[k], expected, rtol=1e-12)


@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_a_tied_covariance_has_the_density_of_every_mean(estimate):
    X, y = labeled_rows()
    wishart = priors.NormalInverseWishart(mean=[0.5, 0.5], kappa=2.0, df=6.0, scale=np.diag([2.0, 3.0]))
    model = GaussianMixture(3, covariance_type="tied", reg_covar=0.0, feature_prior=wishart, estimate=estimate)
    model.fit(X, y)
    divisor = len(X) + (6.0 + 2.0 + 1.0 + 3.0 if estimate == "mode" else 6.0 - 2.0 - 1.0)
    assert_allclose(model.covariances_, (pooled_scatter(X, y) + np.diag([2.0, 3.0])) / divisor, rtol=1e-12)
