"""What an estimator keeps from call to call, and what it never does: copies of the data."""

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from softcount.estimators.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB, PoissonNB
from tests.estimators.naive_bayes.cases import ALL, GENERATIVE, Case


def by_name(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_a_second_fit_forgets_the_first(case: Case) -> None:
    X, y = case.rows()
    other, labels = case.rows(40, 3, 2, seed=9)
    model = case.make().fit(X, y).fit(other, np.array(["a", "b"])[labels])
    fresh = case.make().fit(other, np.array(["a", "b"])[labels])
    assert model.classes_.tolist() == ["a", "b"]
    assert model.n_features_in_ == 3
    assert_array_equal(model.predict_joint_log_proba(other), fresh.predict_joint_log_proba(other))


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_constructor_arguments_are_stored_as_they_are(case: Case) -> None:
    alpha = [1.0, 2.0, 3.0, 4.0, 5.0]
    settings: dict[str, Any] = {} if case.name == "GaussianNB" else {"alpha": alpha}
    X, y = case.rows()
    model = case.make(**settings)
    model.fit(X, y).predict(X)
    assert case.name == "GaussianNB" or model.alpha is alpha
    assert not hasattr(clone(model), "classes_")


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_a_pickled_model_answers_the_same(case: Case) -> None:
    X, y = case.rows()
    model = case.make().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_joint_log_proba(X), model.predict_joint_log_proba(X))
    assert_array_equal(again.partial_fit(X, y).class_count_, 2 * model.class_count_)


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_a_fit_can_be_continued_by_batches(case: Case) -> None:
    X, y = case.rows(n_rows=80)
    settings = {"min_categories": 5} if case.name == "CategoricalNB" else {}
    both = case.make(**settings).fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    whole = case.make(**settings).fit(X, y)
    assert_allclose(both.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-10)
    with pytest.raises(ValueError, match="not the same as on last call"):
        both.partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_classes_that_were_discovered_keep_their_places_in_later_calls(case: Case) -> None:
    X, truth = case.rows(300, 10, 3, seed=1)
    y: Any = [["x", "y", None][k] if i < 60 else None for i, k in enumerate(truth)]
    model = case.make(n_classes=3, random_state=0, unlabeled_weight=1.0, max_iter=100, tol=1e-4).fit(X, y)
    assert model.classes_.tolist() == ["x", "y", "new 1"]
    before = model.class_count_.copy()
    model.partial_fit(X[:60], ["y"] * 60)
    assert model.classes_.tolist() == ["x", "y", "new 1"]
    assert_allclose(model.class_count_, before + np.array([0.0, 60.0, 0.0]), rtol=1e-9)
    resp = model.responsibilities(X[:3], ["new 1", "x", None])
    assert_array_equal(resp[:2], [[0, 0, 1], [1, 0, 0]])
    assert set(model.sample(20, y="new 1", random_state=0)[1]) == {"new 1"}


def test_categories_first_seen_in_a_later_batch_are_learned() -> None:
    first, second = np.array([[0, 1], [1, 0]]), np.array([[3, 0], [0, 2]])
    for unknown in ("ignore", "smooth"):
        batches = CategoricalNB(handle_unknown=unknown).partial_fit(first, [0, 1], classes=[0, 1])
        batches.partial_fit(second, [0, 1])
        whole = CategoricalNB(handle_unknown=unknown).fit(np.vstack([first, second]), [0, 1, 0, 1])
        assert batches.n_categories_.tolist() == [4, 3]
        rows = np.array([[3, 2], [2, 1], [9, 9]])
        assert_allclose(batches.predict_joint_log_proba(rows), whole.predict_joint_log_proba(rows), rtol=1e-12)
        for one, other in zip(batches.category_count_, whole.category_count_, strict=True):
            assert_array_equal(one, other)


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_holes_first_seen_in_a_later_batch_are_counted_as_holes(case: Case) -> None:
    X, y = case.rows(n_rows=80)
    settings = {"min_categories": 5} if case.name == "CategoricalNB" else {}
    rows = np.vstack([X[:40].astype(float), case.missing_cells(X[40:])])
    first = case.make(**settings).partial_fit(rows[:40], y[:40], classes=[0, 1, 2])
    if case.name == "MultinomialNB":
        with pytest.raises(ValueError, match="missing cells in multinomial columns"):
            first.partial_fit(rows[40:], y[40:])
        return
    batches = first.partial_fit(rows[40:], y[40:])
    whole = case.make(**settings).fit(rows, y)
    assert_allclose(batches.predict_joint_log_proba(rows), whole.predict_joint_log_proba(rows), rtol=1e-10)


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_estimators_work_in_pipelines_and_cross_validation(case: Case) -> None:
    X, y = case.rows(n_rows=90)
    pipeline = make_pipeline(FunctionTransformer(), case.make())
    scores = cross_val_score(pipeline, X, y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.4


@pytest.mark.parametrize("make", [BernoulliNB, MultinomialNB, PoissonNB])
def test_sparse_rows_are_never_made_dense(make: Any) -> None:
    n_rows, n_columns, per_row = 4000, 100_000, 30
    rng = np.random.default_rng(0)
    columns = rng.integers(0, n_columns, size=n_rows * per_row)
    X = csr_array((np.ones(columns.size), columns, np.arange(0, columns.size + 1, per_row)), shape=(n_rows, n_columns))
    X.sum_duplicates()
    y = np.where(np.arange(n_rows) < 400, np.arange(n_rows) % 2, np.nan)
    tracemalloc.start()
    model = make(unlabeled_weight=1.0, max_iter=2, tol=0.0, n_jobs=1).fit(X, y)
    model.predict_proba(X)
    model.contributions(X)
    model.score_samples(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The rows would fill 3.2 GB; tables of two classes are 1.6 MB each.
    assert peak < 60e6
