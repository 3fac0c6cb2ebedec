"""Differences of gamma functions, against 60-digit arithmetic."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount.families import Poisson
from softcount.families.gamma_function import (
    inverse_digamma,
    log_gamma_ratio,
    log_minus_digamma,
    relative_gap,
    shape_from_gap,
    stirling_remainder,
)
from softcount.families.log_factorials import mean_log_binomial, mean_log_factorial

SIZES = [1e-10, 1e-3, 0.5, 1.0, 3.3, 14.9, 19.99, 20.01, 35.0, 1e3, 1e8, 1e15]


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


@pytest.mark.parametrize("a", SIZES)
def test_one_argument_functions_keep_their_digits(a):
    exact = mpmath.mpf(a)
    remainder = mpmath.loggamma(exact) - (exact - 0.5) * mpmath.log(exact) + exact - mpmath.log(2 * mpmath.pi) / 2
    assert_allclose(stirling_remainder(a), float(remainder), rtol=1e-11, atol=1e-14)
    gap = mpmath.log(exact) - mpmath.digamma(exact)
    assert_allclose(log_minus_digamma(a), float(gap), rtol=1e-13)
    assert_allclose(shape_from_gap(float(gap)), a, rtol=1e-12)
    assert_allclose(inverse_digamma(float(mpmath.digamma(exact))), a, rtol=1e-13)


@pytest.mark.parametrize(
    ("a", "x"), [(1e10, 1.0), (1e10, 3.5), (30.0, 1e6), (1e-3, 1e3), (5.0, 2e5), (25.0, 0.0), (0.5, 0.5), (1e15, 1e-3)]
)
def test_ratios_of_gamma_functions_keep_their_digits(a, x):
    exact = mpmath.loggamma(mpmath.mpf(a) + mpmath.mpf(x)) - mpmath.loggamma(mpmath.mpf(a))
    assert_allclose(log_gamma_ratio(a, x), float(exact), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("x", [1 + 1e-9, 1 - 1e-9, 1.2, 1.26, 0.76, 0.74, 1e-300, 1e300, 7.0, 1.0])
def test_the_relative_gap_keeps_its_digits_near_and_far(x):
    exact = mpmath.mpf(x) - 1 - mpmath.log(mpmath.mpf(x))
    assert_allclose(relative_gap(x, 1.0), float(exact), rtol=1e-14)


def test_numbers_without_bound_give_an_infinite_gap_and_no_warning():
    assert relative_gap(1e300, 1e-300) == np.inf


@pytest.mark.parametrize("rate", [1e-8, 0.5, 3.0, 50.0])
def test_expected_log_factorials_are_the_sums(rate):
    counts = range(int(rate + 40 * rate**0.5 + 60))
    exact = mpmath.fsum(
        mpmath.exp(x * mpmath.log(rate) - rate - mpmath.loggamma(x + 1)) * mpmath.loggamma(x + 1) for x in counts
    )
    assert_allclose(mean_log_factorial(rate), float(exact), rtol=1e-12)


@pytest.mark.parametrize("size", [0.3, 1.0, 2.5, 400.0])
@pytest.mark.parametrize("mean", [0.1, 20.0])
def test_expected_log_binomial_coefficients_are_the_sums(size, mean):
    p = size / (size + mean)
    total = mpmath.mpf(0)
    for x in range(3000):
        base = mpmath.loggamma(x + size) - mpmath.loggamma(size) - mpmath.loggamma(x + 1)
        total += mpmath.exp(base + size * mpmath.log(p) + x * mpmath.log(1 - p)) * base
    assert_allclose(mean_log_binomial(size, mean / size), float(total), rtol=1e-11, atol=1e-15)


def test_the_entropy_of_counts_tends_to_that_of_a_gaussian():
    family = Poisson()
    for rate in (1e4, 1e12):
        entropy = family.entropy(family.parameters(rate))
        assert_allclose(entropy, 0.5 * np.log(2 * np.pi * np.e * rate) - 1 / (12 * rate), rtol=1e-9)
    below, above = (family.entropy(family.parameters(rate)) for rate in (1e3, np.nextafter(1e3, 2e3)))
    assert_allclose(below, above, rtol=1e-10)
