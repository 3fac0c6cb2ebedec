"""Separation is found when it is there, and only then."""

import numpy as np
import pytest
import scipy.sparse as sp

from softcount.core.execute import ThreadExecutor
from softcount.core.logistic.separation import find_separation, largest_spread
from tests.core.logistic.problems import make_data, make_rows

EXECUTOR = ThreadExecutor(1)


def search(data, coef=None):
    coef = np.zeros((data.n_outputs, data.n_columns)) if coef is None else coef
    kept = np.ones(data.n_columns, dtype=bool)
    return find_separation(data, coef, kept, np.ones(data.n_columns), EXECUTOR)


def test_overlapping_classes_are_not_separated():
    for n_classes in (2, 3):
        X, y = make_rows(n_rows=200, n_classes=n_classes)
        assert search(make_data(X, y, n_classes)) is None


def test_the_one_column_that_separates_is_named():
    X, _ = make_rows(n_rows=200)
    y = (X[:, 2] > 0.7).astype(np.int32)
    found = search(make_data(X, y))
    assert found.columns.tolist() == [3]


def test_quasi_separation_by_a_rare_column_is_found():
    X, y = make_rows(n_rows=300)
    rare = (np.arange(300) % 37 == 0).astype(float)
    y = np.where(rare == 1.0, 1, y).astype(np.int32)
    found = search(make_data(np.column_stack([X, rare]), y))
    assert found.columns.tolist() == [5]
    assert not found.complete


def test_a_combination_of_columns_is_found_in_sparse_tables_too():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 5)).astype(float)
    y = (X[:, 0] - X[:, 3] > 0).astype(np.int32)
    for table in (X, sp.csr_array(X)):
        assert search(make_data(table, y)).columns.tolist() == [1, 4]


def test_the_direction_separates_every_row():
    X, _ = make_rows(n_rows=500, n_classes=3)
    scores = X[:, :3] @ np.array([[1.0, -1.0, 0.3], [0.0, 1.0, 2.0], [0.5, 0.2, -1.0]])
    y = scores.argmax(axis=1).astype(np.int32)
    data = make_data(X, y, 3)
    found = search(data)
    eta = np.column_stack([np.ones(500), X]) @ np.vstack([found.direction, np.zeros((1, 5))]).T
    margins = eta[np.arange(500), y][:, None] - eta
    assert margins.min() > -1e-6
    assert margins.max() > 0.1


def test_many_rows_need_few_constraints():
    X, _ = make_rows(n_rows=30_000)
    y = (X @ np.array([1.0, -2.0, 0.5, 0.0]) > 0.2).astype(np.int32)
    assert search(make_data(X, y)).columns.tolist() == [1, 2, 3]
    y[17] = 1 - y[17]
    y[29_000] = 1 - y[29_000]
    assert search(make_data(X, y)) is None


def test_rows_without_weight_neither_make_nor_break_a_separation():
    X, _ = make_rows(n_rows=100)
    y = (X[:, 0] > np.median(X[:, 0])).astype(np.int32)
    weight = np.ones(100)
    wrong = [3, 50, 77]
    y[wrong] = 1 - y[wrong]
    assert search(make_data(X, y, weight=weight)) is None
    weight[wrong] = 0.0
    assert search(make_data(X, y, weight=weight)).columns.tolist() == [1]


def test_a_complete_separation_stays_complete_beside_wrong_rows_without_weight():
    X, _ = make_rows(n_rows=100)
    X[:, 0] -= np.median(X[:, 0])
    y = (X[:, 0] > 0.0).astype(np.int32)
    weight = np.ones(100)
    fitted = np.array([[0.0, 1.0, 0.0, 0.0, 0.0]])
    assert search(make_data(X, y, weight=weight), fitted).complete
    y[[3, 50, 77]] = 1 - y[[3, 50, 77]]
    weight[[3, 50, 77]] = 0.0
    assert search(make_data(X, y, weight=weight), fitted).complete


def test_soft_labels_in_between_are_not_separated():
    X, y = make_rows(n_rows=80, n_classes=3)
    assert search(make_data(X, y, 3, soft=True)) is None


def test_with_more_columns_than_rows_the_fitted_direction_is_tried():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4000))
    y = (rng.random(20) < 0.5).astype(np.int32)
    fitted = np.linalg.lstsq(X, 2.0 * y - 1.0, rcond=None)[0]
    found = search(make_data(X, y), np.concatenate([[0.0], fitted])[None])
    assert found.complete
    assert search(make_data(X, y), np.zeros((1, 4001))) is None


def test_the_spread_of_the_predictors_counts_rows_with_a_weight_alone():
    X, y = make_rows(n_rows=50)
    weight = np.ones(50)
    weight[7] = 0.0
    X[7] = 1e6
    data = make_data(X, y, weight=weight)
    coef = np.array([[0.0, 1.0, 0.0, 0.0, 0.0]])
    assert largest_spread(data, coef, EXECUTOR) == pytest.approx(np.abs(np.delete(X[:, 0], 7)).max())
