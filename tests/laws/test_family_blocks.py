"""Laws of families as models of columns: scoring and counting rows, whole and in parts."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount._errors import InputError
from softcount.families import Categorical, DenseBlock
from tests.laws.family_cases import CASES
from tests.laws.family_tables import (
    N_CLASSES,
    N_COLUMNS,
    Table,
    every_table,
    known,
    make_block,
    row_log_prob,
    sparse_block,
)

whole = pytest.mark.parametrize("table", every_table(), ids=lambda t: t.name)
whole_or_not = pytest.mark.parametrize(
    "table", every_table() + every_table(missing=True), ids=lambda t: t.name + ("-missing" if t.has_missing else "")
)
READ_SPARSE = [name for name, case in CASES.items() if case.family.reads_sparse]
sparse_or_not = pytest.mark.parametrize(
    "table",
    [Table(CASES[name], missing=missing) for name in READ_SPARSE for missing in (False, True)],
    ids=lambda t: t.name + ("-missing" if t.has_missing else ""),
)


def same(first, second, rtol=1e-10):
    assert first.arrays().keys() == second.arrays().keys()
    for name, array in first.arrays().items():
        other = second.arrays()[name]
        assert_allclose(array, other, rtol=rtol, atol=1e-11 * max(1.0, float(np.abs(other).max())), err_msg=name)


@whole_or_not
def test_the_scorer_adds_the_log_density_of_the_observed_cells(table: Table):
    block = table.block()
    before = table.rng.normal(size=(block.n_rows, N_CLASSES))
    out = before.copy()
    table.family.scorer(table.params).add(block, out)
    base = table.family.row_base(block)
    total = out - before + (0.0 if base is None else base[:, None])
    expected = np.stack([row_log_prob(table, k) for k in range(N_CLASSES)], axis=1)
    assert_allclose(total, expected, rtol=1e-10, atol=1e-10)


@whole_or_not
def test_counting_known_classes_equals_counting_sure_responsibilities(table: Table):
    block, weight = table.block(), table.rng.integers(0, 3, len(table.codes)).astype(float)
    codes = table.codes.copy()
    codes[::5] = -1
    by_code, by_resp = (table.family.tally(block, N_CLASSES, table.params) for _ in range(2))
    by_code.add_known(block, codes, weight)
    by_resp.add(block, known(codes, weight))
    same(by_code.statistics(), by_resp.statistics())


@whole_or_not
def test_counts_of_parts_add_up_to_the_counts_of_the_whole(table: Table):
    block, cuts = table.block(), [0, 5, 6, 17, 24]
    parts = [table.statistics(table.resp[a:b], block.rows(a, b)) for a, b in pairwise(cuts)]
    merged = reduce(lambda a, b: a + b, parts)
    same(merged, table.statistics())
    same(parts[0] + parts[1], parts[1] + parts[0])
    same((parts[0] + parts[1]) + parts[2], parts[0] + (parts[1] + parts[2]))
    one_tally = table.family.tally(block, N_CLASSES, table.params)
    for a, b in pairwise(cuts):
        one_tally.add(block.rows(a, b), table.resp[a:b])
    same(one_tally.statistics(), merged)


@whole_or_not
def test_a_row_of_weight_k_counts_as_k_rows_and_of_zero_as_none(table: Table):
    weight = np.arange(len(table.codes)) % 4
    repeated = make_block(table.family, np.repeat(table.values, weight, axis=0), table.has_missing)
    expected = table.statistics(np.repeat(table.resp, weight, axis=0), repeated)
    same(table.statistics(table.resp * weight[:, None]), expected)


@whole_or_not
def test_scaled_counts_are_those_of_scaled_weights(table: Table):
    same(table.statistics().scaled(2.5), table.statistics(2.5 * table.resp))


@whole
def test_pooled_counts_are_those_of_a_single_class(table: Table):
    block = table.block()
    one = table.family.tally(block, 1, table.family.take(table.params, np.array([0])))
    one.add(block, table.resp.sum(axis=1, keepdims=True))
    same(table.statistics().pooled(), one.statistics())


@whole
def test_counts_of_chosen_classes_are_their_own(table: Table):
    classes, block = np.array([1, 0, 1]), table.block()
    tally = table.family.tally(block, 3, table.family.take(table.params, classes))
    tally.add(block, np.ascontiguousarray(table.resp[:, classes]))
    same(table.statistics().take(classes), tally.statistics())


@sparse_or_not
def test_sparse_rows_score_and_count_like_dense_ones(table: Table):
    dense, sparse = table.block(), sparse_block(table.values)
    assert_allclose(table.scores(block=sparse), table.scores(block=dense), rtol=1e-12, atol=1e-12)
    same(table.statistics(block=sparse), table.statistics(block=dense))
    part = sparse.rows(3, 11)
    assert_allclose(table.scores(block=part), table.scores()[3:11], rtol=1e-12, atol=1e-12)
    for block in (dense, sparse):
        base, other = table.family.row_base(block), table.family.row_base(dense)
        assert (base is None and other is None) or np.allclose(base, other, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(set(CASES) - set(READ_SPARSE) - {"categorical"}))
def test_families_of_dense_columns_refuse_sparse_ones(name):
    table = Table(CASES[name])
    with pytest.raises(InputError, match="sparse"):
        table.family.tally(sparse_block(table.values), N_CLASSES)


@whole_or_not
def test_evidence_of_cells_adds_up_to_the_difference_of_the_scores(table: Table):
    block = table.block()
    weights = np.tile([1.0, -1.0], (block.n_rows, 1))
    cells, rest = table.family.column_scores(table.params, block, weights)
    scores = table.scores()
    assert_allclose(cells.sum(axis=1) + rest, scores[:, 0] - scores[:, 1], rtol=1e-9, atol=1e-9)
    assert cells.shape == (block.n_rows, N_COLUMNS)
    if table.has_missing and not isinstance(table.family, Categorical):
        assert np.all(cells[np.isnan(table.values)] == 0.0)


@sparse_or_not
def test_evidence_of_sparse_cells_adds_up_too(table: Table):
    block = sparse_block(table.values)
    weights = np.tile([1.0, -1.0], (block.n_rows, 1))
    cells, rest = table.family.column_scores(table.params, block, weights)
    scores = table.scores()
    total = np.asarray(cells.sum(axis=1)).ravel() + rest
    assert_allclose(total, scores[:, 0] - scores[:, 1], rtol=1e-9, atol=1e-9)


@whole
def test_the_linear_form_is_the_score_where_there_is_one(table: Table):
    form = table.family.linear_form(table.params)
    if form is None:
        assert not table.family.reads_sparse
        return
    coef, intercept = form
    if isinstance(table.family, Categorical):
        # One weight per value of a column, for columns of zeros and ones.
        indicators = np.concatenate(
            [table.values[:, [j]] == np.arange(n) for j, n in enumerate(table.family.n_values)], axis=1
        )
        assert_allclose(indicators @ coef + intercept, table.scores(), rtol=1e-10, atol=1e-10)
        return
    assert_allclose(table.values @ coef + intercept, table.scores(), rtol=1e-10, atol=1e-10)


@whole
def test_drawn_rows_are_possible(table: Table):
    rows = table.family.draw(table.params, np.array([0, 1, 1], dtype=np.int32), np.random.default_rng(0))
    assert rows.shape == (3, N_COLUMNS)
    assert np.all(table.family.in_support(rows))


@whole
def test_a_column_speaks_for_no_class_when_all_classes_are_alike(table: Table):
    alike = table.family.take(table.params, np.array([0, 0]))
    assert_allclose(table.family.telling(alike, np.array([0.3, 0.7])), 0.0, atol=1e-9)


@whole
def test_a_column_speaks_for_the_class_it_is_higher_in(table: Table):
    telling = table.family.telling(table.params, np.array([0.3, 0.7]))
    assert telling.shape == (N_COLUMNS, N_CLASSES)
    assert np.all(np.isfinite(telling))
    assert np.abs(telling).max() > 1e-3
    assert np.all(telling[:, 0] * telling[:, 1] <= 1e-12) or table.name == "categorical"


@whole
def test_chosen_classes_score_as_they_did(table: Table):
    swapped = table.family.take(table.params, np.array([1, 0]))
    assert_allclose(table.scores(swapped), table.scores()[:, ::-1], rtol=1e-13)


@pytest.mark.parametrize("name", sorted(set(CASES) - {"categorical"}))
def test_impossible_values_are_refused_by_row_and_column(name):
    table = Table(CASES[name])
    values = table.values.astype(np.float64)
    values[4, 1] = np.inf
    with pytest.raises(InputError, match=rf"Row 14, column '(a|b)' holds .*{name}"):
        table.family.check_values(values, ["a", "b", "c"], first_row=10)
    table.family.check_values(table.values, ["a", "b", "c"])


@whole
def test_a_block_without_rows_adds_nothing(table: Table):
    block = table.block().rows(0, 0)
    statistics = table.statistics(np.zeros((0, N_CLASSES)), block)
    same(statistics + table.statistics(), table.statistics())
    assert table.scores(block=block).shape == (0, N_CLASSES)


def test_a_threshold_makes_numbers_yes_or_no():
    values = np.array([[0.2, 3.0], [1.0, np.nan]])
    block = DenseBlock(values, has_missing=True, threshold=0.5)
    assert block.numbers.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert block.missing is not None
    assert block.missing.tolist() == [[False, False], [False, True]]
