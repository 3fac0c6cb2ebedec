"""Ridge, lasso and elastic net against scikit-learn and glum, and the conditions a minimum has to meet."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import ElasticNet, GammaRegressor, PoissonRegressor, Ridge, TweedieRegressor

from softcount.core.elastic_net import coordinate_descent
from softcount.estimators.glm import GLM

FAMILIES = ["gaussian", "binomial", "poisson", "gamma", "inverse_gaussian", "tweedie", "negative_binomial"]


def data_for(family, n_rows=300, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_features))
    x[:, 1] += 0.8 * x[:, 0]
    predictor = 0.4 * x[:, 0] - 0.3 * x[:, 2] + 0.2
    mean = np.exp(predictor)
    y = {
        "gaussian": lambda: rng.normal(predictor, 0.5),
        "binomial": lambda: (rng.uniform(size=n_rows) < 1 / (1 + np.exp(-predictor))).astype(float),
        "poisson": lambda: rng.poisson(mean).astype(float),
        "gamma": lambda: rng.gamma(2.0, mean / 2.0),
        "inverse_gaussian": lambda: rng.wald(mean, 3.0),
        "tweedie": lambda: rng.poisson(mean) * rng.gamma(2.0, 1.0, n_rows),
        "negative_binomial": lambda: rng.poisson(mean * rng.gamma(2.0, 0.5, n_rows)).astype(float),
    }[family]()
    return x, y


def our_glm(family, **parameters):
    link = {"gaussian": "identity", "binomial": "logit"}.get(family, "log")
    return GLM(family, link, theta=2.0, **parameters)


@pytest.mark.parametrize(
    ("family", "rival"),
    [
        ("poisson", PoissonRegressor),
        ("gamma", GammaRegressor),
        ("tweedie", lambda **parameters: TweedieRegressor(power=1.5, link="log", **parameters)),
    ],
)
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_ridge_agrees_with_scikit_learn(family, rival, alpha):
    x, y = data_for(family)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, y.size)
    theirs = rival(alpha=alpha, solver="newton-cholesky", tol=1e-12, max_iter=500).fit(x, y, sample_weight=weight)
    ours = our_glm(family, alpha=alpha).fit(x, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-6)
    assert ours.score(x, y, weight) == pytest.approx(theirs.score(x, y, sample_weight=weight), rel=1e-7)


def test_gaussian_ridge_and_lasso_agree_with_scikit_learn():
    x, y = data_for("gaussian")
    ridge = Ridge(alpha=0.2 * y.size).fit(x, y)
    np.testing.assert_allclose(GLM(alpha=0.2).fit(x, y).coef_, ridge.coef_, rtol=1e-9)
    lasso = ElasticNet(alpha=0.1, l1_ratio=0.7, tol=1e-14, max_iter=100_000).fit(x, y)
    np.testing.assert_allclose(GLM(alpha=0.1, l1_ratio=0.7).fit(x, y).coef_, lasso.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "negative_binomial"])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_elastic_nets_agree_with_glum(family, l1_ratio):
    glum = pytest.importorskip("glum")
    x, y = data_for(family)
    rule = {
        "gaussian": "normal",
        "inverse_gaussian": "inverse.gaussian",
        "tweedie": glum.TweedieDistribution(1.5),
    }.get(family, family)
    link = {"gaussian": "identity", "binomial": "logit"}.get(family, "log")
    theirs = glum.GeneralizedLinearRegressor(
        family=rule, link=link, alpha=0.05, l1_ratio=l1_ratio, gradient_tol=1e-11, max_iter=1000, solver="irls-cd"
    ).fit(x, y)
    ours = our_glm(family, alpha=0.05, l1_ratio=l1_ratio).fit(x, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(ours.coef_ == 0.0, np.abs(theirs.coef_) < 1e-12)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_subgradient_conditions_hold_at_an_elastic_net(family, fit_intercept):
    x, y = data_for(family)
    alpha, l1_ratio = 0.08, 0.6
    model = our_glm(family, alpha=alpha, l1_ratio=l1_ratio, fit_intercept=fit_intercept).fit(x, y)
    root, pearson, _ = model.family_.evaluate(model.link_, y, model.linear_predictor(x))
    slope = x.T @ (root * pearson) / y.size - alpha * (1.0 - l1_ratio) * model.coef_
    moved = model.coef_ != 0.0
    assert 0 < moved.sum() < moved.size
    np.testing.assert_allclose(slope[moved], alpha * l1_ratio * np.sign(model.coef_[moved]), atol=1e-8)
    assert np.all(np.abs(slope[~moved]) <= alpha * l1_ratio + 1e-8)


def test_a_penalty_that_drops_columns_gives_no_standard_errors():
    x, y = data_for("poisson")
    model = GLM("poisson", alpha=0.05, l1_ratio=1.0).fit(x, y)
    assert np.isnan(model.standard_errors_).all()
    assert "No standard errors" in str(model.summary())
    assert model.n_parameters_ == np.count_nonzero(model.coef_) + 1


def test_a_huge_lasso_leaves_the_null_model():
    x, y = data_for("poisson")
    model = GLM("poisson", alpha=100.0, l1_ratio=1.0).fit(x, y)
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.deviance_ == pytest.approx(model.null_deviance_, rel=1e-12)


def test_elastic_nets_take_sparse_rows():
    rng = np.random.default_rng(2)
    x = sp.random_array((400, 30), density=0.02, rng=rng, format="csr")
    y = rng.poisson(np.exp(x @ np.linspace(0, 2, 30))).astype(float)
    sparse = GLM("poisson", alpha=0.01, l1_ratio=0.5).fit(x, y)
    dense = GLM("poisson", alpha=0.01, l1_ratio=0.5).fit(x.toarray(), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9, atol=1e-11)


def test_a_ridge_makes_dependent_columns_and_separated_outcomes_harmless():
    x, _ = data_for("binomial")
    doubled = np.column_stack([x, x])
    model = GLM("binomial", alpha=1e-3).fit(doubled, (x[:, 0] > 0).astype(float))
    assert model.aliased_ == []
    assert model.separated_ == []
    np.testing.assert_allclose(model.coef_[:8], model.coef_[8:], rtol=1e-8)


def test_a_ridge_far_below_rounding_is_solved_without_the_gram_matrix():
    x, y = data_for("gaussian")
    doubled = np.column_stack([x, x])
    model = GLM(alpha=1e-18).fit(doubled, y)
    np.testing.assert_allclose(model.coef_[:8] + model.coef_[8:], GLM().fit(x, y).coef_, rtol=1e-6)


@given(
    st.integers(1, 8),
    st.floats(0.0, 3.0),
    st.floats(0.0, 3.0),
    st.integers(0, 10_000),
)
def test_coordinate_descent_ends_where_no_coordinate_can_improve(size, l1, l2, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(size + 3, size))
    gram, linear = rows.T @ rows, rng.normal(size=size) * 4
    penalties = np.full(size, l1), np.full(size, l2)
    coef = coordinate_descent(gram, linear, np.zeros(size), *penalties)
    slope = linear - gram @ coef - l2 * coef
    moved = coef != 0.0
    np.testing.assert_allclose(slope[moved], l1 * np.sign(coef[moved]), atol=1e-6)
    assert np.all(np.abs(slope[~moved]) <= l1 + 1e-6)


def test_coordinate_descent_loses_no_digits_to_a_start_far_away():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9, 6))
    problem = rows.T @ rows, rng.normal(size=6) * 4
    penalties = np.full(6, 0.5), np.full(6, 0.1)
    near = coordinate_descent(*problem, np.zeros(6), *penalties)
    far = coordinate_descent(*problem, np.full(6, 1e12), *penalties)
    np.testing.assert_allclose(far, near, rtol=1e-9, atol=1e-11)
