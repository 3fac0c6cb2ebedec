"""Data that are difficult: a right answer, or a warning that names the column."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from softcount._errors import InputError
from softcount.core.glm.links import Power
from softcount.estimators.glm import GLM
from softcount.estimators.glm.trouble import AliasedColumnsWarning, SeparationWarning
from tests.estimators.glm.data import FAMILIES, glm, rows, target

# ---- collinear columns


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e9])
def test_a_combination_of_earlier_columns_gets_zero_and_is_named(family, scale):
    x = rows()
    y = target(family, x)
    more = np.column_stack([x, scale * (x[:, 0] - 2.0 * x[:, 2] + 3.0), np.full(len(x), 0.1)])
    with pytest.warns(AliasedColumnsWarning, match="'x3', 'x4'"):
        model = glm(family).fit(more, y)
    plain = glm(family).fit(x, y)
    assert model.aliased_ == ["x3", "x4"]
    np.testing.assert_array_equal(model.coef_[3:], 0.0)
    assert np.isnan(model.standard_errors_[3:]).all()
    np.testing.assert_allclose(model.coef_[:3], plain.coef_, rtol=1e-7)
    np.testing.assert_allclose(model.standard_errors_[:3], plain.standard_errors_, rtol=1e-7)
    assert model.df_residual_ == plain.df_residual_
    np.testing.assert_allclose(model.predict_interval(more), plain.predict_interval(x), rtol=1e-6)


def test_the_later_of_two_equal_columns_is_the_one_left_out():
    x = rows()[:, [0, 1, 0]]
    with pytest.warns(AliasedColumnsWarning, match="Column 'x2' is a linear combination"):
        model = GLM().fit(x, target("gaussian", x))
    assert model.aliased_ == ["x2"]


def test_a_full_set_of_dummies_beside_an_intercept_leaves_out_the_last():
    groups = np.random.default_rng(0).integers(0, 4, 200)
    dummies = np.eye(4)[groups]
    y = groups + np.random.default_rng(1).normal(size=200)
    for table in (dummies, sp.csr_array(dummies)):
        with pytest.warns(AliasedColumnsWarning, match="'x3'"):
            model = GLM().fit(table, y)
        means = np.array([y[groups == g].mean() for g in range(4)])
        np.testing.assert_allclose(model.intercept_ + model.coef_, means, rtol=1e-9)
    without = GLM(fit_intercept=False).fit(dummies, y)
    assert without.aliased_ == []


@pytest.mark.parametrize("weight", [1.0, 1e-8, 1e8])
def test_a_constant_that_is_only_known_to_rounding_is_constant(weight):
    x = rows()
    constant = np.where(x[:, 0] > 0.0, 1e8, np.nextafter(1e8, np.inf))
    with pytest.warns(AliasedColumnsWarning, match="'x3'"):
        model = GLM().fit(np.column_stack([x, constant]), target("gaussian", x), sample_weight=np.full(len(x), weight))
    assert model.aliased_ == ["x3"]


def test_small_but_real_variation_around_a_large_number_is_kept():
    x = rows()
    seconds = 1.7e9 + 60.0 * x[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GLM().fit(np.column_stack([seconds, x[:, 1:]]), target("gaussian", x))
    plain = GLM().fit(x, target("gaussian", x))
    np.testing.assert_allclose(60.0 * model.coef_[0], plain.coef_[0], rtol=1e-5)


def test_more_columns_than_rows_fit_perfectly_with_as_many_as_there_are_rows():
    x = rows(10, 30)
    y = target("gaussian", x)
    with pytest.warns(AliasedColumnsWarning, match="and 11 more"):
        model = GLM().fit(x, y)
    assert len(model.aliased_) == 21
    np.testing.assert_allclose(model.predict(x), y, atol=1e-9)
    assert np.isnan(model.dispersion_)


# ---- separation


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "loglog"])
def test_complete_separation_is_flagged_with_the_column_and_stays_finite(link):
    x = rows()
    y = (x[:, 1] > 0).astype(float)
    with pytest.warns(SeparationWarning, match=r"'x1'.*alpha"):
        model = GLM("binomial", link).fit(x, y)
    assert "x1" in model.separated_
    assert np.isfinite(model.coef_).all()
    np.testing.assert_array_equal(model.predict(x) > 0.5, y > 0.5)
    assert "Growing without bound" in str(model.summary())


def test_quasi_separation_by_one_column_names_that_column_only():
    x = rows(400)
    rare = (np.arange(400) < 6).astype(float)
    y = np.where(rare > 0, 1.0, target("binomial", x))
    with pytest.warns(SeparationWarning) as caught:
        model = GLM("binomial").fit(np.column_stack([x, rare]), y)
    assert model.separated_ == ["x3"]
    assert "'x0'" not in str(caught[0].message)
    without = GLM("binomial").fit(x[6:], y[6:])
    np.testing.assert_allclose(model.coef_[:3], without.coef_, rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
@pytest.mark.parametrize("measured", ["what separates", "the others"])
def test_what_separates_does_not_depend_on_the_units_of_columns(measured, unit):
    x = rows(400)
    rare = (np.arange(400) < 6).astype(float)
    y = np.where(rare > 0, 1.0, target("binomial", x))
    table = np.column_stack([x, rare])
    table[:, [3] if measured == "what separates" else [0, 1, 2]] *= unit
    with pytest.warns(SeparationWarning, match="'x3'"):
        model = GLM("binomial").fit(table, y)
    assert model.separated_ == ["x3"]


def test_a_group_of_zero_counts_is_flagged_in_a_poisson_model():
    x = rows(300)
    group = (np.arange(300) < 20).astype(float)
    y = np.where(group > 0, 0.0, target("poisson", x))
    with pytest.warns(SeparationWarning, match="'x3'"):
        model = GLM("poisson").fit(np.column_stack([x, group]), y)
    assert model.coef_[3] < -10.0
    assert np.isfinite(model.log_likelihood_)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_one_outcome_only_is_flagged(value):
    x = rows()
    with pytest.warns(SeparationWarning):
        model = GLM("binomial").fit(x, np.full(len(x), value))
    np.testing.assert_allclose(model.predict(x), value, atol=1e-3)


def test_counts_that_are_all_zero_are_flagged():
    x = rows()
    with pytest.warns(SeparationWarning, match="intercept"):
        model = GLM("poisson").fit(x, np.zeros(len(x)))
    assert model.predict(x).max() < 1e-4


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_data_without_separation_raise_no_flag(family):
    for seed in range(20):
        x = rows(60, 3, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert glm(family).fit(x, target(family, x)).separated_ == []


# ---- starts, steps and stopping


def test_a_fit_cut_short_says_so():
    x = rows()
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = GLM("poisson", max_iter=1).fit(x, target("poisson", x))
    assert not model.converged_


def test_a_tolerance_of_zero_runs_exactly_max_iter_iterations_without_complaint():
    x = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GLM("poisson", max_iter=7, tol=0).fit(x, target("poisson", x))
    assert model.n_iter_ == 7
    np.testing.assert_allclose(model.coef_, GLM("poisson").fit(x, target("poisson", x)).coef_, rtol=1e-8)


def test_steps_that_leave_the_family_are_halved():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (200, 1))
    y = rng.poisson(0.05 + 8.0 * x[:, 0]).astype(float)
    model = GLM("poisson", "identity").fit(x, y)
    assert model.predict(x).min() > 0.0
    objectives = [step.objective for step in model.history_]
    assert np.all(np.diff(objectives) >= -1e-9 * np.abs(objectives[1:]))


def test_a_best_fit_at_the_edge_of_the_family_is_reported():
    x = np.linspace(0, 1, 60)[:, None]
    y = np.where(x[:, 0] < 0.3, 0.0, np.round(20.0 * (x[:, 0] - 0.3)))
    with pytest.warns(ConvergenceWarning, match=r"edge.*row 0.*'log'"):
        model = GLM("poisson", "identity").fit(x, y)
    assert np.isfinite(model.coef_).all()
    with pytest.warns(ConvergenceWarning, match=r"edge.*row"):
        GLM("binomial", "identity").fit(x, (x[:, 0] > 0.9).astype(float))


def test_rows_without_weight_are_at_no_edge():
    x = np.linspace(0, 1, 60)[:, None]
    y = np.where(x[:, 0] < 0.3, 0.0, np.round(20.0 * (x[:, 0] - 0.3)))
    weight = np.ones(60)
    weight[:2] = 0.0
    with pytest.warns(ConvergenceWarning, match=r"edge.*row 2\b"):
        GLM("poisson", "identity").fit(x, y, sample_weight=weight)


@pytest.mark.parametrize("link", ["inverse", "identity", "log", Power(-0.5)])
def test_a_start_is_found_without_an_intercept(link):
    rng = np.random.default_rng(2)
    x = rng.uniform(1.0, 2.0, (150, 2))
    y = rng.gamma(20.0, 1.0 / (x @ [0.5, 1.0]) / 20.0)
    model = GLM("gamma", link, fit_intercept=False).fit(x, y)
    assert model.converged_
    assert model.intercept_ == 0.0


def test_a_model_no_start_exists_for_says_what_to_change():
    x = np.concatenate([np.ones(50), -np.ones(50)])[:, None]
    with pytest.raises(InputError, match="fit_intercept=True"):
        GLM("gamma", "inverse", fit_intercept=False).fit(x, np.ones(100) + np.arange(100))


def test_counts_as_even_as_poisson_counts_send_theta_to_infinity_with_a_warning():
    x = rows(400)
    y = np.random.default_rng(3).binomial(10, 0.3, 400).astype(float)
    with pytest.warns(ConvergenceWarning, match="poisson"):
        model = GLM("negative_binomial").fit(x, y)
    np.testing.assert_allclose(model.coef_, GLM("poisson").fit(x, y).coef_, atol=1e-5)
