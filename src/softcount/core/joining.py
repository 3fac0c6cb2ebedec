"""Rows picked from blocks and labels, and blocks and labels of rows that follow one another put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock
from softcount.inputs.labels import Labels

__all__ = ["join_blocks", "join_labels", "join_weights", "take_labels", "take_rows"]


def join_blocks(parts: Sequence[Block]) -> Block:
    """One block of the rows of all parts, which have the same kind and columns."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if isinstance(first, CodesBlock):
        return replace(first, codes=np.concatenate([cast(CodesBlock, p).codes for p in parts]))
    evidence = join_weights([cast(DenseBlock, p).evidence for p in parts], [p.n_rows for p in parts])
    if isinstance(first, DenseBlock):
        dense = [cast(DenseBlock, p) for p in parts]
        has_missing = any(p.has_missing for p in dense)
        return replace(
            first, values=np.concatenate([p.values for p in dense]), has_missing=has_missing, evidence=evidence
        )
    return _join_sparse([cast(SparseBlock, p) for p in parts], evidence)


def _join_sparse(parts: list[SparseBlock], evidence: FloatArray | None) -> SparseBlock:
    sizes = [np.diff(p.indptr) for p in parts]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
    entries = [slice(int(p.indptr[0]), int(p.indptr[-1])) for p in parts]
    indices = np.concatenate([p.indices[e] for p, e in zip(parts, entries, strict=True)])
    data: Any = None
    if any(p.data is not None for p in parts):
        ones = [np.ones(e.stop - e.start, dtype=np.uint8) for e in entries]
        data = np.concatenate(
            [one if p.data is None else p.data[e] for p, e, one in zip(parts, entries, ones, strict=True)]
        )
    missing: Any = None
    if any(p.missing is not None for p in parts):
        missing = _join_sparse([p.missing or _nothing(p) for p in parts], None)
    return SparseBlock(indptr, indices, data, parts[0].n_columns, missing, evidence)


def _nothing(block: SparseBlock) -> SparseBlock:
    """As many rows without an entry."""
    return SparseBlock(np.zeros(block.n_rows + 1, dtype=np.int64), block.indices[:0], None, block.n_columns)


def join_labels(parts: Sequence[Labels | None]) -> Labels | None:
    """Labels of all rows; factors keep their rows."""
    first = parts[0]
    if first is None or len(parts) == 1:
        return first
    known = [cast(Labels, p) for p in parts]
    codes = np.concatenate([p.codes for p in known])
    if all(p.factors is None for p in known):
        return Labels(codes, first.n_classes, fixed=first.fixed)
    factors, factor_rows, above = [], [], 0
    for part in known:
        if part.factors is None or part.factor_row is None:
            factor_rows.append(np.full(part.n_rows, -1, dtype=np.int32))
            continue
        factor_rows.append(np.where(part.factor_row >= 0, part.factor_row + np.int32(above), np.int32(-1)))
        factors.append(part.factors)
        above += part.factors.shape[0]
    return Labels(
        codes,
        first.n_classes,
        np.concatenate(factors),
        np.concatenate(factor_rows).astype(np.int32),
        any(p.fixed for p in known),
    )


def join_weights(parts: Sequence[FloatArray | None], sizes: Sequence[int]) -> FloatArray | None:
    """Weights of all rows, one where a part has none; None where no part has any."""
    if all(p is None for p in parts):
        return None
    return np.concatenate([np.ones(n) if p is None else p for p, n in zip(parts, sizes, strict=True)])


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


def take_labels(labels: Labels, rows: IntArray) -> Labels:
    """The labels of the given rows, in that order."""
    factor_row = None if labels.factor_row is None else labels.factor_row[rows]
    return Labels(labels.codes[rows], labels.n_classes, labels.factors, factor_row, labels.fixed)
