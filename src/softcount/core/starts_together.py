"""The loop for several starts at once, where an iteration of one is so short that what surrounds it costs most.

The parameters of all runs stand side by side, as those of one wide model: one solve gives them all, and one kernel
counts categorical rows for all of them. Rows of other families are counted for each run as they are when it goes alone.
All else is a run's own: its objective, its history, its leaps, and when it stops; from then on the others go on without
it. Each run gives what :func:`~softcount.core.iterate.iterate` would give, to the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from softcount._types import FloatArray
from softcount.core.chunks import Chunk, Chunks, Rows
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.iterate import Fit, Progress, Step, Stopping
from softcount.core.journal import NO_JOURNAL, Journal, Record
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.one_pass import counted_at_once
from softcount.core.side_by_side import LeftOut, SideBySide, affordable_runs, can_go_together, joined_counts
from softcount.families._base import Params
from softcount.families.blocks import SparseBlock
from softcount.families.columns import PseudoCounts
from softcount.families.statistics import Moments, Statistics, Sums

__all__ = ["iterate_together", "starts_together"]

#: Components of all runs together: with more, tables and scores leave the cache.
MOST_COMPONENTS = 160
#: With more components than this there are at least two groups, for as many threads.
ENOUGH_COMPONENTS = 64
#: Cells times components of one run, above which its own arithmetic costs more than what surrounds it.
MOST_CELLS = 2**20


def starts_together(model: MixtureModel, rows: Rows, n_starts: int) -> int:
    """How many starts go side by side, whatever the number of threads; one where each has to be alone."""
    if not isinstance(rows, Chunks) or len(rows) > 1 or not can_go_together(model, rows):
        return 1
    # A prior that takes its place from the counts would take it from those of all runs.
    if any(family.needs_anchor(prior) for family, prior in zip(model.families, model.priors, strict=True)):
        return 1
    if model.n_components * sum(_n_cells(block) for block in rows.blocks) > MOST_CELLS:
        return 1
    most = max(1, min(MOST_COMPONENTS // model.n_components, affordable_runs(model, rows)))
    # Groups of one size, an even number of them, whatever the number of threads.
    n_groups = -(-n_starts // most)
    if n_starts * model.n_components > ENOUGH_COMPONENTS:
        n_groups += n_groups % 2
    return -(-n_starts // max(n_groups, 1))


def iterate_together(
    model: MixtureModel,
    executor: Executor,
    rows: Rows,
    starts: Sequence[MixtureParams],
    stopping: Sequence[Stopping],
    *,
    accelerate: bool = False,
    on_pass: Callable[[Step, MixtureParams], None] | None = None,
    journal: Journal = NO_JOURNAL,
) -> list[Fit[MixtureParams]]:
    """Raise the objective from each of the starts until its stopping rule says so.

    Parameters
    ----------
    model, executor, rows
        The model of each run, who runs the passes, and the rows.
    starts : sequence of MixtureParams
    stopping : sequence of Stopping
        Limits of each run.
    accelerate : bool
        Extrapolate the counts of each run after every two of its plain iterations.
    on_pass : callable or None
        Called after every pass with the last step of one of the runs and its parameters; it raises KeyboardInterrupt
        where the search is to end.
    journal : Journal
        Of these runs together: they are taken up where all of them were, to the same bits.
    """
    began = time.perf_counter()
    is_flat = _has_flat_prior(model)

    def assess(wide: _Wide, params: MixtureParams) -> list[tuple[_Share, float]]:
        counts = executor.reduce(partial(wide.tally, params), rows, counts_bytes=wide.counts_bytes())
        shares = [_Share(params, counts, place, wide.n_runs) for place in range(wide.n_runs)]
        likelihoods: Any = counts.objective
        if is_flat:
            return list(zip(shares, likelihoods.tolist(), strict=True))
        return [(share, share.objective + model.log_prior(_owned_params(share.params))) for share in shares]

    known = journal.recall()
    wide = _Wide.of_starts(model, len(starts))
    if known is not None:
        runs = [_recalled(model, limit, run) for limit, run in zip(stopping, known["runs"], strict=True)]
        began -= max(run.history[-1].seconds for run in runs)
    else:
        begun = assess(wide, wide.joined(starts))
        seconds = time.perf_counter() - began
        runs = [
            Progress.begun(share, share, objective, limit, seconds=seconds)
            for (share, objective), limit in zip(begun, stopping, strict=True)
        ]

    going = [r for r, run in enumerate(runs) if run.goes_on(stopping[r])]
    try:
        while going:
            if wide.n_runs != len(going):
                wide = _Wide.of_starts(model, len(going))
            leaps = [runs[r].leap(accelerate=accelerate) for r in going]
            joined = _joined(
                [runs[r].counts if leap is None else leap for r, (leap, _) in zip(going, leaps, strict=True)]
            )
            found = assess(wide, wide.solve(joined))
            seconds = time.perf_counter() - began
            after, still = list(runs), []
            for r, (leap, trail), (share, objective) in zip(going, leaps, found, strict=True):
                run, limit = runs[r], stopping[r]
                if leap is not None and not objective >= run.objective:
                    after[r] = run.without_leap(trail)
                elif run.has_fallen(objective):
                    continue
                else:
                    after[r] = run.advanced(
                        share,
                        share,
                        objective,
                        limit,
                        trail=trail,
                        leapt=leap is not None,
                        accelerate=accelerate,
                        seconds=seconds,
                    )
                if after[r].goes_on(limit):
                    still.append(r)
            # All at once, so that an interruption finds the iteration done or not begun.
            runs, going = after, still
            journal.keep(partial(_record, runs), finished=False)
            if on_pass is not None:
                on_pass(runs[0].history[-1], runs[0].params.params)
    except (KeyboardInterrupt, SystemExit) as end:
        journal.keep(partial(_record, runs), finished=False, now=True)
        if isinstance(end, SystemExit):
            raise
        return [_end(model, run, interrupted=r in going) for r, run in enumerate(runs)]
    journal.keep(partial(_record, runs), finished=True)
    return [_end(model, run, interrupted=False) for run in runs]


# ---- the model of all runs
@dataclass(frozen=True)
class _Wide(SideBySide):
    """Starts side by side, the rows of each counted as they are when it goes alone."""

    alone: MixtureModel | None = None

    @classmethod
    def of_starts(cls, model: MixtureModel, n_runs: int) -> _Wide:
        """So many starts of ``model``."""
        return replace(cls.of(model, n_runs, LeftOut.of(())), alone=model)

    def make_params(self, log_weights: FloatArray, blocks: tuple[Params, ...]) -> MixtureParams:
        """Parameters of all runs; no scorers, for those are each run's own."""
        return MixtureParams(log_weights, blocks)

    def solve(self, counts: Counts, previous: MixtureParams | None = None) -> MixtureParams:
        """The parameters of all runs; run by run where a class without any weight takes them from the others."""
        moments = [part for part in counts.parts.values() if isinstance(part, Moments)]
        if all((part.weight > 0.0).all() for part in moments):
            return super().solve(counts, previous)
        alone = self.alone
        assert alone is not None
        return self.joined([alone.solve(Counts(_parts_of(counts, own))) for own in self._owns()])

    def _owns(self) -> list[slice]:
        """The columns of each run."""
        return [slice(first, first + self.n_classes) for first in range(0, self.n_components, self.n_classes)]

    def tally(self, params: MixtureParams, chunks: Iterable[Chunk]) -> Counts:
        """Expected counts of the rows in all runs, and each run's log-likelihood."""
        at_once, lane = counted_at_once(self.families, params, chunks, self.n_runs)
        if at_once is not None:
            objectives: Any = at_once.log_likelihood
            return self._counts(at_once.class_weight, [at_once.statistics], objectives)
        alone, kept = self.alone, list(lane)
        assert alone is not None
        counts = [alone.tally(alone.prepared(_owned_params(_params_of(params, own))), kept) for own in self._owns()]
        objectives = np.array([each.objective for each in counts])
        return replace(joined_counts(counts), objective=objectives)


