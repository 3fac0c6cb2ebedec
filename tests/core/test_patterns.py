"""Equal rows are found whatever they are made of, in an order of their own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from softcount.core.chunks import Chunks
from softcount.core.patterns import (
    REMEMBERED,
    find_patterns,
    is_worthwhile,
    pays,
    select_rows,
    some_rows,
    take_rows,
)
from softcount.families.blocks import CodesBlock, DenseBlock, SparseBlock
from softcount.inputs.labels import Labels


def sparse_block(X):
    lost = csr_array(np.isnan(X).astype(float))
    table = csr_array(np.where(np.isnan(X), 0.0, X))
    missing = SparseBlock(lost.indptr, lost.indices, None, X.shape[1]) if lost.nnz else None
    return SparseBlock(table.indptr, table.indices, table.data, X.shape[1], missing)


def chunks_of(*blocks, labels=None, weight=None):
    return Chunks(blocks, labels, weight, rows_per_chunk=1024)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def distinct(X):
    return np.unique(np.where(np.isnan(X), -9.0, X), axis=0)


@pytest.mark.parametrize("layout", ["dense", "sparse", "codes", "thresholded", "split"])
def test_every_layout_finds_the_distinct_rows(table, layout):
    codes = np.where(np.isnan(table), -1, table).astype(np.int16)
    blocks = {
        "dense": (DenseBlock(table, True),),
        "sparse": (sparse_block(table),),
        "codes": (CodesBlock(codes, np.arange(5) * 3),),
        "thresholded": (DenseBlock(table, True, 0.5),),
        "split": (DenseBlock(table[:, :2], True), CodesBlock(codes[:, 2:], np.arange(3) * 3)),
    }[layout]
    found = find_patterns(chunks_of(*blocks))
    read = np.where(np.isnan(table), np.nan, table > 0.5) if layout == "thresholded" else table
    assert found.n_patterns == len(distinct(read))
    assert found.weight.sum() == 400
    chosen = read[found.rows]
    assert_array_equal(distinct(chosen), distinct(read))
    for row, weight in zip(chosen, found.weight, strict=True):
        assert weight == (np.isclose(read, row, equal_nan=True).all(axis=1)).sum()


def test_order_and_repetition_of_rows_leave_the_patterns_as_they_are(table):
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, 400).astype(float)
    first = find_patterns(chunks_of(DenseBlock(table, True), weight=weight))
    rows = rng.permutation(np.repeat(np.arange(400), weight.astype(int)))
    second = find_patterns(chunks_of(DenseBlock(table[rows], True)))
    assert_array_equal(first.weight, second.weight)
    assert_array_equal(table[first.rows], table[rows][second.rows])
    sparse = find_patterns(chunks_of(sparse_block(table), weight=weight))
    assert_array_equal(sparse.rows, first.rows)


def test_labels_and_factors_keep_rows_apart(table):
    codes = np.where(np.arange(400) % 2, 0, -1).astype(np.int32)
    with_labels = find_patterns(chunks_of(DenseBlock(table, True), labels=Labels(codes, 2)))
    both = np.column_stack([table, codes])
    assert with_labels.n_patterns == len(distinct(both))
    evidence = np.where(np.arange(400) < 200, 1.0, 0.5)
    with_evidence = find_patterns(chunks_of(DenseBlock(table, True, evidence=evidence)))
    assert with_evidence.n_patterns == len(distinct(np.column_stack([table, evidence])))


def test_signed_zeros_are_equal_and_holes_are_no_zeros():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [np.nan, 1.0], [2.0, 1.0]])
    assert find_patterns(chunks_of(DenseBlock(X, True))).n_patterns == 3
    assert find_patterns(chunks_of(sparse_block(X))).n_patterns == 3


def test_rows_whose_hashes_meet_stay_apart(table, monkeypatch):
    from softcount.core import patterns

    monkeypatch.setattr(patterns, "content_hash", lambda chunks, rows: np.zeros(rows.shape[0], dtype=np.uint64))
    found = find_patterns(chunks_of(DenseBlock(table, True)))
    assert found.weight.sum() == 400
    merged = distinct(table[found.rows])
    assert_array_equal(merged, distinct(table))


@pytest.mark.parametrize("apart", ["labels", "candidates", "evidence", "sparse", "holes"])
def test_rows_whose_hashes_meet_stay_apart_whatever_they_differ_in(monkeypatch, apart):
    from softcount.core import patterns

    monkeypatch.setattr(patterns, "content_hash", lambda chunks, rows: np.zeros(rows.shape[0], dtype=np.uint64))
    same, labels = np.ones((2, 3)), None
    block = DenseBlock(same)
    if apart == "labels":
        labels = Labels(np.array([0, 1], dtype=np.int32), 2)
    elif apart == "candidates":
        factors, row = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([0, 1], dtype=np.int32)
        labels = Labels(np.full(2, -1, dtype=np.int32), 3, factors, row)
    elif apart == "evidence":
        block = DenseBlock(same, evidence=np.array([1.0, 0.5]))
    elif apart == "sparse":
        block = sparse_block(np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 2.0]]))
    else:
        block = sparse_block(np.array([[1.0, np.nan, 0.0], [1.0, 0.0, np.nan]]))
    assert find_patterns(chunks_of(block, labels=labels)).weight.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("share", "expected"), [(0.5, True), (0.6, True), (0.85, False), (1.2, False)])
def test_merging_pays_up_to_seven_tenths_of_the_rows(share, expected):
    n_rows = 50_000
    values = np.random.default_rng(0).integers(0, int(share * n_rows), (n_rows, 1)).astype(float)
    assert pays(chunks_of(DenseBlock(values))) == expected


def test_looking_at_some_rows_tells_whether_merging_pays():
    rng = np.random.default_rng(0)
    few = chunks_of(DenseBlock(rng.integers(0, 2, (50_000, 6)).astype(float)))
    many = chunks_of(DenseBlock(rng.normal(size=(50_000, 2))))
    assert pays(few)
    assert not pays(many)
    assert is_worthwhile(find_patterns(few))
    assert find_patterns(few).n_patterns == 64


def test_taken_rows_are_the_rows(table):
    rows = np.array([5, 0, 399, 5])
    assert_array_equal(take_rows(DenseBlock(table, True), rows).values, table[rows])
    block = take_rows(sparse_block(table), rows)
    dense = csr_array((block.data, block.indices, block.indptr), shape=(4, 4)).toarray()
    assert_array_equal(dense, np.where(np.isnan(table), 0.0, table)[rows])
    lost = csr_array((np.ones(len(block.missing.indices)), block.missing.indices, block.missing.indptr), shape=(4, 4))
    assert_array_equal(lost.toarray() > 0, np.isnan(table)[rows])
    labels = Labels(np.arange(400).astype(np.int32) % 3, 3)
    chosen = select_rows(chunks_of(DenseBlock(table, True), labels=labels), rows, np.ones(4))
    assert_array_equal(chosen.labels.codes, labels.codes[rows])


def test_some_rows_hold_every_labeled_one_and_stand_for_the_rest(table):
    codes = np.full(400, -1, dtype=np.int32)
    codes[::40] = 1
    chunks = chunks_of(DenseBlock(table, True), labels=Labels(codes, 2))
    few = some_rows(chunks, 50, np.random.default_rng(0))
    assert few.n_rows == 60
    assert (few.labels.codes >= 0).sum() == 10
    assert_allclose(few.weight.sum(), 400)
    assert some_rows(chunks, 400, np.random.default_rng(0)) is chunks


def test_patterns_of_few_rows_are_found_once_and_those_of_other_weights_anew(table):
    chunks = chunks_of(DenseBlock(table, True))
    found = find_patterns(chunks)
    assert find_patterns(chunks) is found
    heavier = find_patterns(chunks.with_weight(np.full(400, 2.0)))
    assert_array_equal(heavier.weight, 2.0 * found.weight)


def test_patterns_of_many_rows_are_not_kept():
    chunks = chunks_of(DenseBlock(np.arange(REMEMBERED + 1.0)[:, None], False))
    find_patterns(chunks)
    assert chunks.patterns is None
