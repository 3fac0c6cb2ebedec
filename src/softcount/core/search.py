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

from softcount._errors import InputError
from softcount.core.chunks import Chunks, DistantRows, Rows
from softcount.core.components import is_degenerate
from softcount.core.execute import Executor, ThreadExecutor
from softcount.core.iterate import Fit, Step
from softcount.core.journal import NO_JOURNAL, Journal
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.start_work import Effort, OnStep, Run, Start, Work

__all__ = ["Effort", "Found", "Start", "count_reached", "search"]

#: Final objectives this close (relative, and times the tolerance) count as the same optimum.
SAME_OPTIMUM = 1e-7
SAME_IN_TOLERANCES = 10.0


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
    work = Work(model, chunks, sample, effort, journal)
    numbered = list(enumerate(starts))
    is_free = on_step is None
    at_the_end = work.together(chunks, is_free=is_free and not effort.annealing)
    if n_final == len(starts):
        runs = crew.map(work.whole, numbered, at_the_end(len(starts)))
        return _found(model, runs, len(starts), tell, stopped=crew.stopped.is_set())
    runs = crew.map(work.begin, numbered, work.together(work.compared, is_free=is_free)(len(starts)))
    order = sorted(range(len(runs)), key=lambda i: (-runs[i].objective, i))
    sound = [i for i in order if runs[i].fit is not None]
    ends: list[Run] = []
    while sound:
        kept, sound = [runs[i] for i in sorted(sound[:n_final])], sound[n_final:]
        if tell is not None:
            best, last = runs[order[0]].objective, runs[order[-1]].objective
            which = "next" if ends else "best"
            tell(f"{len(runs)} starts, objectives {last:.6g} to {best:.6g}; the {which} {len(kept)} are run to the end")
        ends += (
            [_cut_short(run) for run in kept]
            if crew.stopped.is_set()
            else crew.map(work.finish, kept, at_the_end(len(kept)))
        )
        if crew.stopped.is_set() or not effort.confirm or _is_confirmed(model, ends, effort.stopping.tol):
            break
    failed = [run for run in runs if run.fit is None]
    return _found(model, ends + failed, len(starts), tell, stopped=crew.stopped.is_set())


def count_reached(objectives: Sequence[float], best: float, tol: float) -> int:
    """How many objectives are the best one, to within what runs of this tolerance leave open."""
    near = max(SAME_OPTIMUM, SAME_IN_TOLERANCES * tol) * max(abs(best), 1.0)
    return sum(1 for value in objectives if abs(value - best) <= near)


def _is_confirmed(model: MixtureModel, ends: Sequence[Run], tol: float) -> bool:
    """Whether two runs have reached the best value of those that count."""
    fits = [run.fit for run in ends if run.fit is not None]
    sound = [fit.objective for fit in fits if not is_degenerate(model, fit)]
    return bool(sound) and count_reached(sound, max(sound), tol) > 1


def _cut_short(run: Run) -> Run:
    """A run that nobody wants to see continued."""
    assert run.fit is not None
    return replace(run, fit=replace(run.fit, converged=False, interrupted=True))


def _found(
    model: MixtureModel, ends: list[Run], n_tried: int, tell: Callable[[str], None] | None, *, stopped: bool
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


class _Crew:
    """Runs a task on every item: in threads, one item each, or one after the other with all threads inside."""

    def __init__(self, executor: Executor, chunks: Rows, on_step: OnStep | None) -> None:
        self.executor = executor
        self.on_step = on_step
        jobs = executor.n_jobs if isinstance(executor, ThreadExecutor) else 1
        # Few large items share the memory better when each has all the threads, and a stream is read for one at a time.
        self.jobs = 1 if isinstance(chunks, DistantRows) or len(chunks) >= 2 * jobs else jobs
        self.stopped = threading.Event()

    def map(
        self, task: Callable[[Sequence[Any], Executor, OnStep | None], list[Run]], items: Sequence[Any], together: int
    ) -> list[Run]:
        """The results in the order of the items, so many of which go ``together``; Ctrl-C ends every run."""
        groups = [items[first : first + together] for first in range(0, len(items), together)]
        if self.jobs == 1 or len(groups) == 1:
            return self._one_by_one(task, groups)
        alone = ThreadExecutor(1)
        with ThreadPoolExecutor(min(self.jobs, len(groups))) as pool:
            futures: list[Future[list[Run]]] = [pool.submit(task, group, alone, self._step) for group in groups]
            try:
                results = [run for future in futures for run in future.result()]
            except KeyboardInterrupt:
                self.stopped.set()
                results = [run for future in futures for run in future.result()]
        if any(run.fit is not None and run.fit.interrupted for run in results):
            self.stopped.set()
        return results

    def _one_by_one(
        self,
        task: Callable[[Sequence[Any], Executor, OnStep | None], list[Run]],
        groups: Sequence[Sequence[Any]],
    ) -> list[Run]:
        results: list[Run] = []
        for group in groups:
            try:
                results += task(group, self.executor, self._step)
            except KeyboardInterrupt:
                # Between two runs there is nothing to keep but what was found before.
                if not results:
                    raise
                self.stopped.set()
            if any(run.fit is not None and run.fit.interrupted for run in results):
                self.stopped.set()
            if self.stopped.is_set():
                break
        return results

    def _step(self, step: Step, params: MixtureParams) -> None:
        if self.stopped.is_set():
            raise KeyboardInterrupt
        if self.on_step is not None:
            self.on_step(step, params)
