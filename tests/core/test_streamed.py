"""Rows that are read in pieces are counted as rows in memory are, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from softcount._errors import InputError
from softcount.core.chunks import Chunks
from softcount.core.execute import ThreadExecutor
from softcount.core.facts import Facts
from softcount.core.hashing import content_hash
from softcount.core.patterns import find_patterns, some_rows
from softcount.core.sampling import gather, sample_rows
from softcount.core.streamed import Piece, StreamedRows
from softcount.families.blocks import CodesBlock, DenseBlock, SparseBlock
from softcount.inputs.labels import read_labels

EXECUTOR = ThreadExecutor(2)


class Table:
    """A table that is given in pieces of a size."""

    def __init__(self, chunks, size, *, leave_out=0):
        self.chunks, self.size, self.leave_out = chunks, size, leave_out

    def pieces(self, rows_per_chunk):
        stop = self.chunks.n_rows - self.leave_out
        for start in range(0, stop, self.size):
            rows = slice(start, min(start + self.size, stop))
            blocks = tuple(block.rows(rows.start, rows.stop) for block in self.chunks.blocks)
            labels = None if self.chunks.labels is None else self.chunks.labels.rows(rows.start, rows.stop)
            yield Piece(blocks, labels, None if self.chunks.weight is None else self.chunks.weight[rows])


def make_chunks(n_rows, seed=0, size=8, labels="some", weighted=True):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n_rows, 3))
    sparse = csr_array(X)
    values = X.astype(float)
    values[rng.random(values.shape) < 0.1] = np.nan
    blocks = (
        DenseBlock(values, True),
        SparseBlock(sparse.indptr, sparse.indices, sparse.data, 3),
        CodesBlock(X.astype(np.int32), np.array([0, 2, 4, 6])),
    )
    y = np.array([None, "a", "b", {"a", "b"}], dtype=object)[rng.integers(0, 4, n_rows)]
    y[0] = {"a", "c"}
    given = read_labels(y, n_rows, classes=["a", "b", "c"])[0] if labels == "some" else None
    weight = rng.integers(0, 3, n_rows).astype(float) if weighted else None
    return Chunks(blocks, given, weight, rows_per_chunk=size)


def streamed(chunks, size, **settings):
    facts = Facts.of(chunks.n_rows, chunks.labels, chunks.weight)
    return StreamedRows(Table(chunks, size, **settings), chunks.blocks, facts, rows_per_chunk=chunks.rows_per_chunk)


def assert_same(one, other):
    assert (one.index, one.start, one.n_rows) == (other.index, other.start, other.n_rows)
    rows = np.arange(one.n_rows)
    assert_array_equal(content_hash(one, rows), content_hash(other, rows))
    for a, b in zip(one.blocks, other.blocks, strict=True):
        assert (type(a), a.n_rows, a.n_columns) == (type(b), b.n_rows, b.n_columns)
    if one.weight is not None:
        assert_array_equal(one.weight, other.weight)


@given(n_rows=st.integers(1, 60), size=st.integers(1, 70), rows_per_chunk=st.integers(1, 20), seed=st.integers(0, 99))
def test_pieces_of_any_size_are_cut_into_the_chunks_of_rows_in_memory(n_rows, size, rows_per_chunk, seed):
    chunks = make_chunks(n_rows, seed, rows_per_chunk)
    read = streamed(chunks, size)
    assert len(read) == len(chunks)
    assert read.segments == chunks.segments
    for one, other in zip(read, chunks, strict=True):
        assert_same(one, other)
    assert_same(read[len(read) - 1], chunks[len(chunks) - 1])


@pytest.mark.parametrize("leave_out", [1, 20])
def test_rows_that_change_between_passes_are_an_error(leave_out):
    chunks = make_chunks(40)
    fewer = streamed(chunks, 7, leave_out=leave_out)
    with pytest.raises(InputError, match=rf"first pass read 40 rows, and a later one {40 - leave_out}"):
        EXECUTOR.reduce(lambda lane: sum(c.n_rows for c in lane), fewer)
    more = streamed(chunks, 7)
    more.n_rows = 33
    with pytest.raises(InputError, match="read 33 rows, and a later one at least 3"):
        EXECUTOR.reduce(lambda lane: sum(c.n_rows for c in lane), more)


def test_facts_of_the_pieces_add_up_to_those_of_the_whole():
    chunks = make_chunks(50)
    parts = [Facts.of(c.n_rows, c.labels, c.weight) for c in chunks]
    total = parts[0]
    for part in parts[1:]:
        total += part
    whole = chunks.facts
    assert (total.n_rows, total.total_weight, total.n_open, total.n_unlabeled) == (
        whole.n_rows,
        whole.total_weight,
        whole.n_open,
        whole.n_unlabeled,
    )
    assert_array_equal(total.labeled, whole.labeled)
    assert_array_equal(total.support, whole.support)


@given(picked=st.lists(st.integers(0, 39), max_size=30), size=st.integers(1, 41))
def test_gathered_rows_are_the_rows_in_the_order_asked_for(picked, size):
    chunks = make_chunks(40)
    rows = np.array(picked, dtype=np.int64)
    found = gather(EXECUTOR, streamed(chunks, size), rows, None)
    assert found.n_rows == len(picked)
    if picked:
        assert_array_equal(content_hash(found, np.arange(rows.size)), content_hash(chunks, rows))


@pytest.mark.parametrize("labels", ["some", "none"])
@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("most", [5, 25, 10_000])
def test_a_sample_of_what_is_read_is_the_sample_of_what_is_in_memory(labels, distinct, most):
    chunks = make_chunks(300, seed=4, labels=labels)
    patterns = find_patterns(chunks) if distinct else None
    in_memory = some_rows(chunks, most, np.random.default_rng(1), patterns)
    if not distinct and most >= 300:
        assert in_memory is chunks
        return
    found = sample_rows(EXECUTOR, streamed(chunks, 37), most, np.random.default_rng(1), distinct=distinct)
    assert found.is_complete == (patterns is not None and in_memory.n_rows == patterns.n_patterns)
    every = np.arange(in_memory.n_rows)
    if labels == "some" and not distinct:
        # Rows in memory that have a label are kept even with a weight of zero, which changes nothing.
        every = np.flatnonzero(in_memory.weight > 0)
    assert_array_equal(content_hash(found.rows, np.arange(found.rows.n_rows)), content_hash(in_memory, every))
    np.testing.assert_allclose(found.rows.weight, in_memory.weight[every], rtol=1e-14)


def test_a_sample_does_not_depend_on_how_often_rows_are_repeated():
    chunks = make_chunks(60, weighted=False, labels="none", size=16)
    twice = Chunks(tuple(type(b)(**vars(b)) for b in chunks.blocks), None, np.full(60, 2.0), rows_per_chunk=16)
    one = sample_rows(EXECUTOR, streamed(chunks, 9), 10, np.random.default_rng(3), distinct=True).rows
    two = sample_rows(EXECUTOR, streamed(twice, 13), 10, np.random.default_rng(3), distinct=True).rows
    assert_array_equal(content_hash(one, np.arange(10)), content_hash(two, np.arange(10)))
    np.testing.assert_allclose(two.weight, 2 * one.weight, rtol=1e-14)
