"""Components are put in order, and the empty and the collapsed ones are found."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from softcount import CategoricalMixture, GaussianMixture, Mixture, PoissonMixture
from softcount.core.components import component_notes, order_by_column, reordered
from softcount.core.iterate import Fit


def fit_of(model):
    return Fit(model.params_, model.counts_, 0.0, True, 1)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_reordering_permutes_parameters_and_counts_and_nothing_else(covariance_type):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(k * 3.0, 1.0 + k, (40 + 20 * k, 2)) for k in range(3)])
    model = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    order = np.array([2, 0, 1])
    changed, fit = reordered(model.model_, fit_of(model), order)
    assert_array_equal(fit.params.log_weights, model.params_.log_weights[order])
    chunk = model._rows(X)[0]
    before, after = model.model_.log_joint(model.params_, chunk), changed.log_joint(fit.params, chunk)
    assert_allclose(after, before[:, order], rtol=1e-12)
    solved = changed.solve(fit.counts, None)
    assert_allclose(solved.blocks[0]["mean"], model.model_.solve(model.counts_, None).blocks[0]["mean"][:, order])
    same, untouched = reordered(model.model_, fit_of(model), np.arange(3))
    assert same is model.model_
    assert untouched.params is model.params_


def test_priors_per_component_move_with_them():
    X = np.random.default_rng(0).poisson([[1.0, 5.0]], (50, 2))
    alpha = np.array([[1.0, 1.0], [30.0, 30.0]])
    model = PoissonMixture(2, alpha=alpha, order=None, random_state=0).fit(X)
    changed, _ = reordered(model.model_, fit_of(model), np.array([1, 0]))
    assert_array_equal(changed.priors[0].alpha, model.model_.priors[0].alpha[:, ::-1])


def test_columns_of_every_family_put_components_in_order():
    rng = np.random.default_rng(1)
    z = rng.integers(2, size=300)
    rows = np.empty((300, 3), dtype=object)
    rows[:, 0] = np.where(rng.random(300) < np.where(z, 0.9, 0.1), "b", "a")
    rows[:, 1] = rng.normal(np.where(z, 4.0, 0.0), 1.0)
    rows[:, 2] = rng.poisson(np.where(z, 9.0, 2.0)) + 0
    for column in ("x0", 1, "x2"):
        model = Mixture(2, families={"x2": "poisson"}, order=column, random_state=0).fit(rows)
        means = model.frame().query("column == 'x1' and quantity == 'mean'").value.to_numpy()
        assert means[0] < means[1]
        for block in range(3):
            assert_array_equal(order_by_column(model.model_, model.params_, block, 0), [0, 1])


def test_a_component_with_next_to_no_rows_is_named():
    X = np.random.default_rng(0).integers(0, 2, (50, 4))
    resp = np.column_stack([np.ones(50), np.zeros(50)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CategoricalMixture(2, init=resp, order=None).fit(X)
    notes = component_notes(model.model_, fit_of(model), ["one", "two"])
    assert len(notes) == 1
    assert "component 'two' is empty" in notes[0]


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_a_component_on_one_point_is_named_but_a_constant_column_is_not(covariance_type):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1.0, (80, 2)), np.full((4, 2), 8.0)])
    with pytest.warns(UserWarning, match="has shrunk onto 4 rows"):
        GaussianMixture(2, covariance_type=covariance_type, random_state=0).fit(X)
    constant = np.column_stack([X[:, 0], np.ones(84)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianMixture(1, covariance_type=covariance_type, random_state=0).fit(constant)


def test_notes_survive_a_change_of_units():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1.0, (80, 2)), rng.normal(6.0, 1.0, (80, 2))])
    for unit in (1e-3, 1.0, 1e5):
        model = GaussianMixture(2, random_state=0, reg_covar=1e-6 * unit**2).fit(X * unit)
        assert model.notes_ == []
        assert component_notes(model.model_, replace(fit_of(model), n_iter=2), [0, 1]) == []
