"""Fitting a generative model: the closed form where there is one, else EM from one or many starts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import Chunks, Rows, row_width
from softcount.core.counts import Counts
from softcount.core.execute import Executor, for_one_look
from softcount.core.iterate import Fit, Step, Stopping
from softcount.core.journal import NO_JOURNAL, Journal, number_for, rows_digest, way_on
from softcount.core.membership import covariates
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.patterns import find_patterns, is_worthwhile, pays, select_rows, some_rows
from softcount.core.sampling import sample_rows, some_rows_of
from softcount.core.search import Effort, Start, count_reached, search
from softcount.core.start import (
    SEEDED_STARTS,
    VARIED,
    check_start,
    labeled_resp,
    params_from_resp,
    starting_params,
)

__all__ = ["Learned", "Plan", "from_counts", "has_closed_form", "learn"]

DEFAULT_STARTS = 10
#: More rows without a label than this are not all used while starts are being compared.
COMPARING_ROWS = 2**14


@dataclass(frozen=True)
class Plan:
    """How to search.

    Attributes
    ----------
    init : str, array, MixtureParams, sequence of these, or None
        Kind of start, responsibilities, or parameters; several of them are several starts.
    n_init : int or None
        Number of starts; ``None`` means one, or ten where some component has to start at random.
    n_final : int or None
        How many of the starts are run to the end, after all have run for ``short_iter`` iterations; ``None`` means all.
    short_iter : int
    confirm : bool
        Whether more of them are, until two have reached the best value or none is left.
    merge_rows : bool or None
        Whether equal rows are merged to weighted patterns; ``None`` does it where it pays.
    stopping : Stopping
    accelerate : bool
    annealing : tuple of float
        Temperatures above one to run through, from hot to cold, before the last run at one.
    seed : int or numpy Generator
    on_step : callable or None
        Called with every step and the parameters it ended at.
    tell : callable or None
        Called with what the search has to say.
    adjust : callable or None
        Gives the parameters that are started from in place of those of a start.
    journal : Journal
        Where the fit is written down.
    """

    init: Any = None
    n_init: int | None = None
    stopping: Stopping = field(default_factory=Stopping)
    accelerate: bool = False
    annealing: tuple[float, ...] = ()
    seed: Any = None
    on_step: Callable[[Step, MixtureParams], None] | None = None
    n_final: int | None = None
    short_iter: int = 15
    confirm: bool = False
    merge_rows: bool | None = False
    tell: Callable[[str], None] | None = None
    adjust: Callable[[MixtureModel, MixtureParams], MixtureParams] | None = None
    journal: Journal = NO_JOURNAL


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
        Final objective of every start run to the end, minus infinity for one that failed.
    is_closed_form : bool
        Whether no iteration was needed.
    notes : tuple of str
        What the user should know.
    n_tried : int
        All starts, whether or not they were run to the end.
    n_patterns : int or None
        Distinct rows that were iterated over, where equal rows were merged.
    tol : float
        Tolerance of the runs, which says when two of them reached the same optimum.
    rows : Chunks or None
        The distinct rows with their weights, where equal rows were merged.
    interrupted : bool
        Whether Ctrl-C ended the search.
    """

    model: MixtureModel
    fit: Fit[MixtureParams]
    objectives: tuple[float, ...] = ()
    is_closed_form: bool = False
    notes: tuple[str, ...] = ()
    n_tried: int = 0
    n_patterns: int | None = None
    tol: float = 0.0
    rows: Chunks | None = field(default=None, repr=False, compare=False)
    interrupted: bool = False

    @property
    def n_starts(self) -> int:
        """How many starts there were."""
        return max(self.n_tried, len(self.objectives))

    @property
    def n_best(self) -> int:
        """How many of the starts run to the end reached the best objective."""
        return count_reached(self.objectives, self.fit.objective, self.tol)


def has_closed_form(model: MixtureModel, chunks: Rows) -> bool:
    """Whether every row's component is known and nothing else is missing that a family would have to guess."""
    if not chunks.all_known or not model.has_single_components:
        return False
    if covariates(model) is not None:
        return False
    return all(
        family.closed_form_with_missing or not getattr(block, "has_missing", False)
        for family, block in zip(model.families, chunks.layout, strict=True)
    )


