"""Rows of a fit in chunks, wherever they lie."""

from __future__ import annotations

from collections.abc import Sequence

from softcount._types import FloatArray
from softcount.core.chunks import Chunks, Rows, chunk_rows, row_width, scratch_bytes, segment_chunks
from softcount.core.fold_fits import N_FOLDS
from softcount.core.mixture import MixtureModel
from softcount.estimators.distant.training import DistantBlocks
from softcount.families.blocks import Block
from softcount.inputs.labels import Labels

__all__ = ["grid_for", "grid_for_folds", "rows_for"]

#: Chunks are not made shorter than this for folds to go side by side: more of them cost more than that saves.
SHORTEST = 8192


def grid_for(model: MixtureModel, layout: Sequence[Block]) -> dict[str, int]:
    """How rows of this layout are cut into chunks and segments for the model."""
    width = layout.width if isinstance(layout, DistantBlocks) else row_width(layout)
    return {
        "rows_per_chunk": chunk_rows(model.n_components, width, scratch_bytes(layout)),
        "fewest_chunks": segment_chunks(model.counts_bytes()),
    }


def grid_for_folds(model: MixtureModel) -> dict[str, int]:
    """The same for rows in memory: with few classes, the scores of all folds side by side stay in the cache."""
    together, alone = chunk_rows(N_FOLDS * model.n_components), chunk_rows(model.n_components)
    return {
        "rows_per_chunk": max(together, min(alone, SHORTEST)),
        "fewest_chunks": segment_chunks(model.counts_bytes()),
    }


def rows_for(model: MixtureModel, blocks: tuple[Block, ...], labels: Labels | None, weight: FloatArray | None) -> Rows:
    """The rows of a fit in chunks, wherever they lie."""
    grid = grid_for(model, blocks)
    if isinstance(blocks, DistantBlocks):
        return blocks.rows(grid)
    return Chunks(blocks, labels, weight, **grid)
