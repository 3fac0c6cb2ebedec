"""All methods climb to the same point, from anywhere, and never go down on the way."""

import numpy as np
import pytest

from softcount.core.execute import ThreadExecutor
from softcount.core.logistic import methods
from softcount.core.logistic.fit import LogisticProblem, fit_logistic
from tests.core.logistic.problems import as_sparse, make_data, make_penalty, make_rows

SMOOTH = ["newton", "irls", "lbfgs", "gradient", "newton-cg"]


def fit(data, solver, *, l1=0.0, l2=0.0, n_jobs=1, **rest):
    problem = LogisticProblem(data, make_penalty(data, l1, l2), solver, certify=True, **rest)
    return fit_logistic(problem, ThreadExecutor(n_jobs))


@pytest.mark.parametrize("solver", SMOOTH)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("l2", [0.0, 0.5, 50.0])
def test_every_solver_reaches_the_same_optimum(solver, n_classes, l2):
    X, y = make_rows(n_rows=400, n_classes=n_classes)
    data = make_data(X, y, n_classes)
    found, reference = fit(data, solver, l2=l2), fit(data, "newton", l2=l2)
    assert found.converged
    np.testing.assert_allclose(found.coef, reference.coef, atol=1e-6)


@pytest.mark.parametrize("solver", ["newton", "irls", "lbfgs", "gradient"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize(("l1", "l2"), [(20.0, 0.0), (18.0, 2.0)])
def test_every_solver_reaches_the_same_optimum_with_absolute_values(solver, n_classes, l1, l2):
    X, y = make_rows(n_rows=400, n_classes=n_classes)
    data = make_data(X, y, n_classes, reference=False)
    found, reference = fit(data, solver, l1=l1, l2=l2), fit(data, "newton", l1=l1, l2=l2)
    assert found.converged
    assert np.any(reference.coef[:, 1:] == 0.0)
    np.testing.assert_allclose(found.coef, reference.coef, atol=1e-6)


def test_the_direction_that_gradients_hardly_see_is_found_as_well():
    X, y = make_rows(n_rows=400)
    X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    data = make_data(X, y)
    found, reference = fit(data, "gradient", l1=20.0), fit(data, "newton", l1=20.0)
    assert found.converged
    np.testing.assert_allclose(found.coef, reference.coef, atol=1e-6)


@pytest.mark.parametrize("solver", SMOOTH)
def test_the_objective_never_falls(solver):
    X, y = make_rows(n_rows=300, n_classes=3, seed=5)
    found = fit(make_data(X, y, 3), solver, l2=0.1)
    objectives = np.array([step.objective for step in found.history])
    assert np.all(np.diff(objectives) >= -1e-9 * np.abs(objectives[1:]))


@pytest.mark.parametrize("solver", SMOOTH)
def test_a_start_far_away_leads_to_the_same_optimum(solver):
    X, y = make_rows(n_rows=300)
    data = make_data(X, y)
    start = np.array([[40.0, -30.0, 20.0, 50.0, -25.0]])
    found, reference = fit(data, solver, l2=1.0, start=start), fit(data, "newton", l2=1.0)
    assert found.converged
    np.testing.assert_allclose(found.coef, reference.coef, atol=1e-6)


@pytest.mark.parametrize("solver", SMOOTH)
def test_a_tolerance_of_zero_runs_all_iterations(solver):
    X, y = make_rows()
    found = fit(make_data(X, y), solver, l2=1.0, tol=0.0, max_iter=9)
    assert found.n_iter == 9
    assert not found.converged


def test_too_few_iterations_are_not_called_converged():
    X, y = make_rows(n_rows=400)
    found = fit(make_data(X, y), "gradient", l2=1.0, max_iter=3)
    assert found.n_iter == 3
    assert not found.converged


@pytest.mark.parametrize("solver", SMOOTH)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_number_of_threads_changes_no_bit(solver, n_classes, monkeypatch):
    monkeypatch.setattr("softcount.core.logistic.products.DENSE_CHUNK_BYTES", 2048)
    monkeypatch.setattr("softcount.core.logistic.products.FEWEST_ROWS", 64)
    X, y = make_rows(n_rows=900, n_classes=n_classes)
    one = fit(make_data(X, y, n_classes), solver, l2=1.0, n_jobs=1)
    four = fit(make_data(X, y, n_classes), solver, l2=1.0, n_jobs=4)
    np.testing.assert_array_equal(one.coef, four.coef)


@pytest.mark.parametrize("solver", SMOOTH)
def test_sparse_tables_give_what_dense_ones_give(solver):
    X, y = make_rows(n_rows=500, n_classes=3)
    X, S = as_sparse(X)
    dense, sparse = fit(make_data(X, y, 3), solver, l2=1.0), fit(make_data(S, y, 3), solver, l2=1.0)
    np.testing.assert_allclose(dense.coef, sparse.coef, rtol=1e-6, atol=1e-8)


def test_plenty_of_rows_are_fitted_from_a_part_of_them_to_the_same_optimum(monkeypatch):
    X, y = make_rows(n_rows=6000, n_classes=3)
    data = make_data(X, y, 3)
    reference = fit(data, "newton", l2=1.0)
    monkeypatch.setattr(methods, "FEW_ROWS", 2000)
    monkeypatch.setattr("softcount.core.logistic.fit.FEW_ROWS", 2000)
    monkeypatch.setattr(methods, "PART_ROWS_PER_COEFFICIENT", 30)
    monkeypatch.setattr("softcount.core.logistic.fit.PART_ROWS_PER_COEFFICIENT", 30)
    found = fit(data, "auto", l2=1.0)
    assert found.solver == "lbfgs"
    assert methods.part_stride(data) > 1
    np.testing.assert_allclose(found.coef, reference.coef, atol=1e-7)


def test_rows_sorted_by_class_do_not_mislead_the_part_of_them(monkeypatch):
    monkeypatch.setattr(methods, "FEW_ROWS", 500)
    monkeypatch.setattr("softcount.core.logistic.fit.FEW_ROWS", 500)
    monkeypatch.setattr(methods, "PART_ROWS_PER_COEFFICIENT", 10)
    monkeypatch.setattr("softcount.core.logistic.fit.PART_ROWS_PER_COEFFICIENT", 10)
    X, y = make_rows(n_rows=4000)
    order = np.argsort(y, kind="stable")
    found, reference = fit(make_data(X[order], y[order]), "auto"), fit(make_data(X, y), "newton")
    assert found.solver == "lbfgs"
    np.testing.assert_allclose(found.coef, reference.coef, atol=1e-6)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton", "gradient"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_columns_than_a_matrix_has_room_for_give_the_same_optimum(solver, n_classes, monkeypatch):
    X, y = make_rows(n_rows=300, n_columns=12, n_classes=n_classes)
    data = make_data(X, y, n_classes)
    reference = fit(data, "newton", l2=1.0)
    monkeypatch.setattr(methods, "MOST_COEFFICIENTS", 5)
    monkeypatch.setattr("softcount.core.logistic.fit.MOST_COEFFICIENTS", 5)
    monkeypatch.setattr("softcount.core.logistic.precondition.BLOCK_COLUMNS", 4)
    found = fit(data, solver, l2=1.0)
    assert found.converged
    assert found.information is None
    np.testing.assert_allclose(found.coef, reference.coef, atol=1e-6)


@pytest.mark.parametrize("solver", ["newton", "gradient"])
def test_working_sets_satisfy_the_conditions_of_all_columns(solver, monkeypatch):
    X, y = make_rows(n_rows=200, n_columns=60, seed=3)
    data = make_data(X, y, reference=False)
    reference = fit(data, "newton", l1=6.0)
    monkeypatch.setattr(methods, "MOST_COEFFICIENTS", 40)
    monkeypatch.setattr("softcount.core.logistic.fit.MOST_COEFFICIENTS", 40)
    monkeypatch.setattr("softcount.core.logistic.working_set.FIRST_COLUMNS", 4)
    found = fit(data, solver, l1=6.0)
    assert found.converged
    assert 0 < np.count_nonzero(reference.coef[0, 1:]) < 40
    np.testing.assert_array_equal(found.coef == 0.0, reference.coef == 0.0)
    np.testing.assert_allclose(found.coef, reference.coef, atol=1e-6)


def test_working_sets_that_outgrow_a_matrix_give_way_to_gradient_steps(monkeypatch):
    X, y = make_rows(n_rows=200, n_columns=20)
    data = make_data(X, y, reference=False)
    reference = fit(data, "newton", l1=0.1)
    monkeypatch.setattr(methods, "MOST_COEFFICIENTS", 8)
    monkeypatch.setattr("softcount.core.logistic.fit.MOST_COEFFICIENTS", 8)
    found = fit(data, "newton", l1=0.1)
    assert found.solver == "gradient"
    np.testing.assert_allclose(found.coef, reference.coef, atol=1e-6)
