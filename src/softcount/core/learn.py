"""Fitting a generative model: the closed form where there is one, else EM from one or several starts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import Chunks
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.iterate import Fit, Step, Stopping, iterate
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.start import labeled_resp, params_from_resp, starting_params

__all__ = ["Learned", "Plan", "has_closed_form", "learn"]

#: Objectives this close (relative) count as the same optimum.
SAME_OPTIMUM = 1e-6


@dataclass(frozen=True)
class Plan:
    """How to search.

    Attributes
    ----------
    init : str, array or MixtureParams
        Kind of start, responsibilities, or parameters.
    n_init : int or None
        Number of starts; ``None`` means one, or ten where some component has to start at random.
    stopping : Stopping
    accelerate : bool
    annealing : tuple of float
        Temperatures above one to run through, from hot to cold, before the last run at one.
    seed : int or numpy Generator
    on_step : callable or None
    """

    init: Any = None
    n_init: int | None = None
    stopping: Stopping = field(default_factory=Stopping)
    accelerate: bool = False
    annealing: tuple[float, ...] = ()
    seed: Any = None
    on_step: Callable[[Step, MixtureParams], None] | None = None


@dataclass(frozen=True)
class Learned:
    """What fitting gives.

    Attributes
    ----------
    model : MixtureModel
        The model with its priors in place.
    fit : Fit
        The run that was kept.
    objectives : tuple of float
        Final objective of every start, minus infinity for one that failed.
    is_closed_form : bool
        Whether no iteration was needed.
    notes : tuple of str
        What the user should know.
    """

    model: MixtureModel
    fit: Fit[MixtureParams]
    objectives: tuple[float, ...] = ()
    is_closed_form: bool = False
    notes: tuple[str, ...] = ()

    @property
    def n_starts(self) -> int:
        return len(self.objectives)

    @property
    def n_best(self) -> int:
        """How many starts reached the best objective."""
        best = max(self.objectives, default=0.0)
        near = SAME_OPTIMUM * max(abs(best), 1.0)
        return sum(1 for value in self.objectives if value >= best - near)


def has_closed_form(model: MixtureModel, chunks: Chunks) -> bool:
    """Whether every row's component is known and nothing else is missing that a family would have to guess."""
    if chunks.labels is None or not chunks.labels.all_known() or not model.has_single_components:
        return False
    return all(
        family.closed_form_with_missing or not getattr(block, "has_missing", False)
        for family, block in zip(model.families, chunks.blocks, strict=True)
    )


def learn(model: MixtureModel, executor: Executor, chunks: Chunks, plan: Plan) -> Learned:
    """Fit the model to the rows."""
    if has_closed_form(model, chunks):
        return _closed_form(model, executor, chunks)
    model = model.anchored(executor, chunks)
    seeds = np.random.default_rng(plan.seed) if not isinstance(plan.seed, np.random.Generator) else plan.seed
    n_starts = _number_of_starts(model, chunks, plan)
    runs: list[Fit[MixtureParams]] = []
    objectives: list[float] = []
    notes: list[str] = []
    failures: list[Exception] = []
    for rng in seeds.spawn(n_starts):
        try:
            start, note = _start(model, executor, chunks, plan, rng)
            run = _anneal(model, executor, chunks, start, plan)
        except (InputError, np.linalg.LinAlgError, FloatingPointError) as error:
            failures.append(error)
            objectives.append(-np.inf)
            continue
        if note and note not in notes:
            notes.append(note)
        objectives.append(run.objective)
        if not runs or run.objective > runs[0].objective:
            runs = [run]
        if run.interrupted:
            break
    if not runs:
        raise InputError(f"All {n_starts} starts failed; the last one because: {failures[-1]}") from failures[-1]
    if failures:
        notes.append(f"{len(failures)} of {n_starts} starts failed and were left out (last: {failures[-1]})")
    return Learned(model, runs[0], tuple(objectives), False, tuple(notes))


