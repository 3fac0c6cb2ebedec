"""Solving normal equations: accuracy, units, and the rule for collinear columns, on both routes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcount.core.normal_equations import Design
from softcount.core.orthogonal import FactorTally, OrthogonalSystem, TriangularFactor, independent_columns
from softcount.core.symmetric_solve import factorize


def system(n_columns=6, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, n_columns)) * np.logspace(-6, 6, n_columns)
    return rows, rows.T @ rows


def test_solution_and_inverse_are_those_of_the_matrix():
    rows, matrix = system()
    factor = factorize(matrix)
    right = rows.T @ np.ones(40)
    units = np.sqrt(np.diag(matrix))
    np.testing.assert_allclose(matrix @ factor.solve(right) / units, right / units, rtol=1e-9, atol=1e-9)
    scaled_identity = (factor.inverse() @ matrix) * units[:, None] / units
    np.testing.assert_allclose(scaled_identity, np.eye(6), atol=1e-9)
    assert not factor.aliased.any()


def test_several_right_hand_sides_are_solved_at_once():
    _, matrix = system()
    right = np.random.default_rng(1).normal(size=(6, 3))
    factor = factorize(matrix)
    np.testing.assert_allclose(factor.solve(right)[:, 1], factor.solve(right[:, 1]), rtol=1e-12)


def test_one_step_of_refinement_takes_back_what_the_factor_lacks():
    rows = np.random.default_rng(0).normal(size=(40, 6))
    matrix = rows.T @ rows
    exact = factorize(matrix)
    rough = replace(exact, lower=exact.lower * (1.0 + 1e-5))
    right = matrix @ np.ones(6)
    # Twice 1e-5 is off before the step, its square after it.
    np.testing.assert_allclose(rough.solve(right), np.ones(6), rtol=1e-9)


def test_few_rows_give_a_square_triangle():
    triangle = TriangularFactor.of(np.random.default_rng(0).normal(size=(2, 5))).triangle
    assert triangle.shape == (5, 5)
    assert not np.tril(triangle, -1).any()


def test_an_empty_matrix_has_an_empty_solution():
    factor = factorize(np.empty((0, 0)))
    assert factor.solve(np.empty(0)).shape == (0,)


@given(st.integers(0, 5), st.integers(0, 1000))
def test_a_column_explained_by_those_before_it_is_left_out_on_both_routes(place, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, 6))
    mix = np.zeros(6)
    mix[:place] = rng.uniform(0.5, 2.0, place)
    rows[:, place] = rows @ mix
    expected = np.arange(6) == place
    factor = factorize(rows.T @ rows)
    np.testing.assert_array_equal(factor.aliased, expected)
    triangle = TriangularFactor.of(np.column_stack([rows, np.ones(30)]))
    kept = independent_columns(triangle, np.linalg.norm(rows, axis=0))
    np.testing.assert_array_equal(~kept, expected)
    target = rng.normal(size=30)
    by_gram = factor.solve(rows.T @ target)
    by_rotation = OrthogonalSystem.of(TriangularFactor.of(np.column_stack([rows, target])), kept).solve()
    plain = np.zeros(6)
    plain[~expected] = np.linalg.lstsq(rows[:, ~expected], target, rcond=None)[0]
    np.testing.assert_allclose(by_gram, plain, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(by_rotation, plain, rtol=1e-9, atol=1e-11)


def test_aliased_columns_have_zero_rows_in_the_inverse():
    rows, _ = system(3)
    doubled = np.column_stack([rows, rows[:, 0]])
    inverse = factorize(doubled.T @ doubled).inverse()
    np.testing.assert_array_equal(inverse[3], 0.0)
    np.testing.assert_array_equal(inverse[:, 3], 0.0)


@pytest.mark.parametrize("n_rows", [3, 40])
def test_triangles_merge_to_the_triangle_of_all_rows(n_rows):
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=(n_rows, 5)), rng.normal(size=(7, 5))
    merged = TriangularFactor.of(first) + TriangularFactor.of(second)
    whole = np.vstack([first, second])
    np.testing.assert_allclose(merged.gram, whole.T @ whole, atol=1e-12)
    np.testing.assert_allclose(merged.scaled(3.0).gram, 3.0 * whole.T @ whole, atol=1e-12)
    assert merged.clipped() is merged
    assert merged.arrays()["triangle"].shape == (5, 5)


def test_a_tally_of_triangles_over_chunks_is_the_triangle_of_the_rows():
    rng = np.random.default_rng(5)
    table, residual = rng.normal(size=(600, 4)), rng.normal(size=600)
    design = Design(table)
    tally, scratch = FactorTally(design.n_columns), design.scratch()
    for rows in (slice(0, 256), slice(256, 512), slice(512, 600)):
        tally.add(design.load(rows, scratch), np.ones(rows.stop - rows.start), residual[rows])
    whole = np.column_stack([np.ones(600), table, residual])
    np.testing.assert_allclose(tally.counts().gram, whole.T @ whole, rtol=1e-11, atol=1e-10)


def test_the_orthogonal_system_agrees_with_the_symmetric_one_and_takes_prior_rows():
    rng = np.random.default_rng(6)
    rows, target = rng.normal(size=(30, 4)), rng.normal(size=30)
    kept, prior = np.ones(4, dtype=bool), np.diag([1.0, 2.0, 3.0, 4.0])
    prior_rows = np.column_stack([prior, np.zeros(4)])
    rotated = OrthogonalSystem.of(TriangularFactor.of(np.column_stack([rows, target])), kept, prior_rows)
    factor = factorize(rows.T @ rows + prior**2)
    np.testing.assert_allclose(rotated.solve(), factor.solve(rows.T @ target), rtol=1e-10)
    np.testing.assert_allclose(rotated.inverse(), factor.inverse(), rtol=1e-9)


def test_a_system_of_which_no_column_is_kept_has_the_answer_zero_and_lapack_is_not_asked(capfd):
    assert factorize(np.zeros((3, 3))).solve(np.ones(3)).tolist() == [0.0, 0.0, 0.0]
    assert factorize(np.eye(3)).solve(np.ones((3, 0))).shape == (3, 0)
    assert capfd.readouterr() == ("", "")
