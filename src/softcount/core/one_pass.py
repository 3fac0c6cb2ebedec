"""A pass over categorical rows without labels: scores, responsibilities and counts in one kernel, for several runs.

The kernel multiplies probabilities where the general way adds logarithms, so the two differ in the last digits. Which
one is taken follows from the model and the rows alone: never from how many runs there are, from the number of threads,
or from where the rows lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from softcount import kernels
from softcount._types import FloatArray
from softcount.core.chunks import Chunk
from softcount.families.categorical import Categorical
from softcount.families.statistics import Sums

__all__ = ["CountedAtOnce", "counted_at_once"]

#: The product of so many cells' probabilities stays far from underflow.
MOST_COLUMNS = 64
#: Tables of all levels are made ready for every chunk: with more of them that would take longer than the rows.
MOST_LEVELS = 2048


class CountedAtOnce(NamedTuple):
    """What a pass leaves behind: columns and log-likelihoods run after run."""

    class_weight: FloatArray
    statistics: Sums
    log_likelihood: FloatArray


def counted_at_once(
    families: Sequence[Any], params: Any, chunks: Iterable[Chunk], n_runs: int = 1
) -> tuple[CountedAtOnce | None, Iterable[Chunk]]:
    """The expected counts of some rows; or None and the rows, where these or the model need the general way.

    Parameters
    ----------
    families : sequence
        Of the blocks.
    params : MixtureParams
        Of all runs, their components one after the other.
    chunks : iterable of Chunk
        Either all have labels or none has.
    n_runs : int
    """
    if not _fits(families):
        return None, chunks
    lane = iter(chunks)
    first = next(lane)
    lane = chain((first,), lane)
    if first.labels is not None:
        return None, lane
    # A chunk of a stream is given back once it has been counted.
    del first
    offsets = families[0].offsets
    table, log_weights = np.ascontiguousarray(params.blocks[0]["log_prob"]), np.ascontiguousarray(params.log_weights)
    count, class_weight, log_likelihood = np.zeros(table.shape), np.zeros(table.shape[1]), np.zeros(n_runs)
    for chunk in lane:
        codes: Any = chunk.blocks[0]
        kernels.codes_pass(codes.codes, offsets, table, log_weights, chunk.weight, count, class_weight, log_likelihood)
    return CountedAtOnce(class_weight, Sums({"count": count}), log_likelihood), ()


def _fits(families: Sequence[Any]) -> bool:
    """Whether there are categories and nothing else, and not too many of them."""
    if len(families) != 1 or not isinstance(families[0], Categorical):
        return False
    offsets = families[0].offsets
    return len(offsets) - 1 <= MOST_COLUMNS and int(offsets[-1]) <= MOST_LEVELS
