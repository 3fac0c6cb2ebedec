"""The Tweedie density against its own series in 60 digits, and against its distribution function."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

from softcount.core.glm.families import TweedieFamily


def exact_log_density(y, mu, phi, p):
    """The log-density of the module's docstring, summed in 60 digits."""
    with mpmath.workdps(60):
        y, mu, phi, p = (mpmath.mpf(v) for v in (y, mu, phi, p))
        alpha = (2 - p) / (p - 1)
        log_z = alpha * mpmath.log(y) - alpha * mpmath.log(p - 1) - (1 + alpha) * mpmath.log(phi)
        log_z -= mpmath.log(2 - p)
        peak = int(y ** (2 - p) / (phi * (2 - p))) + 1
        width = int(20 * mpmath.sqrt(peak)) + 120
        total = mpmath.mpf(0)
        for j in range(max(1, peak - width), peak + width):
            total += mpmath.exp(j * log_z - mpmath.loggamma(1 + j) - mpmath.loggamma(alpha * j))
        exponent = (y * mu ** (1 - p) / (1 - p) - mu ** (2 - p) / (2 - p)) / phi
        return float(mpmath.log(total) - mpmath.log(y) + exponent)


def log_density(y, mu, phi, p):
    family = TweedieFamily(p)
    y, mu = np.array([y]), np.array([mu])
    saturated = family.saturated_log_likelihood(y, np.ones(1), phi)
    return float((saturated - family.unit_deviance(y, mu) / (2 * phi))[0])


@pytest.mark.parametrize("p", [1.05, 1.3, 1.5, 1.8, 1.97])
@pytest.mark.parametrize(("y", "mu", "phi"), [(0.01, 0.3, 1.0), (1.0, 1.0, 0.5), (7.0, 3.0, 2.0), (250.0, 90.0, 4.0)])
def test_log_density_agrees_with_60_digits(y, mu, phi, p):
    assert log_density(y, mu, phi, p) == pytest.approx(exact_log_density(y, mu, phi, p), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("phi", [1e-3, 1e-5])
def test_a_bell_of_many_thousand_terms_is_summed_with_a_stride_and_no_loss(phi):
    exact = exact_log_density(2.0, 2.1, phi, 1.4)
    assert log_density(2.0, 2.1, phi, 1.4) == pytest.approx(exact, rel=1e-8)


def test_the_probability_of_zero_is_that_of_no_event():
    mu, phi, p = 0.8, 1.3, 1.6
    rate = mu ** (2 - p) / (phi * (2 - p))
    assert log_density(0.0, mu, phi, p) == pytest.approx(-rate, rel=1e-13)


@pytest.mark.parametrize("p", [1.2, 1.5, 1.8])
def test_the_distribution_function_is_the_integral_of_the_density_plus_the_atom(p):
    mu, phi = 1.5, 0.8
    family = TweedieFamily(p)
    atom = np.exp(log_density(0.0, mu, phi, p))
    for q in (0.4, 2.0, 6.0):
        area, _ = quad(lambda y: np.exp(log_density(y, mu, phi, p)), 0.0, q, limit=200, epsabs=1e-9)
        found = family.cdf(np.array([q]), np.array([mu]), np.array([phi]))[0]
        assert found == pytest.approx(atom + area, abs=2e-6)
    assert family.cdf(np.array([0.0]), np.array([mu]), np.array([phi]))[0] == pytest.approx(atom, rel=1e-12)


def test_a_saturated_likelihood_does_not_depend_on_how_many_rows_come_with_it():
    family = TweedieFamily(1.5)
    rng = np.random.default_rng(0)
    y = np.where(rng.uniform(size=9000) < 0.5, 0.0, rng.gamma(2.0, 1.0, 9000))
    weight = rng.uniform(0.5, 2.0, 9000)
    together = family.saturated_log_likelihood(y, weight, 0.9)
    apart = np.concatenate([family.saturated_log_likelihood(y[i::3], weight[i::3], 0.9) for i in range(3)])
    np.testing.assert_allclose(np.concatenate([together[i::3] for i in range(3)]), apart, rtol=1e-12)
