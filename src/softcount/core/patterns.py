"""Patterns: rows that are the same in every cell, label and factor, taken together with their total weight.

Rows that are equal have equal densities under every component, so a pattern with the weight of its rows gives the same
counts as the rows one by one: merging is exact. Patterns come in an order of their own (that of a hash of their
content), which depends neither on the order of the rows nor on how often they are repeated; random starts are drawn
from them, so that a weight of k and k copies of a row start EM at the same place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._types import BoolArray, FloatArray, IntArray
from softcount.core.chunks import Chunks
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock
from softcount.inputs.labels import Labels

__all__ = [
    "Patterns",
    "find_patterns",
    "is_worthwhile",
    "pays",
    "select_rows",
    "some_rows",
    "take_rows",
]

Hash = NDArray[np.uint64]

#: Rows looked at before all of them are hashed.
SAMPLE = 4096
#: Merging pays where it leaves at most this share of the rows.
WORTHWHILE = 0.7
ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Patterns:
    """The distinct rows of a table.

    Attributes
    ----------
    rows : array of shape (n_patterns,)
        One row of each pattern.
    weight : array of shape (n_patterns,)
        Total weight of the pattern's rows; rows of weight zero belong to no pattern.
    n_rows : int
        Rows of the table.
    """

    rows: IntArray
    weight: FloatArray
    n_rows: int

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows."""
        return int(self.rows.shape[0])


def find_patterns(chunks: Chunks) -> Patterns:
    """The distinct rows of positive weight, in the order of their hash."""
    weight = np.ones(chunks.n_rows) if chunks.weight is None else chunks.weight
    used = np.flatnonzero(weight > 0.0)
    digest = _digest(chunks, used)
    order = np.argsort(digest, kind="stable")
    sorted_digest = digest[order]
    first = np.ones(order.shape[0], dtype=bool)
    first[1:] = sorted_digest[1:] != sorted_digest[:-1]
    group = np.cumsum(first) - 1
    leaders = order[first][group]
    differs = ~_equal_rows(chunks, used[order], used[leaders])
    # Two rows with one hash that differ all the same stay patterns of their own.
    first |= differs
    group = np.cumsum(first) - 1
    total: FloatArray = np.bincount(group, weight[used[order]]).astype(np.float64)
    return Patterns(used[order[first]], total, chunks.n_rows)


def pays(chunks: Chunks) -> bool:
    """Whether so many rows are repeated, judged by some of them, that looking at all is worth the time.

    With ``m`` rows drawn from ``P`` equally frequent patterns about ``m^2 / 2P`` are repeats.
    """
    n_rows = chunks.n_rows
    if n_rows <= SAMPLE:
        return True
    sample = np.linspace(0, n_rows - 1, SAMPLE).astype(np.int64)
    repeats = SAMPLE - np.unique(_digest(chunks, sample)).shape[0]
    return bool(repeats > 0 and SAMPLE**2 / (2.0 * repeats) <= WORTHWHILE * n_rows)


def is_worthwhile(patterns: Patterns) -> bool:
    """Whether iterating over the patterns saves enough to copy them."""
    return patterns.n_patterns <= WORTHWHILE * patterns.n_rows


def some_rows(chunks: Chunks, most: int, rng: np.random.Generator, patterns: Patterns | None = None) -> Chunks:
    """All rows, or where there are many all with a label and some of the others, whose weights then stand for all.

    Parameters
    ----------
    chunks : Chunks
    most : int
        Rows without a label to take.
    rng : Generator
    patterns : Patterns or None
        Draw from the distinct rows, so that neither the order of the rows nor their repetition matters.
    """
    if patterns is None:
        if chunks.n_rows <= most:
            return chunks
        rows = np.arange(chunks.n_rows)
        weight = np.ones(chunks.n_rows) if chunks.weight is None else chunks.weight
    else:
        rows, weight = patterns.rows, patterns.weight
        if rows.shape[0] <= most:
            return select_rows(chunks, rows, weight)
    labels = chunks.labels
    known = np.zeros(rows.shape[0], dtype=bool) if labels is None else ~labels.is_unlabeled()[rows]
    others = np.flatnonzero(~known)
    chosen = np.sort(rng.choice(others, size=min(most, others.size), replace=False))
    part = weight[chosen] * (weight[others].sum() / max(float(weight[chosen].sum()), 1e-300))
    kept = np.flatnonzero(known)
    places = np.concatenate([kept, chosen])
    return select_rows(chunks, rows[places], np.concatenate([weight[kept], part]))


def select_rows(chunks: Chunks, rows: IntArray, weight: FloatArray | None) -> Chunks:
    """Some rows, with weights of their own."""
    blocks = tuple(take_rows(block, rows) for block in chunks.blocks)
    labels = None if chunks.labels is None else _take_labels(chunks.labels, rows)
    return Chunks(blocks, labels, weight, rows_per_chunk=chunks.rows_per_chunk)