# ---- the columns of a run in wide tables
class _Share(Counts):
    """The counts of one of several runs, and its parameters: columns of wide tables, looked up when asked for."""

    def __init__(self, params: MixtureParams, counts: Counts, place: int, n_runs: int) -> None:
        vars(self).update(wide_params=params, wide_counts=counts, place=place, n_runs=n_runs)

    wide_params: MixtureParams
    wide_counts: Counts
    place: int
    n_runs: int

    @property
    def own(self) -> slice:
        """The columns."""
        n_classes = self.wide_params.log_weights.shape[0] // self.n_runs
        return slice(self.place * n_classes, (self.place + 1) * n_classes)

    @property
    def params(self) -> MixtureParams:
        """The parameters, as views and without scorers."""
        return _params_of(self.wide_params, self.own)

    @cached_property
    def parts(self) -> Mapping[str, Statistics]:
        """The counts by part, as views."""
        return _parts_of(self.wide_counts, self.own)

    @cached_property
    def objective(self) -> float:
        """The log-likelihood."""
        objectives: Any = self.wide_counts.objective
        return float(objectives[self.place])


Run = Progress[_Share]


def _whole(run: Run, *, owned: bool = False) -> Progress[MixtureParams]:
    """A run with its own parameters and counts, ``owned`` ones in arrays that hold nothing else."""

    def counts_of(share: Counts) -> Counts:
        parts = share.parts.items()
        return Counts({name: _owned(part) if owned else part for name, part in parts}, share.objective)

    params, last = run.params.params, counts_of(run.counts)
    trail = tuple(last if share is run.counts else counts_of(share) for share in run.trail)
    return Progress(
        _owned_params(params) if owned else params, last, run.objective, run.history, trail, run.converged, run.memory
    )


