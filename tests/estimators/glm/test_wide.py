"""Fits that form no matrix of the columns: the same answers, at any width, and what they cannot say."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from softcount import LogisticRegression
from softcount._errors import InputError
from softcount.core.glm import wide
from softcount.estimators.glm import GLM
from softcount.estimators.glm.trouble import SeparationWarning
from tests.estimators.glm.test_penalties import FAMILIES, data_for, our_glm


def words(n_rows=1500, n_columns=30_000, per_row=25, seed=0):
    """A table like text: few of very many columns per row, some columns frequent."""
    rng = np.random.default_rng(seed)
    columns = (n_columns * rng.random((n_rows, per_row)) ** 3).astype(np.int32)
    pointers = np.arange(0, n_rows * per_row + 1, per_row)
    table = sp.csr_array((np.ones(n_rows * per_row), columns.ravel(), pointers), shape=(n_rows, n_columns))
    table.sum_duplicates()
    predictor = 0.2 * table @ rng.normal(size=n_columns)
    return table, predictor, rng


@pytest.mark.parametrize(("alpha", "l1_ratio"), [(0.0, 0.0), (0.1, 0.0), (0.05, 0.4), (0.02, 1.0)])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_answers_are_those_of_the_fit_that_forms_the_matrix(family, alpha, l1_ratio):
    x, y = data_for(family)
    x[:, 3] = 40.0 * x[:, 3] + 5000.0
    rng = np.random.default_rng(1)
    given = {"sample_weight": rng.integers(0, 4, y.size), "offset": 0.2 * rng.normal(size=y.size)}
    with_matrix = our_glm(family, alpha=alpha, l1_ratio=l1_ratio).fit(x, y, **given)
    for table in (x, sp.csr_array(x)):
        without = our_glm(family, alpha=alpha, l1_ratio=l1_ratio, inference=False).fit(table, y, **given)
        assert without.converged_
        scale = np.r_[np.ones(3), 40.0, np.ones(4)]
        np.testing.assert_allclose(without.coef_ * scale, with_matrix.coef_ * scale, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(without.predict(table), with_matrix.predict(x), rtol=1e-6)
        assert without.deviance_ == pytest.approx(with_matrix.deviance_, rel=1e-6)
        assert without.pearson_chi2_ == pytest.approx(with_matrix.pearson_chi2_, rel=1e-6)
        assert without.null_deviance_ == pytest.approx(with_matrix.null_deviance_, rel=1e-12)


@pytest.mark.parametrize("link", ["probit", "cloglog"])
def test_links_that_are_not_canonical_converge_as_well(link):
    x, y = data_for("binomial")
    found = GLM("binomial", link, inference=False).fit(x, y)
    np.testing.assert_allclose(found.coef_, GLM("binomial", link).fit(x, y).coef_, rtol=1e-6, atol=1e-7)


def test_units_of_the_targets_do_not_matter():
    x, y = data_for("gaussian")
    small = GLM(alpha=0.1, inference=False).fit(x, 1e-6 * y)
    large = GLM(alpha=0.1, inference=False).fit(x, 1e6 * y)
    np.testing.assert_allclose(1e6 * small.coef_, 1e-6 * large.coef_, rtol=1e-7)


def test_copies_are_weights_without_a_matrix_too():
    x, y = data_for("poisson")
    often = np.random.default_rng(0).integers(0, 4, y.size)
    copies = GLM("poisson", alpha=0.01, inference=False).fit(np.repeat(x, often, axis=0), np.repeat(y, often))
    weighted = GLM("poisson", alpha=0.01, inference=False).fit(x, y, frequency_weight=often)
    np.testing.assert_allclose(weighted.coef_, copies.coef_, rtol=1e-6, atol=1e-8)
    assert weighted.log_likelihood_ == pytest.approx(copies.log_likelihood_, rel=1e-10)
    assert weighted.n_observations_ == copies.n_observations_


def test_wide_binomial_models_are_wide_logistic_regressions():
    table, predictor, rng = words()
    y = (rng.random(predictor.size) < 1.0 / (1.0 + np.exp(-predictor))).astype(float)
    twin = LogisticRegression(C=2.0, inference=False).fit(table, y)
    found = GLM("binomial", alpha=1.0 / (2.0 * y.size)).fit(table, y)
    np.testing.assert_allclose(found.coef_, twin.coef_[0], atol=1e-7)
    assert found.log_likelihood_ == pytest.approx(twin.log_likelihood_, rel=1e-9)


def test_wide_tables_reach_the_optimum_in_little_memory():
    table, predictor, rng = words()
    y = rng.poisson(np.exp(predictor))
    tracemalloc.start()
    model = GLM("poisson", alpha=1e-3, n_jobs=1).fit(table, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20  # a matrix of the columns has 7 GB
    slope = table.T @ (y - model.predict(table)) - 1e-3 * y.size * model.coef_
    assert np.abs(slope).max() < 1e-4
    assert abs(np.sum(y - model.predict(table))) < 1e-4
    assert model.converged_


def test_wide_elastic_nets_satisfy_the_conditions_of_all_columns():
    table, predictor, rng = words()
    y = rng.poisson(np.exp(predictor))
    model = GLM("poisson", alpha=5e-3, l1_ratio=0.8).fit(table, y)
    score, strength = table.T @ (y - model.predict(table)), 5e-3 * y.size
    chosen = model.coef_ != 0.0
    assert 5 < chosen.sum() < 1000
    assert np.abs(score[~chosen]).max() <= 0.8 * strength * (1.0 + 1e-6)
    np.testing.assert_allclose(
        score[chosen], strength * (0.8 * np.sign(model.coef_[chosen]) + 0.2 * model.coef_[chosen]), rtol=1e-5
    )
    assert model.n_parameters_ == chosen.sum() + 1
    assert np.isfinite(model.aic_)


def test_what_needs_the_matrix_is_not_a_number_and_never_guessed():
    x, y = data_for("gamma")
    model = GLM("gamma", "log", inference=False).fit(x, y)
    assert model.covariance_ is None
    assert np.isnan([*model.standard_errors_, model.intercept_standard_error_]).all()
    assert np.isnan([model.df_residual_, model.dispersion_, model.n_parameters_, model.aic_, model.bic_]).all()
    assert "No standard errors: no matrix" in str(model.summary())
    with pytest.raises(InputError, match="predict_interval needs the covariance"):
        model.predict_interval(x)


def test_separation_is_noticed_without_a_matrix():
    with pytest.warns(SeparationWarning, match="'x0'"):
        model = GLM("binomial", inference=False).fit([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0], [4.0, 2.0]], [0, 0, 1, 1])
    assert "x0" in model.separated_
    table, _, rng = words(300)
    with pytest.warns(SeparationWarning):
        GLM("binomial").fit(table, rng.integers(0, 2, 300))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"inference": True}, r"30000 columns\. inference=True"),
        ({"covariance": "sandwich"}, r"covariance='sandwich' needs a matrix"),
        ({"family": "negative_binomial"}, "Estimating theta.*Give theta"),
        ({"inference": False, "covariance": "sandwich"}, "inference=False rules it out"),
        ({"inference": "yes"}, "inference='yes'"),
    ],
)
def test_what_no_wide_fit_can_give_is_refused_with_a_way_out(parameters, message):
    table, predictor, rng = words()
    with pytest.raises(InputError, match=message):
        GLM(**{"family": "poisson", **parameters}).fit(table, rng.poisson(np.exp(predictor)))


def test_more_chosen_columns_than_a_matrix_has_room_for_are_refused(monkeypatch):
    table, predictor, rng = words()
    monkeypatch.setattr(wide, "MOST_COEFFICIENTS", 20)
    with pytest.raises(InputError, match="More than 20 columns"):
        GLM("poisson", alpha=2e-3, l1_ratio=1.0).fit(table, rng.poisson(np.exp(predictor)))


def test_a_start_that_no_family_allows_says_what_to_change():
    x, y = data_for("gamma")
    with pytest.raises(InputError, match="fit_intercept=True"):
        GLM("gamma", "inverse", fit_intercept=False, inference=False).fit(x, y)