def take_rows(block: Block, rows: IntArray) -> Block:
    """The block of the given rows, in that order."""
    if isinstance(block, CodesBlock):
        return replace(block, codes=block.codes[rows])
    evidence = None if block.evidence is None else block.evidence[rows]
    if isinstance(block, DenseBlock):
        return replace(block, values=block.values[rows], evidence=evidence)
    starts, sizes = block.indptr[rows], np.diff(block.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(block.indptr.dtype)
    entries = np.repeat(starts - indptr[:-1], sizes) + np.arange(int(indptr[-1]))
    missing: Any = None if block.missing is None else take_rows(block.missing, rows)
    return SparseBlock(
        indptr,
        block.indices[entries],
        None if block.data is None else block.data[entries],
        block.n_columns,
        missing,
        evidence,
    )


def _take_labels(labels: Labels, rows: IntArray) -> Labels:
    factor_row = None if labels.factor_row is None else labels.factor_row[rows]
    return Labels(labels.codes[rows], labels.n_classes, labels.factors, factor_row, labels.fixed)


# ---- hashing: wrapping sums of mixed cells, one term per column, so that sparse entries can stand in any order
def _mixed(bits: Hash) -> Hash:
    """Spread every bit over all others (the finalizer of SplitMix64)."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _keys(n: int, salt: int) -> Hash:
    with np.errstate(over="ignore"):
        return _mixed((np.arange(1, n + 1, dtype=np.uint64) + np.uint64(salt << 32)) * ODD)


def _bits(values: NDArray[Any]) -> Hash:
    """Whole numbers that are equal where the values are; NaN equals NaN, and 0.0 equals -0.0."""
    if values.dtype.kind == "f":
        numbers = values.astype(np.float64) + 0.0
        numbers[np.isnan(numbers)] = np.nan
        return np.asarray(numbers.view(np.uint64))
    return values.astype(np.int64).view(np.uint64)


def _digest(chunks: Chunks, rows: IntArray) -> Hash:
    total = np.zeros(rows.shape[0], dtype=np.uint64)
    with np.errstate(over="ignore"):
        for number, block in enumerate(chunks.blocks):
            keys = _keys(block.n_columns, number)
            for j, cells in _columns(block, rows):
                total += _terms(cells, keys[j], is_number=isinstance(block, DenseBlock))
            if isinstance(block, SparseBlock):
                total += _sparse_digest(block, rows, keys)
            if not isinstance(block, CodesBlock) and block.evidence is not None:
                total += _mixed(_bits(block.evidence[rows]) + ODD)
        labels = chunks.labels
        if labels is not None:
            total += _mixed(_bits(labels.codes[rows]) * ODD)
            if labels.factor_row is not None:
                total += _mixed(_bits(labels.factor_row[rows]) + ODD)
    return _mixed(total)


def _terms(cells: NDArray[Any], key: np.uint64, *, is_number: bool) -> Hash:
    """What the cells of a column add to their rows; those of numbers add what they would as sparse entries."""
    with np.errstate(over="ignore"):
        if not is_number:
            return _mixed(_bits(cells) + key)
        numbers = cells.astype(np.float64)
        terms = _mixed(_bits(numbers) + key)
        terms[numbers == 0.0] = 0
        terms[np.isnan(numbers)] = _mixed(np.array([key * ODD]))[0]
    return terms


def _columns(block: Block, rows: IntArray) -> Iterator[tuple[int, NDArray[Any]]]:
    """The dense columns, one after the other, so that no second table is made."""
    if isinstance(block, DenseBlock):
        for j in range(block.n_columns):
            values = block.values[rows, j]
            if block.threshold is not None:
                above = (values > block.threshold).astype(np.float64)
                values = np.where(np.isnan(values), np.nan, above) if block.has_missing else above
            yield j, values
    elif isinstance(block, CodesBlock):
        for j in range(block.n_columns):
            yield j, block.codes[rows, j]


def _sparse_digest(block: SparseBlock, rows: IntArray, keys: Hash) -> Hash:
    picked: Any = take_rows(block, rows)
    data = np.ones(picked.indices.shape[0]) if picked.data is None else np.asarray(picked.data, dtype=np.float64)
    with np.errstate(over="ignore"):
        terms = _mixed(_bits(data) + keys[picked.indices])
        # A stored zero says no more than an empty cell.
        terms[data == 0.0] = 0
        if picked.missing is not None:
            terms = np.concatenate([terms, _mixed(keys[picked.missing.indices] * ODD)])
        running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms)])
        total = running[picked.indptr[1:]] - running[picked.indptr[:-1]]
        if picked.missing is not None:
            bounds = picked.indptr[-1] + picked.missing.indptr
            total += running[bounds[1:]] - running[bounds[:-1]]
    return np.asarray(total)


# ---- comparing
def _equal_rows(chunks: Chunks, left: IntArray, right: IntArray) -> BoolArray:
    """Where the rows ``left`` equal the rows ``right`` cell by cell."""
    equal = np.ones(left.shape[0], dtype=bool)
    other = np.flatnonzero(left != right)
    if other.size == 0:
        return equal
    left, right = left[other], right[other]
    same = np.ones(other.size, dtype=bool)
    for block in chunks.blocks:
        if isinstance(block, SparseBlock):
            same &= _equal_sparse(block, left, right)
        else:
            for (_, a), (_, b) in zip(_columns(block, left), _columns(block, right), strict=True):
                same &= _bits(a) == _bits(b)
        if not isinstance(block, CodesBlock) and block.evidence is not None:
            same &= block.evidence[left] == block.evidence[right]
    if chunks.labels is not None:
        same &= chunks.labels.codes[left] == chunks.labels.codes[right]
        if chunks.labels.factor_row is not None:
            same &= chunks.labels.factor_row[left] == chunks.labels.factor_row[right]
    equal[other] = same
    return equal


def _equal_sparse(block: SparseBlock, left: IntArray, right: IntArray) -> BoolArray:
    from scipy.sparse import csr_array

    shape = (left.shape[0], block.n_columns)
    tables = []
    for rows in (left, right):
        part: Any = take_rows(block, rows)
        data = np.ones(part.indices.shape[0]) if part.data is None else np.asarray(part.data, dtype=np.float64)
        tables.append(csr_array((data, part.indices, part.indptr), shape=shape))
    difference = (tables[0] - tables[1]).tocsr()
    difference.eliminate_zeros()
    same = np.diff(difference.indptr) == 0
    if block.missing is not None:
        same &= _equal_sparse(block.missing, left, right)
    return np.asarray(same)