def _record(runs: Sequence[Run]) -> Record:
    return {"runs": [_whole(run).record() for run in runs]}


def _recalled(model: MixtureModel, stopping: Stopping, record: Record) -> Run:
    """A run as it was written down: its tables are those of all runs, of which there is one."""
    run = Progress.recalled(model, stopping, record)

    def alone(counts: Counts) -> _Share:
        objective: Any = np.array([counts.objective])
        return _Share(run.params, replace(counts, objective=objective), 0, 1)

    last = alone(run.counts)
    trail = tuple(last if counts is run.counts else alone(counts) for counts in run.trail)
    return Progress(last, last, run.objective, run.history, trail, run.converged, run.memory)


def _end(model: MixtureModel, run: Run, *, interrupted: bool) -> Fit[MixtureParams]:
    """The outcome of a run, with arrays of its own."""
    fit = _whole(replace(run, trail=()), owned=True).fit(interrupted=interrupted)
    return replace(fit, params=model.make_params(fit.params.log_weights, fit.params.blocks))


def _params_of(params: MixtureParams, own: slice) -> MixtureParams:
    blocks = tuple({name: array[..., own] for name, array in block.items()} for block in params.blocks)
    return MixtureParams(params.log_weights[own], blocks)


def _owned_params(params: MixtureParams) -> MixtureParams:
    blocks = tuple({name: array.copy() for name, array in block.items()} for block in params.blocks)
    return MixtureParams(params.log_weights.copy(), blocks)


def _owned(part: Statistics) -> Statistics:
    arrays = {name: array.copy() for name, array in part.arrays().items()}
    if isinstance(part, Moments):
        return Moments(**arrays)
    assert isinstance(part, Sums)
    return Sums(arrays, part.signed)


def _parts_of(counts: Counts, own: slice) -> dict[str, Statistics]:
    return {name: _columns(part, own) for name, part in counts.parts.items()}


def _columns(part: Statistics, own: slice) -> Statistics:
    if isinstance(part, Moments):
        return Moments(part.weight[:, own], part.mean[:, own], part.scatter[:, own])
    assert isinstance(part, Sums)
    return Sums({name: array[..., own] for name, array in part.values.items()}, part.signed)


def _joined(runs: Sequence[Counts]) -> Counts:
    """The counts of several runs as those of one model: those that stand so already, where they are the only ones."""
    first = runs[0]
    if isinstance(first, _Share) and first.n_runs == len(runs):
        wide = first.wide_counts
        if all(isinstance(run, _Share) and run.wide_counts is wide and run.place == r for r, run in enumerate(runs)):
            return wide
    return joined_counts(runs)


def _has_flat_prior(model: MixtureModel) -> bool:
    """Whether the log-prior of any parameters is zero."""
    if model.class_alpha != 0.0 and model.class_prior is None:
        return False
    return all(
        isinstance(prior, PseudoCounts)
        and not np.any(prior.alpha)
        and not np.any(0.0 if prior.other is None else prior.other)
        for prior in model.priors
    )


def _n_cells(block: Any) -> int:
    return int(block.indices.size) if isinstance(block, SparseBlock) else int(block.n_rows * block.n_columns)
