"""Every generative classifier with a linear boundary gives its exact weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

from softcount import (
    BernoulliNB,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
)


def problem(n_classes, n_samples=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_samples)
    counts = rng.poisson(rng.uniform(0.5, 3.0, size=(n_classes, 6))[y])
    numbers = rng.normal(size=(n_samples, 4)) + rng.normal(size=(n_classes, 4))[y]
    return counts, numbers, y


def posterior_from(form, X):
    scores = X @ form.coef.T + form.intercept
    if scores.shape[1] == 1:
        scores = np.c_[np.zeros(len(scores)), scores]
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (BernoulliNB(), "bits"),
        (MultinomialNB(), "counts"),
        (PoissonNB(), "counts"),
        (GaussianNB(shared_variance=True), "numbers"),
        (GaussianDiscriminant(), "numbers"),
        (GaussianDiscriminant(shrinkage="auto"), "numbers"),
        (GaussianDiscriminant(covariance="spherical", shared_variance=True), "numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_the_softmax_of_the_linear_scores_is_the_posterior(model, kind, n_classes):
    counts, numbers, y = problem(n_classes)
    X = {"bits": (counts > 1).astype(float), "counts": counts, "numbers": numbers}[kind]
    form = model.fit(X, y).to_linear()
    assert form.coef.shape == (1 if n_classes == 2 else n_classes, X.shape[1])
    assert form.features == tuple(f"x{j}" for j in range(X.shape[1]))
    np.testing.assert_allclose(posterior_from(form, X), model.predict_proba(X), atol=1e-12)


def test_bernoulli_weights_are_log_odds_ratios():
    counts, _, y = problem(2)
    model = BernoulliNB(binarize=1.0).fit(counts, y)
    probability = np.exp(model.feature_log_prob_)
    odds = probability / (1.0 - probability)
    form = model.to_linear()
    np.testing.assert_allclose(form.coef[0], np.log(odds[1] / odds[0]), rtol=1e-11)
    bias = (
        model.class_log_prior_[1]
        - model.class_log_prior_[0]
        + np.log((1 - probability[1]) / (1 - probability[0])).sum()
    )
    np.testing.assert_allclose(form.intercept, bias, rtol=1e-11)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("handle_unknown", ["ignore", "smooth"])
def test_categorical_weights_belong_to_the_one_hot_columns(n_classes, handle_unknown):
    counts, _, y = problem(n_classes)
    codes = np.minimum(counts, 3)
    model = CategoricalNB(handle_unknown=handle_unknown).fit(codes, y)
    sizes = [*model.n_categories_] if handle_unknown == "ignore" else [int(v) + 1 for v in model.n_categories_]
    encoder = OneHotEncoder(categories=[np.arange(v) for v in sizes], handle_unknown="ignore", sparse_output=False)
    form = model.to_linear()
    new = codes[:50].copy()
    new[:, 0] = 4
    for rows in (codes, new):
        one_hot = encoder.fit(codes).transform(rows)
        np.testing.assert_allclose(posterior_from(form, one_hot), model.predict_proba(rows), atol=1e-12)
    if handle_unknown == "smooth":
        assert form.features[sizes[0] - 1] == "x0=(unseen)"


def test_a_missing_category_is_zero_in_all_its_columns():
    codes = np.array([[0, 1], [1, 0], [1, 1], [0, 0], [1, 1]])
    model = CategoricalNB().fit(codes, [0, 0, 1, 1, 1])
    one_hot = np.array([[0.0, 0.0, 0.0, 1.0]])
    np.testing.assert_allclose(posterior_from(model.to_linear(), one_hot), model.predict_proba([[np.nan, 1.0]]))


def test_weights_of_a_mixed_table_stand_in_the_order_of_its_columns():
    counts, numbers, y = problem(3)
    color = np.array(["red", "green", "blue"])[counts[:, 1] % 3]
    table = pd.DataFrame({
        "height": numbers[:, 0], "sick": counts[:, 0] > 1, "color": color,
        "weight": numbers[:, 1], "visits": counts[:, 2],
    })  # fmt: skip
    model = NaiveBayes(families={"visits": "poisson"}, shared_variance=True).fit(table, y)
    form = model.to_linear()
    assert form.features == ("height", "sick", "color=blue", "color=green", "color=red", "weight", "visits")
    design = np.column_stack([
        table["height"], table["sick"], *(table["color"] == c for c in ("blue", "green", "red")), table["weight"],
        table["visits"],
    ]).astype(float)  # fmt: skip
    np.testing.assert_allclose(posterior_from(form, design), model.predict_proba(table), atol=1e-12)


def test_the_weights_start_logistic_regression_at_its_generative_twin():
    _, numbers, y = problem(2)
    twin = GaussianDiscriminant().fit(numbers, y)
    started = LogisticRegression(C=np.inf, init=twin, max_iter=0, tol=0.0).fit(numbers, y)
    np.testing.assert_allclose(started.predict_proba(numbers), twin.predict_proba(numbers), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_gives_its_own_form_and_starts_from_it(n_classes):
    _, numbers, y = problem(n_classes)
    frame = pd.DataFrame(numbers, columns=list("abcd"))
    model = LogisticRegression().fit(frame, y)
    form = model.to_linear()
    np.testing.assert_allclose(posterior_from(form, numbers), model.predict_proba(frame), rtol=1e-9)
    assert form.features == ("a", "b", "c", "d")
    assert LogisticRegression(init=model).fit(frame, y).n_iter_[0] <= 1


@pytest.mark.parametrize("family", ["gamma", "beta", "inverse_gaussian", "von_mises"])
def test_families_whose_log_odds_are_not_linear_say_so(family):
    rng = np.random.default_rng(0)
    model = NaiveBayes(families=family).fit(rng.uniform(0.1, 0.9, (40, 2)), np.arange(40) % 2)
    with pytest.raises(ValueError, match=f"log-odds of {family} columns contain other functions"):
        model.to_linear()
