"""Passes over the rows: derivatives against differences, and sums that do not depend on the layout."""

import numpy as np
import pytest
import scipy.sparse as sp

from softcount.core.execute import ThreadExecutor
from softcount.core.logistic.curved_rows import row_states
from softcount.core.logistic.data import LogisticData
from softcount.core.normal_equations import Design, row_slices
from tests.core.logistic.problems import as_sparse, make_data, make_penalty, make_rows

CASES = [
    pytest.param(2, True, False, id="two classes"),
    pytest.param(2, True, True, id="two classes, soft"),
    pytest.param(4, True, False, id="four classes with a reference"),
    pytest.param(4, False, False, id="four classes of their own"),
    pytest.param(4, True, True, id="four classes, soft"),
]


def case_data(n_classes, reference, soft, **rest):
    X, y = make_rows(n_classes=n_classes)
    rng = np.random.default_rng(3)
    offset = rng.normal(size=len(y)) if n_classes == 2 else rng.normal(size=(len(y), n_classes))
    return make_data(X, y, n_classes, soft=soft, reference=reference, weight=rng.random(len(y)), offset=offset, **rest)


def objective(data, coef):
    return data.tally_score(coef, data.slices).objective


def some_coef(data, seed=4):
    return 0.3 * np.random.default_rng(seed).normal(size=(data.n_outputs, data.n_columns))


@pytest.mark.parametrize(("n_classes", "reference", "soft"), CASES)
def test_score_is_the_gradient_of_the_log_likelihood(n_classes, reference, soft):
    data = case_data(n_classes, reference, soft)
    coef = some_coef(data)
    score = data.tally_score(coef, data.slices)["score"]["score"]
    numeric = np.zeros_like(coef)
    for index in np.ndindex(coef.shape):
        up, down = coef.copy(), coef.copy()
        up[index] += 1e-6
        down[index] -= 1e-6
        numeric[index] = (objective(data, up) - objective(data, down)) / 2e-6
    np.testing.assert_allclose(score, numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("n_classes", "reference", "soft"), CASES)
def test_information_is_minus_the_derivative_of_the_score(n_classes, reference, soft):
    data = case_data(n_classes, reference, soft)
    coef = some_coef(data)
    information = data.tally_information(coef, data.slices)["information"]["information"]
    numeric = np.zeros_like(information)
    for j, index in enumerate(np.ndindex(coef.shape)):
        up, down = coef.copy(), coef.copy()
        up[index] += 1e-5
        down[index] -= 1e-5
        change = (
            data.tally_score(up, data.slices)["score"]["score"] - data.tally_score(down, data.slices)["score"]["score"]
        )
        numeric[:, j] = -change.ravel() / 2e-5
    np.testing.assert_allclose(information, numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("n_classes", "reference", "soft"), CASES)
def test_products_with_the_information_need_no_matrix(n_classes, reference, soft):
    data = case_data(n_classes, reference, soft)
    coef, direction = some_coef(data), some_coef(data, seed=9)
    information = data.tally_information(coef, data.slices)["information"]["information"]
    probability = row_states(data, coef, ThreadExecutor(1))
    product = data.tally_curvature(direction, probability, data.slices)["product"]
    np.testing.assert_allclose(product.ravel(), information @ direction.ravel(), rtol=1e-12)
    diagonal = data.tally_diagonal(probability, data.slices)["diagonal"]
    np.testing.assert_allclose(diagonal.ravel(), np.diag(information), rtol=1e-12)


@pytest.mark.parametrize(("n_classes", "reference", "soft"), CASES)
def test_the_penalty_has_the_slope_and_curvature_it_says(n_classes, reference, soft):
    data = case_data(n_classes, reference, soft)
    penalty = make_penalty(data, l2=0.7)
    coef, direction = some_coef(data), some_coef(data, seed=9)
    ahead = penalty.log_prior(coef + 1e-6 * direction) - penalty.log_prior(coef - 1e-6 * direction)
    assert -ahead / 2e-6 == pytest.approx(float(np.vdot(penalty.slope(coef), direction)), rel=1e-7)
    curved = penalty.curvature() @ direction.ravel()
    np.testing.assert_allclose(curved, penalty.slope(direction).ravel(), atol=1e-14)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_sparse_tables_add_up_to_what_dense_ones_do(n_classes):
    X, y = make_rows(n_rows=300, n_classes=n_classes)
    X, S = as_sparse(X)
    dense, sparse = make_data(X, y, n_classes), make_data(S, y, n_classes)
    coef = some_coef(dense)
    for name in ("score", "information"):
        one = dense.tally_information(coef, dense.slices)[name][name]
        other = sparse.tally_information(coef, sparse.slices)[name][name]
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("careful", [False, True])
def test_shifted_columns_add_up_to_those_of_a_shifted_table(careful):
    X, y = make_rows(n_rows=200, n_classes=3)
    center = np.array([3.0, -1.0, 0.5, 10.0])
    shifted = make_data(X, y, 3, center=center, careful=careful)
    plain = make_data(X - center, y, 3)
    coef = some_coef(plain)
    for name in ("score", "information"):
        one = shifted.tally_information(coef, shifted.slices)[name][name]
        other = plain.tally_information(coef, plain.slices)[name][name]
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_single_precision_tables_are_added_up_in_double_precision():
    X, y = make_rows(n_rows=500)
    X = X.astype(np.float32)
    coef = some_coef(make_data(X, y))
    one = make_data(X, y).tally_score(coef, [slice(0, 500)])["score"]["score"]
    other = make_data(X.astype(np.float64), y).tally_score(coef, [slice(0, 500)])["score"]["score"]
    np.testing.assert_allclose(one, other, rtol=1e-13)


def test_chunks_add_up_to_the_whole():
    X, y = make_rows(n_rows=101, n_classes=3)
    data = make_data(X, y, 3)
    coef = some_coef(data)
    whole = data.tally_information(coef, [slice(0, 101)])
    parts = [data.tally_information(coef, [rows]) for rows in row_slices(101, 7)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert total.objective == pytest.approx(whole.objective, rel=1e-13)
    np.testing.assert_allclose(
        total["information"]["information"], whole["information"]["information"], rtol=1e-12, atol=1e-12
    )


def test_wide_tables_are_passed_over_without_a_matrix_of_their_columns():
    X = sp.random_array((50, 100_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    data = LogisticData(Design(X), np.arange(50) % 2 * 1.0, 2)
    counts = data.tally_score(np.zeros((1, data.n_columns)), data.slices)
    assert counts["score"]["score"].shape == (1, 100_001)
    assert counts.objective == pytest.approx(-50 * np.log(2))