def learn(model: MixtureModel, executor: Executor, chunks: Rows, plan: Plan) -> Learned:
    """Fit the model to the rows."""
    if isinstance(plan.init, str):
        check_start(plan.init)
    if has_closed_form(model, chunks):
        return _closed_form(model, executor, chunks)
    journal = plan.journal
    journal.bind(lambda: rows_digest(chunks))
    model = model.anchored(executor, chunks)
    # A Generator is given back as it is.
    rng = np.random.default_rng(number_for(journal.part("number"), plan.seed))
    rows, few, n_distinct = _distinct_rows(executor, chunks, plan, rng)
    merged = rows is not chunks and n_distinct < chunks.n_rows
    if plan.init is None or isinstance(plan.init, str):
        kind = plan.init or "labeled"
        starting = few if kind in (*SEEDED_STARTS, VARIED) else chunks
        starts = _random_starts(kind, model, executor, starting, plan.n_init, rng=rng)
    else:
        starts = [partial(_given, init, model, executor, chunks) for init in _several(plan.init)]
    if plan.adjust is not None:
        starts = [partial(_adjusted, start, plan.adjust, model) for start in starts]
    effort = Effort(plan.stopping, plan.accelerate, plan.annealing, plan.n_final, plan.short_iter, plan.confirm)
    if few is chunks and len(starts) > 1:
        few = some_rows_of(executor, chunks, COMPARING_ROWS, rng.spawn(1)[0])
    sample = few if isinstance(few, Chunks) and few.n_rows < n_distinct else None
    found = search(
        model,
        executor,
        rows.keep_indexed(model.n_components),
        starts,
        effort,
        sample=sample,
        on_step=plan.on_step,
        tell=plan.tell,
        journal=journal,
    )
    return Learned(
        model,
        found.best,
        found.objectives,
        False,
        found.notes,
        found.n_tried,
        n_distinct if merged else None,
        plan.stopping.tol,
        rows if merged and isinstance(rows, Chunks) else None,
        found.interrupted,
    )


def _adjusted(
    start: Start, adjust: Callable[[MixtureModel, MixtureParams], MixtureParams], model: MixtureModel
) -> tuple[MixtureParams, str]:
    params, note = start()
    return adjust(model, params), note


def _distinct_rows(executor: Executor, chunks: Rows, plan: Plan, rng: np.random.Generator) -> tuple[Rows, Rows, int]:
    """The rows to iterate over (merged where that pays), those to draw and compare starts on, and how many differ.

    Starts drawn from distinct rows in an order of their own do not depend on the order and repetition of the rows.
    """
    seeded = isinstance(plan.init, str) and plan.init in (*SEEDED_STARTS, VARIED)
    if not isinstance(chunks, Chunks):
        return _sampled_rows(executor, chunks, plan, rng, seeded=seeded)
    wanted = plan.merge_rows is True or (plan.merge_rows is None and pays(chunks))
    if not (wanted or seeded):
        return chunks, chunks, chunks.n_rows
    patterns = find_patterns(chunks)
    few = some_rows(chunks, COMPARING_ROWS, rng, patterns)
    all_of_them = few.n_rows == patterns.n_patterns
    if wanted and (plan.merge_rows or is_worthwhile(patterns)):
        merged = few if all_of_them else select_rows(chunks, patterns.rows, patterns.weight)
        return merged, few, patterns.n_patterns
    # Where there are few rows even their order does not matter, to the last digit.
    rows = few if seeded and all_of_them and plan.merge_rows is None else chunks
    return rows, few, patterns.n_patterns


def _sampled_rows(
    executor: Executor, chunks: Rows, plan: Plan, rng: np.random.Generator, *, seeded: bool
) -> tuple[Rows, Rows, int]:
    """The same where the rows are not in memory: they are merged where all distinct ones are few enough to hold."""
    if not (seeded or plan.merge_rows):
        return chunks, chunks, chunks.n_rows
    found = sample_rows(executor, chunks, COMPARING_ROWS, rng, distinct=True)
    if not found.is_complete and plan.merge_rows:
        raise InputError(
            f"merge_rows=True takes equal rows together, but there are more than {COMPARING_ROWS} different rows and "
            "they are not in memory. Leave merge_rows out."
        )
    if not found.is_complete:
        return chunks, found.rows, chunks.n_rows
    return chunks if plan.merge_rows is False else found.rows, found.rows, found.rows.n_rows


def _closed_form(model: MixtureModel, executor: Executor, chunks: Rows) -> Learned:
    is_fixed = chunks.has_fixed_labels

    def tally(lane: Any) -> Counts:
        if is_fixed:
            return model.tally_given(lane, lambda chunk: labeled_resp(model, chunk, spread=False))
        return model.tally_known(lane)

    executor = for_one_look(executor, chunks, chunks.n_rows * row_width(chunks.layout))
    counts = executor.reduce(tally, chunks, counts_bytes=model.counts_bytes())
    model, params = from_counts(model, counts)
    return Learned(model, Fit(params, counts, np.nan, True, 1), (), True)


