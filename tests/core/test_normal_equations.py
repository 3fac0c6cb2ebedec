"""Normal equations over chunks equal the plain products, for every kind of table."""

import numpy as np
import pytest
import scipy.sparse as sp

from softcount.core import normal_equations
from softcount.core.column_moments import centering, column_deviations, column_means
from softcount.core.execute import ThreadExecutor
from softcount.core.normal_equations import Design, GramTally, row_slices


def tables():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(700, 5)) + 3.0
    return {
        "dense": dense,
        "float32": dense.astype(np.float32),
        "fortran": np.asfortranarray(dense),
        "sparse": sp.random_array((700, 40), density=0.02, rng=rng, format="csr"),
        "crowded sparse": sp.random_array((700, 5), density=0.5, rng=rng, format="csr"),
        "csr matrix": sp.csr_matrix(sp.random_array((700, 40), density=0.02, rng=rng, format="csr")),
        "one column": dense[:, :1],
        "no column": dense[:, :0],
    }


def plain_columns(table, design):
    columns = np.asarray(table.toarray() if sp.issparse(table) else table, dtype=np.float64)
    if design.center is not None:
        columns = columns - design.center
    return np.column_stack([np.ones(len(columns)), columns]) if design.fit_intercept else columns


@pytest.mark.parametrize("name", sorted(tables()))
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("scratch_bytes", [2**12, 2**20])
def test_products_over_chunks_equal_those_of_the_whole(name, fit_intercept, shifted, scratch_bytes, monkeypatch):
    monkeypatch.setattr(normal_equations, "SCRATCH_BYTES", scratch_bytes)
    table = tables()[name]
    center = np.full(table.shape[1], 2.5) if shifted and fit_intercept and not sp.issparse(table) else None
    design = Design(table, fit_intercept, center)
    rng = np.random.default_rng(1)
    root, residual = rng.normal(size=700), rng.normal(size=700)
    columns = plain_columns(table, design)
    tally, scratch = GramTally(design.n_columns), design.scratch()
    coef = rng.normal(size=design.n_columns)
    predictor, score, squares = np.empty(700), np.zeros(design.n_columns), np.zeros(design.n_columns)
    for rows in design.slices():
        loaded = design.load(rows, scratch)
        predictor[rows] = loaded.predictor(coef)
        score += loaded.score(residual[rows])
        squares += loaded.squares()
        loaded.add_to(tally, root[rows], residual[rows])
    counts = tally.counts()
    weighted = columns * root[:, None]
    np.testing.assert_allclose(counts["gram"], weighted.T @ weighted, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(counts["score"], weighted.T @ residual, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(counts["pearson"], [residual @ residual], rtol=1e-12)
    np.testing.assert_allclose(predictor, columns @ coef, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(score, columns.T @ residual, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(squares, (columns**2).sum(axis=0), rtol=1e-10)


@pytest.mark.parametrize("name", sorted(tables()))
def test_weighted_rows_are_the_scaled_columns_and_the_residual(name):
    design = Design(tables()[name], unpack=True)
    root, residual = np.linspace(1.0, 2.0, 700), np.arange(700.0)
    found = [design.load(rows, design.scratch()).weighted(root[rows], residual[rows]) for rows in design.slices()]
    expected = np.column_stack([plain_columns(design.table, design) * root[:, None], residual])
    np.testing.assert_allclose(np.vstack(found), expected, rtol=1e-6)


def test_the_table_is_never_written_to():
    table = np.random.default_rng(0).normal(size=(500, 3))
    table.flags.writeable = False
    design = Design(table)
    tally, scratch = GramTally(design.n_columns), design.scratch()
    for rows in design.slices():
        design.load(rows, scratch).add_to(tally, np.ones(rows.stop - rows.start), np.ones(rows.stop - rows.start))
    assert tally.counts()["gram"][0, 0] == 500.0


def test_chunks_depend_on_the_shape_alone_and_cover_every_row_once():
    table = np.empty((10_001, 50))
    slices = Design(table).slices()
    assert [part.start for part in slices[1:]] == [part.stop for part in slices[:-1]]
    assert (slices[0].start, slices[-1].stop) == (0, 10_001)
    assert slices == Design(np.ones((10_001, 50))).slices()


def test_no_rows_make_one_empty_chunk():
    assert row_slices(0, 10) == [slice(0, 0)]


def test_coefficients_move_between_shifted_and_plain_columns_and_back():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(50, 3))
    design = Design(table, center=np.array([5.0, -2.0, 100.0]))
    coef = rng.normal(size=4)
    shifted = design.centered(coef)
    np.testing.assert_allclose(design.uncentered(shifted), coef, rtol=1e-12)
    plain = table @ coef[1:] + coef[0]
    np.testing.assert_allclose(design.load(slice(0, 50), design.scratch()).predictor(shifted), plain, rtol=1e-11)
    np.testing.assert_allclose(design.uncentering() @ shifted, coef, rtol=1e-12)


def test_columns_far_from_zero_are_centered_and_others_are_not():
    rng = np.random.default_rng(3)
    near, far = rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + np.array([0.0, 1e5])
    executor = ThreadExecutor(1)
    assert centering(Design(near), column_means(Design(near), executor)) is None
    np.testing.assert_allclose(centering(Design(far), column_means(Design(far), executor)), far.mean(axis=0))
    assert centering(Design(far, fit_intercept=False), far.mean(axis=0)) is None
    assert centering(Design(sp.csr_array(far)), far.mean(axis=0)) is None


@pytest.mark.parametrize("name", ["dense", "sparse", "crowded sparse", "float32"])
def test_deviations_are_those_of_the_columns(name):
    table = tables()[name]
    columns = table.toarray() if sp.issparse(table) else table
    found = column_deviations(Design(table), ThreadExecutor(2))
    np.testing.assert_allclose(found, np.r_[1.0, columns.std(axis=0)], rtol=1e-5)
