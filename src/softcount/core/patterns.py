"""Patterns: rows that are the same in every cell, label and factor, taken together with their total weight.

Rows that are equal have equal densities under every component, so a pattern with the weight of its rows gives the same
counts as the rows one by one: merging is exact. Patterns come in an order of their own (that of a hash of their
content), which depends neither on the order of the rows nor on how often they are repeated; random starts are drawn
from them, so that a weight of k and k copies of a row start EM at the same place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from softcount._types import BoolArray, FloatArray, IntArray
from softcount.core.chunks import Chunks
from softcount.core.hashing import Hash, bits, columns, content_hash, factor_cells, mixed, position_hash
from softcount.core.joining import take_labels, take_rows
from softcount.families.blocks import CodesBlock, SparseBlock

__all__ = [
    "Patterns",
    "draw_salt",
    "find_patterns",
    "is_worthwhile",
    "pays",
    "select_rows",
    "some_rows",
    "take_rows",
]

#: Rows looked at before all of them are hashed.
SAMPLE = 4096
#: Merging pays where it leaves at most this share of the rows.
WORTHWHILE = 0.7
#: Patterns of at most so many rows are kept beside them, for starts and fit both ask; of more they would take memory.
REMEMBERED = 2**14


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
    digest : array of shape (n_patterns,)
        Hash of the pattern's content, ascending.
    """

    rows: IntArray
    weight: FloatArray
    n_rows: int
    digest: Hash

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows."""
        return int(self.rows.shape[0])


def find_patterns(chunks: Chunks) -> Patterns:
    """The distinct rows of positive weight, in the order of their hash."""
    if chunks.patterns is not None:
        return chunks.patterns
    found = _found_patterns(chunks)
    if chunks.n_rows <= REMEMBERED:
        chunks.patterns = found
    return found


def _found_patterns(chunks: Chunks) -> Patterns:
    weight = np.ones(chunks.n_rows) if chunks.weight is None else chunks.weight
    used = np.flatnonzero(weight > 0.0)
    digest = content_hash(chunks, used)
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
    return Patterns(used[order[first]], total, chunks.n_rows, sorted_digest[first])


def pays(chunks: Chunks) -> bool:
    """Whether so many rows are repeated, judged by some of them, that looking at all is worth the time.

    With ``m`` rows drawn from ``P`` equally frequent patterns about ``m^2 / 2P`` are repeats.
    """
    n_rows = chunks.n_rows
    if n_rows <= SAMPLE:
        return True
    sample = np.linspace(0, n_rows - 1, SAMPLE).astype(np.int64)
    repeats = SAMPLE - np.unique(content_hash(chunks, sample)).shape[0]
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
        identity = position_hash(rows)
    else:
        rows, weight, identity = patterns.rows, patterns.weight, patterns.digest
        if rows.shape[0] <= most:
            return select_rows(chunks, rows, weight)
    labels = chunks.labels
    known = np.zeros(rows.shape[0], dtype=bool) if labels is None else ~labels.is_unlabeled()[rows]
    others = np.flatnonzero(~known & (weight > 0.0))
    # The lowest priorities, as in :mod:`softcount.core.sampling`, which draws the same rows where they are not at hand.
    priority = mixed(identity[others] ^ np.uint64(draw_salt(rng)))
    chosen = np.sort(others[np.argsort(priority, kind="stable")[:most]])
    part = weight[chosen] * (weight[others].sum() / max(float(weight[chosen].sum()), 1e-300))
    kept = np.flatnonzero(known)
    places = np.concatenate([kept, chosen])
    return select_rows(chunks, rows[places], np.concatenate([weight[kept], part]))


def draw_salt(rng: np.random.Generator) -> int:
    """A random number that makes priorities out of hashes."""
    return int(rng.integers(2**63))


def select_rows(chunks: Chunks, rows: IntArray, weight: FloatArray | None) -> Chunks:
    """Some rows, with weights of their own."""
    blocks = tuple(take_rows(block, rows) for block in chunks.blocks)
    labels = None if chunks.labels is None else take_labels(chunks.labels, rows)
    return chunks.like(blocks, labels, weight)


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
            for (_, a), (_, b) in zip(columns(block, left), columns(block, right), strict=True):
                same &= bits(a) == bits(b)
        if not isinstance(block, CodesBlock) and block.evidence is not None:
            same &= block.evidence[left] == block.evidence[right]
    if chunks.labels is not None:
        same &= chunks.labels.codes[left] == chunks.labels.codes[right]
        same &= (factor_cells(chunks.labels, left) == factor_cells(chunks.labels, right)).all(axis=1)
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
