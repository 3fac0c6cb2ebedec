"""Labels in mixtures: some, none, sets, probabilities, more than there are components."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from softcount import GaussianMixture, MultinomialMixture
from tests.estimators.mixture.cases import ALL, BERNOULLI, CATEGORICAL, GAUSSIAN


@pytest.mark.parametrize("case", ALL, ids=str)
def test_labels_of_none_are_no_labels(case):
    X, _ = case.rows(80, 5, seed=0)
    without = case.make(2).fit(X)
    unknown = case.make(2).fit(X, np.full(80, np.nan))
    assert unknown.log_likelihood_ == without.log_likelihood_
    assert_array_equal(unknown.predict_proba(X), without.predict_proba(X))
    assert unknown.component_names_.tolist() == [0, 1]


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_few_labels_name_the_components(case):
    X, y = case.rows(300, 8, seed=1)
    names = np.array(["a", "b", "c"], dtype=object)[y]
    labels = np.full(300, None, dtype=object)
    labels[:30] = names[:30]
    model = case.make(3).fit(X, labels)
    assert model.component_names_.tolist() == ["a", "b", "c"]
    assert (model.predict(X)[30:] == y[30:]).mean() > 0.8
    assert_array_equal(model.fit_predict(X, labels)[:30], y[:30])


def test_a_component_without_any_label_is_found_beside_the_named_ones():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    X = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[y] + rng.normal(size=(300, 2))
    labels = np.where((y < 2) & (rng.random(300) < 0.2), y.astype(float), np.nan)
    model = GaussianMixture(3, random_state=0).fit(X, labels)
    assert model.component_names_.tolist() == [0.0, 1.0, 2.0]
    assert_allclose(model.means_, [[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]], atol=0.5)


def test_sets_and_probabilities_restrict_the_components():
    X, y = CATEGORICAL.rows(60, 5, seed=2)
    sets = [{0, 1} if k < 2 else 2 for k in y.tolist()]
    resp = CATEGORICAL.make(3).fit(X, sets).responsibilities(X, sets)
    assert_allclose(resp[y < 2, 2], 0.0)
    assert_allclose(resp[y == 2, 2], 1.0)
    shares = np.full((60, 3), np.nan)
    shares[:20] = [0.7, 0.2, 0.1]
    kept = CATEGORICAL.make(3).fit(X, shares)
    assert_allclose(kept.responsibilities(X, shares)[:20], shares[:20])


def test_more_labels_than_components_make_more_components_and_say_so():
    X, y = BERNOULLI.rows(60, 5, seed=0)
    with pytest.warns(UserWarning, match="y names 3 classes, but n_components is 2"):
        model = BERNOULLI.make(2).fit(X, y)
    assert model.weights_.shape == (3,)


def test_labels_that_are_measurements_are_refused():
    X, _ = GAUSSIAN.rows(30, 3)
    with pytest.raises(ValueError, match="continuous"):
        GaussianMixture(2).fit(X, np.linspace(0.0, 1.0, 30))


def test_unlabeled_rows_of_weight_zero_leave_the_labels_alone():
    rng = np.random.default_rng(0)
    words = rng.poisson(1.0, (200, 30))
    y = np.where(np.arange(200) < 40, np.arange(200) % 2, np.nan)
    model = MultinomialMixture(2, unlabeled_weight=0.0, alpha=1.0).fit(words, y)
    alone = MultinomialMixture(2, alpha=1.0).fit(words[:40], y[:40])
    assert_allclose(model.probabilities_, alone.probabilities_, rtol=1e-9)
