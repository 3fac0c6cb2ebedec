"""Explicit priors as parameters of the classifiers, and families of many kinds as columns."""

import numpy as np
import pytest

from softcount import BernoulliNB, GaussianNB, NaiveBayes, PoissonNB, priors

RNG = np.random.default_rng(3)
Y = np.repeat([0, 1], 20)


def test_a_beta_prior_gives_the_mode_of_the_posterior() -> None:
    X = RNG.integers(0, 2, (40, 3))
    model = BernoulliNB(feature_prior=priors.Beta(3.0, 2.0)).fit(X, Y)
    ones = X[Y == 1].sum(axis=0)
    expected = (ones + 3.0 - 1.0) / (20 + 3.0 + 2.0 - 2.0)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[1]), expected, rtol=1e-12)


def test_a_beta_prior_gives_the_mean_of_the_posterior_if_asked() -> None:
    X = RNG.integers(0, 2, (40, 3))
    model = BernoulliNB(feature_prior=priors.Beta(3.0, 2.0), estimate="mean").fit(X, Y)
    expected = (X[Y == 0].sum(axis=0) + 3.0) / (20 + 5.0)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]), expected, rtol=1e-12)


def test_a_gamma_prior_of_a_poisson_rate_is_not_taken_for_another_familys() -> None:
    X = RNG.poisson(3.0, (40, 2))
    model = PoissonNB(feature_prior=priors.Gamma(4.0, 2.0), estimate="mean").fit(X, Y)
    np.testing.assert_allclose(model.rate_[1], (X[Y == 1].sum(axis=0) + 4.0) / (20 + 2.0), rtol=1e-12)


def test_a_normal_inverse_gamma_prior_draws_means_towards_its_own() -> None:
    X = RNG.normal(size=(40, 2))
    prior = priors.NormalInverseGamma(mean=10.0, kappa=5.0, shape=3.0, scale=2.0)
    model = GaussianNB(feature_prior=prior).fit(X, Y)
    np.testing.assert_allclose(model.theta_[0], (X[Y == 0].sum(axis=0) + 5.0 * 10.0) / 25.0, rtol=1e-10)


@pytest.mark.parametrize("family", ["inverse_gaussian", "gamma", "exponential", "geometric", "poisson", "gaussian"])
def test_positive_numbers_can_be_columns_of_any_family_with_the_default_prior(family: str) -> None:
    X = RNG.poisson(4.0 + 3.0 * Y[:, None], (40, 2)) + 1.0
    model = NaiveBayes(families=family).fit(X, Y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.score(X, Y) > 0.6
