"""Explicit priors: densities, and what solving with them gives."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, optimize, stats

import softcount
from softcount import priors
from softcount._errors import InputError
from softcount.families import (
    Bernoulli,
    Categorical,
    CodesBlock,
    DenseBlock,
    Exponential,
    Gaussian,
    Geometric,
    Multinomial,
    MultivariateGaussian,
    NegativeBinomial,
    Poisson,
    PseudoCounts,
)

RNG = np.random.default_rng(3)
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
NIW = priors.NormalInverseWishart(mean=[0.5, -0.5], kappa=1.5, df=5.0, scale=COV)
NIG = priors.NormalInverseGamma(mean=0.5, kappa=2.0, shape=3.0, scale=1.5)


def solved(family, block, prior, n_classes=1):
    tally = family.tally(block, n_classes)
    tally.add(block, np.full((block.n_rows, n_classes), 1.0 / n_classes))
    return family.solve(tally.statistics(), prior)


def column(values):
    return DenseBlock(np.asarray(values, dtype=float)[:, None])


def test_the_public_name_leads_here():
    assert softcount.priors is priors


# ---- densities
def test_densities_are_scipys():
    assert_allclose(priors.Beta(2.0, 3.5).log_density([0.1, 0.7]), stats.beta(2.0, 3.5).logpdf([0.1, 0.7]), rtol=1e-12)
    c, theta = np.array([1.5, 2.0, 4.0]), np.array([0.2, 0.3, 0.5])
    assert_allclose(priors.Dirichlet(c).log_density(theta), stats.dirichlet(c).logpdf(theta), rtol=1e-12)
    assert_allclose(
        priors.Gamma(2.5, 0.7).log_density([0.2, 5.0]), stats.gamma(2.5, scale=1 / 0.7).logpdf([0.2, 5.0]), rtol=1e-12
    )
    mean, var = 0.3, 0.8
    expected = stats.invgamma(3.0, scale=1.5).logpdf(var) + stats.norm(0.5, np.sqrt(var / 2.0)).logpdf(mean)
    assert_allclose(NIG.log_density(mean, var), expected, rtol=1e-12)
    cov = np.array([[1.0, -0.2], [-0.2, 0.7]])
    expected = stats.invwishart(5.0, COV).logpdf(cov)
    expected += stats.multivariate_normal([0.5, -0.5], cov / 1.5).logpdf([0.0, 1.0])
    assert_allclose(NIW.log_density([0.0, 1.0], cov), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("prior", "start"),
    [(priors.Beta(2.5, 4.0), 0.3), (priors.Gamma(2.5, 0.7), 1.0)],
    ids=["beta", "gamma"],
)
def test_modes_are_where_the_density_is_largest(prior, start):
    found = optimize.minimize_scalar(lambda x: -prior.log_density(x), bracket=(start, start * 1.1))
    assert_allclose(prior.mode(), found.x, rtol=1e-6)


def test_expectations_are_the_integrals():
    for prior, high in ((priors.Beta(2.5, 4.0), 1.0), (priors.Gamma(2.5, 0.7), 80.0)):
        mean = integrate.quad(lambda x, p=prior: x * np.exp(p.log_density(x)), 0, high)[0]
        assert_allclose(prior.expected(), mean, rtol=1e-7)
    c = np.array([1.5, 2.0, 4.0])
    assert_allclose(priors.Dirichlet(c).expected(), c / c.sum())
    assert_allclose(priors.Dirichlet(c).mode(), (c - 1) / (c - 1).sum())


def test_flat_priors_have_even_modes():
    assert_allclose(priors.Beta(1.0, 1.0).mode(), 0.5)
    assert_allclose(priors.Dirichlet([1.0, 1.0, 1.0, 1.0]).mode(), 0.25)


def test_the_modes_of_normal_priors_are_where_the_density_is_largest():
    best = NIG.log_density(**NIG.mode())
    for _ in range(20):
        mean, var = 0.5 + 0.05 * RNG.normal(), NIG.mode()["var"] * np.exp(0.05 * RNG.normal())
        assert NIG.log_density(mean, var) < best
    mode = NIW.mode()
    best = NIW.log_density(mode["mean"], mode["cov"])
    for _ in range(20):
        turn = np.eye(2) + 0.05 * RNG.normal(size=(2, 2))
        assert NIW.log_density(mode["mean"] + 0.05 * RNG.normal(size=2), turn @ mode["cov"] @ turn.T) < best


def test_the_expected_covariance_is_the_average_of_draws():
    draws = stats.invwishart(9.0, COV).rvs(60_000, random_state=1)
    prior = priors.NormalInverseWishart([0.0, 0.0], 1.0, 9.0, COV)
    assert_allclose(prior.expected()["cov"], draws.mean(axis=0), rtol=0.02, atol=0.005)
    assert_allclose(NIG.expected()["var"], stats.invgamma(3.0, scale=1.5).mean())


# ---- MAP, posterior mean and pseudo-counts
COUNTS = np.array([5, 1, 0])
CODES = np.repeat(np.arange(3), COUNTS)


def test_smoothing_is_the_posterior_mean_and_the_mode_one_higher():
    family, block = Categorical(n_values=(3,)), CodesBlock(CODES[:, None].astype(np.int32), np.array([0, 3]))
    for alpha in (0.3, 1.0, 2.5):
        smoothed = solved(family, block, PseudoCounts(np.asarray(alpha)))
        mean = solved(family, block, priors.Dirichlet(alpha).pseudo_counts("mean"))
        mode = solved(family, block, priors.Dirichlet(alpha + 1.0).pseudo_counts("mode"))
        expected = (COUNTS + alpha) / (COUNTS.sum() + 3 * alpha)
        for params in (smoothed, mean, mode):
            assert_allclose(np.exp(params["log_prob"][:, 0]), expected, rtol=1e-14)


def test_one_concentration_per_value_smooths_each_by_its_own():
    concentration = np.array([2.0, 1.0, 4.0])
    family, block = Categorical(n_values=(3,)), CodesBlock(CODES[:, None].astype(np.int32), np.array([0, 3]))
    params = solved(family, block, priors.Dirichlet(concentration).pseudo_counts("mean"))
    posterior = priors.Dirichlet(concentration).posterior(Categorical(), CODES)
    assert_allclose(np.exp(params["log_prob"][:, 0]), posterior.expected(), rtol=1e-14)
    params = solved(family, block, priors.Dirichlet(concentration).pseudo_counts("mode"))
    assert_allclose(np.exp(params["log_prob"][:, 0]), posterior.mode(), rtol=1e-14)
    words = solved(
        Multinomial(), DenseBlock(COUNTS[None, :].astype(float)), priors.Dirichlet(concentration).pseudo_counts("mean")
    )
    assert_allclose(np.exp(words["log_prob"][:, 0]), posterior.expected(), rtol=1e-14)


ONES = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0])


def test_map_under_a_beta_prior_is_n1_plus_a_minus_1_over_n_plus_a_plus_b_minus_2():
    prior = priors.Beta(2.5, 4.0)
    theta = np.exp(solved(Bernoulli(), column(ONES), prior.pseudo_counts())["log_prob"])[0, 0]
    assert_allclose(theta, (5 + 2.5 - 1) / (7 + 2.5 + 4.0 - 2), rtol=1e-14)
    assert_allclose(theta, prior.posterior(Bernoulli(), ONES).mode(), rtol=1e-14)
    theta = np.exp(solved(Bernoulli(), column(ONES), prior.pseudo_counts("mean"))["log_prob"])[0, 0]
    assert_allclose(theta, (5 + 2.5) / (7 + 2.5 + 4.0), rtol=1e-14)


@pytest.mark.parametrize("family", [Geometric(), NegativeBinomial(size=2.5)], ids=lambda f: f.name)
@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_beta_priors_serve_counts_of_failures(family, estimate):
    prior, x = priors.Beta(2.5, 4.0), [3.0, 0.0, 7.0, 1.0]
    params = solved(family, column(x), prior.pseudo_counts(estimate, family))
    posterior = prior.posterior(family, x)
    assert_allclose(
        np.exp(params["log_success"])[0, 0], posterior.mode() if estimate == "mode" else posterior.expected()
    )


@pytest.mark.parametrize("family", [Poisson(), Exponential()], ids=lambda f: f.name)
@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_gamma_priors_serve_rates(family, estimate):
    prior, x = priors.Gamma(2.5, 1.5), [3.0, 0.0, 7.0, 1.0]
    params = solved(family, column(x), prior.pseudo_counts(estimate, family))
    posterior = prior.posterior(family, x)
    assert_allclose(params["rate"][0, 0], posterior.mode() if estimate == "mode" else posterior.expected(), rtol=1e-13)
    if isinstance(family, Poisson):
        assert_allclose(params["rate"][0, 0], (11 + 2.5 - (estimate == "mode")) / (4 + 1.5), rtol=1e-14)


@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_normal_inverse_gamma_priors_serve_gaussians(estimate):
    x = np.array([0.3, 2.0, -1.0, 0.5, 1.7])
    params = solved(Gaussian(), column(x), NIG.pseudo_counts(estimate))
    posterior = NIG.posterior(Gaussian(), x)
    expected = posterior.mode() if estimate == "mode" else posterior.expected()
    assert_allclose(params["mean"][0, 0], expected["mean"], rtol=1e-13)
    assert_allclose(params["var"][0, 0], expected["var"], rtol=1e-13)


@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_normal_inverse_wishart_priors_serve_full_gaussians(estimate):
    x = RNG.normal(size=(6, 2))
    params = solved(MultivariateGaussian(), DenseBlock(x), NIW.pseudo_counts(estimate))
    posterior = NIW.posterior(MultivariateGaussian(), x)
    expected = posterior.mode() if estimate == "mode" else posterior.expected()
    assert_allclose(params["mean"][:, 0], expected["mean"], rtol=1e-13)
    assert_allclose(params["cov"][0], expected["cov"], rtol=1e-13)


def test_the_mode_of_a_shared_variance_counts_every_mean_that_shares_it():
    x, classes = RNG.normal(size=20), np.repeat([0, 1], 10)
    prior = NIG.pseudo_counts("mode", n_means=2)
    family = Gaussian(shared=True)
    tally = family.tally(column(x), 2)
    tally.add_known(column(x), classes.astype(np.int32), None)
    params = family.solve(tally.statistics(), prior)

    def log_posterior(means, var):
        rows = stats.norm(np.asarray(means)[classes], np.sqrt(var)).logpdf(x).sum()
        return (
            rows + stats.invgamma(3.0, scale=1.5).logpdf(var) + stats.norm(0.5, np.sqrt(var / 2.0)).logpdf(means).sum()
        )

    best = log_posterior(params["mean"][0], params["var"][0, 0])
    for factor in (0.97, 1.03):
        assert log_posterior(params["mean"][0], factor * params["var"][0, 0]) < best
        assert log_posterior(factor * params["mean"][0], params["var"][0, 0]) < best


def test_priors_hold_one_value_per_column():
    values = RNG.integers(0, 5, size=(8, 3)).astype(float)
    shape, rate = np.array([2.0, 3.0, 4.0]), np.array([1.0, 0.5, 2.0])
    params = solved(Poisson(), DenseBlock(values), priors.Gamma(shape, rate).pseudo_counts("mean"))
    assert_allclose(params["rate"][:, 0], (values.sum(axis=0) + shape) / (8 + rate), rtol=1e-14)
    ones = (values > 2).astype(float)
    params = solved(Bernoulli(), DenseBlock(ones), priors.Beta(shape, rate).pseudo_counts("mean"))
    assert_allclose(np.exp(params["log_prob"][:, 0]), (ones.sum(axis=0) + shape) / (8 + shape + rate), rtol=1e-13)
    prior = priors.NormalInverseGamma(mean=shape, kappa=rate, shape=shape, scale=rate)
    params = solved(Gaussian(), DenseBlock(values), prior.pseudo_counts("mode"))
    for j in range(3):
        single = priors.NormalInverseGamma(shape[j], rate[j], shape[j], rate[j]).posterior(Gaussian(), values[:, j])
        assert_allclose(params["mean"][j, 0], single.mode()["mean"], rtol=1e-13)
        assert_allclose(params["var"][j, 0], single.mode()["var"], rtol=1e-12)


def test_the_prior_that_is_monitored_is_the_density_up_to_a_constant():
    first, second = 0.3, 0.7
    prior, family = priors.Beta(2.5, 4.0), Bernoulli()
    counts = prior.pseudo_counts()
    logs = [family.log_prior(family.parameters(np.array([[p]])), counts) for p in (first, second)]
    assert_allclose(logs[0] - logs[1], prior.log_density(first) - prior.log_density(second), rtol=1e-12)
    poisson, gamma = Poisson(), priors.Gamma(2.5, 1.5)
    logs = [poisson.log_prior(poisson.parameters(np.array([[r]])), gamma.pseudo_counts()) for r in (first, second)]
    assert_allclose(logs[0] - logs[1], gamma.log_density(first) - gamma.log_density(second), rtol=1e-12)
    gaussian = Gaussian()
    tables = [gaussian.parameters(np.array([[m]]), np.array([[v]])) for m, v in ((0.1, 0.4), (1.0, 2.0))]
    moments = NIG.pseudo_counts()
    logs = [gaussian.log_prior(table, moments) for table in tables]
    assert_allclose(logs[0] - logs[1], NIG.log_density(0.1, 0.4) - NIG.log_density(1.0, 2.0), rtol=1e-12)
    full = MultivariateGaussian()
    other = np.array([[1.0, -0.2], [-0.2, 0.7]])
    tables = [{"mean": np.array([[0.0], [1.0]]), "cov": cov[None]} for cov in (COV, other)]
    logs = [full.log_prior(table, NIW.pseudo_counts()) for table in tables]
    assert_allclose(
        logs[0] - logs[1], NIW.log_density([0.0, 1.0], COV) - NIW.log_density([0.0, 1.0], other), rtol=1e-12
    )


# ---- refusals
@pytest.mark.parametrize(
    "make",
    [
        lambda: priors.Beta(0.0, 1.0),
        lambda: priors.Beta(1.0, np.nan),
        lambda: priors.Dirichlet([1.0, -1.0]),
        lambda: priors.Dirichlet([]),
        lambda: priors.Gamma(np.inf, 1.0),
        lambda: priors.NormalInverseGamma(0.0, 0.0, 1.0, 1.0),
        lambda: priors.NormalInverseGamma(np.inf, 1.0, 1.0, 1.0),
        lambda: priors.NormalInverseWishart([0.0, 0.0], 1.0, 0.5, np.eye(2)),
        lambda: priors.NormalInverseWishart([0.0, 0.0], 1.0, 5.0, [[1.0, 2.0], [2.0, 1.0]]),
        lambda: priors.NormalInverseWishart([0.0, 0.0], 1.0, 5.0, np.eye(3)),
    ],
)
def test_impossible_parameters_are_refused(make):
    with pytest.raises(InputError, match=r"must be|expected|above"):
        make()


def test_priors_without_a_mode_or_mean_say_so():
    with pytest.raises(InputError, match="estimate='mean'"):
        priors.Beta(0.5, 2.0).pseudo_counts()
    with pytest.raises(InputError, match="estimate='mean'"):
        priors.Dirichlet([0.5, 2.0]).mode()
    with pytest.raises(InputError, match="estimate='mode'"):
        priors.NormalInverseGamma(0.0, 1.0, 1.0, 1.0).pseudo_counts("mean")
    with pytest.raises(InputError, match="estimate='mode'"):
        priors.NormalInverseWishart([0.0, 0.0], 1.0, 2.5, np.eye(2)).expected()
    with pytest.raises(InputError, match="no rows"):
        priors.Beta(1.0, 3.0).pseudo_counts("mode", Geometric())
    with pytest.raises(InputError, match="choose 'mode'"):
        priors.Beta(2.0, 3.0).pseudo_counts("median")
    with pytest.raises(InputError, match="no length"):
        priors.Dirichlet(2.0).expected()


def test_priors_are_refused_where_they_are_not_conjugate():
    for prior in (priors.Beta(2.0, 2.0), priors.Dirichlet([1.0, 1.0]), priors.Gamma(1.0, 1.0), NIG, NIW):
        with pytest.raises(InputError, match="conjugate to"):
            prior.posterior(softcount.families.VonMises(), [0.1])
        with pytest.raises(InputError, match="conjugate to"):
            prior.pseudo_counts("mode", softcount.families.VonMises())


def test_priors_can_be_copied_and_compared():
    assert copy.deepcopy(priors.Beta(2.0, 3.0)) == priors.Beta(2.0, 3.0)
    assert priors.Beta(2.0, 3.0) != priors.Beta(2.0, 4.0)
