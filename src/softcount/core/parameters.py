"""Parameters of a mixture: of its classes and of each block of columns."""

from __future__ import annotations

from dataclasses import dataclass, field

from softcount._types import FloatArray
from softcount.core.counts import Counts
from softcount.families._base import Params
from softcount.families.columns import Scorer

__all__ = ["MixtureParams"]


@dataclass(frozen=True)
class MixtureParams:
    """Parameters of a :class:`MixtureModel`.

    Attributes
    ----------
    log_weights : array of shape (n_components,)
        Logarithm of the components' weights; they sum to one over all components.
    blocks : tuple of Params
        The families' parameters, block by block.
    scorers : tuple of Scorer
        Prepared from ``blocks``; not part of the parameters' value.
    source : Counts or None
        What the parameters are to be solved for from again, where ``blocks`` leaves them out.
    """

    log_weights: FloatArray
    blocks: tuple[Params, ...]
    scorers: tuple[Scorer, ...] = field(default=(), compare=False, repr=False)
    source: Counts | None = field(default=None, compare=False, repr=False)