def from_counts(model: MixtureModel, counts: Counts) -> tuple[MixtureModel, MixtureParams]:
    """The closed form: the model with its priors put in place by the counts of its rows, and its parameters."""
    priors = tuple(
        family.anchored(prior, _pooled(counts.parts[str(b)])) if family.needs_anchor(prior) else prior
        for b, (family, prior) in enumerate(zip(model.families, model.priors, strict=True))
    )
    model = replace(model, priors=priors)
    return model, model.solve(counts, None)


def _pooled(part: Any) -> Any:
    return part.pooled()


def _random_starts(
    kind: str,
    model: MixtureModel,
    executor: Executor,
    chunks: Rows,
    n_init: int | None,
    *,
    rng: np.random.Generator,
) -> list[Start]:
    """The starts as functions, each with a random stream of its own."""
    support = chunks.class_support(model.n_classes)
    kinds = [kind] * _number_of_starts(kind, model, support, n_init)
    if kind == VARIED:
        pair = ("k-means++", "random_from_data" if (support > 0.0).any() else "responsibilities")
        kinds = [pair[i % 2] for i in range(len(kinds))]
    streams = rng.spawn(len(kinds))
    return [
        partial(starting_params, each, model, executor, chunks, own) for each, own in zip(kinds, streams, strict=True)
    ]


def _number_of_starts(kind: str, model: MixtureModel, support: FloatArray, n_init: int | None) -> int:
    known = bool((support > 0.0).all()) and model.has_single_components
    from_labels = known and kind in ("k-means++", "kmeans", "random_from_data", VARIED)
    if kind == "uniform" or from_labels or model.n_components == 1:
        return 1
    if n_init is not None:
        return n_init
    return 1 if known and kind == "labeled" else DEFAULT_STARTS


def _several(init: Any) -> list[Any]:
    """One start as a list of one, several as they are."""
    if isinstance(init, list | tuple) and init and all(isinstance(v, MixtureParams) or callable(v) for v in init):
        return list(init)
    return list(init) if not isinstance(init, MixtureParams) and np.ndim(init) == 3 else [init]


def _given(init: Any, model: MixtureModel, executor: Executor, chunks: Rows) -> tuple[MixtureParams, str]:
    """Parameters from what the user gave: parameters, responsibilities, or a component for each row."""
    if callable(init):
        return init(model, executor, chunks), ""
    if isinstance(init, MixtureParams):
        if init.log_weights.shape != (model.n_components,):
            raise InputError(
                f"init has {init.log_weights.shape[0]} components, but {model.n_components} are to be fitted."
            )
        return model.make_params(init.log_weights, init.blocks), ""
    array = np.asarray(init)
    if array.ndim == 1 and array.dtype.kind in "iu" and array.shape[0] == chunks.n_rows:
        if array.size and (array.min() < 0 or array.max() >= model.n_components):
            raise InputError(
                f"init names components {array.min()} to {array.max()}; they are 0 to {model.n_components - 1}."
            )
        array = np.eye(model.n_components)[array]
    resp: FloatArray = np.asarray(array, dtype=np.float64)
    expected = (chunks.n_rows, model.n_components)
    if resp.shape != expected or not np.isfinite(resp).all() or (resp < 0.0).any():
        raise InputError(
            f"init has shape {resp.shape}; starting responsibilities are finite, 0 or more, and of shape {expected}."
        )
    return params_from_resp(model, executor, chunks, resp), ""


def warn_about(learned: Learned, estimator: str, stopping: Stopping) -> None:
    """Tell the user what did not go to plan."""
    from softcount._errors import ConvergenceWarning

    for note in learned.notes:
        warnings.warn(f"{estimator}: {note}.", UserWarning, stacklevel=4)
    fit = learned.fit
    if fit.interrupted:
        warnings.warn(
            f"{estimator} was interrupted; the parameters after iteration {fit.n_iter} were kept.{way_on()}",
            ConvergenceWarning,
            stacklevel=4,
        )
    elif not fit.converged and stopping.tol > 0.0:
        change = fit.history[-1].change if fit.history else np.nan
        gained = f" (the last one gained {change:.3g}, tol is {stopping.tol:g})" if np.isfinite(change) else ""
        warnings.warn(
            f"{estimator} stopped after max_iter={stopping.max_iter} iterations before it converged{gained}. Raise "
            "max_iter, or loosen tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
