"""Least squares on NIST's reference data: how many of the certified digits are met.

Wampler 4 and 5 add errors that dwarf the signal (a residual standard deviation of 2e7 around coefficients of
1), and Filip's columns agree to eight digits: there the data themselves, rounded to double precision,
determine no more.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from softcount.estimators.bayesian_linear import BayesianLinearRegression
from softcount.estimators.glm import GLM
from tests.reference.nist_regression import ALL, FILIP, LONGLEY, digits

# Correct significant digits, at the worst coefficient: coefficients, standard errors.
DIGITS = {
    "Longley": (12.0, 12.0),
    "Wampler1": (9.5, 9.5),
    "Wampler2": (12.0, 12.0),
    "Wampler3": (9.5, 10.0),
    "Wampler4": (7.5, 10.0),
    "Wampler5": (6.0, 10.0),
    "Filip": (7.0, 7.0),
}


def all_of(model):
    return (
        np.r_[model.intercept_, model.coef_],
        np.r_[model.intercept_standard_error_, model.standard_errors_],
    )


@pytest.mark.parametrize("name", sorted(ALL))
def test_certified_digits_are_met(name):
    data = ALL[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GLM(n_jobs=1).fit(data.x, data.y)
    coefficients, errors = all_of(model)
    assert digits(coefficients, data.coefficients) >= DIGITS[name][0]
    assert digits(errors, data.standard_errors) >= DIGITS[name][1]
    assert model.aliased_ == []
    assert np.sqrt(model.dispersion_) == pytest.approx(data.residual_sd, rel=1e-9, abs=1e-6)


def test_the_units_of_the_columns_do_not_matter():
    units = np.array([1e-6, 1e3, 1e9, 1e-3, 1.0, 1e6])
    plain, scaled = GLM().fit(LONGLEY.x, LONGLEY.y), GLM().fit(LONGLEY.x * units, LONGLEY.y)
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(scaled.standard_errors_ * units, plain.standard_errors_, rtol=1e-9)


@pytest.mark.parametrize("x", [sp.csr_array(FILIP.x), np.asfortranarray(FILIP.x)], ids=["sparse", "fortran"])
def test_the_orthogonal_route_takes_every_kind_of_table(x):
    model = GLM().fit(x, FILIP.y)
    assert digits(all_of(model)[0], FILIP.coefficients) >= 6.5


def test_rows_of_an_ill_conditioned_design_may_come_in_copies():
    copies = GLM().fit(np.repeat(FILIP.x, 3, axis=0), np.repeat(FILIP.y, 3))
    weighted = GLM().fit(FILIP.x, FILIP.y, frequency_weight=np.full(82, 3))
    np.testing.assert_allclose(weighted.coef_, copies.coef_, rtol=1e-6)
    np.testing.assert_allclose(weighted.standard_errors_, copies.standard_errors_, rtol=1e-6)


def test_a_nearly_flat_prior_gives_longleys_coefficients_and_errors():
    prior = 1e-12 * LONGLEY.x.var(axis=0) / LONGLEY.residual_sd**2
    model = BayesianLinearRegression(prior_precision=prior, noise=LONGLEY.residual_sd**2).fit(LONGLEY.x, LONGLEY.y)
    assert digits(model.coef_, LONGLEY.coefficients[1:]) >= 8.0
    assert digits(np.sqrt(np.diag(model.covariance_)), LONGLEY.standard_errors[1:]) >= 8.0
