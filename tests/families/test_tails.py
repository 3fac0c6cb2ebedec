"""Far tails and extreme parameters of every family, against 60-digit arithmetic."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from numpy.testing import assert_allclose

from softcount.families import (
    Bernoulli,
    Beta,
    DenseBlock,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Geometric,
    InverseGaussian,
    NegativeBinomial,
    Poisson,
    VonMises,
)


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


@pytest.mark.parametrize("eta", [-700.0, -40.0, -1.0, 0.0, 1.0, 40.0, 700.0])
def test_bernoulli_probabilities_keep_both_tails(eta):
    family = Bernoulli()
    params = family.from_natural([eta])
    one = -mpmath.log1p(mpmath.exp(-mpf(eta)))
    zero = -mpmath.log1p(mpmath.exp(mpf(eta)))
    assert_allclose(family.log_prob(1, params), float(one), rtol=1e-14)
    assert_allclose(family.log_prob(0, params), float(zero), rtol=1e-14)
    assert_allclose(family.natural(params), [eta], rtol=1e-14, atol=1e-15)
    assert_allclose(family.log_normalizer([eta]), float(-zero), rtol=1e-14)


@pytest.mark.parametrize(("x", "rate"), [(0, 700.0), (1000, 1e-3), (10**10, 1e10 + 1e5), (3, 1e-300), (10**6, 1e6)])
def test_poisson_densities_keep_their_digits(x, rate):
    exact = x * mpmath.log(mpf(rate)) - mpf(rate) - mpmath.loggamma(mpf(x) + 1)
    assert_allclose(Poisson().log_prob(float(x), Poisson().parameters(rate)), float(exact), rtol=1e-13)


@pytest.mark.parametrize(("x", "size", "mean"), [(0, 2.5, 1e10), (10**9, 2.5, 3.0), (7, 1e10, 7.0), (10**8, 0.01, 1e7)])
def test_negative_binomial_densities_keep_their_digits(x, size, mean):
    family = NegativeBinomial(size)
    r, m = mpf(size), mpf(mean)
    exact = mpmath.loggamma(x + r) - mpmath.loggamma(r) - mpmath.loggamma(mpf(x) + 1)
    exact += r * mpmath.log(r / (r + m)) + x * mpmath.log(m / (r + m))
    assert_allclose(family.log_prob(float(x), family.from_mean_stats([mean])), float(exact), rtol=1e-12, atol=1e-8)


@pytest.mark.parametrize("prob", [1e-300, 1e-10, 0.5, 1 - 1e-10])
def test_geometric_densities_keep_their_digits(prob):
    exact = mpmath.log(mpf(prob)) + 5 * mpmath.log(1 - mpf(prob))
    assert_allclose(Geometric().log_prob(5, Geometric().parameters(prob)), float(exact), rtol=1e-14)


@pytest.mark.parametrize(
    ("x", "shape", "rate"),
    [
        (1e-300, 0.5, 1.0),
        (1e300, 2.0, 1.0),
        (1.00001, 1e10, 1e10),
        (0.5, 1e-5, 1.0),
        (700.0, 3.0, 1.0),
        (5e9, 1e9, 0.2),
    ],
)
def test_gamma_densities_keep_their_digits(x, shape, rate):
    a, b, v = mpf(shape), mpf(rate), mpf(x)
    exact = a * mpmath.log(b) - mpmath.loggamma(a) + (a - 1) * mpmath.log(v) - b * v
    family = Gamma()
    assert_allclose(
        family.log_prob(x, family.parameters(shape, rate)), float(exact), rtol=1e-12, atol=1e-6 * (shape > 1e9)
    )


@pytest.mark.parametrize(
    ("x", "a", "b"),
    [(1e-300, 2.0, 3.0), (0.5, 1e-3, 1e-3), (0.6001, 6e7, 4e7), (0.5, 700.0, 1.0), (1 - 2**-53, 1.0, 5.0)],
)
def test_beta_densities_keep_their_digits(x, a, b):
    p, q, v = mpf(a), mpf(b), mpf(x)
    exact = (p - 1) * mpmath.log(v) + (q - 1) * mpmath.log(1 - v) - mpmath.log(mpmath.beta(p, q))
    family = Beta()
    assert_allclose(family.log_prob(x, family.parameters(a, b)), float(exact), rtol=1e-11, atol=1e-6 * (a > 1e6))


def test_dirichlet_densities_keep_their_digits():
    family, parts = Dirichlet(), [0.2, 0.3, 0.5]
    for a in ([1e-3, 1e-3, 1e-3], [2e7, 3e7, 5e7], [1e-3, 700.0, 1.0]):
        exact = mpmath.loggamma(mpmath.fsum(a)) - mpmath.fsum(mpmath.loggamma(v) for v in a)
        exact += mpmath.fsum((mpf(v) - 1) * mpmath.log(mpf(x)) for v, x in zip(a, parts, strict=True))
        assert_allclose(
            family.log_prob(parts, family.parameters(a)), float(exact), rtol=1e-11, atol=1e-6 * (a[0] > 1e6)
        )


@pytest.mark.parametrize(
    ("x", "mean", "shape"), [(1e-8, 1.0, 1.0), (1e8, 1.0, 1.0), (1.00001, 1.0, 1e10), (3.0, 1e-5, 2.0)]
)
def test_inverse_gaussian_densities_keep_their_digits(x, mean, shape):
    m, s, v = mpf(mean), mpf(shape), mpf(x)
    exact = mpmath.log(s / (2 * mpmath.pi * v**3)) / 2 - s * (v - m) ** 2 / (2 * m**2 * v)
    family = InverseGaussian()
    assert_allclose(family.log_prob(x, family.parameters(mean, shape)), float(exact), rtol=1e-11)


@pytest.mark.parametrize("shape", [1e-3, 1.0, 24.9, 25.1, 60.0, 1e4, 1e12])
def test_the_mean_logarithm_of_an_inverse_gaussian_keeps_its_digits(shape):
    # With a mean of one the mean logarithm is all there is: -e^z E1(z), about -1/z for large z.
    family = InverseGaussian()
    z = 2 * mpf(shape)
    exact = -mpmath.exp(z) * mpmath.e1(z)
    found = (family.mean_log_base(family.parameters(1.0, shape)) + 0.5 * np.log(2.0 * np.pi)) / -1.5
    assert_allclose(found, float(exact), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("x", "mean", "var"), [(40.0, 0.0, 1.0), (1e8 + 1, 1e8, 1.0), (1e-150, 0.0, 1e-290), (1e140, 0.0, 1.0)]
)
def test_gaussian_densities_keep_their_digits(x, mean, var):
    m, v, y = mpf(mean), mpf(var), mpf(x)
    exact = -mpmath.log(2 * mpmath.pi * v) / 2 - (y - m) ** 2 / (2 * v)
    assert_allclose(Gaussian().log_prob(x, Gaussian().parameters(mean, var)), float(exact), rtol=1e-13)


@pytest.mark.parametrize("kappa", [0.0, 1e-9, 0.5, 700.0, 1e8])
def test_von_mises_densities_keep_their_digits(kappa):
    k, angle = mpf(kappa), mpf(1e-4)
    exact = k * mpmath.cos(angle) - mpmath.log(2 * mpmath.pi) - mpmath.log(mpmath.besseli(0, k))
    family = VonMises()
    assert_allclose(family.log_prob(1e-4, family.parameters(0.0, kappa)), float(exact), rtol=1e-11)


def test_exponential_densities_keep_their_digits():
    family = Exponential()
    for x, rate in ((1e300, 1e-300), (0.0, 1e300), (700.0, 1.0)):
        exact = mpmath.log(mpf(rate)) - mpf(rate) * mpf(x)
        assert_allclose(family.log_prob(x, family.parameters(rate)), float(exact), rtol=1e-14)


@pytest.mark.parametrize("shape", [0.02, 1.0, 30.0, 1e5, 9e9])
def test_gamma_shapes_are_found_again_from_mean_statistics(shape):
    exact_mean, exact_log = mpf(shape) / 3, mpmath.digamma(mpf(shape)) - mpmath.log(3)
    fitted = Gamma().from_mean_stats([float(exact_mean), float(exact_log)])
    # Two rounded numbers whose difference is 1 / (2 shape) say no more than this about the shape.
    assert_allclose(fitted["shape"], shape, rtol=max(1e-12, 1e-15 * shape * max(1.0, abs(float(exact_log)))))


@pytest.mark.parametrize("pair", [(0.01, 2.0), (0.5, 0.5), (300.0, 500.0), (4e6, 3e6)])
def test_beta_concentrations_are_found_again_from_mean_statistics(pair):
    total = mpmath.digamma(mpmath.fsum(pair))
    mean = [float(mpmath.digamma(mpf(v)) - total) for v in pair]
    fitted = Beta().from_mean_stats(mean)
    assert_allclose([fitted["a"], fitted["b"]], pair, rtol=max(1e-11, 1e-14 * sum(pair)))


def test_constant_columns_reach_the_documented_limits():
    assert_allclose(Gamma().fit([2.0, 2.0])["shape"], 1e10, rtol=1e-6)
    assert_allclose(InverseGaussian().fit([2.0, 2.0])["shape"], 2e10)
    beta = Beta().fit([0.3, 0.3])
    assert_allclose(beta["a"] + beta["b"], 1e8)
    assert_allclose(beta["a"] / 1e8, 0.3, atol=1e-7)
    assert_allclose(Dirichlet().fit([[0.2, 0.8], [0.2, 0.8]])["concentration"], [2e7, 8e7], rtol=1e-6)
    assert_allclose(VonMises().fit([1.0, 1.0])["concentration"], 1e8)
    assert_allclose(VonMises().fit([1.0, 1.0])["direction"], 1.0)
    assert Poisson().fit([0.0, 0.0])["rate"] == 0.0
    assert Geometric().fit([0.0, 0.0])["log_failure"] == -np.inf


@pytest.mark.parametrize("kappa", [1e-3, 0.5, 20.0, 3e3, 9e3, 2e4, 1e6])
def test_concentrations_are_found_again_from_mean_statistics(kappa):
    family = VonMises()
    found = family.from_mean_stats(family.mean_stats(family.parameters(0.7, kappa)))
    # The length's last digit is worth this share of the concentration.
    assert_allclose(found["concentration"], kappa, rtol=max(1e-9, 1e-14 * kappa))
    assert_allclose(found["direction"], 0.7, rtol=1e-12)


def test_the_entropy_of_large_rates_is_the_sum_over_their_counts():
    rate = mpf(1001)
    logs = [k * mpmath.log(rate) - rate - mpmath.loggamma(k + 1) for k in range(600, 1401)]
    exact = -sum(mpmath.exp(log) * log for log in logs)
    assert_allclose(Poisson().entropy(Poisson().parameters(1001.0)), float(exact), rtol=1e-12)


def test_opposite_directions_leave_a_uniform_circle():
    fitted = VonMises().fit([0.0, np.pi])
    assert_allclose(fitted["concentration"], 0.0, atol=1e-15)
    assert_allclose(VonMises().log_prob(1.0, fitted), -np.log(2 * np.pi), rtol=1e-14)


def test_angles_a_full_turn_apart_are_the_same():
    family = VonMises()
    params = family.parameters(0.5, 3.0)
    assert_allclose(family.log_prob(0.7 + 2 * np.pi, params), family.log_prob(0.7, params), rtol=1e-12)


def test_draws_of_tiny_shapes_stay_inside_the_support():
    rng = np.random.default_rng(0)
    for family, params in (
        (Gamma(), Gamma().parameters(1e-3, 1.0)),
        (Beta(), Beta().parameters(1e-3, 1e-3)),
        (Dirichlet(), Dirichlet().parameters([1e-3, 1e-3, 2.0])),
        (InverseGaussian(), InverseGaussian().parameters(1e-5, 1e5)),
    ):
        draws = family.sample(params, rng, 500)
        assert np.all(family.in_support(draws))
        assert np.all(np.isfinite(family.log_prob(draws, params)))


@pytest.mark.parametrize(
    ("family", "narrow", "wide", "x"),
    [
        (Gamma(), (1e9, 1e9), (2.0, 1.0), 1.00001),
        (Beta(), (3e7, 7e7), (2.0, 3.0), 0.30001),
        (InverseGaussian(), (1.0, 1e9), (1.0, 2.0), 1.00001),
        (VonMises(), (0.5, 1e8), (0.5, 2.0), 0.50001),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_narrow_classes_are_scored_without_cancellation_beside_wide_ones(family, narrow, wide, x):
    params = family.parameters(*(np.array([[n, w]]) for n, w in zip(narrow, wide, strict=True)))
    out = np.zeros((2, 2))
    family.scorer(params).add(DenseBlock(np.array([[x], [np.nan]]), has_missing=True), out)
    expected = [float(family.log_prob(x, family.parameters(*values))) for values in (narrow, wide)]
    assert_allclose(out[0], expected, rtol=1e-12)
    assert_allclose(out[1], 0.0)


def test_values_outside_the_support_make_rows_impossible_under_every_class():
    family = Gamma()
    params = family.parameters(np.array([[2.0, 1e9]]), np.array([[1.0, 1e9]]))
    for has_missing in (False, True):
        out = np.zeros((2, 2))
        family.scorer(params).add(DenseBlock(np.array([[-1.0], [0.0]]), has_missing=has_missing), out)
        assert np.all(out == -np.inf)
