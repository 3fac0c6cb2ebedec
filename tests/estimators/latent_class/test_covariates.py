"""Covariates of the classes: the answers are those of the likelihood written down, and every path honors them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.linear_model import LogisticRegression

import softcount
from softcount import LatentClass, select
from tests.estimators.mixture.test_standard_errors import numerical_covariance

TIGHT = {"tol": 1e-14, "max_iter": 20000, "random_state": 0}
ITEMS = list("abcde")


def survey(n_rows=400, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    age, town = rng.normal(size=n_rows), rng.choice(["no", "yes"], n_rows)
    design = np.column_stack([np.ones(n_rows), age, town == "yes"])
    coef = np.array([[0.0, 0.5, -0.3], [0.0, 1.0, -0.8], [0.0, -0.7, 0.6]])[:, :n_classes]
    shares = np.exp(log_softmax(design @ coef, axis=1)).cumsum(axis=1)
    kind = np.minimum((rng.random((n_rows, 1)) > shares).sum(axis=1), n_classes - 1)
    prob = np.array([[0.85, 0.8, 0.9, 0.7, 0.8], [0.2, 0.3, 0.15, 0.25, 0.1], [0.9, 0.1, 0.8, 0.2, 0.5]])
    X = pd.DataFrame((rng.random((n_rows, 5)) < prob[kind]).astype(float), columns=ITEMS)
    return X.mask(rng.random(X.shape) < 0.1).assign(age=age, town=town), design, kind


def log_likelihood_of(X, design, weight):
    """The likelihood of two classes, as a function of the coefficients and the log-odds of the answers."""
    cells = X[ITEMS].to_numpy()[:, :, None]

    def log_likelihood(theta):
        sizes = log_softmax(np.column_stack([np.zeros(len(X)), design @ theta[: design.shape[1]]]), axis=1)
        prob = 1.0 / (1.0 + np.exp(-theta[design.shape[1] :].reshape(len(ITEMS), 2)))
        answers = np.where(cells == 1, np.log(prob), np.log1p(-prob))
        joint = sizes + np.where(np.isnan(cells), 0.0, answers).sum(axis=1)
        return float(weight @ logsumexp(joint, axis=1))

    return log_likelihood


def parameters_of(model):
    yes = np.column_stack([model.item_probabilities_[item][:, 1] for item in ITEMS])
    return np.concatenate([model.class_coefficients_[1], np.log(yes / (1.0 - yes)).T.ravel()])


def test_the_fit_is_the_maximum_of_the_likelihood_written_down():
    X, design, _ = survey()
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    model = LatentClass(2, covariates=["age", "town"], **TIGHT).fit(X, sample_weight=weight)
    log_likelihood = log_likelihood_of(X, design, weight)
    found = parameters_of(model)
    assert model.coefficient_names_ == ["(intercept)", "age", "town=yes"]
    assert model.n_parameters_ == found.size == 13
    assert model.log_likelihood_ == pytest.approx(log_likelihood(found), rel=1e-12)
    best = minimize(lambda theta: -log_likelihood(theta), found + 0.05, method="BFGS", options={"gtol": 1e-4})
    assert -best.fun <= model.log_likelihood_ + 1e-6
    assert_allclose(found, best.x, atol=2e-3)


def test_standard_errors_are_those_of_its_curvature():
    X, design, _ = survey()
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    model = LatentClass(2, covariates=["age", "town"], **TIGHT).fit(X, sample_weight=weight)
    covariance = numerical_covariance(log_likelihood_of(X, design, weight), parameters_of(model))
    errors = model.standard_errors(X, sample_weight=weight)
    rows = {row.column: error.values for row, error in errors.rows if row.quantity == "log-odds"}
    assert_allclose([rows[name][1] for name in rows], np.sqrt(np.diagonal(covariance)[:3]), rtol=1e-4)
    assert all(values[0] == 0.0 for values in rows.values())
    # The sizes over the rows by the delta method.
    share = np.exp(log_softmax(np.column_stack([np.zeros(len(X)), design @ model.class_coefficients_[1]]), axis=1))
    slope = (weight * share[:, 0] * share[:, 1]) @ design / weight.sum()
    assert_allclose(errors.weight_errors, np.sqrt(slope @ covariance[:3, :3] @ slope), rtol=1e-4)
    whole = X.loc[X.index.repeat(weight.astype(int))]
    for kind in ("observed", "scores", "sandwich"):
        one, other = (
            model.standard_errors(X, sample_weight=weight, covariance=kind),
            model.standard_errors(whole, covariance=kind),
        )
        assert_allclose(one.weight_errors, other.weight_errors, rtol=1e-8)
        for (_, a), (_, b) in zip(one.rows, other.rows, strict=True):
            assert_allclose(a.values, b.values, rtol=1e-7)


@given(seed=st.integers(0, 10**6))
def test_weights_are_repetitions_order_means_nothing_and_nothing_falls(seed):
    rng = np.random.default_rng(seed)
    X, _, _ = survey(60, seed=seed)
    weight = rng.integers(0, 4, len(X))
    rows = rng.permutation(np.arange(len(X)).repeat(weight))
    options = {"covariates": ["age", "town"], "alpha": 0.2, "n_init": 2, "random_state": seed, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        weighted = LatentClass(2, **options).fit(X, sample_weight=weight)
        repeated = LatentClass(2, **options).fit(X.iloc[rows])
        options |= {"init": rng.dirichlet(np.ones(2), len(X))}
        straight = LatentClass(2, **options).fit(X, sample_weight=weight)
        turned = LatentClass(2, **options).fit(X[rng.permutation(X.columns)], sample_weight=weight)
    assert repeated.log_likelihood_ == pytest.approx(weighted.log_likelihood_, rel=1e-8)
    assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), atol=1e-5)
    assert turned.log_likelihood_ == pytest.approx(straight.log_likelihood_, rel=1e-8)
    steps = np.array([step.objective for step in weighted.history_])
    assert np.diff(steps).min(initial=0.0) >= -1e-9 * np.abs(steps).max()


def test_threads_and_merging_change_nothing():
    X, _, _ = survey(500, n_classes=3)
    X["age"] = (X["age"] > 0).astype(int)
    fits = [
        LatentClass(3, covariates=["age", "town"], alpha=0.1, random_state=0, n_jobs=n_jobs, merge_rows=merge).fit(X)
        for n_jobs, merge in ((1, True), (2, True), (1, False))
    ]
    assert fits[0].n_patterns_ < 500
    assert_array_equal(fits[0].class_coefficients_, fits[1].class_coefficients_)
    assert_allclose(fits[2].class_coefficients_, fits[0].class_coefficients_, atol=1e-4)
    assert fits[2].log_likelihood_ == pytest.approx(fits[0].log_likelihood_, rel=1e-10)


def test_with_all_classes_known_the_coefficients_are_those_of_logistic_regression():
    X, design, kind = survey(300, n_classes=3)
    model = LatentClass(3, covariates=["age", "town"], **TIGHT).fit(X, kind)
    rival = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(design[:, 1:], kind)
    coef = np.column_stack([rival.intercept_, rival.coef_])
    assert_allclose(model.class_coefficients_, coef - coef[0], atol=1e-5)
    for k in range(3):
        for item in ITEMS:
            mine = X.loc[kind == k, item].mean()
            assert model.item_probabilities_[item][k, 1] == pytest.approx(mine, rel=1e-9)


def test_sizes_average_over_the_rows_and_the_order_of_classes_turns_the_coefficients():
    X, design, _ = survey(600, n_classes=3)
    by_size = LatentClass(3, covariates=["age", "town"], **TIGHT).fit(X)
    share = np.exp(log_softmax(design @ by_size.class_coefficients_.T, axis=1))
    assert_allclose(by_size.class_sizes_, share.mean(axis=0), atol=1e-6)
    assert (np.diff(by_size.class_sizes_) <= 0).all()
    by_item = LatentClass(3, covariates=["age", "town"], order="c", **TIGHT).fit(X)
    place = [int(np.argmin(np.abs(by_item.class_sizes_ - size))) for size in by_size.class_sizes_]
    turned = by_item.class_coefficients_[place] - by_item.class_coefficients_[place[0]]
    assert_allclose(turned, by_size.class_coefficients_, atol=1e-4)
    by_age = LatentClass(3, covariates=["age", "town"], order="age", **TIGHT).fit(X)
    assert (np.diff(by_age.class_coefficients_[:, 1]) >= 0).all()


def test_saved_models_evidence_tables_and_pictures_know_the_covariates(tmp_path):
    X, _, _ = survey(300, n_classes=3)
    model = LatentClass(3, covariates=["town", "age"], random_state=0).fit(X)
    model.save(tmp_path / "model")
    assert_array_equal(softcount.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    proba, found = model.predict_proba(X), model.contributions(X, 2, 0)
    assert_allclose(found.baseline + found.values.sum(axis=1), np.log(proba[:, 2] / proba[:, 0]), atol=1e-9)
    assert "log-odds against class 0" in model.summary()
    assert "5 items, 2 covariates" in model.summary()
    assert set(model.frame().query("quantity == 'log-odds'").column) == {"(intercept)", "town=yes", "age"}
    assert [tick.get_text() for tick in softcount.plot_profiles(model).get_xticklabels()] == ITEMS
    assert model.goodness_ is None
    array = LatentClass(2, covariates=5, random_state=0).fit(X[[*ITEMS, "age"]].to_numpy())
    assert array.coefficient_names_ == ["(intercept)", "x5"]


def test_the_number_of_classes_can_be_chosen_and_tested_with_covariates():
    X, _, _ = survey(300)
    found = select.how_many(LatentClass(covariates="age", random_state=0), X.drop(columns="town"), range(1, 4))
    assert found.best == 2
    test = select.bootstrap_test(found.models[1], found.models[2], X.drop(columns="town"), n_samples=9, random_state=0)
    assert test.p_value == pytest.approx(0.1)


def test_a_covariate_that_is_the_class_has_no_finite_coefficient_and_that_is_said():
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=300)
    X = pd.DataFrame((rng.random((300, 6)) < np.where(kind, 0.9, 0.1)[:, None]).astype(int), columns=list("abcdef"))
    model = LatentClass(2, covariates="z", random_state=0).fit(X.assign(z=kind), kind)
    errors = model.standard_errors(X.assign(z=kind), kind)
    assert errors.is_maximum
    of_z = next(error.values for row, error in errors.rows if row.column == "z")
    assert np.isinf(of_z[1])
    assert np.isfinite(errors.rows[0][1].values).all()


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ({"covariates": "height"}, {}, "'height', which X does not have"),
        ({"covariates": [*ITEMS, "age", "town"]}, {}, "no item left"),
        ({"covariates": "age", "class_alpha": 1.0}, {}, "class_alpha out"),
        ({"covariates": "age", "class_prior": [0.5, 0.5]}, {}, "class_prior and"),
        ({"covariates": "age"}, {"age": np.nan}, "missing in 50 rows"),
        ({"covariates": "town"}, {"town": [f"t{i}" for i in range(50)] * 1}, None),
        ({"covariates": "age"}, {"age": np.inf}, "infinity"),
        ({"covariates": "age"}, {"age": 3.0}, "'age' say nothing that the intercept"),
        ({"covariates": "sex"}, {"sex": "m"}, "'sex' say nothing that the intercept"),
        ({"covariates": ["age", "b"]}, {"age": range(50), "b": range(3, 103, 2)}, "covariates 'b' say nothing"),
    ],
)
def test_covariates_no_fit_can_use_are_named(options, change, message):
    X, _, _ = survey(50)
    X = X.assign(**change)
    if message is None:
        message, X = "51 different texts", pd.concat([X, X.iloc[:1].assign(town="t50")])
    with pytest.raises(ValueError, match=message):
        LatentClass(2, random_state=0, **options).fit(X)


def test_what_a_model_with_covariates_cannot_do_is_said():
    X, _, _ = survey(200)
    model = LatentClass(2, covariates=["age", "town"], random_state=0).fit(X)
    with pytest.raises(ValueError, match="'no', 'yes'"):
        model.predict(X.assign(town="maybe"))
    with pytest.raises(ValueError, match="missing in 200 rows"):
        model.predict(X.assign(age=np.nan))
    with pytest.raises(ValueError, match="given and not drawn"):
        model.sample(3)
    with pytest.raises(ValueError, match="has covariates, so there is no table"):
        model.goodness_of_fit(X)
