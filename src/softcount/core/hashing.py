"""Rows as numbers: a hash of what a row holds, equal for equal rows wherever they are stored.

Sums of mixed cells that wrap around, one term per column, so that sparse entries can stand in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softcount._types import FloatArray, IntArray
from softcount.core.joining import take_rows
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock
from softcount.inputs.labels import Labels

__all__ = ["Hash", "bits", "columns", "content_hash", "factor_cells", "mixed", "position_hash"]

Hash = NDArray[np.uint64]

ODD = np.uint64(0x9E3779B97F4A7C15)


class LabeledBlocks(Protocol):
    """A chunk, or all rows."""

    @property
    def blocks(self) -> tuple[Block, ...]: ...
    @property
    def labels(self) -> Labels | None: ...


def mixed(bits: Hash) -> Hash:
    """Spread every bit over all others (the finalizer of SplitMix64)."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


#: Salt of the factors' keys, beyond those of any block.
FACTORS = 2**20


def keys_of(n: int, salt: int) -> Hash:
    with np.errstate(over="ignore"):
        return mixed((np.arange(1, n + 1, dtype=np.uint64) + np.uint64(salt << 32)) * ODD)


def bits(values: NDArray[Any]) -> Hash:
    """Whole numbers that are equal where the values are; NaN equals NaN, and 0.0 equals -0.0."""
    if values.dtype.kind == "f":
        numbers = values.astype(np.float64) + 0.0
        numbers[np.isnan(numbers)] = np.nan
        return np.asarray(numbers.view(np.uint64))
    return values.astype(np.int64).view(np.uint64)


def content_hash(chunks: LabeledBlocks, rows: IntArray) -> Hash:
    """A hash of every cell, the label and the factors of each of the given rows."""
    total = np.zeros(rows.shape[0], dtype=np.uint64)
    with np.errstate(over="ignore"):
        for number, block in enumerate(chunks.blocks):
            keys = keys_of(block.n_columns, number)
            for j, cells in columns(block, rows):
                total += _terms(cells, keys[j], is_number=isinstance(block, DenseBlock))
            if isinstance(block, SparseBlock):
                total += _sparse_hash(block, rows, keys)
            if not isinstance(block, CodesBlock) and block.evidence is not None:
                total += mixed(bits(block.evidence[rows]) + ODD)
        labels = chunks.labels
        if labels is not None:
            total += mixed(bits(labels.codes[rows]) * ODD)
            for k, cells in enumerate(factor_cells(labels, rows).T):
                terms = mixed(bits(cells) + keys_of(labels.n_classes, FACTORS)[k])
                # A row without factors is the same beside rows that have some.
                terms[cells == 0.0] = 0
                total += terms
    return mixed(total)


def _terms(cells: NDArray[Any], key: np.uint64, *, is_number: bool) -> Hash:
    """What the cells of a column add to their rows; those of numbers add what they would as sparse entries."""
    with np.errstate(over="ignore"):
        if not is_number:
            return mixed(bits(cells) + key)
        numbers = cells.astype(np.float64)
        terms = mixed(bits(numbers) + key)
        terms[numbers == 0.0] = 0
        terms[np.isnan(numbers)] = mixed(np.array([key * ODD]))[0]
    return terms


def columns(block: Block, rows: IntArray) -> Iterator[tuple[int, NDArray[Any]]]:
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


def _sparse_hash(block: SparseBlock, rows: IntArray, keys: Hash) -> Hash:
    picked: Any = take_rows(block, rows)
    data = np.ones(picked.indices.shape[0]) if picked.data is None else np.asarray(picked.data, dtype=np.float64)
    with np.errstate(over="ignore"):
        terms = mixed(bits(data) + keys[picked.indices])
        # A stored zero says no more than an empty cell.
        terms[data == 0.0] = 0
        if picked.missing is not None:
            terms = np.concatenate([terms, mixed(keys[picked.missing.indices] * ODD)])
        running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms)])
        total = running[picked.indptr[1:]] - running[picked.indptr[:-1]]
        if picked.missing is not None:
            bounds = picked.indptr[-1] + picked.missing.indptr
            total += running[bounds[1:]] - running[bounds[:-1]]
    return np.asarray(total)


def position_hash(positions: IntArray) -> Hash:
    """A hash of rows' positions."""
    with np.errstate(over="ignore"):
        return mixed((positions.astype(np.uint64) + np.uint64(1)) * ODD)


def factor_cells(labels: Labels, rows: IntArray) -> FloatArray:
    """What partly known rows say about the classes, zeros for the others; no columns where no row is partly known."""
    if labels.factors is None or labels.factor_row is None:
        return np.empty((rows.shape[0], 0))
    places = labels.factor_row[rows]
    return np.where(places[:, None] >= 0, labels.factors[places], 0.0)
