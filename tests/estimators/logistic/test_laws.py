"""Laws: weights are copies, order does not matter, sparse is dense, threads change nothing."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from softcount import LogisticRegression
from tests.estimators.logistic.data import make_classification

RESULTS = ("coef_", "intercept_", "standard_errors_", "intercept_standard_errors_", "covariance_")


def assert_same_fit(one, other, *, atol=1e-7):
    for name in RESULTS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6, atol=atol, err_msg=name)
    for name in ("log_likelihood_", "aic_", "bic_", "n_parameters_", "n_observations_"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-8), name


@given(st.integers(0, 10**6), st.sampled_from(["newton", "lbfgs", "newton-cg"]), st.sampled_from([0.3, np.inf]))
def test_a_weight_of_k_is_k_copies_and_of_zero_none(seed, solver, C):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 4))
    X, y = make_classification(150, 3, n_classes, seed=seed)
    often = rng.integers(0, 4, 150)
    model = LogisticRegression(C=C, solver=solver, tol=1e-9)
    weighted = model.fit(X, y, often)
    copied = LogisticRegression(C=C, solver=solver, tol=1e-9).fit(np.repeat(X, often, axis=0), np.repeat(y, often))
    assert_same_fit(weighted, copied, atol=1e-6)


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_copies_count_as_weights_with_absolute_values_too(seed):
    rng = np.random.default_rng(seed)
    X, y = make_classification(150, 4, int(rng.integers(2, 4)), seed=seed)
    often = rng.integers(0, 4, 150)
    model = {"C": 0.1, "l1_ratio": 0.7}
    weighted = LogisticRegression(**model).fit(X, y, often)
    copied = LogisticRegression(**model).fit(np.repeat(X, often, axis=0), np.repeat(y, often))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-7)
    assert weighted.n_parameters_ == copied.n_parameters_


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_the_order_of_rows_and_columns_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, y = make_classification(200, 4, 3, seed=seed)
    rows, columns = rng.permutation(200), rng.permutation(4)
    plain = LogisticRegression().fit(X, y)
    moved = LogisticRegression().fit(X[rows][:, columns], y[rows])
    np.testing.assert_allclose(moved.coef_, plain.coef_[:, columns], atol=1e-7)
    np.testing.assert_allclose(moved.standard_errors_, plain.standard_errors_[:, columns], rtol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "gradient"])
def test_sparse_rows_give_what_dense_rows_give(n_classes, l1_ratio, solver):
    X, y = make_classification(n_classes=n_classes)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.7, 0.0, X)
    dense = LogisticRegression(l1_ratio=l1_ratio, solver=solver).fit(X, y)
    for layout in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array):
        sparse = LogisticRegression(l1_ratio=l1_ratio, solver=solver).fit(layout(X), y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-7)
        np.testing.assert_allclose(sparse.predict_proba(layout(X)), dense.predict_proba(X), atol=1e-8)


def test_duplicate_entries_of_a_sparse_table_add_up():
    X, y = make_classification()
    rows, columns = np.nonzero(np.ones_like(X))
    twice = sp.csr_array(
        (np.tile(X.ravel() / 2, 2), np.tile(columns, 2), np.arange(0, 2 * X.size + 1, 2 * X.shape[1])), shape=X.shape
    )
    twice.indices = np.concatenate([np.tile(np.arange(X.shape[1]), 2)] * len(X))
    twice.data = np.concatenate([np.tile(row / 2, 2) for row in X])
    np.testing.assert_allclose(
        LogisticRegression().fit(twice, y).coef_, LogisticRegression().fit(X, y).coef_, atol=1e-7
    )
    assert rows.size == X.size


@pytest.mark.parametrize("solver", ["newton", "irls", "lbfgs", "gradient", "newton-cg"])
def test_threads_change_no_bit(solver):
    X, y = make_classification(40_000, 8, 2)
    one = LogisticRegression(solver=solver, n_jobs=1).fit(X, y)
    three = LogisticRegression(solver=solver, n_jobs=3).fit(X, y)
    np.testing.assert_array_equal(one.coef_, three.coef_)
    np.testing.assert_array_equal(one.covariance_, three.covariance_)


def test_fortran_order_and_single_precision_are_read_as_they_are():
    X, y = make_classification()
    plain = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(LogisticRegression().fit(np.asfortranarray(X), y).coef_, plain.coef_, rtol=1e-9)
    single = LogisticRegression().fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, plain.coef_, rtol=1e-4)
    assert single.coef_.dtype == np.float64


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_the_table_is_not_written_to(solver):
    X, y = make_classification()
    before = X.copy()
    LogisticRegression(solver=solver).fit(X, y)
    np.testing.assert_array_equal(X, before)
