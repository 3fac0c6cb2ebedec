"""Laws every family obeys: weights are copies, dense is sparse, threads change no bit, order does not matter."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from softcount.core.glm import fit as glm_fit
from softcount.estimators.glm import GLM
from tests.estimators.glm.test_penalties import FAMILIES, data_for, our_glm


def facts(model):
    return np.array(
        [
            model.deviance_,
            model.null_deviance_,
            model.dispersion_,
            model.df_residual_,
            model.log_likelihood_,
            model.aic_,
            model.bic_,
        ]
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("covariance", ["model", "sandwich", "HC1", "HC3"])
@given(counts=st.lists(st.integers(0, 3), min_size=60, max_size=60).filter(lambda c: sum(v > 0 for v in c) > 30))
def test_a_frequency_weight_of_k_equals_k_copies_in_estimates_errors_and_criteria(family, covariance, counts):
    x, y = data_for(family, 60, 3)
    weight = np.array(counts)
    weighted = our_glm(family, covariance=covariance).fit(x, y, frequency_weight=weight)
    copies = our_glm(family, covariance=covariance).fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, copies.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(weighted.standard_errors_, copies.standard_errors_, rtol=1e-6)
    np.testing.assert_allclose(facts(weighted), facts(copies), rtol=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_precision_weight_gives_the_coefficients_of_copies_but_not_their_number(family):
    x, y = data_for(family, 60, 3)
    weight = np.random.default_rng(1).integers(1, 4, 60)
    precise = our_glm(family).fit(x, y, sample_weight=weight)
    copies = our_glm(family).fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(precise.coef_, copies.coef_, rtol=1e-6, atol=1e-8)
    assert precise.n_observations_ == 60
    assert copies.n_observations_ == weight.sum()
    if precise.family_.fixed_dispersion is None:
        ratio = (copies.df_residual_ / precise.df_residual_) ** 0.5
        np.testing.assert_allclose(precise.standard_errors_, ratio * copies.standard_errors_, rtol=1e-6)


@pytest.mark.parametrize("family", ["poisson", "gamma", "inverse_gaussian", "binomial"])
def test_a_weight_of_zero_leaves_the_row_out_whatever_it_holds(family):
    x, y = data_for(family, 80, 3)
    weight = np.ones(80)
    weight[:10] = 0.0
    wild_x, wild_y = x.copy(), y.copy()
    wild_x[:10] *= 1e4
    wild_y[:10] = -5.0
    with_zero = our_glm(family).fit(wild_x, wild_y, sample_weight=weight)
    without = our_glm(family).fit(x[10:], y[10:])
    np.testing.assert_allclose(with_zero.coef_, without.coef_, rtol=1e-7)
    np.testing.assert_allclose(with_zero.standard_errors_, without.standard_errors_, rtol=1e-7)
    np.testing.assert_allclose(facts(with_zero), facts(without), rtol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("density", [0.02, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_rows_equal_dense_ones(family, density, fit_intercept):
    rng = np.random.default_rng(5)
    x = sp.random_array((400, 6), density=density, rng=rng, format="csr")
    _, y = data_for(family, 400, 3)
    parameters = {"fit_intercept": fit_intercept, "covariance": "sandwich"}
    sparse, dense = our_glm(family, **parameters).fit(x, y), our_glm(family, **parameters).fit(x.toarray(), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(sparse.standard_errors_, dense.standard_errors_, rtol=1e-8)
    np.testing.assert_allclose(sparse.predict(x), dense.predict(x.toarray()), rtol=1e-9)
    np.testing.assert_allclose(sparse.predict_interval(x), dense.predict_interval(x.toarray()), rtol=1e-8)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "tweedie", "negative_binomial"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_number_of_threads_does_not_change_a_bit(family, kind):
    x, y = data_for(family, 30_000, 5)
    x = sp.csr_array(np.where(np.abs(x) > 2.2, x, 0.0)) if kind == "sparse" else x
    one, two, three = (our_glm(family, n_jobs=jobs, covariance="sandwich").fit(x, y) for jobs in (1, 2, 3))
    for other in (two, three):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.covariance_, other.covariance_)
        assert one.deviance_ == other.deviance_
        assert one.history_[-1].objective == other.history_[-1].objective


@pytest.mark.parametrize("family", FAMILIES)
def test_the_order_of_rows_and_columns_does_not_matter(family):
    x, y = data_for(family, 200, 4)
    rows, columns = np.random.default_rng(3).permutation(200), np.array([2, 0, 3, 1])
    plain, shuffled = our_glm(family).fit(x, y), our_glm(family).fit(x[rows][:, columns], y[rows])
    np.testing.assert_allclose(shuffled.coef_, plain.coef_[columns], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(shuffled.standard_errors_, plain.standard_errors_[columns], rtol=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_objective_never_falls(family):
    x, y = data_for(family, 300, 6)
    model = our_glm(family, alpha=0.01, l1_ratio=0.3).fit(4.0 * x, y)
    objectives = np.array([step.objective for step in model.history_])
    assert np.all(np.diff(objectives) >= -1e-9 * np.abs(objectives[1:]))
    assert model.n_iter_ == len(objectives) - 1


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "gamma", "negative_binomial"])
def test_a_start_from_part_of_the_rows_ends_at_the_same_fit(family, monkeypatch):
    x, y = data_for(family, 30_000, 4)
    quick = our_glm(family).fit(x, y)
    monkeypatch.setattr(glm_fit, "SMALLEST_STRIDE", 10**9)
    plain = our_glm(family).fit(x, y)
    assert quick.n_iter_ <= plain.n_iter_
    np.testing.assert_allclose(quick.coef_, plain.coef_, rtol=1e-6, atol=1e-8)


def test_a_start_from_part_of_the_rows_is_dropped_where_other_rows_are_wild(monkeypatch):
    x, y = data_for("poisson", 30_000, 4)
    x[1, 0] = 400.0
    y[1] = 2.0
    quick = GLM("poisson").fit(x, y)
    monkeypatch.setattr(glm_fit, "SMALLEST_STRIDE", 10**9)
    np.testing.assert_allclose(quick.coef_, GLM("poisson").fit(x, y).coef_, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_every_layout_of_numbers_gives_the_same_fit(order, dtype):
    rng = np.random.default_rng(6)
    x = rng.integers(-3, 4, (500, 4))
    y = rng.poisson(np.exp(0.2 * x[:, 0])).astype(float)
    plain = GLM("poisson").fit(x.astype(np.float64), y)
    other = GLM("poisson").fit(np.asarray(x, dtype=dtype, order=order), y)
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(other.predict(np.asarray(x, dtype=dtype)), plain.predict(x), rtol=1e-6)


def test_columns_far_from_zero_lose_no_digits():
    x, y = data_for("poisson", 500, 3)
    near, far = GLM("poisson").fit(x, y), GLM("poisson").fit(x + np.array([1e6, -1e7, 1e8]), y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6)
    np.testing.assert_allclose(far.standard_errors_, near.standard_errors_, rtol=1e-6)
    found = far.predict_interval(x + np.array([1e6, -1e7, 1e8]))
    np.testing.assert_allclose(found, near.predict_interval(x), rtol=1e-5)


def test_an_offset_moves_the_intercept_and_nothing_else():
    x, y = data_for("gamma", 300, 3)
    plain, moved = our_glm("gamma").fit(x, y), our_glm("gamma").fit(x, y, offset=np.full(300, 0.7))
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-8)
    assert moved.intercept_ == pytest.approx(plain.intercept_ - 0.7, rel=1e-8)
    np.testing.assert_allclose(moved.predict(x, offset=0.7), plain.predict(x), rtol=1e-8)
