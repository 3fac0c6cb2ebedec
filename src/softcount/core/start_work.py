"""What is done with starts: each is run for a few iterations, or to the end.

Where a run is so small that what surrounds its arithmetic costs most, several go side by side
(:mod:`softcount.core.starts_together`), to the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from softcount._errors import InputError
from softcount.core.chunks import Chunks, DistantRows, Rows
from softcount.core.execute import Executor
from softcount.core.iterate import Fit, Step, Stopping, iterate
from softcount.core.journal import Journal
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.start import softened
from softcount.core.starts_together import iterate_together, starts_together
from softcount.inputs.labels import Labels

__all__ = ["Effort", "OnStep", "Run", "Start", "Work"]

#: A start: parameters, and a note where they had to be changed.
Start = Callable[[], tuple[MixtureParams, str]]
OnStep = Callable[[Step, MixtureParams], None]

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
class Run:
    """One start so far, or why it failed."""

    index: int
    fit: Fit[MixtureParams] | None
    note: str = ""
    failure: Exception | None = None

    @property
    def objective(self) -> float:
        """The objective so far, minus infinity where the start failed."""
        return -np.inf if self.fit is None else self.fit.objective


@dataclass(frozen=True)
class _Way:
    """Over which rows some runs go, who runs their passes, and who is told of their steps."""

    rows: Rows
    executor: Executor
    step: OnStep | None
    accelerate: bool = False
    name: str = "short"


@dataclass(frozen=True)
class Work:
    """What is done with one start."""

    model: MixtureModel
    chunks: Rows
    sample: Chunks | None
    effort: Effort
    journal: Journal

    @property
    def compared(self) -> Rows:
        """The rows that starts are compared on."""
        return self.chunks if self.sample is None else self.sample

    def together(self, rows: Rows, *, is_free: bool) -> Callable[[int], int]:
        """How many of so many starts go side by side over ``rows``."""
        return partial(starts_together, self.model, rows) if is_free else lambda _: 1

    def whole(self, numbered: Sequence[tuple[int, Start]], executor: Executor, step: OnStep | None) -> list[Run]:
        """Run starts to the end."""

        def alone(index: int, params: list[MixtureParams]) -> Fit[MixtureParams]:
            return self._to_the_end(index, params, executor, step)

        way = _Way(self.chunks, executor, step, accelerate=self.effort.accelerate, name="whole")
        return self._from_the_start(way, numbered, self.effort.stopping, alone)

    def begin(self, numbered: Sequence[tuple[int, Start]], executor: Executor, step: OnStep | None) -> list[Run]:
        """Run starts for a few iterations."""
        limit = self.effort.stopping
        stopping = Stopping(min(self.effort.short_iter, limit.max_iter), 1e-5 if limit.tol > 0.0 else 0.0)

        def alone(index: int, params: list[MixtureParams]) -> Fit[MixtureParams]:
            journal = self._journal_of(index).part("short")
            return iterate(self.model, executor, self.compared, params.pop(), stopping, on_step=step, journal=journal)

        return self._from_the_start(_Way(self.compared, executor, step), numbered, stopping, alone)

    def finish(self, runs: Sequence[Run], executor: Executor, step: OnStep | None) -> list[Run]:
        """Carry short runs on to the end."""
        partly = self.sample is not None
        ended = {run.index: run for run in runs if run.fit is not None and run.fit.interrupted}
        going = [(run, run.fit) for run in runs if run.fit is not None and not run.fit.interrupted]
        # A run on some of the rows may have missed values that the others have.
        params = [softened(self.model).solve(fit.counts, None) if partly else fit.params for _, fit in going]
        n_done = [0 if partly else fit.n_iter for _, fit in going]

        def alone(place: int, start: list[MixtureParams]) -> Fit[MixtureParams]:
            return self._to_the_end(going[place][0].index, start, executor, step, n_done=n_done[place])

        way = _Way(self.chunks, executor, step, accelerate=self.effort.accelerate)
        ends = self._each(
            way, params, [self._limit(n) for n in n_done], alone, self._journal_of(runs[0].index).part("ends together")
        )
        for (run, short), end in zip(going, ends, strict=False):
            if isinstance(end, Exception):
                ended[run.index] = Run(run.index, None, run.note, end)
            else:
                ended[run.index] = Run(run.index, end if partly else _joined(short, end), run.note)
        return [ended[run.index] for run in runs if run.index in ended]

    def _from_the_start(
        self,
        way: _Way,
        numbered: Sequence[tuple[int, Start]],
        stopping: Stopping,
        alone: Callable[[int, list[MixtureParams]], Fit[MixtureParams]],
    ) -> list[Run]:
        """Make the starts and run them."""
        ended: dict[int, Run] = {}
        begun: list[tuple[int, str]] = []
        starts: list[MixtureParams] = []
        for index, start in numbered:
            try:
                params, note = self._started(index, start)
            except FAILURES as error:
                ended[index] = Run(index, None, failure=error)
                continue
            begun.append((index, note))
            starts.append(params)
            del params
        ends = self._each(
            way,
            starts,
            [stopping] * len(begun),
            lambda place, start: alone(begun[place][0], start),
            self._journal_of(numbered[0][0]).part(f"{way.name} together"),
        )
        for (index, note), end in zip(begun, ends, strict=False):
            ended[index] = Run(index, None, failure=end) if isinstance(end, Exception) else Run(index, end, note)
        return [ended[index] for index, _ in numbered if index in ended]

    def _each(
        self,
        way: _Way,
        starts: list[MixtureParams],
        stopping: Sequence[Stopping],
        alone: Callable[[int, list[MixtureParams]], Fit[MixtureParams]],
        journal: Journal,
    ) -> list[Fit[MixtureParams] | Exception]:
        """How each run ends, side by side where there are several; fewer where Ctrl-C ended one that went alone.

        ``starts`` is emptied: a run that goes alone is given a list of its start, from which it takes it, so that no
        name keeps these tables while it runs.
        """
        if len(starts) > 1:
            # Where one fails, each goes alone, so that it takes none with it.
            with suppress(*FAILURES):
                return [
                    *iterate_together(
                        self.model,
                        way.executor,
                        way.rows,
                        starts,
                        stopping,
                        accelerate=way.accelerate,
                        on_pass=way.step,
                        journal=journal,
                    )
                ]
        found: list[Fit[MixtureParams] | Exception] = []
        for place in range(len(stopping)):
            try:
                fit = alone(place, [starts.pop(0)])
            except FAILURES as error:
                found.append(error)
                continue
            found.append(fit)
            if fit.interrupted:
                break
        return found

    def _limit(self, n_done: int) -> Stopping:
        """The rule of a run of which ``n_done`` iterations are done."""
        stopping = self.effort.stopping
        return replace(stopping, max_iter=max(stopping.max_iter - n_done, 0))

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
        self, index: int, start: list[MixtureParams], executor: Executor, step: OnStep | None, *, n_done: int = 0
    ) -> Fit[MixtureParams]:
        """Run at every temperature in turn, each from where the last one ended; the last at the model's own.

        ``start`` holds the start alone, which is taken from it. The short run's ``n_done`` iterations count among those
        that a start may take.
        """
        effort, journal = self.effort, self._journal_of(index)
        if effort.annealing:
            mild = replace(effort.stopping, tol=max(effort.stopping.tol, 1e-5))
            rows = _with_labels(self.chunks, self.model.n_classes)
            for number, temperature in enumerate(effort.annealing):
                hot = replace(self.model, temperature=self.model.temperature * temperature)
                heat = journal.part(f"heat {number}")
                run = iterate(hot, executor, rows, start.pop(), mild, on_step=step, journal=heat)
                if run.interrupted:
                    return run
                start.append(run.params)
                del run
        return iterate(
            self.model,
            executor,
            self.chunks,
            start.pop(),
            self._limit(n_done),
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
