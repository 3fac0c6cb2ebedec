"""What a fitted mixture answers: memberships, scores, criteria, samples, tables."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import softcount
from softcount import CategoricalMixture, GaussianMixture, Mixture, MultinomialMixture
from tests.estimators.mixture.cases import ALL, BERNOULLI, CATEGORICAL, GAUSSIAN, MULTINOMIAL, POISSON


@pytest.mark.parametrize("case", ALL, ids=str)
def test_answers_agree_with_one_another(case):
    X, _ = case.rows(90, 5, seed=3)
    model = case.make(3).fit(X)
    proba = model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_array_equal(model.predict(X), proba.argmax(axis=1))
    assert_array_equal(case.make(3).fit_predict(X), model.predict(X))
    assert_allclose(model.score(X) * 90, model.log_likelihood_, rtol=1e-9)
    assert_allclose(model.score_samples(X).sum(), model.log_likelihood_, rtol=1e-9)
    assert_allclose(model.weights_.sum(), 1.0)
    criteria = model.criteria()
    assert criteria == pytest.approx(model.criteria(X), rel=1e-9)
    assert criteria["aic"] == pytest.approx(model.aic(X))
    assert criteria["bic"] == pytest.approx(model.bic(X))
    assert criteria["icl"] == pytest.approx(model.icl(X))
    expected = -2 * model.log_likelihood_ + model.n_parameters_ * np.log((90 + 2) / 24)
    assert criteria["sabic"] == pytest.approx(expected)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_classification_sums_up_the_posteriors(case):
    X, _ = case.rows(90, 5, seed=3)
    weight = np.random.default_rng(0).uniform(0.0, 2.0, 90)
    model = case.make(3).fit(X)
    found = model.classification(X, sample_weight=weight)
    proba, assigned = model.predict_proba(X), model.predict(X)
    table = np.array([[(weight * proba[:, k])[assigned == m].sum() for m in range(3)] for k in range(3)])
    assert_allclose(found.table, table, atol=1e-10)
    assert_allclose(found.sizes.sum(), 1.0)
    assert_allclose(found.error, 1.0 - weight @ proba.max(axis=1) / weight.sum(), atol=1e-12)
    logs = np.log(np.maximum(proba, 1e-300))
    assert_allclose(found.entropy, -(weight[:, None] * proba * logs).sum(), rtol=1e-7)
    assert_allclose(found.relative_entropy, 1.0 - found.entropy / (weight.sum() * np.log(3)), rtol=1e-12)
    for k in range(3):
        inside = assigned == k
        if inside.any():
            average = weight[inside] @ proba[inside] / weight[inside].sum()
            assert_allclose(found.average_posteriors[k], average, atol=1e-10)
    assert "classification error" in str(found)
    assert found.frame().shape == (3, 3)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_rows_can_be_drawn_and_found_again(case):
    X, _ = case.rows(400, 6, seed=5)
    model = case.make(2).fit(X)
    drawn, components = model.sample(4000, random_state=1)
    assert np.shape(drawn) == (4000, 6)
    assert_allclose(np.bincount(components, minlength=2) / 4000, model.weights_, atol=0.04)
    assert model.score(drawn) == pytest.approx(model.score(X), rel=0.08)
    only, which = model.sample(10, component=1, random_state=0)
    assert which.tolist() == [1] * 10
    again, _ = model.sample(10, component=1, random_state=0)
    assert_array_equal(np.asarray(only), np.asarray(again))
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)


def test_fitted_parameters_have_one_row_per_component():
    for case, name, shape in [
        (BERNOULLI, "probabilities_", (3, 5)),
        (MULTINOMIAL, "probabilities_", (3, 5)),
        (POISSON, "rates_", (3, 5)),
        (GAUSSIAN, "means_", (3, 5)),
    ]:
        X, _ = case.rows(80, 5)
        assert getattr(case.make(3).fit(X), name).shape == shape
    X, _ = CATEGORICAL.rows(80, 5)
    model = CATEGORICAL.make(3).fit(X)
    for table, n_values in zip(model.probabilities_, model.n_categories_, strict=True):
        assert table.shape == (3, n_values)
        assert_allclose(table.sum(axis=1), 1.0)
    words = MULTINOMIAL.make(3).fit(MULTINOMIAL.rows(80, 5)[0])
    assert_allclose(words.probabilities_.sum(axis=1), 1.0)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_frame_and_summary_show_every_parameter(case):
    X, _ = case.rows(80, 4, seed=1)
    frame = pd.DataFrame(X, columns=["height", "weight", "age", "shoe size"])
    model = case.make(2).fit(frame)
    table = model.frame()
    assert set(table.columns) == {"component", "column", "category", "quantity", "value"}
    assert set(table.column) == set(frame.columns)
    assert set(table.component) == {0, 1}
    text = model.summary()
    for column in frame.columns:
        assert column in text
    assert f"{model.log_likelihood_:.4f}" in text
    assert f"BIC {model.criteria()['bic']:.4f}" in text or f"{model.criteria()['bic']:.4f}" in text


def test_full_covariances_appear_in_frame_and_summary():
    X = np.random.default_rng(0).normal(size=(60, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.2], [0.0, 0.0, 1.0]])
    model = GaussianMixture(2, random_state=0).fit(X)
    table = model.frame()
    cell = table.query("component == 1 and column == 'x0' and category == 'x1' and quantity == 'covariance'")
    assert cell.value.item() == pytest.approx(model.covariances_[1, 0, 1])
    assert "x0 covariance with x1" in model.summary()


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_saved_mixture_gives_the_same_answers(case, tmp_path):
    X, _ = case.rows(60, 4)
    model = case.make(2).fit(X)
    model.save(tmp_path / "model.softcount")
    read = softcount.load(tmp_path / "model.softcount")
    assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    assert read.summary() == model.summary()


def test_strings_categories_and_holes_in_tables_are_taken_as_they_are():
    frame = pd.DataFrame(
        {
            "color": pd.Categorical(["red", "red", None, "blue", "blue", "red"]),
            "n": [1, 2, 1, 40, 38, 2],
            "weight": [1.0, 1.2, 0.9, 5.0, None, 1.1],
        }
    )
    model = Mixture(2, families={"n": "poisson"}, random_state=0).fit(frame)
    assert model.families_ == {"color": "categorical", "n": "poisson", "weight": "gaussian"}
    assert model.predict(frame).tolist() == [0, 0, 0, 1, 1, 0]
    assert set(model.frame().category.dropna()) == {"red", "blue"}
    drawn, _ = model.sample(5, random_state=0)
    assert isinstance(drawn, pd.DataFrame)
    assert list(drawn.columns) == list(frame.columns)
    polars = pytest.importorskip("polars")
    same = Mixture(2, families={"n": "poisson"}, random_state=0).fit(polars.from_pandas(frame))
    assert same.log_likelihood_ == pytest.approx(model.log_likelihood_, rel=1e-9)


def test_documents_are_read_as_lists_of_word_ids():
    documents = [[0, 0, 1], [0, 1, 0, 0], [3, 2, 3], [3, 3, 2, 3]]
    model = MultinomialMixture(2, random_state=0).fit(documents)
    first = model.predict(documents)
    assert first[0] == first[1] != first[2] == first[3]


def test_a_value_that_was_not_seen_is_left_out_refused_or_made_improbable():
    X, _ = CATEGORICAL.rows(60, 3)
    strange = X[:1].copy()
    strange[0, 0] = 40
    ignored = CATEGORICAL.make(2).fit(X).score_samples(strange)[0]
    improbable = CATEGORICAL.make(2, handle_unknown="smooth").fit(X).score_samples(strange)[0]
    assert improbable < ignored
    with pytest.raises(ValueError, match="not seen in training"):
        CATEGORICAL.make(2, handle_unknown="error").fit(X).predict(strange)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components is 0"),
        ({"alpha": -1.0}, "alpha"),
        ({"tol": -1.0}, "tol"),
        ({"n_init": 0}, "n_init"),
        ({"n_final": 0}, "n_final"),
        ({"class_prior": [0.5, 0.6, 0.1]}, "class_prior"),
        ({"handle_unknown": "guess"}, "handle_unknown"),
        ({"alpha": np.ones((3, 5))}, "alpha"),
    ],
)
def test_parameters_no_fit_can_use_are_named(options, message):
    X, _ = CATEGORICAL.rows(60, 5)
    with pytest.raises(ValueError, match=message):
        CategoricalMixture(**{"n_components": 2, **options}).fit(X)


def test_rows_that_are_too_few_or_weigh_nothing_are_refused():
    X, _ = CATEGORICAL.rows(5, 3)
    with pytest.raises(ValueError, match="n_samples = 5"):
        CATEGORICAL.make(6).fit(X)
    with pytest.raises(ValueError, match="weights are zero"):
        CATEGORICAL.make(2).fit(X, sample_weight=np.zeros(5))


def test_given_weights_are_kept():
    X, _ = CATEGORICAL.rows(80, 5)
    model = CATEGORICAL.make(2, class_prior=[0.9, 0.1]).fit(X)
    assert sorted(model.weights_) == pytest.approx([0.1, 0.9])
    free = CATEGORICAL.make(2).fit(X)
    assert model.n_parameters_ == free.n_parameters_ - 1
