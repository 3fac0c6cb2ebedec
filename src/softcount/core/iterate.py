"""The one loop: tally, merge, solve, until the objective stops rising."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from softcount.core.accelerate import extrapolate
from softcount.core.counts import Counts
from softcount.core.execute import Executor

__all__ = ["Fit", "Model", "Step", "Stopping", "iterate"]

P = TypeVar("P")

# A fall of the objective within this share of its size is rounding in a sum over rows.
ROUNDING = 1e-9
MAX_RETREATS = 40


class Model(Protocol[P]):
    """What the loop needs of a model. Pure: parameters in, parameters out."""

    def tally(self, params: P, chunks: Sequence[Any]) -> Counts:
        """Counts of some chunks under ``params``; their objective is the log-likelihood of ``params``."""
        ...

    def solve(self, counts: Counts, previous: P | None) -> P:
        """The parameters that maximize the expected objective given the counts."""
        ...

    def log_prior(self, params: P) -> float:
        """Log-prior of the parameters, up to a constant."""
        ...

    def retreat(self, previous: P, proposal: P) -> P | None:
        """A shorter step from ``previous`` towards ``proposal``, or None where a fall is not the model's to mend."""
        ...

    def counts_bytes(self) -> int:
        """Size of one set of counts, which bounds how many are kept alive."""
        ...


class Step(NamedTuple):
    """One row of ``history_``."""

    iteration: int
    objective: float
    change: float
    seconds: float


@dataclass(frozen=True)
class Stopping:
    """When to stop.

    The loop has converged when the gain of the last step *and* the gain still to come (Aitken's estimate from the
    ratio of the last two gains) are at most ``tol`` times ``scale``, or times the size of the objective without a
    scale. ``tol=0`` runs exactly ``max_iter`` iterations.

    Parameters
    ----------
    max_iter : int
        Most iterations to run.
    tol : float
        Tolerance.
    scale : float or None
        What ``tol`` is relative to; ``None`` means the absolute value of the objective.
    look_ahead : bool
        Whether to wait for the estimated remaining gain as well.
    """

    max_iter: int = 100
    tol: float = 1e-6
    scale: float | None = None
    look_ahead: bool = True

    def reached(self, history: Sequence[Step]) -> bool:
        """Whether the last step of ``history`` ends the loop."""
        last = history[-1]
        if self.tol <= 0.0 or not math.isfinite(last.change):
            return False
        threshold = self.tol * (abs(last.objective) if self.scale is None else self.scale)
        gain = abs(last.change)
        if self.look_ahead and len(history) > 2:
            before = abs(history[-2].change)
            if math.isfinite(before) and 0.0 < gain < before:
                gain = max(gain, gain * gain / (before - gain))
        return gain <= threshold


@dataclass(frozen=True)
class Fit(Generic[P]):
    """What the loop returns; it belongs to the restart that was kept.

    ``objective`` is that of ``params``, and ``counts`` are the expected counts under ``params``.
    """

    params: P
    counts: Counts
    objective: float
    converged: bool
    n_iter: int
    history: tuple[Step, ...] = field(default=(), repr=False)
    interrupted: bool = False


def iterate(
    model: Model[P],
    executor: Executor,
    chunks: Sequence[Any],
    start: P,
    stopping: Stopping,
    *,
    accelerate: bool = False,
    on_step: Callable[[Step, P], None] | None = None,
) -> Fit[P]:
    """Raise the objective from ``start`` until ``stopping`` says so.

    One iteration solves for new parameters and tallies the rows under them, so every recorded objective is that of
    the parameters at the end of its iteration. Ctrl-C ends the loop and keeps the last finished iteration.

    Parameters
    ----------
    model, executor, chunks
        The model, who runs its passes, and the rows.
    start : P
        Starting parameters.
    stopping : Stopping
        Limits.
    accelerate : bool
        Extrapolate the counts after every two plain iterations (SQUAREM); a step that lowers the objective is undone.
    on_step : callable or None
        Called with every step and the parameters it ended at.
    """
    began = time.perf_counter()
    size = model.counts_bytes()

    def assess(params: P) -> tuple[Counts, float]:
        counts = executor.reduce(lambda lane: model.tally(params, lane), chunks, counts_bytes=size)
        return counts, counts.objective + model.log_prior(params)

    params = start
    counts, objective = assess(params)
    history = [Step(0, objective, math.nan, time.perf_counter() - began)]
    trail: list[Counts] = [counts]
    converged = interrupted = False
    try:
        while len(history) <= stopping.max_iter and not converged:
            leap = None
            if accelerate and len(trail) == 3:
                leap, trail = extrapolate(trail), trail[-1:]
            if leap is not None:
                proposal = model.solve(leap, params)
                new_counts, new_objective = assess(proposal)
                if not new_objective >= objective:
                    continue
                # Where the leap landed is where the next three successive counts begin.
                trail = []
            else:
                proposal = model.solve(counts, params)
                new_counts, new_objective = assess(proposal)
            for _ in range(MAX_RETREATS):
                if new_objective >= objective - ROUNDING * abs(objective):
                    break
                shorter = model.retreat(params, proposal)
                if shorter is None:
                    break
                proposal = shorter
                new_counts, new_objective = assess(proposal)
            # Asked this way round, a NaN is a fall as well.
            if not new_objective >= objective - ROUNDING * max(abs(objective), 1.0):
                _report_fall(objective, new_objective, len(history))
                break
            change = new_objective - objective
            params, counts, objective = proposal, new_counts, new_objective
            history.append(Step(len(history), objective, change, time.perf_counter() - began))
            if accelerate:
                trail.append(counts)
            # The gain of a leap says nothing about the gains to come: two plain iterations have to follow it.
            converged = (not accelerate or len(trail) == 3) and stopping.reached(history)
            if on_step is not None:
                on_step(history[-1], params)
    except KeyboardInterrupt:
        interrupted = True
    return Fit(params, counts, objective, converged, len(history) - 1, tuple(history), interrupted)


def _report_fall(before: float, after: float, iteration: int) -> None:
    warnings.warn(
        f"The objective fell from {before!r} to {after!r} in iteration {iteration}, which must not happen. The "
        "parameters of the iteration before were kept. This is a fault in softcount: please report it with the data's "
        "shape and the estimator's parameters.",
        RuntimeWarning,
        stacklevel=3,
    )
