"""The loop for several starts at once, where an iteration of one is so short that what surrounds it costs most.

The components of all runs stand side by side in one wide model: a pass scores and counts the rows for all of them, and
one solve gives the parameters of all. Everything else is a run's own: its objective, its history, its leaps, and when
it stops; from then on the others go on without it. Each run gives what :func:`~softcount.core.iterate.iterate` would
give, to rounding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from softcount._types import IntArray
from softcount.core.chunks import Chunks, Rows
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.iterate import Fit, Progress, Step, Stopping
from softcount.core.journal import NO_JOURNAL, Journal, Record
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.side_by_side import LeftOut, SideBySide, affordable_runs, can_go_together, joined_counts
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

Run = Progress[MixtureParams]


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
    n_classes, is_flat = model.n_classes, _has_flat_prior(model)

    def assess(wide: SideBySide, params: MixtureParams) -> list[tuple[MixtureParams, Counts, float]]:
        counts = executor.reduce(partial(wide.tally, params), rows, counts_bytes=wide.counts_bytes())
        found = []
        for r in range(wide.n_runs):
            own = slice(r * n_classes, (r + 1) * n_classes)
            alone, counted = _part(params, own), _counts_of(counts, own, r)
            found.append((alone, counted, counted.objective + (0.0 if is_flat else model.log_prior(alone))))
        return found

    known = journal.recall()
    if known is not None:
        runs = [Progress.recalled(model, limit, run) for limit, run in zip(stopping, known["runs"], strict=True)]
        began -= max(run.history[-1].seconds for run in runs)
    else:
        wide = _wide(model, len(starts))
        begun = assess(wide, wide.joined(starts))
        runs = [
            Progress.begun(params, counts, objective, limit, seconds=time.perf_counter() - began)
            for (params, counts, objective), limit in zip(begun, stopping, strict=True)
        ]

    def record() -> Record:
        return {"runs": [run.record() for run in runs]}

    going = [r for r, run in enumerate(runs) if run.goes_on(stopping[r])]
    try:
        while going:
            wide = _wide(model, len(going))
            leaps = [runs[r].leap(accelerate=accelerate) for r in going]
            joined = joined_counts(
                [runs[r].counts if leap is None else leap for r, (leap, _) in zip(going, leaps, strict=True)]
            )
            found = assess(wide, wide.solve(joined))
            seconds = time.perf_counter() - began
            after, still = list(runs), []
            for r, (leap, trail), (params, counts, objective) in zip(going, leaps, found, strict=True):
                run, limit = runs[r], stopping[r]
                if leap is not None and not objective >= run.objective:
                    after[r] = run.without_leap(trail)
                elif run.has_fallen(objective):
                    continue
                else:
                    after[r] = run.advanced(
                        params,
                        counts,
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
            journal.keep(record, finished=False)
            if on_pass is not None:
                on_pass(runs[0].history[-1], runs[0].params)
    except (KeyboardInterrupt, SystemExit) as end:
        journal.keep(record, finished=False, now=True)
        if isinstance(end, SystemExit):
            raise
        return [_end(model, run, interrupted=r in going) for r, run in enumerate(runs)]
    journal.keep(record, finished=True)
    return [_end(model, run, interrupted=False) for run in runs]


def _wide(model: MixtureModel, n_runs: int) -> SideBySide:
    return SideBySide.of(model, n_runs, LeftOut.of(()))


def _end(model: MixtureModel, run: Run, *, interrupted: bool) -> Fit[MixtureParams]:
    """The outcome of a run, with arrays of its own."""
    fit = run.fit(interrupted=interrupted)
    every = np.arange(model.n_components)
    blocks = tuple({name: np.ascontiguousarray(array) for name, array in block.items()} for block in fit.params.blocks)
    params = model.make_params(fit.params.log_weights.copy(), blocks)
    return Fit(
        params,
        _counts_of(fit.counts, every, None),
        fit.objective,
        fit.converged,
        fit.n_iter,
        fit.history,
        fit.interrupted,
    )


# ---- the columns of a run in wide tables
def _part(params: MixtureParams, own: slice) -> MixtureParams:
    """The parameters of one run, as views and without scorers."""
    blocks = tuple({name: array[..., own] for name, array in block.items()} for block in params.blocks)
    return MixtureParams(params.log_weights[own], blocks)


def _counts_of(counts: Counts, own: slice | IntArray, run: int | None) -> Counts:
    """The counts of one run; its objective is number ``run`` of several, or the only one."""
    objective: Any = counts.objective
    parts = {name: _columns(part, own) for name, part in counts.parts.items()}
    return Counts(parts, objective if run is None else float(objective[run]))


def _columns(part: Statistics, own: slice | IntArray) -> Statistics:
    if isinstance(part, Moments):
        return Moments(part.weight[:, own], part.mean[:, own], part.scatter[:, own])
    assert isinstance(part, Sums)
    return Sums({name: array[..., own] for name, array in part.values.items()}, part.signed)


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
