"""GaussianDiscriminant where data are awkward: too few rows, singular covariances, far values, odd containers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from softcount import GaussianDiscriminant
from softcount.families.priors import Dirichlet, NormalInverseGamma, NormalInverseWishart

KINDS = ["tied", "full", "diag", "spherical"]


def problem(n_samples=200, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) @ (np.eye(n_features) + 0.3 * rng.normal(size=(n_features,) * 2))
    y = (X[:, 0] + 0.7 * rng.normal(size=n_samples) > 0.0).astype(int)
    return X, y


def quietly(model, X, y):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is singular", UserWarning)
        return model.fit(X, y)


# ---- singular covariances
@pytest.mark.parametrize("kind", ["tied", "full"])
def test_fewer_rows_than_columns_are_no_failure_and_a_warning_says_so(kind):
    rng = np.random.default_rng(0)
    y, new = np.arange(20) % 2, np.arange(400) % 2
    X, X_new = rng.normal(size=(20, 50)), rng.normal(size=(400, 50))
    X[y == 1, :5] += 2.0
    X_new[new == 1, :5] += 2.0
    with pytest.warns(UserWarning, match="is singular: in .* of its 50 directions") as caught:
        model = GaussianDiscriminant(covariance=kind).fit(X, y)
    assert caught[0].filename == __file__, "the warning points at the call of fit"
    assert model.notes_
    assert model.score(X, y) == 1.0
    assert model.score(X_new, new) > 0.85
    assert np.isfinite(model.predict_log_proba(X_new)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert GaussianDiscriminant(shrinkage="auto").fit(X, y).score(X_new, new) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_column_changes_no_answer_and_gives_no_warning(kind):
    X, y = problem()
    model = GaussianDiscriminant(covariance="diag" if kind == "spherical" else kind)
    expected = model.fit(X, y).predict_proba(X)
    for value in (0.0, 0.1, 1e9 / 3.0):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(np.c_[X, np.full(200, value)], y)
        np.testing.assert_allclose(model.predict_proba(np.c_[X, np.full(200, value)]), expected, atol=1e-12)


def test_a_duplicated_column_changes_no_answer():
    X, y = problem()
    expected = GaussianDiscriminant().fit(X, y).predict_proba(X)
    twice = np.c_[X, X[:, 1]]
    np.testing.assert_allclose(quietly(GaussianDiscriminant(), twice, y).predict_proba(twice), expected, atol=1e-9)


def test_a_covariance_that_is_not_singular_is_left_exactly_as_it_is():
    X, y = problem()
    bounded, free = GaussianDiscriminant().fit(X, y), GaussianDiscriminant(min_variance=0.0).fit(X, y)
    np.testing.assert_array_equal(bounded.covariance_, free.covariance_)


def test_without_a_smallest_variance_a_singular_covariance_is_refused_with_advice():
    X, y = problem()
    with pytest.raises(ValueError, match=r"singular.*min_variance"):
        GaussianDiscriminant(min_variance=0.0).fit(np.c_[X, np.zeros(200)], y)


@pytest.mark.parametrize("kind", KINDS)
def test_one_row_per_class_is_classified_by_the_nearest(kind):
    model = quietly(GaussianDiscriminant(covariance=kind), [[0.0, 0.0], [1.0, 1.0]], ["a", "b"])
    assert model.predict([[0.2, 0.1], [0.9, 0.8]]).tolist() == ["a", "b"]
    np.testing.assert_allclose(model.predict_proba([[0.5, 0.5]]), [[0.5, 0.5]], atol=1e-6)


def test_a_class_of_one_row_takes_the_shape_of_the_others_when_shrunk():
    X, y = problem()
    X, y = np.r_[X, [[9.0, 9.0, 9.0]]], np.r_[y, 2]
    for shrinkage in (0.5, "auto"):
        model = GaussianDiscriminant(covariance="full", shrinkage=shrinkage).fit(X, y)
        values = np.linalg.eigvalsh(model.covariance_[2])
        assert values.min() > 0.1
        assert values.max() < 10.0


@pytest.mark.parametrize("kind", ["tied", "full", "diag"])
def test_units_of_the_columns_do_not_matter(kind):
    X, y = problem()
    twice = np.c_[X, X[:, 0]] if kind == "tied" else X
    scale = np.array([1e-6, 1.0, 1e6, 1e3])[: twice.shape[1]]
    plain, scaled = GaussianDiscriminant(covariance=kind), GaussianDiscriminant(covariance=kind)
    expected = quietly(plain, twice, y).predict_proba(twice)
    np.testing.assert_allclose(quietly(scaled, twice * scale, y).predict_proba(twice * scale), expected, atol=1e-8)


# ---- far values
def test_classes_a_hundred_million_apart_keep_their_covariance():
    rng = np.random.default_rng(0)
    y, noise = rng.integers(2, size=400), rng.normal(size=(400, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 2.0]])
    X = noise + 1e8 * y[:, None]
    near = X - 1e8 * y[:, None]
    expected = np.cov((near - np.array([near[y == k].mean(axis=0) for k in (0, 1)])[y]).T, bias=True)
    model = GaussianDiscriminant().fit(X, y)
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-7, atol=1e-8)
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.decision_function(X)).all()


def test_a_common_offset_of_a_hundred_million_hardly_costs_a_digit():
    X, y = problem()
    reference = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    model = GaussianDiscriminant().fit(X + 1e8, y)
    np.testing.assert_allclose(model.predict_proba(X + 1e8), reference.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6)


# ---- containers
@pytest.mark.parametrize("kind", KINDS)
def test_the_layout_of_the_table_does_not_matter(kind):
    X, y = problem()
    X = X.astype(np.float32)
    expected = GaussianDiscriminant(covariance=kind).fit(X.astype(np.float64), y).predict_proba(X.astype(np.float64))
    wide = np.zeros((200, 6), dtype=np.float64)
    wide[:, ::2] = X
    tables = [X, np.asfortranarray(X), np.asfortranarray(X.astype(np.float64)), wide[:, ::2], X.tolist(),
              pd.DataFrame(X, columns=["a", "b", "c"])]  # fmt: skip
    for table in tables:
        model = GaussianDiscriminant(covariance=kind).fit(table, y)
        np.testing.assert_allclose(model.predict_proba(table), expected, atol=1e-12)


def test_names_of_columns_and_classes_are_the_users():
    X, y = problem()
    frame = pd.DataFrame(X, columns=["height", "width", "depth"])
    model = GaussianDiscriminant().fit(frame, np.array(["no", "yes"])[y])
    assert model.feature_names_in_.tolist() == ["height", "width", "depth"]
    assert model.top_features()["yes"][0][0] == "height"
    assert model.get_feature_names_out().tolist() == ["gaussiandiscriminant0"]
    projected = model.set_output(transform="pandas").transform(frame)
    assert list(projected.columns) == ["gaussiandiscriminant0"]


def test_one_class_alone_is_certain():
    X, _ = problem()
    model = GaussianDiscriminant().fit(X, np.zeros(200))
    np.testing.assert_array_equal(model.predict_proba(X[:3]), np.ones((3, 1)))
    assert model.transform(X).shape == (200, 0)


def test_a_class_without_rows_takes_the_overall_moments_and_probability_zero():
    X, y = problem()
    model = GaussianDiscriminant(covariance="full", classes=[0, 1, 2]).fit(X, y)
    np.testing.assert_allclose(model.means_[2], X.mean(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(model.predict_proba(X)[:, 2], 0.0)


def test_several_components_make_a_class_that_one_gaussian_cannot():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) * 0.5
    y = np.arange(600) % 2
    X[y == 1, 0] += np.where(rng.random(300) < 0.5, -4.0, 4.0)
    single = GaussianDiscriminant().fit(X, y)
    model = GaussianDiscriminant(n_components_per_class=[1, 2], random_state=0).fit(X, y)
    assert model.means_.shape == (3, 2)
    assert model.score(X, y) > 0.99 > single.score(X, y) + 0.2


# ---- parameters
@pytest.mark.parametrize(("parameters", "words"), [
    ({"covariance": "round"}, "choose one of"),
    ({"shrinkage": 1.5}, "between 0 and 1"),
    ({"shrinkage": True}, "between 0 and 1"),
    ({"shrinkage": "ledoit"}, "between 0 and 1"),
    ({"shrinkage": "auto", "covariance": "diag"}, "nothing to shrink"),
    ({"shrinkage": 0.5, "covariance": "spherical"}, "nothing to shrink"),
    ({"shared_variance": True}, "belongs to covariance='diag'"),
    ({"min_variance": -1.0}, "min_variance is -1.0"),
    ({"priors": [0.5, 0.2, 0.3]}, "must match number of classes"),
    ({"feature_prior": Dirichlet([1.0, 1.0])}, "NormalInverseWishart"),
    ({"feature_prior": NormalInverseGamma(0.0, 1.0, 2.0, 1.0)}, "multivariate_gaussian"),
    ({"feature_prior": NormalInverseGamma(0.0, 1.0, 2.0, 1.0), "unbiased": True}, "Give one of them"),
])  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(parameters, words):
    X, y = problem()
    with pytest.raises(ValueError, match=words):
        GaussianDiscriminant(**parameters).fit(X, y)


def test_sparse_tables_are_refused_with_advice():
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match=r"[Ss]parse"):
        GaussianDiscriminant().fit(csr_array(np.eye(4)), [0, 0, 1, 1])


# ---- explicit priors
@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_a_normal_inverse_wishart_prior_gives_the_posteriors_of_each_class(estimate):
    X, y = problem()
    prior = NormalInverseWishart(np.zeros(3), 2.0, 7.0, 3.0 * np.eye(3))
    model = GaussianDiscriminant(covariance="full", feature_prior=prior, estimate=estimate).fit(X, y)
    for k in (0, 1):
        rows = X[y == k]
        n, mean = len(rows), rows.mean(axis=0)
        scatter = (rows - mean).T @ (rows - mean) + 3.0 * np.eye(3) + 2.0 * n / (n + 2.0) * np.outer(mean, mean)
        np.testing.assert_allclose(model.means_[k], n * mean / (n + 2.0), rtol=1e-10)
        divisor = 7.0 + n + 3 + 2 if estimate == "mode" else 7.0 + n - 3 - 1
        np.testing.assert_allclose(model.covariance_[k], scatter / divisor, rtol=1e-10, atol=1e-12)


def test_a_shared_covariance_has_its_prior_once():
    X, y = problem()
    prior = NormalInverseWishart(np.zeros(3), 1e-12, 7.0, 3.0 * np.eye(3))
    model = GaussianDiscriminant(feature_prior=prior, estimate="mean").fit(X, y)
    scatter = sum((X[y == k] - X[y == k].mean(axis=0)).T @ (X[y == k] - X[y == k].mean(axis=0)) for k in (0, 1))
    np.testing.assert_allclose(model.covariance_, (scatter + 3.0 * np.eye(3)) / (200 + 7.0 - 4.0), rtol=1e-9)


@pytest.mark.parametrize(("kind", "shared"), [("diag", False), ("diag", True), ("spherical", False), ("tied", False)])
def test_with_an_explicit_prior_the_objective_never_falls(kind, shared):
    X, y = problem()
    labels = np.where(np.arange(200) % 3 == 0, y, np.nan)
    full = NormalInverseWishart(np.zeros(3), 2.0, 7.0, 3.0 * np.eye(3))
    prior = full if kind == "tied" else NormalInverseGamma(0.0, 2.0, 3.0, 1.0)
    model = GaussianDiscriminant(
        covariance=kind, shared_variance=shared, feature_prior=prior, unlabeled_weight=1.0, max_iter=30, tol=0.0
    ).fit(X, labels)
    found = np.array([step.objective for step in model.history_])
    assert (np.diff(found) >= -1e-10 * np.abs(found[1:])).all()


# ---- columns and classes without values
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("full", {"shrinkage": "auto"}),
        ("tied", {"shrinkage": "auto"}),
        ("full", {"shrinkage": 0.3}),
        ("tied", {"shrinkage": 0.3, "unbiased": True}),
        ("diag", {"unbiased": True}),
        ("diag", {"shrinkage": 0.3, "unbiased": True, "shared_variance": True}),
        ("spherical", {"unbiased": True}),
    ],
)
def test_a_column_without_any_value_changes_nothing(kind, options, holes):
    X, y = problem(60)
    if holes:
        X[::7, 0], X[1::9, 2] = np.nan, np.nan
    settings = {"covariance": kind, "tol": 1e-13, "max_iter": 5000, **options}
    plain = GaussianDiscriminant(**settings).fit(X, y).predict_proba(X)
    wider = np.column_stack([X, np.full(len(X), np.nan)])
    np.testing.assert_allclose(GaussianDiscriminant(**settings).fit(wider, y).predict_proba(wider), plain, atol=2e-6)


def test_with_holes_the_order_of_the_classes_does_not_matter_where_all_shrink_fully():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 3)) + y[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    settings = {"covariance": "tied", "shrinkage": "auto", "tol": 1e-12, "max_iter": 5000}
    # A share of classes of which three do not add up to 1 exactly.
    weight = np.array([0.1, 0.2, 0.7])[y]
    model = GaussianDiscriminant(**settings).fit(X, y, sample_weight=weight)
    assert (model.shrinkage_ == 1.0).all()
    for shift in (1, 2):
        turned = GaussianDiscriminant(**settings).fit(X, (y + shift) % 3, sample_weight=weight)
        order = (np.arange(3) + shift) % 3
        np.testing.assert_allclose(turned.predict_proba(X)[:, order], model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unbiased", [False, True])
def test_what_unlabeled_rows_are_worth_is_judged_under_every_covariance(kind, unbiased):
    X, y = problem(90)
    known = np.where(np.arange(90) < 40, y.astype(float), np.nan)
    model = GaussianDiscriminant(covariance=kind, unbiased=unbiased).fit(X, known)
    assert model.unlabeled_verdict_.n_unlabeled == 50
    assert model.score(X[40:], y[40:]) > 0.6


@pytest.mark.parametrize("n_samples", [30, 600])
def test_the_divisor_and_full_shrinkage_are_two_things(n_samples):
    rng = np.random.default_rng(0)
    y = np.arange(n_samples) % 3
    # Correlated enough that many rows are shrunk little, few enough that thirty are shrunk fully.
    X = rng.normal(size=(n_samples, 3)) + 0.1 * rng.normal(size=(n_samples, 1)) + y[:, None]
    plain = GaussianDiscriminant(shrinkage="auto").fit(X, y)
    unbiased = GaussianDiscriminant(shrinkage="auto", unbiased=True).fit(X, y)
    np.testing.assert_allclose(unbiased.covariance_, plain.covariance_ * n_samples / (n_samples - 3), rtol=1e-10)
    if n_samples == 30:
        assert (plain.shrinkage_ == 1.0).all()


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_column_that_is_the_class_varies_as_little_as_is_allowed_of_its_variance(unit):
    X, y = problem(60)
    told = unit * np.where(y == 1, 3.0, 1.0)
    model = quietly(GaussianDiscriminant(covariance="diag", min_variance=1e-4), np.column_stack([X, told]), y)
    np.testing.assert_allclose(model.covariance_[:, -1], 1e-4 * told.var(), rtol=1e-9)
    assert model.score(np.column_stack([X, told]), y) == 1.0
