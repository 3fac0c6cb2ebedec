"""Probabilities of zero are zeros: minus infinity in logarithms, never NaN, on every layout of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from softcount.families import (
    Bernoulli,
    Categorical,
    CodesBlock,
    DenseBlock,
    Geometric,
    Multinomial,
    NegativeBinomial,
    Poisson,
    PseudoCounts,
    SparseBlock,
)
from softcount.families.columns import opposed, others_mean

NOTHING = PseudoCounts(np.asarray(0.0))
# Class 0 never shows a one in the first column and always shows one in the last; class 1 is mixed.
ROWS = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
CODES = np.array([0, 0, 1, 1], dtype=np.int32)
NEW = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [np.nan, 1.0, np.nan], [1.0, np.nan, np.nan]])


def sparse(values):
    holes = np.isnan(values)
    cells, pattern = csr_array(np.where(holes, 0.0, values)), csr_array(holes.astype(float))
    missing = SparseBlock(pattern.indptr, pattern.indices, None, values.shape[1])
    return SparseBlock(cells.indptr, cells.indices, cells.data, values.shape[1], missing)


def solved(family, values=ROWS, codes=CODES):
    block = DenseBlock(values, has_missing=bool(np.isnan(values).any()))
    tally = family.tally(block, 2)
    tally.add_known(block, codes, None)
    return family.solve(tally.statistics(), NOTHING)


def scores(family, params, block):
    out = np.zeros((block.n_rows, 2))
    family.scorer(params).add(block, out)
    return out


@pytest.mark.parametrize("layout", [lambda v: DenseBlock(v, has_missing=True), sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "family", [Bernoulli(), Poisson(), Geometric(), NegativeBinomial(2.0)], ids=lambda family: family.name
)
def test_impossible_cells_make_a_row_impossible_and_missing_ones_do_not(family, layout):
    params = solved(family)
    found = scores(family, params, layout(NEW))
    expected = np.zeros((len(NEW), 2))
    for k in range(2):
        own = {name: array[:, k] for name, array in params.items()}
        expected[:, k] = (
            family.log_prob(NEW, own) - np.where(np.isnan(NEW), 0.0, family.log_base(np.nan_to_num(NEW)))
        ).sum(1)
    assert not np.isnan(found).any()
    assert_allclose(found, expected, rtol=1e-12)
    assert found[0, 0] == -np.inf
    assert np.isfinite(found[3]).all()


def test_a_certain_one_is_certain():
    params = solved(Bernoulli())
    assert_array_equal(params["log_prob"][2, 0], 0.0)
    assert_array_equal(params["log_not"][2, 0], -np.inf)
    assert_array_equal(params["log_prob"][0, 0], -np.inf)
    found = scores(Bernoulli(), params, DenseBlock(ROWS))
    assert np.isfinite(found[0, 0])
    assert found[2, 0] == -np.inf


def test_words_that_a_class_never_uses_make_texts_impossible():
    params = solved(Multinomial())
    for block in (DenseBlock(np.nan_to_num(NEW)), sparse(np.nan_to_num(NEW))):
        found = scores(Multinomial(), params, block)
        assert found[0, 0] == -np.inf
        assert_array_equal(found[1], 0.0)
        assert not np.isnan(found).any()


@pytest.mark.parametrize("layout", [lambda v: DenseBlock(v, has_missing=True), sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("family", [Bernoulli(), Multinomial(), Poisson(), Geometric()], ids=lambda family: family.name)
def test_evidence_of_impossible_cells_is_infinite_and_never_nan(family, layout):
    params = solved(family)
    weights = np.tile([1.0, -1.0], (len(NEW), 1))
    cells, rest = family.column_scores(params, layout(NEW), weights)
    found = scores(family, params, layout(NEW))
    cells = np.asarray(cells.todense() if hasattr(cells, "todense") else cells)
    assert not np.isnan(cells).any()
    assert not np.isnan(rest).any()
    # Rows that are impossible under both classes, each for a reason of its own, have no difference.
    possible = np.isfinite(found).any(axis=1)
    assert possible.sum() >= 3
    total = cells[possible].sum(axis=1) + rest[possible]
    assert_allclose(total, found[possible, 0] - found[possible, 1], rtol=1e-12, atol=1e-12)
    assert np.isinf(total).any()


@pytest.mark.parametrize("family", [Bernoulli(), Multinomial(), Poisson()], ids=lambda family: family.name)
def test_what_is_impossible_under_both_classes_speaks_for_neither(family):
    params = solved(
        family, np.array([[1.0, 0.0], [2.0 * (family.name != "bernoulli"), 0.0]]), np.array([0, 1], dtype=np.int32)
    )
    row = np.array([[1.0, 1.0]])
    for block in (DenseBlock(row), sparse(row)):
        cells, rest = family.column_scores(params, block, np.array([[1.0, -1.0]]))
        cells = np.asarray(cells.todense() if hasattr(cells, "todense") else cells)
        assert cells[0, 1] == 0.0
        assert not np.isnan(rest).any()


def test_log_prior_is_minus_infinity_where_the_prior_forbids_zero():
    family, smoothed = Bernoulli(), PseudoCounts(np.asarray(0.5))
    params = family.parameters(np.array([[0.0, 0.5]]))
    assert family.log_prior(params, smoothed) == -np.inf
    assert family.log_prior(params, NOTHING) == 0.0
    assert Multinomial().log_prior({"log_prob": np.array([[-np.inf], [0.0]])}, NOTHING) == 0.0


@pytest.mark.parametrize("family", [Poisson(), Geometric(), NegativeBinomial(2.0)], ids=lambda family: family.name)
def test_smoothing_makes_events_possible_in_columns_that_never_had_any(family):
    block = DenseBlock(np.zeros((4, 1)))
    tally = family.tally(block, 2)
    tally.add_known(block, CODES, None)
    smoothed = family.solve(tally.statistics(), PseudoCounts(np.asarray(1.0)))
    assert np.all(np.isfinite(scores(family, smoothed, DenseBlock(np.ones((1, 1))))))
    strict = family.solve(tally.statistics(), NOTHING)
    assert np.all(scores(family, strict, DenseBlock(np.ones((1, 1)))) == -np.inf)


# ---- categories
OFFSETS = np.array([0, 3, 5])


def category_block(codes):
    return CodesBlock(np.asarray(codes, dtype=np.int32), OFFSETS)


def test_values_that_a_class_never_shows_are_impossible_and_missing_ones_are_not():
    family, block = Categorical(n_values=(3, 2)), category_block([[0, 1], [1, 1], [2, 0], [2, 1]])
    tally = family.tally(block, 2)
    tally.add_known(block, CODES, None)
    params = family.solve(tally.statistics(), NOTHING)
    found = scores(family, params, category_block([[2, 1], [-1, 1], [-1, -1]]))
    assert_allclose(found, [[-np.inf, np.log(0.5)], [0.0, np.log(0.5)], [0.0, 0.0]])
    cells, rest = family.column_scores(params, category_block([[2, 1], [-1, 1]]), np.tile([1.0, -1.0], (2, 1)))
    assert_allclose(cells, [[-np.inf, -np.log(0.5)], [0.0, -np.log(0.5)]])
    assert_array_equal(rest, 0.0)


def test_a_kept_row_for_unseen_values_gets_alpha_over_n_plus_alpha_v():
    family = Categorical(n_values=(3, 2), with_unseen=True)
    assert_array_equal(family.offsets, [0, 4, 7])
    block = CodesBlock(np.array([[0, 1], [0, 1], [2, 0]], dtype=np.int32), family.offsets)
    tally = family.tally(block, 1)
    tally.add(block, np.ones((3, 1)))
    alpha = 0.5
    params = family.solve(tally.statistics(), PseudoCounts(np.asarray(alpha)))
    theta = np.exp(params["log_prob"][:, 0])
    assert_allclose(theta[:3], (np.array([2, 0, 1]) + alpha) / (3 + 3 * alpha), rtol=1e-14)
    assert_allclose(theta[3], alpha / (3 + 3 * alpha), rtol=1e-14)
    assert_allclose(theta[:3].sum(), 1.0, rtol=1e-14)
    assert_allclose(theta[6], alpha / (3 + 2 * alpha), rtol=1e-14)
    plain = Categorical(n_values=(3, 2))
    prior = PseudoCounts(np.asarray(alpha))
    assert_allclose(
        family.log_prior(params, prior),
        plain.log_prior({"log_prob": params["log_prob"][[0, 1, 2, 4, 5]]}, prior),
        rtol=1e-14,
    )
    drawn = family.draw(params, np.zeros(200, dtype=np.int32), np.random.default_rng(0))
    assert drawn.max(axis=0).tolist() == [2, 1]
    assert family.n_parameters(params) == 3


def test_a_column_without_any_value_is_an_empty_table():
    family = Categorical(n_values=(0, 2))
    block = CodesBlock(np.array([[-1, 0], [-1, 1]], dtype=np.int32), family.offsets)
    tally = family.tally(block, 1)
    tally.add(block, np.ones((2, 1)))
    params = family.solve(tally.statistics(), PseudoCounts(np.asarray(1.0)))
    assert_allclose(np.exp(params["log_prob"][:, 0]), [0.5, 0.5])
    assert family.n_parameters(params) == 1
    assert_array_equal(family.telling(params, np.ones(1)), [[0.0], [0.0]])


def test_codes_outside_the_table_and_missing_ones():
    family = Categorical()
    params = family.parameters([0.25, 0.75])
    assert_allclose(family.log_prob([0, 1, 2, -1], params), [np.log(0.25), np.log(0.75), -np.inf, 0.0])
    assert_allclose(family.log_prob([np.nan, 0.5], params), [0.0, -np.inf])
    assert_array_equal(np.exp(family.fit([0, 0, 2, -1])["log_prob"]), [2 / 3, 0.0, 1 / 3])
    assert_array_equal(np.exp(family.fit([0, 0, -1])["log_prob"]), [1.0])


# ---- others
def test_the_mean_of_the_others_keeps_zeros_and_tiny_shares():
    table = np.array([[0.0, 1.0, 0.0], [0.5, 0.2, 0.1]])
    found = others_mean(table, np.array([1.0, 1e-20, 1e-20]))
    assert_allclose(found[:, 0], [0.5, 0.15], rtol=1e-14)
    assert found[0, 1] == 0.0
    assert_allclose(found[:, 1], table[:, 0], rtol=1e-14)
    assert_array_equal(others_mean(table[:, :1], np.array([1.0])), table[:, :1])


def test_opposed_infinities_cancel():
    assert_array_equal(opposed(np.array([-np.inf, -np.inf, 1.0]), np.array([np.inf, 2.0, 3.0])), [0.0, -np.inf, 4.0])


def test_divergence_from_an_impossible_distribution_is_infinite():
    bernoulli, poisson, multinomial = Bernoulli(), Poisson(), Multinomial()
    assert bernoulli.kl(bernoulli.parameters(0.5), bernoulli.parameters(1.0)) == np.inf
    assert bernoulli.kl(bernoulli.parameters(1.0), bernoulli.parameters(0.5)) == np.log(2.0)
    assert bernoulli.kl(bernoulli.parameters(0.0), bernoulli.parameters(0.0)) == 0.0
    assert poisson.kl(poisson.parameters(1.0), poisson.parameters(0.0)) == np.inf
    assert poisson.kl(poisson.parameters(0.0), poisson.parameters(2.0)) == 2.0
    assert poisson.kl(poisson.parameters(0.0), poisson.parameters(0.0)) == 0.0
    assert multinomial.kl(multinomial.parameters([1.0, 0.0]), multinomial.parameters([0.0, 1.0])) == np.inf
    assert bernoulli.entropy(bernoulli.parameters(1.0)) == 0.0
    geometric = Geometric()
    assert geometric.entropy(geometric.parameters(1.0)) == 0.0
