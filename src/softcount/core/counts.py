"""Counts: the one thing that leaves a chunk of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from softcount._types import FloatArray
from softcount.families.statistics import Statistics

__all__ = ["Counts"]


@dataclass(frozen=True)
class Counts:
    """Additive statistics of some rows, by part, and those rows' share of the objective.

    ``a + b`` are the counts of the rows of ``a`` and ``b`` together; ``scaled(f)`` those of the same rows with every
    weight multiplied by ``f``. A mixture keeps a part ``"classes"`` (the class weights) and one part per block of
    columns; a linear model keeps its normal equations.

    Examples
    --------
    >>> import numpy as np
    >>> from softcount.families.statistics import Sums
    >>> one = Counts({"classes": Sums({"weight": np.array([1.0, 0.0])})}, objective=-2.0)
    >>> (one + one.scaled(3.0)).objective
    -8.0
    """

    parts: Mapping[str, Statistics]
    objective: float = 0.0

    def __getitem__(self, name: str) -> Statistics:
        return self.parts[name]

    def __add__(self, other: Counts) -> Counts:
        parts = {name: part + other.parts[name] for name, part in self.parts.items()}
        return Counts(parts, self.objective + other.objective)

    def absorb(self, other: Counts) -> Counts:
        """``self + other``, for an owner of ``self`` who needs it no more: its large tables are written over."""
        parts = {name: part.absorb(other.parts[name]) for name, part in self.parts.items()}
        return Counts(parts, self.objective + other.objective)

    def scaled(self, factor: float) -> Counts:
        """The counts of the same rows, each weighted ``factor`` times as much."""
        return Counts({name: part.scaled(factor) for name, part in self.parts.items()}, factor * self.objective)

    def clipped(self) -> Counts:
        """The nearest counts that some data could have produced."""
        return Counts({name: part.clipped() for name, part in self.parts.items()}, self.objective)

    def arrays(self) -> dict[str, FloatArray]:
        """All arrays under the names ``part/array``, for checkpoints."""
        return {f"{name}/{key}": array for name, part in self.parts.items() for key, array in part.arrays().items()}
