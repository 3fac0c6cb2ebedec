"""Laws every family of generalized linear models obeys, and densities against independent ones."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

from softcount._errors import InputError
from softcount.core.glm.families import (
    FAMILIES,
    BinomialFamily,
    GammaFamily,
    GaussianFamily,
    InverseGaussianFamily,
    NegativeBinomialFamily,
    PoissonFamily,
    TweedieFamily,
    resolve_family,
)
from softcount.core.glm.links import LINKS

PHI = 0.7
CASES = {
    "gaussian": (GaussianFamily(), [-1.5, 0.0, 2.0], lambda y, m: stats.norm.logpdf(y, m, np.sqrt(PHI))),
    "poisson": (PoissonFamily(), [0.0, 1.0, 7.0], stats.poisson.logpmf),
    "gamma": (GammaFamily(), [0.1, 1.0, 5.5], lambda y, m: stats.gamma.logpdf(y, 1 / PHI, scale=m * PHI)),
    "inverse_gaussian": (
        InverseGaussianFamily(),
        [0.1, 1.0, 5.5],
        lambda y, m: stats.invgauss.logpdf(y, m * PHI, scale=1 / PHI),
    ),
    "negative_binomial": (
        NegativeBinomialFamily(2.5),
        [0.0, 1.0, 7.0],
        lambda y, m: stats.nbinom.logpmf(y, 2.5, 2.5 / (2.5 + m)),
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.parametrize("mean", [0.3, 1.0, 4.0])
def test_saturated_likelihood_minus_half_the_deviance_is_the_log_density(name, mean):
    family, targets, log_density = CASES[name]
    y, mu = np.array(targets), np.full(3, mean)
    phi = PHI if family.fixed_dispersion is None else 1.0
    found = family.saturated_log_likelihood(y, np.ones(3), phi) - family.unit_deviance(y, mu) / (2 * phi)
    np.testing.assert_allclose(found, log_density(y, mean), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["gaussian", "gamma", "inverse_gaussian"])
def test_a_precision_weight_divides_the_dispersion(name):
    family, targets, _ = CASES[name]
    y = np.array(targets)
    weighted = family.saturated_log_likelihood(y, np.full(3, 4.0), PHI)
    np.testing.assert_allclose(weighted, family.saturated_log_likelihood(y, np.ones(3), PHI / 4.0), rtol=1e-14)


def test_binomial_counts_out_of_n_have_the_binomial_density():
    trials, successes = np.array([1.0, 5.0, 12.0, 7.0]), np.array([1.0, 0.0, 5.0, 7.0])
    family, mu = BinomialFamily(), np.array([0.2, 0.4, 0.5, 0.9])
    share = successes / trials
    found = family.saturated_log_likelihood(share, trials, 1.0) - trials * family.unit_deviance(share, mu) / 2
    np.testing.assert_allclose(found, stats.binom.logpmf(successes, trials, mu), rtol=1e-12)


@pytest.mark.parametrize(
    "family",
    [
        GaussianFamily(),
        PoissonFamily(),
        GammaFamily(),
        InverseGaussianFamily(),
        NegativeBinomialFamily(0.8),
        TweedieFamily(1.2),
        TweedieFamily(1.9),
        TweedieFamily(2.6),
        TweedieFamily(-1.0),
        BinomialFamily(),
    ],
    ids=repr,
)
@given(y=st.floats(0.05, 0.95), mu=st.floats(0.05, 0.95))
def test_the_deviance_falls_at_the_rate_of_the_score(family, y, mu):
    step = 1e-5
    means = np.array([mu - step, mu + step])
    low, high = family.unit_deviance(np.full(2, y), means)
    expected = -2.0 * (y - mu) / family.variance(np.array([mu]))[0]
    assert (high - low) / (2 * step) == pytest.approx(expected, rel=1e-3, abs=1e-3)
    assert family.unit_deviance(np.array([y]), np.array([y]))[0] == pytest.approx(0.0, abs=1e-30)


@pytest.mark.parametrize("gap", [1e-9, 1e-6, 1e-3, 0.5])
def test_deviances_close_to_a_perfect_fit_keep_their_digits(gap):
    y = 1e6
    mu = y * (1.0 + gap)
    exact_y, exact_mu = mpmath.mpf(y), mpmath.mpf(mu)
    with mpmath.workdps(60):
        poisson = 2 * (exact_y * mpmath.log(exact_y / exact_mu) - (exact_y - exact_mu))
        gamma = 2 * ((exact_y - exact_mu) / exact_mu - mpmath.log(exact_y / exact_mu))
    one = np.array([y]), np.array([mu])
    # The gap itself is known to eps * y / |y - mu|; the square doubles that.
    tolerance = 4e-16 / gap + 1e-14
    assert PoissonFamily().unit_deviance(*one)[0] == pytest.approx(float(poisson), rel=tolerance)
    assert GammaFamily().unit_deviance(*one)[0] == pytest.approx(float(gamma), rel=tolerance)


@pytest.mark.parametrize("name", ["logit", "probit", "cloglog", "loglog", "cauchit"])
def test_binomial_rows_stay_finite_and_exact_at_a_predictor_of_700(name):
    link, family = LINKS[name], BinomialFamily()
    eta = np.array([-700.0, 700.0, -30.0, 30.0])
    for target in (0.0, 1.0):
        y = np.full(4, target)
        root, pearson, deviance = family.evaluate(link, y, eta)
        assert np.isfinite(root * root).all()
        assert np.isfinite(root * pearson).all()
        log_mean, log_complement = link.log_both(eta)
        np.testing.assert_array_equal(deviance, -2.0 * (log_mean if target else log_complement))


def test_binomial_rows_equal_the_plain_formulas_in_the_middle():
    eta, y = np.linspace(-3, 3, 13), np.linspace(0, 1, 13)
    family = BinomialFamily()
    for name in ("logit", "probit", "cloglog", "loglog", "cauchit"):
        mu, slope = LINKS[name].inverse(eta)
        root, pearson, deviance = family.evaluate(LINKS[name], y, eta)
        np.testing.assert_allclose(root, slope / np.sqrt(mu * (1 - mu)), rtol=1e-7)
        np.testing.assert_allclose(pearson, (y - mu) / np.sqrt(mu * (1 - mu)), rtol=1e-7)
        np.testing.assert_allclose(deviance, family.unit_deviance(y, mu), rtol=1e-9, atol=1e-10)


def test_the_gamma_likelihood_is_largest_at_its_own_dispersion():
    rng = np.random.default_rng(3)
    weight = rng.integers(1, 4, 60).astype(float)
    mu = np.full(60, 2.0)
    y = rng.gamma(weight / PHI, mu * PHI / weight)
    family = GammaFamily()
    deviance = weight * family.unit_deviance(y, mu)

    def log_likelihood(phi):
        return (family.saturated_log_likelihood(y, weight, phi) - deviance / (2 * phi)).sum()

    best = family.likelihood_dispersion(deviance.sum(), np.nan, weight, np.ones(60))
    assert log_likelihood(best) > max(log_likelihood(best * 1.001), log_likelihood(best / 1.001))
    assert best == pytest.approx(PHI, rel=0.5)


@pytest.mark.parametrize("dispersion", [3.0, 1.1e-4, 0.9e-4, 1e-6, 1e-9])
def test_the_gamma_dispersion_solves_its_equation_to_all_digits_however_small(dispersion):
    weight, frequency = np.array([1.0, 2.5]), np.array([7.0, 3.0])
    with mpmath.workdps(50):
        shapes = [mpmath.mpf(w) / mpmath.mpf(dispersion) for w in weight]
        gaps = [mpmath.log(k) - mpmath.digamma(k) for k in shapes]
        deviance = 2 * mpmath.fsum(f * w * gap for f, w, gap in zip(frequency, weight, gaps, strict=True))
    found = GammaFamily().likelihood_dispersion(float(deviance), np.nan, weight, frequency)
    assert found == pytest.approx(dispersion, rel=1e-11)


@pytest.mark.parametrize("theta", [0.2, 3.0, 500.0])
def test_theta_derivatives_are_those_of_the_log_likelihood(theta):
    y, mu = np.array([0.0, 1.0, 4.0, 30.0]), np.array([0.5, 2.0, 4.0, 9.0])

    def log_likelihood(log_theta):
        family = NegativeBinomialFamily(float(np.exp(log_theta)))
        return family.saturated_log_likelihood(y, np.ones(4), 1.0) - family.unit_deviance(y, mu) / 2

    step = 1e-4
    low, middle, high = (log_likelihood(np.log(theta) + shift) for shift in (-step, 0.0, step))
    for weight in np.eye(4):
        saturated, score, information = NegativeBinomialFamily(theta).theta_terms(y, mu, weight)
        family = NegativeBinomialFamily(theta)
        assert saturated == pytest.approx(weight @ family.saturated_log_likelihood(y, np.ones(4), 1.0), abs=1e-13)
        assert score == pytest.approx(weight @ (high - low) / (2 * step), rel=1e-5, abs=1e-7)
        assert information == pytest.approx(-weight @ (high - 2 * middle + low) / step**2, rel=1e-3, abs=2e-4)


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0.0, 3.0)), min_size=1, max_size=30))
def test_theta_terms_are_the_same_for_counts_and_for_counts_with_a_trace_of_a_fraction(rows):
    y, weight = np.array(rows).T
    mu = np.linspace(0.5, 4.0, y.size)
    tabulated = NegativeBinomialFamily(1.7).theta_terms(y, mu, weight)
    plain = NegativeBinomialFamily(1.7).theta_terms(y + 1e-12, mu, weight)
    np.testing.assert_allclose(tabulated, plain, rtol=1e-8, atol=1e-8)


def test_distribution_functions_agree_with_scipy():
    q, mu = np.array([-1.0, 0.0, 0.4, 1.0, 3.7, 20.0]), np.full(6, 1.7)
    phi = np.full(6, PHI)
    pairs = [
        (GaussianFamily(), stats.norm.cdf(q, mu, np.sqrt(PHI))),
        (PoissonFamily(), stats.poisson.cdf(q, mu)),
        (GammaFamily(), stats.gamma.cdf(q, 1 / PHI, scale=mu * PHI)),
        (InverseGaussianFamily(), stats.invgauss.cdf(q, mu * PHI, scale=1 / PHI)),
        (NegativeBinomialFamily(2.5), stats.nbinom.cdf(q, 2.5, 2.5 / (2.5 + mu))),
    ]
    for family, expected in pairs:
        np.testing.assert_allclose(family.cdf(q, mu, phi), expected, rtol=1e-10, atol=1e-14, err_msg=family.name)
    share = np.array([-0.1, 0.0, 0.25, 0.5, 1.0])
    expected = stats.binom.cdf(share * 8, 8, 0.3)
    found = BinomialFamily().cdf(share, np.full(5, 0.3), np.full(5, 1 / 8))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("family", "bad"),
    [
        (PoissonFamily(), -1.0),
        (GammaFamily(), 0.0),
        (InverseGaussianFamily(), -2.0),
        (BinomialFamily(), 1.01),
        (NegativeBinomialFamily(), -0.5),
        (TweedieFamily(1.5), -0.1),
        (TweedieFamily(2.5), 0.0),
        (GaussianFamily(), np.inf),
    ],
)
def test_targets_a_family_cannot_produce_are_recognized(family, bad):
    assert family.contains_target(np.array([0.5, bad])).tolist() == [True, False]


def test_every_family_is_found_by_its_name():
    for name in FAMILIES:
        assert resolve_family(name, power=1.5).name == name


@pytest.mark.parametrize(
    ("power", "name"), [(0, "gaussian"), (1, "quasipoisson"), (2, "gamma"), (3, "inverse_gaussian")]
)
def test_whole_tweedie_powers_are_the_families_they_name(power, name):
    assert resolve_family("tweedie", power=power).name == name


def test_an_unknown_family_is_refused_with_the_list():
    with pytest.raises(InputError, match=r"'normal' is not a family.*gaussian"):
        resolve_family("normal")


@pytest.mark.parametrize("power", [0.5, 2.0, np.nan])
def test_a_power_without_a_distribution_is_refused(power):
    with pytest.raises(InputError, match="no power of the Tweedie family"):
        TweedieFamily(power)


@pytest.mark.parametrize("y", [[0.0, 1.0, 2.0, 7.0, 7.0], [0.0, 0.5, 2.25, 7.9, 7.1]], ids=["whole", "fractional"])
def test_the_terms_of_theta_are_the_derivatives_by_its_logarithm(y):
    y, w, mu = np.array(y), np.array([1.0, 2.0, 1.0, 3.0, 0.5]), np.array([0.5, 1.0, 3.0, 5.0, 9.0])

    def log_likelihood(log_theta):
        theta = np.exp(log_theta)
        terms = gammaln(y + theta) - gammaln(theta) - gammaln(y + 1.0) + theta * log_theta
        return w @ (terms - (y + theta) * np.log(mu + theta) + y * np.log(mu))

    at, step = np.log(1.7), 1e-4
    _, score, curvature = NegativeBinomialFamily(1.7).theta_terms(y, mu, w)
    low, middle, high = (log_likelihood(at + move) for move in (-step, 0.0, step))
    assert score == pytest.approx((high - low) / (2.0 * step), rel=1e-6)
    assert curvature == pytest.approx(-(high - 2.0 * middle + low) / step**2, rel=1e-5)
