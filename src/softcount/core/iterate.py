"""The one loop: tally, merge, solve, until the objective stops rising."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from softcount.core.accelerate import extrapolate
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.journal import NO_JOURNAL, Journal, Record

__all__ = ["Fit", "Model", "Progress", "Step", "Stopping", "iterate"]

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

    def prepared(self, params: P) -> P:
        """Lean or bare parameters, or as they come from a checkpoint, with all that they were left without."""
        ...

    def lean(self, params: P, counts: Counts) -> P:
        """Parameters to count under: without large tables that can be solved for again from their source ``counts``."""
        ...

    def bare(self, params: P) -> P:
        """Parameters to fall back on: without large tables that follow from them and are for counting alone."""
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

    def memory(self) -> Record:
        """What it knows besides the history."""
        return {}

    def recall(self, memory: Record) -> None:
        """Know again what :meth:`memory` gave."""


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


@dataclass(slots=True)  # never changed, but made for every iteration: frozen, that takes three times as long
class Progress(Generic[P]):
    """Where a run is: all that its next iteration depends on.

    Attributes
    ----------
    params, counts, objective, history, converged
        As in :class:`Fit`.
    trail : tuple of Counts
        Successive counts since the last leap, of accelerated runs.
    memory : dict
        What the stopping rule knew at the end of the last iteration.
    """

    params: P
    counts: Counts
    objective: float
    history: tuple[Step, ...]
    trail: tuple[Counts, ...] = ()
    converged: bool = False
    memory: Record = field(default_factory=dict)

    @classmethod
    def begun(cls, start: P, counts: Counts, objective: float, stopping: Stopping, *, seconds: float) -> Progress[P]:
        """Before the first iteration."""
        first = Step(0, objective, math.nan, seconds)
        return cls(start, counts, objective, (first,), (counts,), memory=stopping.memory())

    def goes_on(self, stopping: Stopping) -> bool:
        """Whether another iteration follows."""
        return len(self.history) <= stopping.max_iter and not self.converged

    def leap(self, *, accelerate: bool) -> tuple[Counts | None, tuple[Counts, ...]]:
        """The extrapolated counts where it is time for a leap, and the trail to go on with."""
        if accelerate and len(self.trail) == 3:
            return extrapolate(self.trail), self.trail[-1:]
        return None, self.trail

    def without_leap(self, trail: tuple[Counts, ...]) -> Progress[P]:
        """Where it is after a leap that was undone."""
        return replace(self, trail=trail)

    def has_fallen(self, objective: float) -> bool:
        """Whether a new objective is lower by more than rounding, which is then reported."""
        # Asked this way round, a NaN is a fall as well.
        fallen = not objective >= self.objective - ROUNDING * max(abs(self.objective), 1.0)
        if fallen:
            _report_fall(self.objective, objective, len(self.history))
        return fallen

    def advanced(
        self,
        params: P,
        counts: Counts,
        objective: float,
        stopping: Stopping,
        *,
        trail: tuple[Counts, ...],
        leapt: bool,
        accelerate: bool,
        seconds: float,
    ) -> Progress[P]:
        """After one more iteration that came to ``params``."""
        history = (*self.history, Step(len(self.history), objective, objective - self.objective, seconds))
        # Where a leap landed is where the next three successive counts begin.
        trail = ((counts,) if leapt else (*trail, counts)) if accelerate else ()
        # The gain of a leap says nothing about the gains to come: two plain iterations have to follow it.
        converged = (not accelerate or len(trail) == 3) and stopping.reached(history)
        return Progress(params, counts, objective, history, trail, converged, stopping.memory())

    def record(self, *, finished: bool = False) -> Record:
        """As it is written down."""
        ends_here = bool(self.trail) and self.trail[-1] is self.counts
        return {
            "params": self.params,
            "counts": self.counts,
            "objective": self.objective,
            "history": np.array(self.history, dtype=np.float64),
            "trail": self.trail[:-1] if ends_here else self.trail,
            "trail_ends_here": ends_here,
            "converged": self.converged,
            "stopping": self.memory,
            "finished": finished,
        }

    @classmethod
    def recalled(cls, model: Model[P], stopping: Stopping, record: Record) -> Progress[P]:
        """What was written down."""
        stopping.recall(record["stopping"])
        history = tuple(Step(int(row[0]), *map(float, row[1:])) for row in record["history"])
        trail = tuple(record["trail"])
        if record["trail_ends_here"]:
            trail = (*trail, record["counts"])
        return cls(
            model.prepared(record["params"]),
            record["counts"],
            record["objective"],
            history,
            trail,
            record["converged"],
            record["stopping"],
        )

    def whole(self, model: Model[P]) -> Progress[P]:
        """With parameters that lack nothing."""
        return replace(self, params=model.prepared(self.params))

    def whole_record(self, model: Model[P]) -> Record:
        """As it is written down where parameters may lack something."""
        return self.whole(model).record()

    def fit(self, *, interrupted: bool) -> Fit[P]:
        """The outcome if nothing follows."""
        n_iter = len(self.history) - 1
        return Fit(self.params, self.counts, self.objective, self.converged, n_iter, self.history, interrupted)


def iterate(
    model: Model[P],
    executor: Executor,
    chunks: Sequence[Any],
    start: P,
    stopping: Stopping,
    *,
    accelerate: bool = False,
    on_step: Callable[[Step, P], None] | None = None,
    journal: Journal = NO_JOURNAL,
) -> Fit[P]:
    """Raise the objective from ``start`` until ``stopping`` says so.

    One iteration solves for new parameters and tallies the rows under them, so every recorded objective is that of
    the parameters at the end of its iteration. Ctrl-C ends the loop and keeps the last finished iteration.

    Parameters
    ----------
    model, executor, chunks
        The model, who runs its passes, and the rows.
    start : P
        Starting parameters; given up as soon as they have been counted under, if the caller keeps no name of them.
    stopping : Stopping
        Limits.
    accelerate : bool
        Extrapolate the counts after every two plain iterations (SQUAREM); a step that lowers the objective is undone.
    on_step : callable or None
        Called with every step and the parameters it ended at, bare ones where their tables are large.
    journal : Journal
        Of this run. A run that it remembers is taken up where it was, to the same bits, and not begun at ``start``.
    """
    began = time.perf_counter()

    def solved(source: Counts) -> tuple[P, float]:
        params = model.solve(source, at.params)
        return model.lean(params, source), model.log_prior(params)

    def assess(params: P, log_prior: float) -> tuple[Counts, float]:
        counts = executor.reduce(lambda lane: model.tally(params, lane), chunks, counts_bytes=model.counts_bytes())
        return counts, counts.objective + log_prior

    known = journal.recall()
    if known is not None:
        at = Progress.recalled(model, stopping, known)
        began -= at.history[-1].seconds
        if known["finished"]:
            return at.whole(model).fit(interrupted=False)
    else:
        counts, objective = assess(start, model.log_prior(start))
        at = Progress.begun(model.bare(start), counts, objective, stopping, seconds=time.perf_counter() - began)
        del counts
    # Tables may be large: one that is not needed any more is not kept alive by a name, here and below.
    del start
    try:
        while at.goes_on(stopping):
            leap, trail = at.leap(accelerate=accelerate)
            leapt = leap is not None
            proposal, log_prior = solved(at.counts if leap is None else leap)
            del leap
            new_counts, new_objective = assess(proposal, log_prior)
            if leapt and not new_objective >= at.objective:
                at = at.without_leap(trail)
                del proposal, new_counts
                continue
            for _ in range(MAX_RETREATS):
                if new_objective >= at.objective - ROUNDING * abs(at.objective):
                    break
                shorter = model.retreat(at.params, proposal)
                if shorter is None:
                    break
                proposal = shorter
                del new_counts, shorter
                new_counts, new_objective = assess(proposal, model.log_prior(proposal))
            if at.has_fallen(new_objective):
                break
            # All at once, so that an interruption finds the iteration done or not begun.
            at = at.advanced(
                model.bare(proposal),
                new_counts,
                new_objective,
                stopping,
                trail=trail,
                leapt=leapt,
                accelerate=accelerate,
                seconds=time.perf_counter() - began,
            )
            del proposal, new_counts, trail
            journal.keep(partial(at.whole_record, model), finished=False)
            if on_step is not None:
                on_step(at.history[-1], at.params)
    except (KeyboardInterrupt, SystemExit) as end:
        at = at.whole(model)
        journal.keep(at.record, finished=False, now=True)
        if isinstance(end, SystemExit):
            raise
        return at.fit(interrupted=True)
    at = at.whole(model)
    journal.keep(partial(at.record, finished=True), finished=True)
    return at.fit(interrupted=False)


def _report_fall(before: float, after: float, iteration: int) -> None:
    warnings.warn(
        f"The objective fell from {before!r} to {after!r} in iteration {iteration}, which must not happen. The "
        "parameters of the iteration before were kept. This is a fault in softcount: please report it with the data's "
        "shape and the estimator's parameters.",
        RuntimeWarning,
        stacklevel=4,
    )
