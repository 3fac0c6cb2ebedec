"""Link functions, checked against 60-digit arithmetic far into both tails."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcount._errors import InputError
from softcount.core.glm.links import LINKS, Power, UnitLink, resolve_link

mpmath.mp.dps = 60

PREDICTORS = [-700.0, -300.0, -37.5, -8.0, -1.0, -1e-3, 0.0, 1e-9, 0.5, 1.0, 6.5, 9.0, 37.5, 300.0, 700.0]
POSITIVE_ONLY = {"inverse_squared", "sqrt", "power(3)", "power(-1.5)"}

EXACT_MEAN = {
    "logit": lambda t: 1 / (1 + mpmath.exp(-t)),
    "probit": lambda t: mpmath.erfc(-t / mpmath.sqrt(2)) / 2,
    "cloglog": lambda t: -mpmath.expm1(-mpmath.exp(t)),
    "loglog": lambda t: mpmath.exp(-mpmath.exp(-t)),
    "cauchit": lambda t: mpmath.atan2(1, -t) / mpmath.pi,
    "log": mpmath.exp,
    "identity": lambda t: t,
    "inverse": lambda t: 1 / t,
    "inverse_squared": lambda t: t ** mpmath.mpf("-0.5"),
    "sqrt": lambda t: t**2,
    "power(3)": mpmath.cbrt,
    "power(-1.5)": lambda t: t ** (-mpmath.mpf(2) / 3),
}
EXACT_COMPLEMENT = {
    "logit": lambda t: 1 / (1 + mpmath.exp(t)),
    "probit": lambda t: mpmath.erfc(t / mpmath.sqrt(2)) / 2,
    "cloglog": lambda t: mpmath.exp(-mpmath.exp(t)),
    "loglog": lambda t: -mpmath.expm1(-mpmath.exp(-t)),
    "cauchit": lambda t: mpmath.atan2(1, t) / mpmath.pi,
}
EXACT_SLOPE = {
    "logit": lambda t: 1 / ((1 + mpmath.exp(-t)) * (1 + mpmath.exp(t))),
    "probit": lambda t: mpmath.exp(-(t**2) / 2) / mpmath.sqrt(2 * mpmath.pi),
    "cloglog": lambda t: mpmath.exp(t - mpmath.exp(t)),
    "loglog": lambda t: mpmath.exp(-t - mpmath.exp(-t)),
    "cauchit": lambda t: 1 / (mpmath.pi * (1 + t**2)),
    "log": mpmath.exp,
    "identity": lambda _: mpmath.mpf(1),
    "inverse": lambda t: -1 / t**2,
    "inverse_squared": lambda t: -(t ** mpmath.mpf("-1.5")) / 2,
    "sqrt": lambda t: 2 * t,
    "power(3)": lambda t: t ** (-mpmath.mpf(2) / 3) / 3,
    "power(-1.5)": lambda t: -(mpmath.mpf(2) / 3) * t ** (-mpmath.mpf(5) / 3),
}
ALL = {**LINKS, "power(3)": Power(3.0), "power(-1.5)": Power(-1.5)}
UNIT = sorted(EXACT_COMPLEMENT)


def predictors_of(name):
    if name in POSITIVE_ONLY:
        return [t for t in PREDICTORS if t > 0]
    return [t for t in PREDICTORS if t != 0] if name == "inverse" else PREDICTORS


def assert_close(found, exact, where, digits=1e-13):
    """Relative to the exact value; a value below the smallest normal number may round to zero."""
    with mpmath.workdps(800):
        if abs(exact) < mpmath.mpf(np.finfo(np.float64).tiny):
            assert abs(found) < 1e-300, where
        else:
            assert abs((mpmath.mpf(float(found)) - exact) / exact) < digits, where


@pytest.mark.parametrize("name", sorted(ALL))
def test_mean_and_slope_agree_with_60_digits_in_both_tails(name):
    eta = np.array(predictors_of(name))
    mean, slope = ALL[name].inverse(eta)
    assert ALL[name].contains(eta).all()
    for t, m, s in zip(eta, mean, slope, strict=True):
        assert_close(m, EXACT_MEAN[name](mpmath.mpf(t)), (name, t, "mean"))
        # exp(t) for t near 37 carries the rounding of t into the exponent: |t| ulps.
        assert_close(s, EXACT_SLOPE[name](mpmath.mpf(t)), (name, t, "slope"), 1e-12)


@pytest.mark.parametrize("name", UNIT)
def test_one_minus_the_mean_keeps_its_digits_where_the_mean_rounds_to_one(name):
    eta = np.array(PREDICTORS)
    mean, complement, slope = LINKS[name].both(eta)
    for t, c in zip(eta, complement, strict=True):
        assert_close(c, EXACT_COMPLEMENT[name](mpmath.mpf(t)), (name, t))
    plain_mean, plain_slope = LINKS[name].inverse(eta)
    np.testing.assert_array_equal(mean, plain_mean)
    np.testing.assert_array_equal(slope, plain_slope)


@pytest.mark.parametrize("name", UNIT)
def test_log_probabilities_are_finite_and_exact_at_700(name):
    eta = np.array(PREDICTORS)
    log_mean, log_complement = LINKS[name].log_both(eta)
    assert np.isfinite(log_mean).all()
    assert np.isfinite(log_complement).all()
    with mpmath.workdps(800):
        for predictor, a, b in zip(eta, log_mean, log_complement, strict=True):
            t = mpmath.mpf(predictor)
            if name == "loglog":
                exact_a, exact_b = -mpmath.exp(-t), mpmath.log(EXACT_COMPLEMENT[name](t))
            elif name == "cloglog":
                exact_a, exact_b = mpmath.log(EXACT_MEAN[name](t)), -mpmath.exp(t)
            else:
                exact_a, exact_b = mpmath.log(EXACT_MEAN[name](t)), mpmath.log(EXACT_COMPLEMENT[name](t))
            assert_close(a, exact_a, (name, t, "log mean"), 1e-12)
            assert_close(b, exact_b, (name, t, "log complement"), 1e-12)


@pytest.mark.parametrize("name", sorted(ALL))
def test_inverse_undoes_the_link(name):
    means = np.array([1e-6, 0.01, 0.3, 0.5, 0.7, 0.99])
    eta = ALL[name].link(means)
    np.testing.assert_allclose(ALL[name].inverse(eta)[0], means, rtol=1e-10)


@given(st.floats(min_value=0.02, max_value=2.0))
def test_slope_is_the_derivative_of_the_mean(t):
    for name, link in ALL.items():
        step = 1e-6 * t
        eta = np.array([t - step, t, t + step])
        mean, slope = link.inverse(eta)
        numeric = (mean[2] - mean[0]) / (eta[2] - eta[0])
        assert numeric == pytest.approx(slope[1], rel=1e-5, abs=1e-12), name


@pytest.mark.parametrize("name", sorted(ALL))
def test_no_predictor_raises_a_floating_point_warning(name):
    wild = np.array([-np.inf, -1e308, -800.0, -1e-320, 0.0, 1e-320, 800.0, 1e308, np.inf, np.nan])
    inside = ALL[name].contains(wild)
    assert not inside[[0, 8, 9]].any()
    with np.errstate(all="raise", under="ignore"):
        ALL[name].inverse(wild[inside])
        if isinstance(ALL[name], UnitLink):
            ALL[name].log_both(wild[inside])


def test_unit_links_are_recognized_as_such():
    assert {name for name, link in LINKS.items() if isinstance(link, UnitLink)} == set(UNIT)


def test_an_unknown_link_is_refused_with_the_list_of_links():
    with pytest.raises(InputError, match=r"'logistic' is not a link.*logit"):
        resolve_link("logistic")


def test_a_power_of_zero_is_refused_and_log_recommended():
    with pytest.raises(InputError, match="'log'"):
        Power(0.0)


def test_a_link_object_is_taken_as_it_is():
    link = Power(0.25)
    assert resolve_link(link) is link
    assert link.name == "power(0.25)"


@pytest.mark.parametrize(
    ("exponent", "inside", "beyond"), [(0.25, 1e70, 1e80), (-0.25, 1e-70, 1e-80), (4.0, 1e300, np.inf)]
)
def test_a_power_link_contains_predictors_whose_means_are_numbers(exponent, inside, beyond):
    assert Power(exponent).contains(np.array([inside, beyond, 0.0, -1.0])).tolist() == [True, False, False, False]
