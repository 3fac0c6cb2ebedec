"""Rows in pieces: every row is in exactly one, with its label and its weight."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from softcount.core.chunks import (
    FEWEST_ROWS,
    MOST_CELLS,
    MOST_ROWS,
    MOST_SEGMENTS,
    SCRATCH_BYTES,
    SEGMENT_CHUNKS,
    SPARSE_SCRATCH_BYTES,
    Chunks,
    chunk_rows,
    row_width,
)
from softcount.families.blocks import CodesBlock, DenseBlock, SparseBlock
from softcount.inputs.labels import read_labels


@given(n_rows=st.integers(1, 40), size=st.integers(1, 50), seed=st.integers(0, 1000))
def test_chunks_are_the_rows_in_order(n_rows: int, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n_rows, 4))
    sparse = csr_array(X)
    labels, _ = read_labels([{0, 1}, *rng.integers(0, 3, size=n_rows - 1).tolist()], n_rows, classes=[0, 1, 2])
    weight = rng.random(n_rows)
    blocks = (
        DenseBlock(X),
        SparseBlock(sparse.indptr, sparse.indices, sparse.data, 4),
        CodesBlock(X.astype(np.int32), np.array([0, 3, 6, 9, 12])),
    )
    for chunks in (
        Chunks(blocks, labels, weight, rows_per_chunk=size),
        Chunks(blocks, labels, weight, rows_per_chunk=size).keep_indexed(n_components=10**6),
    ):
        assert len(chunks) == -(-n_rows // size)
        parts = list(chunks)
        assert [part.start for part in parts] == list(range(0, n_rows, size))
        assert [part.index for part in parts] == list(range(len(chunks)))
        assert sum(part.n_rows for part in parts) == n_rows
        assert_array_equal(np.concatenate([part.blocks[0].values for part in parts]), X)
        assert_array_equal(np.concatenate([part.blocks[2].codes for part in parts]), X)
        assert_array_equal(np.concatenate([part.weight for part in parts]), weight)
        assert_array_equal(np.concatenate([part.labels.codes for part in parts]), labels.codes)
        rows = []
        for part in parts:
            block = part.blocks[1]
            start = int(block.indptr[0])
            entries = slice(start, int(block.indptr[-1]))
            table = csr_array(
                (block.data[entries], block.indices[entries], block.indptr - start), shape=(part.n_rows, 4)
            )
            rows.append(table.toarray())
        assert_array_equal(np.concatenate(rows), X)
        assert [part.start for part in chunks[1:3]] == [part.start for part in parts[1:3]]


def test_a_chunk_out_of_range_is_an_index_error() -> None:
    chunks = Chunks((DenseBlock(np.zeros((3, 1))),), rows_per_chunk=2)
    for index in (2, -1):
        with pytest.raises(IndexError):
            chunks[index]


@given(
    n_components=st.integers(0, 10**6),
    width=st.floats(0.0, 1e6),
    scratch=st.sampled_from([SCRATCH_BYTES, SPARSE_SCRATCH_BYTES]),
)
def test_a_chunk_is_a_power_of_two_of_rows_that_fits_the_cache_and_is_not_too_large(
    n_components: int, width: float, scratch: int
) -> None:
    rows = chunk_rows(n_components, width, scratch)
    assert rows & (rows - 1) == 0
    assert FEWEST_ROWS <= rows <= MOST_ROWS
    assert rows == FEWEST_ROWS or (rows * n_components * 8 <= scratch and rows * width <= MOST_CELLS)


def test_the_width_of_a_row_is_its_cells_and_one_and_a_half_times_its_stored_entries() -> None:
    sparse = csr_array(np.array([[1, 0, 0], [1, 1, 1]]))
    assert row_width((DenseBlock(np.zeros((2, 5))), SparseBlock(sparse.indptr, sparse.indices, None, 3))) == 5 + 3


@given(n_rows=st.integers(1, 5000), fewest=st.integers(SEGMENT_CHUNKS, 20))
def test_segments_are_runs_of_chunks_that_hold_every_chunk_once(n_rows: int, fewest: int) -> None:
    chunks = Chunks((DenseBlock(np.zeros((n_rows, 1))),), rows_per_chunk=2, fewest_chunks=fewest)
    segments = chunks.segments
    assert [i for segment in segments for i in segment] == list(range(len(chunks)))
    assert len(segments) <= MOST_SEGMENTS
    assert all(len(segment) >= min(fewest, len(chunks)) for segment in segments[:-1])


def test_other_weights_leave_the_rows_as_they_are() -> None:
    chunks = Chunks((DenseBlock(np.arange(6.0).reshape(3, 2)),), None, None, rows_per_chunk=2)
    other = chunks.with_weight(np.array([1.0, 2.0, 3.0]))
    assert chunks[0].weight is None
    assert_array_equal(other[1].weight, [3.0])
    assert_array_equal(other[1].blocks[0].values, [[4.0, 5.0]])
