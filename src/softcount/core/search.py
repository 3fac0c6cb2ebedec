"""Finding the maximum: many short starts, the best few run to the end, spread over threads.

The likelihood of a mixture has many local maxima. Most starts show within a few iterations whether they lead to a good
one, so all are run for a few, on some of the rows where there are many, and the best are run to the end: more of them
where only one of these reached the best value, for then another may reach a better one. Neither what a start is nor
which are kept depends on how many threads there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount.core.chunks import Chunks, DistantRows, Rows
from softcount.core.components import is_degenerate
from softcount.core.execute import Executor, ThreadExecutor
from softcount.core.iterate import Fit, Step, Stopping, iterate
from softcount.core.journal import NO_JOURNAL, Journal
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.start import softened
from softcount.inputs.labels import Labels

__all__ = ["Effort", "Found", "count_reached", "search"]

#: A start: parameters, and a note where they had to be changed.
Start = Callable[[], tuple[MixtureParams, str]]
OnStep = Callable[[Step, MixtureParams], None]

#: Final objectives this close (relative, and times the tolerance) count as the same optimum.
SAME_OPTIMUM = 1e-7
SAME_IN_TOLERANCES = 10.0

#: What a start may do wrong without taking the others with it.
FAILURES = (InputError, np.linalg.LinAlgError, ArithmeticError)


@dataclass(frozen=True)
class Effort:
    """How hard to search.

    Attributes
    ----------
    stopping : Stopping
        Of the runs to the end.
    accelerate : bool
    annealing : tuple of float
        Temperatures above one to run through, from hot to cold, before the last run at one.
    n_final : int or None
        How many of the starts are run to the end; ``None`` means all.
    short_iter : int
        Iterations of every start before they are compared.
    confirm : bool
        Whether the next best starts are run to the end as well, as many at a time, until two have reached the best
        value or none is left.
    """

    stopping: Stopping
    accelerate: bool = False
    annealing: tuple[float, ...] = ()
    n_final: int | None = None
    short_iter: int = 15
    confirm: bool = False


@dataclass(frozen=True)
class Found:
    """What a search ends with.

    Attributes
    ----------
    best : Fit
    objectives : tuple of float
        Final objective of every start that was run to the end, minus infinity for one that failed.
    n_tried : int
        Starts there were.
    notes : tuple of str
    interrupted : bool
        Whether Ctrl-C ended the search.
    """

    best: Fit[MixtureParams]
    objectives: tuple[float, ...]
    n_tried: int
    notes: tuple[str, ...]
    interrupted: bool = False


@dataclass(frozen=True)
class _Run:
    """One start so far, or why it failed."""

    index: int
    fit: Fit[MixtureParams] | None
    note: str = ""
    failure: Exception | None = None

    @property
    def objective(self) -> float:
        return -np.inf if self.fit is None else self.fit.objective


def search(
    model: MixtureModel,
    executor: Executor,
    chunks: Rows,
    starts: Sequence[Start],
    effort: Effort,
    *,
    sample: Chunks | None = None,
    on_step: OnStep | None = None,
    tell: Callable[[str], None] | None = None,
    journal: Journal = NO_JOURNAL,
) -> Found:
    """The best of the runs from ``starts``.

    Parameters
    ----------
    model, executor, chunks
        What is fitted, who runs its passes, and the rows.
    starts : sequence of callables
    effort : Effort
    sample : Chunks or None
        Some of the rows, to compare starts on where there are many; ``None`` means all.
    on_step : callable or None
        Called with every step and the parameters it ended at.
    tell : callable or None
        Called with what the search has to say.
    journal : Journal
        Of this search.
    """
    n_final = len(starts) if effort.n_final is None else min(effort.n_final, len(starts))
    crew = _Crew(executor, chunks, on_step)
    work = _Work(model, chunks, sample, effort, journal)
    numbered = list(enumerate(starts))
    if n_final == len(starts):
        return _found(model, crew.map(work.whole, numbered), len(starts), tell, stopped=crew.stopped.is_set())
    runs = crew.map(work.begin, numbered)
    order = sorted(range(len(runs)), key=lambda i: (-runs[i].objective, i))
    sound = [i for i in order if runs[i].fit is not None]
    ends: list[_Run] = []
    while sound:
        kept, sound = [runs[i] for i in sorted(sound[:n_final])], sound[n_final:]
        if tell is not None:
            best, last = runs[order[0]].objective, runs[order[-1]].objective
            which = "next" if ends else "best"
            tell(f"{len(runs)} starts, objectives {last:.6g} to {best:.6g}; the {which} {len(kept)} are run to the end")
        ends += [_cut_short(run) for run in kept] if crew.stopped.is_set() else crew.map(work.finish, kept)
        if crew.stopped.is_set() or not effort.confirm or _is_confirmed(model, ends, effort.stopping.tol):
            break
    failed = [run for run in runs if run.fit is None]
    return _found(model, ends + failed, len(starts), tell, stopped=crew.stopped.is_set())


def count_reached(objectives: Sequence[float], best: float, tol: float) -> int:
    """How many objectives are the best one, to within what runs of this tolerance leave open."""
    near = max(SAME_OPTIMUM, SAME_IN_TOLERANCES * tol) * max(abs(best), 1.0)
    return sum(1 for value in objectives if abs(value - best) <= near)


def _is_confirmed(model: MixtureModel, ends: Sequence[_Run], tol: float) -> bool:
    """Whether two runs have reached the best value of those that count."""
    fits = [run.fit for run in ends if run.fit is not None]
    sound = [fit.objective for fit in fits if not is_degenerate(model, fit)]
    return bool(sound) and count_reached(sound, max(sound), tol) > 1


def _cut_short(run: _Run) -> _Run:
    """A run that nobody wants to see continued."""
    assert run.fit is not None
    return replace(run, fit=replace(run.fit, converged=False, interrupted=True))


def _found(
    model: MixtureModel, ends: list[_Run], n_tried: int, tell: Callable[[str], None] | None, *, stopped: bool
) -> Found:
    done = [run for run in ends if run.fit is not None]
    failures = [run.failure for run in ends if run.failure is not None]
    if tell is not None and len(ends) > 1:
        tell("final objectives " + ", ".join(f"{run.objective:.6g}" for run in ends))
    if not done:
        raise InputError(f"All {n_tried} starts failed; the last one because: {failures[-1]}") from failures[-1]
    notes = list(dict.fromkeys(run.note for run in done if run.note))
    if failures:
        notes.append(f"{len(failures)} of {n_tried} starts failed and were left out (last: {failures[-1]})")
    fits = [run.fit for run in done if run.fit is not None]
    # Of one there is nothing to choose, however it ended.
    sound = fits if len(fits) == 1 else [fit for fit in fits if not is_degenerate(model, fit)] or fits
    best = max(sound, key=lambda fit: fit.objective)
    higher = sum(1 for fit in fits if fit.objective > best.objective)
    if higher and len(sound) < len(fits):
        notes.append(
            f"{higher} of {n_tried} starts ended higher, but with a component that shrank onto a few rows; they were "
            "passed over"
        )
    if stopped:
        whole = sum(1 for fit in fits if not fit.interrupted)
        notes.append(f"the search was interrupted after {whole} of {n_tried} starts, so there may be a higher maximum")
    return Found(best, tuple(run.objective for run in ends), n_tried, tuple(notes), stopped)


# ---- one start
@dataclass(frozen=True)
class _Work:
    """What is done with one start."""

    model: MixtureModel
    chunks: Rows
    sample: Chunks | None
    effort: Effort
    journal: Journal

    def whole(self, numbered: tuple[int, Start], executor: Executor, step: OnStep | None) -> _Run:
        """Run a start to the end."""
        index, start = numbered
        try:
            params, note = self._started(index, start)
            return _Run(index, self._to_the_end(index, params, executor, step), note)
        except FAILURES as error:
            return _Run(index, None, failure=error)

    def begin(self, numbered: tuple[int, Start], executor: Executor, step: OnStep | None) -> _Run:
        """Run a start for a few iterations."""
        index, start = numbered
        limit = self.effort.stopping
        stopping = Stopping(min(self.effort.short_iter, limit.max_iter), 1e-5 if limit.tol > 0.0 else 0.0)
        rows = self.chunks if self.sample is None else self.sample
        journal = self._journal_of(index).part("short")
        try:
            params, note = self._started(index, start)
            fit = iterate(self.model, executor, rows, params, stopping, on_step=step, journal=journal)
            return _Run(index, fit, note)
        except FAILURES as error:
            return _Run(index, None, failure=error)

    def finish(self, run: _Run, executor: Executor, step: OnStep | None) -> _Run:
        """Carry a short run on to the end."""
        assert run.fit is not None
        if run.fit.interrupted:
            return run
        partly = self.sample is not None
        # A run on some of the rows may have missed values that the others have.
        params = softened(self.model).solve(run.fit.counts, None) if partly else run.fit.params
        try:
            end = self._to_the_end(run.index, params, executor, step, n_done=0 if partly else run.fit.n_iter)
        except FAILURES as error:
            return _Run(run.index, None, run.note, error)
        return _Run(run.index, end if partly else _joined(run.fit, end), run.note)

    def _journal_of(self, index: int) -> Journal:
        return self.journal.part(f"start {index}")

    def _started(self, index: int, start: Start) -> tuple[MixtureParams, str]:
        """The parameters to start from, made once."""
        journal = self._journal_of(index)
        found = journal.recall()
        if found is not None:
            return self.model.prepared(found["params"]), found["note"]
        params, note = start()
        journal.keep(lambda: {"params": params, "note": note}, finished=True)
        return params, note

    def _to_the_end(
        self, index: int, start: MixtureParams, executor: Executor, step: OnStep | None, *, n_done: int = 0
    ) -> Fit[MixtureParams]:
        """Run at every temperature in turn, each from where the last one ended; the last at the model's own.

        The short run's ``n_done`` iterations count among those that a start may take.
        """
        params, effort, journal = start, self.effort, self._journal_of(index)
        if effort.annealing:
            mild = replace(effort.stopping, tol=max(effort.stopping.tol, 1e-5))
            rows = _with_labels(self.chunks, self.model.n_classes)
            for number, temperature in enumerate(effort.annealing):
                hot = replace(self.model, temperature=self.model.temperature * temperature)
                heat = journal.part(f"heat {number}")
                run = iterate(hot, executor, rows, params, mild, on_step=step, journal=heat)
                params = run.params
                if run.interrupted:
                    return run
        return iterate(
            self.model,
            executor,
            self.chunks,
            params,
            replace(effort.stopping, max_iter=max(effort.stopping.max_iter - n_done, 0)),
            accelerate=effort.accelerate,
            on_step=step,
            journal=journal.part("end"),
        )


def _with_labels(rows: Rows, n_classes: int) -> Rows:
    """The rows with labels, all missing where there are none: temperatures are for rows without a label."""
    if rows.has_labels:
        return rows
    if isinstance(rows, DistantRows):
        return rows.mapped(lambda chunk: replace(chunk, labels=_no_labels(chunk.n_rows, n_classes)))
    assert isinstance(rows, Chunks)
    return rows.like(rows.blocks, _no_labels(rows.n_rows, n_classes), rows.weight)


def _no_labels(n_rows: int, n_classes: int) -> Labels:
    return Labels(np.full(n_rows, -1, dtype=np.int32), n_classes)


def _joined(first: Fit[MixtureParams], last: Fit[MixtureParams]) -> Fit[MixtureParams]:
    """One run out of two that follow one another."""
    offset, seconds = first.n_iter, first.history[-1].seconds
    moved = tuple(
        step._replace(iteration=step.iteration + offset, seconds=step.seconds + seconds) for step in last.history[1:]
    )
    return replace(last, n_iter=first.n_iter + last.n_iter, history=first.history + moved)


class _Crew:
    """Runs a task on every item: in threads, one item each, or one after the other with all threads inside."""

    def __init__(self, executor: Executor, chunks: Rows, on_step: OnStep | None) -> None:
        self.executor = executor
        self.on_step = on_step
        jobs = executor.n_jobs if isinstance(executor, ThreadExecutor) else 1
        # Few large items share the memory better when each has all the threads, and a stream is read for one at a time.
        self.jobs = 1 if isinstance(chunks, DistantRows) or len(chunks) >= 2 * jobs else jobs
        self.stopped = threading.Event()

    def map(self, task: Callable[[Any, Executor, OnStep | None], _Run], items: Sequence[Any]) -> list[_Run]:
        """The results in the order of the items; Ctrl-C ends every run after its iteration."""
        if self.jobs == 1 or len(items) == 1:
            return self._one_by_one(task, items)
        alone = ThreadExecutor(1)
        with ThreadPoolExecutor(min(self.jobs, len(items))) as pool:
            futures: list[Future[_Run]] = [pool.submit(task, item, alone, self._step) for item in items]
            try:
                results = [future.result() for future in futures]
            except KeyboardInterrupt:
                self.stopped.set()
                results = [future.result() for future in futures]
        if any(run.fit is not None and run.fit.interrupted for run in results):
            self.stopped.set()
        return results

    def _one_by_one(self, task: Callable[[Any, Executor, OnStep | None], _Run], items: Sequence[Any]) -> list[_Run]:
        results: list[_Run] = []
        for item in items:
            try:
                results.append(task(item, self.executor, self._step))
            except KeyboardInterrupt:
                # Between two runs there is nothing to keep but what was found before.
                if not results:
                    raise
                self.stopped.set()
            fit = results[-1].fit
            if fit is not None and fit.interrupted:
                self.stopped.set()
            if self.stopped.is_set():
                break
        return results

    def _step(self, step: Step, params: MixtureParams) -> None:
        if self.stopped.is_set():
            raise KeyboardInterrupt
        if self.on_step is not None:
            self.on_step(step, params)