def _closed_form(model: MixtureModel, executor: Executor, chunks: Chunks) -> Learned:
    labels = chunks.labels
    assert labels is not None  # noqa: S101
    if labels.fixed:

        def tally(lane: Any) -> Counts:
            return model.tally_given(lane, lambda chunk: labeled_resp(model, chunk, spread=False))
    else:
        tally = model.tally_known
    counts = executor.reduce(tally, chunks, counts_bytes=model.counts_bytes())
    priors = tuple(
        family.anchored(prior, _pooled(counts.parts[str(b)]))
        for b, (family, prior) in enumerate(zip(model.families, model.priors, strict=True))
    )
    model = replace(model, priors=priors)
    params = model.solve(counts, None)
    return Learned(model, Fit(params, counts, np.nan, True, 0), (), True)


def _pooled(part: Any) -> Any:
    return part.pooled()


def _number_of_starts(model: MixtureModel, chunks: Chunks, plan: Plan) -> int:
    if not (plan.init is None or isinstance(plan.init, str)):
        return 1
    if plan.n_init is not None:
        return plan.n_init
    if plan.init == "uniform":
        return 1
    support = np.zeros(model.n_classes) if chunks.labels is None else chunks.labels.class_support()
    deterministic = bool((support > 0.0).all()) and model.has_single_components and plan.init != "random"
    return 1 if deterministic else 10


def _start(
    model: MixtureModel, executor: Executor, chunks: Chunks, plan: Plan, rng: np.random.Generator
) -> tuple[MixtureParams, str]:
    if plan.init is None or isinstance(plan.init, str):
        return starting_params(plan.init or "labeled", model, executor, chunks, rng)
    if isinstance(plan.init, MixtureParams):
        return model.make_params(plan.init.log_weights, plan.init.blocks), ""
    resp: FloatArray = np.asarray(plan.init, dtype=np.float64)
    expected = (chunks.n_rows, model.n_components)
    if resp.shape != expected or not np.isfinite(resp).all() or (resp < 0.0).any():
        raise InputError(
            f"init has shape {resp.shape}; starting responsibilities are finite, 0 or more, and of shape {expected}."
        )
    return params_from_resp(model, executor, chunks, resp), ""


def _anneal(
    model: MixtureModel, executor: Executor, chunks: Chunks, start: MixtureParams, plan: Plan
) -> Fit[MixtureParams]:
    """Run at every temperature in turn, each from where the last one ended; the last at the model's own."""
    params = start
    for temperature in plan.annealing:
        hot = replace(model, temperature=model.temperature * temperature)
        short = replace(plan.stopping, tol=max(plan.stopping.tol, 1e-5))
        run = iterate(hot, executor, chunks, params, short, on_step=plan.on_step)
        params = run.params
        if run.interrupted:
            return run
    return iterate(
        model, executor, chunks, params, plan.stopping, accelerate=plan.accelerate, on_step=plan.on_step
    )


def warn_about(learned: Learned, estimator: str, stopping: Stopping) -> None:
    """Tell the user what did not go to plan."""
    from softcount._errors import ConvergenceWarning

    for note in learned.notes:
        warnings.warn(f"{estimator}: {note}.", UserWarning, stacklevel=3)
    fit = learned.fit
    if fit.interrupted:
        warnings.warn(
            f"{estimator} was interrupted; the parameters after iteration {fit.n_iter} were kept.",
            ConvergenceWarning,
            stacklevel=3,
        )
    elif not fit.converged and stopping.tol > 0.0:
        change = fit.history[-1].change if fit.history else np.nan
        warnings.warn(
            f"{estimator} stopped after max_iter={stopping.max_iter} iterations before it converged (the last one "
            f"gained {change:.3g}, tol is {stopping.tol:g}). Raise max_iter, or loosen tol.",
            ConvergenceWarning,
            stacklevel=3,
        )

