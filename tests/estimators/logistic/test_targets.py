"""Soft labels, missing labels, and a generative twin to start from or to fill in with."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from softcount import GaussianNB, LogisticRegression
from softcount._errors import InputError
from tests.estimators.logistic.data import make_classification, names_of


@pytest.mark.parametrize("n_classes", [2, 3])
def test_certain_probabilities_equal_labels(n_classes):
    X, y = make_classification(n_classes=n_classes)
    hard, soft = LogisticRegression().fit(X, y), LogisticRegression().fit(X, np.eye(n_classes)[y])
    np.testing.assert_allclose(soft.coef_, hard.coef_, rtol=1e-12)
    assert soft.log_likelihood_ == pytest.approx(hard.log_likelihood_, rel=1e-12)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient", "newton-cg"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_soft_label_equals_weighted_copies_of_the_row(solver, n_classes):
    X, _ = make_classification(n_rows=60)
    shares = np.random.default_rng(0).dirichlet(np.ones(n_classes), 60)
    soft = LogisticRegression(solver=solver).fit(X, shares)
    copies = LogisticRegression().fit(
        np.repeat(X, n_classes, axis=0), np.tile(np.arange(n_classes), 60), shares.ravel()
    )
    np.testing.assert_allclose(soft.coef_, copies.coef_, atol=1e-6)
    np.testing.assert_allclose(soft.standard_errors_, copies.standard_errors_, rtol=1e-6)


def test_class_weights_count_a_soft_label_class_by_class():
    X, _ = make_classification(n_rows=60)
    shares = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    factors = {0: 2.0, 1: 0.5, 2: 1.0}
    soft = LogisticRegression(class_weight=factors).fit(X, shares)
    weight = shares * np.array([2.0, 0.5, 1.0])
    copies = LogisticRegression().fit(np.repeat(X, 3, axis=0), np.tile(np.arange(3), 60), weight.ravel())
    np.testing.assert_allclose(soft.coef_, copies.coef_, atol=1e-7)


def test_columns_of_soft_labels_are_named_by_classes_or_by_the_frame():
    X, y = make_classification(n_classes=3)
    shares = 0.9 * np.eye(3)[y] + 0.1 / 3
    named = LogisticRegression(classes=["ant", "bee", "cat"]).fit(X, shares)
    framed = LogisticRegression().fit(X, pd.DataFrame(shares, columns=["ant", "bee", "cat"]))
    assert named.classes_.tolist() == framed.classes_.tolist() == ["ant", "bee", "cat"]
    np.testing.assert_array_equal(named.predict(X), framed.predict(X))


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA])
def test_missing_labels_are_refused_with_the_first_row_and_the_ways_out(missing):
    X, y = make_classification(n_rows=50)
    labels = names_of(y).astype(object)
    labels[[7, 9]] = missing
    with pytest.raises(InputError, match=r"2 of 50 rows \(the first is row 7\).*from_generative="):
        LogisticRegression().fit(X, labels)


def test_missing_labels_are_filled_in_by_the_generative_twin():
    X, y = make_classification(n_rows=300, n_classes=3)
    labels = names_of(y).astype(object)
    gone = np.arange(0, 300, 4)
    labels[gone] = None
    generative = GaussianNB().fit(X, labels)
    filled = LogisticRegression(from_generative=generative).fit(X, labels)
    shares = np.eye(3)[y]
    shares[gone] = generative.predict_proba(X[gone])
    by_hand = LogisticRegression(classes=["ant", "bee", "cat"]).fit(X, shares)
    np.testing.assert_allclose(filled.coef_, by_hand.coef_, rtol=1e-8, atol=1e-10)
    unfitted = LogisticRegression(from_generative=GaussianNB()).fit(X, labels)
    np.testing.assert_allclose(unfitted.coef_, filled.coef_, rtol=1e-10)


def test_known_labels_are_never_overwritten_by_the_generative_twin():
    X, y = make_classification()
    with_twin = LogisticRegression(from_generative=GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(with_twin.coef_, LogisticRegression().fit(X, y).coef_)


def test_candidate_sets_are_filled_in_within_their_candidates():
    X, y = make_classification(n_rows=200, n_classes=3)
    generative = GaussianNB().fit(X, y)
    labels = y.astype(object)
    labels[5] = {0, 2}
    filled = LogisticRegression(from_generative=generative).fit(X, labels)
    shares = np.eye(3)[y]
    shares[5] = generative.predict_proba(X[[5]])[0] * [1, 0, 1]
    shares[5] /= shares[5].sum()
    np.testing.assert_allclose(filled.coef_, LogisticRegression().fit(X, shares).coef_, rtol=1e-8, atol=1e-10)


def test_a_generative_twin_of_other_classes_is_refused():
    X, y = make_classification(n_rows=100)
    labels = y.astype(object)
    labels[0] = None
    with pytest.raises(InputError, match=r"knows the classes \['ant', 'bee'\], but y holds \[0, 1\]"):
        LogisticRegression(from_generative=GaussianNB().fit(X, names_of(y))).fit(X, labels)


def test_another_marker_of_missing_labels_can_be_named():
    X, y = make_classification(n_rows=100)
    labels = np.where(np.arange(100) % 5 == 0, -1, y)
    with pytest.raises(InputError, match="20 of 100 rows"):
        LogisticRegression(missing_label=-1).fit(X, labels)
    filled = LogisticRegression(missing_label=-1, from_generative=GaussianNB(missing_label=-1)).fit(X, labels)
    assert filled.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_linear_boundary_of_a_generative_model_is_a_start(n_classes):
    X, y = make_classification(n_classes=n_classes)
    generative = GaussianNB(shared_variance=True).fit(X, y)
    cold = LogisticRegression(solver="newton").fit(X, y)
    warm = LogisticRegression(solver="newton", init=generative).fit(X, y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-7)
    assert warm.history_[0].objective > cold.history_[0].objective


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_a_fit_started_at_its_end_is_over_at_once(n_classes, l1_ratio):
    X, y = make_classification(n_classes=n_classes)
    first = LogisticRegression(solver="newton", l1_ratio=l1_ratio, tol=1e-7).fit(X, y)
    again = LogisticRegression(solver="newton", l1_ratio=l1_ratio, tol=1e-7, init=first).fit(X, y)
    pair = LogisticRegression(solver="newton", l1_ratio=l1_ratio, tol=1e-7, init=(first.coef_, first.intercept_))
    assert again.n_iter_[0] == pair.fit(X, y).n_iter_[0] == 0
    np.testing.assert_allclose(again.coef_, first.coef_, atol=1e-12)


def test_warm_start_begins_where_the_last_fit_ended():
    X, y = make_classification()
    model = LogisticRegression(solver="gradient", warm_start=True).fit(X, y)
    iterations = int(model.n_iter_[0])
    assert model.fit(X, y).n_iter_[0] < 0.2 * iterations


def test_a_start_of_the_wrong_shape_is_refused():
    X, y = make_classification()
    with pytest.raises(InputError, match=r"init gives coefficients of shape \(1, 3\)"):
        LogisticRegression(init=(np.zeros((1, 3)), np.zeros(1))).fit(X, y)
    with pytest.raises(InputError, match="give a fitted linear model"):
        LogisticRegression(init="zeros").fit(X, y)


def test_the_generative_model_sees_the_table_the_user_gave():
    X, y = make_classification(n_rows=80)
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    labels = names_of(y).astype(object)
    labels[::4] = None
    fitted = GaussianNB(unlabeled_weight=1.0).fit(frame, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(from_generative=fitted).fit(frame, labels)
    by_array = LogisticRegression(from_generative=GaussianNB(unlabeled_weight=1.0)).fit(X, labels)
    np.testing.assert_allclose(model.coef_, by_array.coef_, rtol=1e-10)


def test_the_generative_model_is_told_the_mark_of_missing_labels():
    X, y = make_classification(n_rows=80)
    marked = np.where(np.arange(80) % 4 == 0, -1, y)
    gaps = np.where(np.arange(80) % 4 == 0, np.nan, y)
    generative = GaussianNB(unlabeled_weight=1.0)
    by_mark = LogisticRegression(missing_label=-1, from_generative=generative).fit(X, marked)
    by_nan = LogisticRegression(from_generative=generative).fit(X, gaps)
    assert by_mark.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(by_mark.coef_, by_nan.coef_)
    assert math.isnan(generative.missing_label)


def test_a_class_weight_for_no_class_is_refused_by_name():
    X, y = make_classification(n_rows=50)
    with pytest.raises(InputError, match=r"class_weight names the classes \['bea'\].*it holds \['ant', 'bee'\]"):
        LogisticRegression(class_weight={"bea": 2.0}).fit(X, names_of(y))


def test_a_class_that_class_weight_leaves_out_has_weight_one():
    X, y = make_classification(n_rows=50)
    partly = LogisticRegression(class_weight={"bee": 3.0}).fit(X, names_of(y))
    weighted = LogisticRegression().fit(X, names_of(y), sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(partly.coef_, weighted.coef_, rtol=1e-12)
