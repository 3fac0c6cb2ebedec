r"""Absolute-value penalties with very many columns: solve for the few that matter, then look at all the others.

A column whose coefficients are zero stays out as long as :math:`|g_{kj}| \le \lambda_{1j}` for every output ``k``. So
the problem is solved, by proximal Newton, for a working set of columns; one pass over all columns then finds those
that violate the condition, and the worst of them join the set. The answer satisfies the conditions of the whole
problem; no matrix of more than the working set's columns is ever formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from softcount._types import BoolArray, FloatArray
from softcount.core.execute import Executor
from softcount.core.logistic.curved_rows import CurvedRows, row_states
from softcount.core.logistic.model import LogisticState, Slope, midpoint
from softcount.core.logistic.penalty import LogisticPenalty

if TYPE_CHECKING:
    from softcount.core.logistic.model import LogisticModel

__all__ = ["TooManyColumnsError", "WorkingSetMethod"]

FIRST_COLUMNS = 200


class TooManyColumnsError(Exception):
    """More columns matter than a matrix of them has room for."""


@dataclass(frozen=True)
class WorkingSetMethod:
    """Proximal Newton on a growing set of columns.

    Attributes
    ----------
    executor : Executor
        Runs the pass that looks at all columns.
    solve : callable
        Fits the restricted problem from given coefficients.
    most_coefficients : int
        Largest matrix allowed.
    """

    executor: Executor
    solve: Callable[[Any, LogisticPenalty, FloatArray], FloatArray]
    most_coefficients: int
    needs_information: bool = False
    patience: int = 2

    def advance(self, model: LogisticModel, state: LogisticState, slope: Slope) -> LogisticState | None:
        """Solve for the working set, or None when no column outside it is worth a step."""
        data, penalty = model.data, model.penalty
        used = (state.coef != 0.0).any(axis=0) | ((penalty.l1 == 0.0) & model.kept)
        excess = np.maximum(np.abs(slope.gradient) - penalty.l1, 0.0)
        excess[:, used | ~model.kept] = 0.0
        states = row_states(data, state.coef, self.executor)
        diagonal = self.executor.reduce(lambda lane: data.tally_diagonal(states, lane), data.slices)["diagonal"]
        diagonal += penalty.diagonal()
        gains = np.divide(excess**2, diagonal, out=np.zeros_like(excess), where=diagonal > 0.0)
        if state.memory is not None and model.watch.ends(model.predictor_change(float(gains.sum()))):
            return None
        active = self._grown(used, gains.sum(axis=0))
        if np.count_nonzero(active) * data.n_outputs > self.most_coefficients:
            raise TooManyColumnsError
        coef = np.zeros_like(state.coef)
        restricted = restrict(data, penalty, active)
        coef[:, active] = self.solve(*restricted, state.coef[:, active])
        return LogisticState(coef, memory=True)

    def retreat(self, previous: LogisticState, proposal: LogisticState) -> LogisticState:
        """Half the step."""
        return midpoint(previous, proposal)

    def _grown(self, used: BoolArray, gains: FloatArray) -> BoolArray:
        """The used columns and the best of the others, at most as many again."""
        most = max(FIRST_COLUMNS, int(np.count_nonzero(used)))
        active = used.copy()
        found = np.flatnonzero(gains > 0.0)
        active[found[np.argsort(-gains[found], kind="stable")[:most]]] = True
        return active


def restrict(data: CurvedRows, penalty: LogisticPenalty, active: BoolArray) -> tuple[CurvedRows, LogisticPenalty]:
    """The same rows with some of the columns."""
    first = int(data.design.fit_intercept)
    columns = np.flatnonzero(active[first:])
    table: Any = data.design.table
    center = data.design.center
    design = replace(data.design, table=table[:, columns], center=None if center is None else center[columns])
    return data.with_design(design), replace(penalty, l1=penalty.l1[active], l2=penalty.l2[active])
