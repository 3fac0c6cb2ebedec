"""Rows drawn from a fitted model, for parametric bootstraps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount import kernels
from softcount._types import FloatArray, IntArray
from softcount.core.chunks import Chunks
from softcount.core.evidence import draw_components
from softcount.core.joining import take_rows
from softcount.core.membership import Membership, row_shares
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock
from softcount.families.categorical import Categorical
from softcount.families.multinomial import Multinomial

__all__ = ["marginal_log_likelihood", "simulated"]


def simulated(model: MixtureModel, params: MixtureParams, chunks: Chunks, rng: np.random.Generator) -> Chunks:
    """As many rows as ``chunks`` count for, drawn from the model, with cells missing as they are in those.

    Documents have the lengths of the given ones, and covariates are those of the given rows.
    """
    weight = chunks.weight
    if weight is None:
        like = np.arange(chunks.n_rows)
    else:
        like = rng.choice(chunks.n_rows, size=max(1, round(float(weight.sum()))), p=weight / weight.sum())
    components = _components(model, params, chunks, like, rng)
    blocks: list[Block] = []
    for family, block, values in zip(model.families, chunks.blocks, params.blocks, strict=True):
        if isinstance(family, Membership):
            blocks.append(take_rows(block, like))
            continue
        if isinstance(family, Multinomial):
            drawn = family.draw(values, components, rng, _lengths(block)[like])
        else:
            drawn = family.draw(values, components, rng)
        blocks.append(_as_block(family, drawn, block, like))
    return Chunks(tuple(blocks), None, None, rows_per_chunk=chunks.rows_per_chunk)


def _components(
    model: MixtureModel, params: MixtureParams, chunks: Chunks, like: IntArray, rng: np.random.Generator
) -> NDArray[Any]:
    """A component for each row, by the sizes its covariates give where there are some."""
    shares = row_shares(model, params, chunks)
    if shares is None:
        return draw_components(params.log_weights, like.shape[0], rng)
    running = np.cumsum(shares[like], axis=1)
    drawn = (rng.random((like.shape[0], 1)) * running[:, -1:] >= running).sum(axis=1)
    return np.asarray(np.minimum(drawn, model.n_components - 1), dtype=np.int32)


def _lengths(block: Any) -> FloatArray:
    """Words of each document."""
    if isinstance(block, SparseBlock):
        data = np.ones(block.indices.shape[0]) if block.data is None else block.data
        running = np.concatenate([[0.0], np.cumsum(data)])
        total = running[block.indptr[1:]] - running[block.indptr[:-1]]
    else:
        total = np.asarray(block.numbers, dtype=np.float64).sum(axis=1)
    return np.asarray(np.rint(total), dtype=np.int64)


def _as_block(family: Any, drawn: Any, block: Any, like: Any) -> Block:
    """The drawn rows in the layout of the family's kernels; cells are missing where those of ``block`` are."""
    if isinstance(family, Categorical):
        codes = np.asarray(drawn, dtype=np.int32)
        codes[block.codes[like] < 0] = -1
        return CodesBlock(codes, family.offsets)
    values = np.asarray(drawn, dtype=np.float64)
    if isinstance(block, DenseBlock) and block.missing is not None:
        values[block.missing[like]] = np.nan
        return DenseBlock(values, True)
    return DenseBlock(values)


def marginal_log_likelihood(model: MixtureModel, params: MixtureParams, chunks: Chunks) -> float:
    """Weighted marginal log-likelihood of the rows, without what contains no component."""
    total = 0.0
    for chunk in chunks:
        scores = model.log_joint(params, chunk)
        total += kernels.normalize_rows(scores, chunk.weight, params.log_weights, None)
    return total
