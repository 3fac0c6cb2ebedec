"""Posteriors, predictive distributions and evidence, against integrals over the parameters."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from softcount import priors
from softcount._errors import InputError
from softcount.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Gaussian,
    Geometric,
    Multinomial,
    MultivariateGaussian,
    NegativeBinomial,
    Poisson,
)

COV = np.array([[2.0, 0.5], [0.5, 1.0]])
NIG = priors.NormalInverseGamma(mean=0.5, kappa=2.0, shape=3.0, scale=1.5)
NIW = priors.NormalInverseWishart(mean=[0.5, -0.5], kappa=1.5, df=5.0, scale=COV)
PAIRS = [
    (priors.Beta(2.5, 1.5), Bernoulli(), np.array([1.0, 0.0, 1.0, 1.0])),
    (priors.Beta(2.5, 1.5), Geometric(), np.array([3.0, 0.0, 2.0, 5.0])),
    (priors.Beta(2.5, 1.5), NegativeBinomial(size=2.5), np.array([3.0, 0.0, 2.0, 5.0])),
    (priors.Dirichlet([2.0, 0.5, 1.5]), Categorical(), np.array([0, 2, 1, 0])),
    (priors.Dirichlet([2.0, 0.5, 1.5]), Multinomial(), np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])),
    (priors.Gamma(2.5, 1.5), Poisson(), np.array([3.0, 0.0, 2.0, 5.0])),
    (priors.Gamma(2.5, 1.5), Exponential(), np.array([0.3, 2.0, 0.0, 1.1])),
    (NIG, Gaussian(), np.array([0.3, 2.0, -1.0, 0.5])),
    (NIW, MultivariateGaussian(), np.array([[0.3, 1.0], [0.0, -2.0], [1.5, 0.4]])),
]
every_pair = pytest.mark.parametrize(
    ("prior", "family", "x"), PAIRS, ids=[f"{type(p).__name__}-{f.name}" for p, f, _ in PAIRS]
)
# Those with a single number for a parameter, which can be integrated over, and how it becomes the family's parameters.
ONE_NUMBER = [
    (PAIRS[0], lambda p: Bernoulli().parameters(p), 1.0),
    (PAIRS[1], lambda p: Geometric().parameters(p), 1.0),
    (PAIRS[2], lambda p: NegativeBinomial(size=2.5).parameters(p), 1.0),
    (PAIRS[5], lambda p: Poisson().parameters(p), 60.0),
    (PAIRS[6], lambda p: Exponential().parameters(p), 60.0),
]
one_number = pytest.mark.parametrize(
    ("pair", "parameters", "high"), ONE_NUMBER, ids=[pair[1].name for pair, _, _ in ONE_NUMBER]
)


def averaged(prior, family, parameters, high, x):
    def weighted(theta):
        likelihood = np.sum(family.log_prob(x, parameters(theta)))
        return np.exp(likelihood + prior.log_density(theta))

    return integrate.quad(weighted, 0.0, high, epsabs=1e-14, epsrel=1e-12, limit=200)[0]


@one_number
def test_the_predictive_distribution_averages_over_the_parameter(pair, parameters, high):
    prior, family, x = pair
    for value in x:
        expected = averaged(prior, family, parameters, high, value)
        assert_allclose(np.exp(prior.log_predictive(family, value)), expected, rtol=1e-8)


@one_number
def test_the_evidence_averages_the_likelihood_over_the_parameter(pair, parameters, high):
    prior, family, x = pair
    assert_allclose(np.exp(prior.log_evidence(family, x)), averaged(prior, family, parameters, high, x), rtol=1e-8)


@one_number
def test_the_posterior_is_the_prior_times_the_likelihood(pair, parameters, high):
    prior, family, x = pair
    posterior = prior.posterior(family, x)
    for theta in (0.2, 0.5, 0.8):
        expected = (
            prior.log_density(theta) + np.sum(family.log_prob(x, parameters(theta))) - prior.log_evidence(family, x)
        )
        assert_allclose(posterior.log_density(theta), expected, rtol=1e-11)


def test_the_posterior_of_a_mean_and_a_variance_is_the_prior_times_the_likelihood():
    x = np.array([0.3, 2.0, -1.0, 0.5])
    posterior = NIG.posterior(Gaussian(), x)
    for mean, var in ((0.0, 1.0), (0.7, 0.4), (-1.0, 5.0)):
        rows = Gaussian().log_prob(x, Gaussian().parameters(mean, var)).sum()
        expected = NIG.log_density(mean, var) + rows - NIG.log_evidence(Gaussian(), x)
        assert_allclose(posterior.log_density(mean, var), expected, rtol=1e-11)


def test_the_posterior_of_a_mean_vector_and_a_covariance_is_the_prior_times_the_likelihood():
    family, x = MultivariateGaussian(), np.array([[0.3, 1.0], [0.0, -2.0], [1.5, 0.4]])
    posterior = NIW.posterior(family, x)
    for mean, cov in (([0.0, 0.0], np.eye(2)), ([0.7, -1.0], COV)):
        rows = family.log_prob(x, family.parameters(mean, cov)).sum()
        expected = NIW.log_density(mean, cov) + rows - NIW.log_evidence(family, x)
        assert_allclose(posterior.log_density(mean, cov), expected, rtol=1e-11)


def test_the_posterior_of_probabilities_is_the_prior_times_the_likelihood():
    prior, theta = priors.Dirichlet([2.0, 0.5, 1.5]), np.array([0.2, 0.3, 0.5])
    for family, x in (
        (Categorical(), np.array([0, 2, 1, 0])),
        (Multinomial(), np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])),
    ):
        rows = np.sum(family.log_prob(x, family.parameters(theta)))
        expected = prior.log_density(theta) + rows - prior.log_evidence(family, x)
        assert_allclose(prior.posterior(family, x).log_density(theta), expected, rtol=1e-11)


@every_pair
def test_the_predictive_distribution_is_the_evidence_of_one_observation(prior, family, x):
    for value in x:
        assert_allclose(
            prior.log_predictive(family, value), prior.log_evidence(family, value[None]), rtol=1e-10, atol=1e-12
        )


@every_pair
def test_the_evidence_is_the_product_of_predictions_one_after_the_other(prior, family, x):
    total, seen = 0.0, prior
    for value in x:
        total += seen.log_predictive(family, value)
        seen = seen.posterior(family, value[None])
    assert_allclose(prior.log_evidence(family, x), total, rtol=1e-11)


@every_pair
def test_observations_can_come_in_any_order_and_in_parts(prior, family, x):
    whole = prior.posterior(family, x)
    parts = prior.posterior(family, x[1:][::-1]).posterior(family, x[:1])
    for name in prior.__dataclass_fields__:
        assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)


@every_pair
def test_a_weight_of_k_is_k_observations(prior, family, x):
    weight = np.arange(len(x)) % 3
    repeated = np.repeat(x, weight, axis=0)
    assert_allclose(prior.log_evidence(family, x, weight), prior.log_evidence(family, repeated), rtol=1e-11)
    first, second = prior.posterior(family, x, weight), prior.posterior(family, repeated)
    for name in prior.__dataclass_fields__:
        assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-12)


@every_pair
def test_impossible_observations_have_no_predictive_probability(prior, family, x):
    impossible = {"categorical": 5, "multinomial": [-1.0, 0.0, 0.0], "multivariate_gaussian": [np.inf, 0.0]}
    value = impossible.get(family.name, -np.inf)
    if family.name == "categorical":
        with pytest.raises(InputError, match="code 5"):
            prior.log_predictive(family, value)
        return
    assert prior.log_predictive(family, value) == -np.inf


def test_missing_observations_change_nothing():
    prior = priors.Gamma(2.5, 1.5)
    assert prior.posterior(Poisson(), [3.0, np.nan, 1.0]) == prior.posterior(Poisson(), [3.0, 1.0])
    assert prior.log_predictive(Poisson(), np.nan) == 0.0
    assert_allclose(prior.log_evidence(Poisson(), [3.0, np.nan, 1.0]), prior.log_evidence(Poisson(), [3.0, 1.0]))
    assert_allclose(
        priors.Dirichlet([1.0, 2.0]).posterior(Categorical(), [0, -1, 1]).concentration, np.array([2.0, 3.0])
    )


def test_predictive_distributions_have_their_textbook_names():
    x = np.array([0.0, 1.0, 4.0, 30.0])
    gamma, beta = priors.Gamma(2.5, 1.5), priors.Beta(2.5, 1.5)
    assert_allclose(gamma.log_predictive(Poisson(), x), stats.nbinom(2.5, 1.5 / 2.5).logpmf(x), rtol=1e-11)
    assert_allclose(gamma.log_predictive(Exponential(), x), stats.lomax(2.5, scale=1.5).logpdf(x), rtol=1e-12)
    assert_allclose(beta.log_predictive(NegativeBinomial(3.0), x), stats.betanbinom(3, 2.5, 1.5).logpmf(x), rtol=1e-10)
    scale = np.sqrt(1.5 * 3.0 / (3.0 * 2.0))
    assert_allclose(NIG.log_predictive(Gaussian(), x), stats.t(6.0, 0.5, scale).logpdf(x), rtol=1e-11)
    shape = COV * 2.5 / (1.5 * 4.0)
    points = np.array([[0.0, 0.0], [3.0, -4.0]])
    expected = stats.multivariate_t([0.5, -0.5], shape, df=4.0).logpdf(points)
    assert_allclose(NIW.log_predictive(MultivariateGaussian(), points), expected, rtol=1e-11)
    counts, c = np.array([3, 0, 2]), np.array([2.0, 0.5, 1.5])
    expected = stats.dirichlet_multinomial(c, 5).logpmf(counts)
    assert_allclose(priors.Dirichlet(c).log_predictive(Multinomial(), counts), expected, rtol=1e-11)


def test_predictions_under_strong_priors_keep_their_digits():
    strong, weak = priors.Gamma(3e12, 1e12), Poisson()
    x = np.array([0.0, 3.0, 12.0])
    assert_allclose(strong.log_predictive(weak, x), weak.log_prob(x, weak.parameters(3.0)), rtol=1e-10)
    prior = priors.NormalInverseGamma(mean=1e8, kappa=1e12, shape=1e12, scale=1e12)
    x = 1e8 + np.array([0.0, 1.0, -3.0])
    assert_allclose(prior.log_predictive(Gaussian(), x), stats.norm(1e8, 1.0).logpdf(x), rtol=1e-10)


def test_posteriors_of_far_off_means_keep_the_variance():
    x = 1e8 + np.array([-1.0, 0.0, 1.0, 2.0])
    prior = priors.NormalInverseGamma(mean=1e8, kappa=1.0, shape=2.0, scale=1.0)
    near = priors.NormalInverseGamma(mean=0.0, kappa=1.0, shape=2.0, scale=1.0)
    assert_allclose(prior.posterior(Gaussian(), x).scale, near.posterior(Gaussian(), x - 1e8).scale, rtol=1e-12)
