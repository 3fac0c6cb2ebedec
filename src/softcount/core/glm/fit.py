"""Fitting a generalized linear model: start, collinear columns, the loop, and what it ran into."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray
from softcount.core.counts import Counts
from softcount.core.execute import C, Executor
from softcount.core.glm.data import GLMData
from softcount.core.glm.families import BinomialFamily, GLMFamily, NegativeBinomialFamily
from softcount.core.glm.finish import finish
from softcount.core.glm.links import Link, Log, UnitLink
from softcount.core.glm.model import DevianceStopping, GLMModel, GLMParams, Penalty
from softcount.core.glm.start import null_deviance, reduce_tally, starting_coef
from softcount.core.glm.wide import DIVERGING_STEP, fit_wide
from softcount.core.iterate import Fit, Step, iterate
from softcount.core.journal import NO_JOURNAL, Journal, once
from softcount.core.linear_chunks import Largest
from softcount.core.normal_equations import Design
from softcount.core.orthogonal import (
    ROUNDING_TOLERANCE,
    OrthogonalSystem,
    TriangularFactor,
    independent_columns,
)
from softcount.core.symmetric_solve import Factor, factorize

__all__ = ["GLMFit", "GLMProblem", "fit_glm"]

T = TypeVar("T")

#: Below this pivot a Gram matrix has lost half of its digits, and the orthogonal route takes over.
SUSPICIOUS_PIVOT = 1e-7
#: Share of the null model's objective that keeps a perfect fit's objective away from zero.
FLOOR = 1e-12
#: A start is fitted to a part of the rows when that part is at most a fifth of them.
PART_SHARE = 20
PART_ROWS_PER_COLUMN = 50
PART_FEWEST_ROWS = 2000
SMALLEST_STRIDE = 5
PART_STOPPING = DevianceStopping(15, 1e-5)
#: A remaining gain below this share of the objective is rounding.
NEGLIGIBLE_GAIN = 1e-6
#: A coefficient that the next step changes by no more than this share does not grow.
SETTLED_STEP = 1e-3
#: A mean this close to the edge, as a share of a typical one, lies on it.
AT_EDGE = 1e-8


@dataclass(frozen=True)
class GLMProblem:
    """Everything a fit starts from.

    The penalty is ``alpha * W * (l1_ratio |b| + (1 - l1_ratio) b**2 / 2)`` with the total weight ``W``, on
    the scale of half the total deviance; the intercept is not penalized.
    """

    family: GLMFamily
    link: Link
    data: GLMData
    alpha: float = 0.0
    l1_ratio: float = 0.0
    estimates_theta: bool = False

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return self.data.total_weight

    def starting_family(self) -> GLMFamily:
        """The family, with a theta by moments where theta is estimated."""
        if not self.estimates_theta:
            return self.family
        return NegativeBinomialFamily(NegativeBinomialFamily.starting_theta(*self.data.spread_targets()))

    def starting_params(self, family: GLMFamily, executor: Executor) -> GLMParams:
        """The null model's parameters."""
        theta = family.theta if isinstance(family, NegativeBinomialFamily) else math.nan
        return GLMParams(starting_coef(family, self.link, self.data, executor), theta)

    def model(self, family: GLMFamily) -> GLMModel:
        """The model of the loop, all columns taking part."""
        design = self.data.design
        strength = np.full(design.n_columns, self.alpha * self.total_weight)
        if design.fit_intercept:
            strength[0] = 0.0
        penalty = Penalty(self.l1_ratio * strength, (1.0 - self.l1_ratio) * strength)
        kept = np.ones(design.n_columns, dtype=np.bool_)
        return GLMModel(family, self.link, penalty, kept, estimates_theta=self.estimates_theta)


@dataclass(frozen=True)
class GLMFit:
    """What a fit found.

    Attributes
    ----------
    model : GLMModel
        The model of the last iteration, with the route it took and the columns it kept.
    fit : Fit
        Parameters, counts and history of the loop.
    diverging : bool array of shape (n_columns,)
        Columns whose coefficients were still growing when the deviance had stopped falling.
    gain_ahead : float
        What another step would add to the objective, were it quadratic.
    edge_row : int or None
        A row whose mean has run to the edge of what the family can have.
    """

    model: GLMModel
    fit: Fit[GLMParams]
    diverging: BoolArray
    gain_ahead: float = 0.0
    edge_row: int | None = None

    @property
    def aliased(self) -> BoolArray:
        """Columns that are linear combinations of the columns before them."""
        return ~self.model.kept

    @property
    def is_stuck(self) -> bool:
        """Whether no step raised the objective though its slope was not zero."""
        return self.fit.params.stuck and self.gain_ahead > NEGLIGIBLE_GAIN * abs(self.fit.objective)

    @property
    def deviance(self) -> float:
        """The total deviance."""
        return float(self.fit.counts["deviance"].arrays()["deviance"][0])

    @property
    def pearson(self) -> float:
        """Pearson's statistic."""
        if not self.has_information:
            return float(self.fit.counts["pearson"].arrays()["pearson"][0])
        normal = self.fit.counts["normal"]
        if isinstance(normal, TriangularFactor):
            return float(normal.gram[-1, -1])
        return float(normal.arrays()["pearson"][0])

    @property
    def has_information(self) -> bool:
        """Whether the information of all columns was formed."""
        return "normal" in self.fit.counts.parts

    def information(self) -> FloatArray:
        """``X'WX`` of the shifted columns."""
        return self.model.system(self.fit.counts)[0]

    def factor(self) -> Factor | OrthogonalSystem:
        """The information of the kept columns with the penalty added, factored."""
        coef = self.fit.params.coef
        if self.model.route == "orthogonal":
            return self.model.orthogonal_system(self.fit.counts, coef)
        return self.model.factor(self.fit.counts)


class PrimedExecutor:
    """An executor that answers its first reduction with counts already at hand."""

    def __init__(self, executor: Executor, counts: Any) -> None:
        self._executor = executor
        self._counts = counts

    def reduce(self, tally: Callable[[Sequence[T]], C], chunks: Sequence[T], *, counts_bytes: int = 0) -> C:
        """The counts at hand, then those of the executor."""
        if self._counts is not None:
            counts: C = self._counts
            self._counts = None
            return counts
        return self._executor.reduce(tally, chunks, counts_bytes=counts_bytes)

    def each(self, task: Callable[[T], None], chunks: Sequence[T]) -> None:
        """As the executor does."""
        self._executor.each(task, chunks)


def fit_glm(
    problem: GLMProblem,
    executor: Executor,
    *,
    max_iter: int,
    tol: float,
    on_step: Callable[[Step, Any], None] | None = None,
    matrix_free: bool = False,
    journal: Journal = NO_JOURNAL,
) -> GLMFit:
    """Fit by the one loop, from the null model or from a fit to part of the rows.

    ``matrix_free`` fits without a matrix of all columns, and so without the information; the fit is written down in
    ``journal``.
    """
    data, link = problem.data, problem.link
    journal.bind(data.digest)
    family = problem.starting_family()
    null_objective = 0.5 * null_deviance(family, link, data, executor)
    reference = null_objective if math.isfinite(null_objective) else 0.0
    model = replace(problem.model(family), floor=FLOOR * reference)
    if matrix_free:
        wide, left, growing = fit_wide(
            model,
            data,
            executor,
            max_iter=max_iter,
            tol=tol,
            null_deviance=2.0 * reference,
            on_step=on_step,
            journal=journal.part("wide"),
        )
        return GLMFit(model, wide, growing, left, _edge_row(model, data, wide.params, executor))
    start = once(journal.part("start"), lambda: _fit_to_part(problem, executor))
    counts: Counts | None = None
    if start is not None:
        counts = reduce_tally(model, data, start, executor)
        # Rows outside the part may lie where the part's parameters lead astray.
        if not _deviance(counts) <= 2.0 * reference or _is_suspicious(model, data.design, counts):
            start = None
    if start is None or counts is None:
        start = problem.starting_params(family, executor)
        model, data, counts = _settle_columns(model, data, start, executor)
    stopping = DevianceStopping(max_iter, tol, null_objective=reference)
    own = journal.part("end")
    primed = PrimedExecutor(executor, counts if own.recall() is None else None)
    fit = iterate(model, primed, data.chunks, start, stopping, on_step=on_step, journal=own)
    if tol > 0.0 and fit.converged:
        fit = finish(model, data, fit, executor, total_weight=problem.total_weight, journal=journal.part("finish"))
    step = model.solve(fit.counts, fit.params).coef - fit.params.coef
    diverging = _diverging_columns(model, data, fit, np.abs(step), executor)
    slope = model.system(fit.counts)[1] - model.penalty.l2 * fit.params.coef
    gain_ahead = 0.0 if model.penalty.is_sparse else 0.5 * float(slope @ step)
    return GLMFit(model, fit, diverging, gain_ahead, _edge_row(model, data, fit.params, executor))


def _deviance(counts: Counts) -> float:
    return float(counts["deviance"].arrays()["deviance"][0])


def _fit_to_part(problem: GLMProblem, executor: Executor) -> GLMParams | None:
    """Parameters fitted to evenly spaced rows, where rows are plenty and nothing is wrong with these."""
    data = problem.data
    if data.is_distant:  # a look at a part would be one at all of them
        return None
    wanted = max(PART_FEWEST_ROWS, PART_ROWS_PER_COLUMN * data.design.n_columns, data.target.size // PART_SHARE)
    stride = data.target.size // wanted
    if stride < SMALLEST_STRIDE:
        return None
    part = replace(problem, data=data.every(stride))
    try:
        family = part.starting_family()
        start = part.starting_params(family, executor)
    except (InputError, ZeroDivisionError):  # no row of the part has a weight, or none can be started from
        return None
    model = part.model(family)
    counts = reduce_tally(model, part.data, start, executor)
    if not math.isfinite(counts.objective) or _is_suspicious(model, part.data.design, counts):
        return None
    fit = iterate(model, PrimedExecutor(executor, counts), part.data.chunks, start, PART_STOPPING)
    return fit.params if fit.converged and not fit.params.stuck else None


def _is_suspicious(model: GLMModel, design: Design, counts: Counts) -> bool:
    """Whether some column is nearly a combination of those before it, or nearly constant around a large number."""
    if model.penalty.is_sparse:  # coordinate descent solves no system
        return False
    gram, _ = model.system(counts)
    matrix = (gram + np.diag(model.penalty.l2))[np.ix_(model.kept, model.kept)]
    if factorize(matrix, tolerance=SUSPICIOUS_PIVOT).aliased.any():
        return True
    lengths = np.sqrt(np.diag(gram + np.diag(model.penalty.l2)))
    return bool(np.any((lengths <= 10.0 * ROUNDING_TOLERANCE * _raw_lengths(design, gram))[model.kept]))


def _raw_lengths(design: Design, gram: FloatArray) -> FloatArray:
    """Weighted lengths of the columns before they were shifted."""
    squares = np.diag(gram).copy()
    if design.center is not None:
        squares[1:] += gram[0, 0] * design.center**2
    return np.sqrt(squares)


def _settle_columns(
    model: GLMModel, data: GLMData, start: GLMParams, executor: Executor
) -> tuple[GLMModel, GLMData, Counts]:
    """Leave out columns that say nothing new, and choose the route by what the others look like.

    Columns with a quadratic penalty always say something: the penalty determines what the data do not.
    """
    counts = reduce_tally(model, data, start, executor)
    if not _is_suspicious(model, data.design, counts):
        return model, data, counts
    careful, unpacked = replace(model, route="orthogonal"), data.unpacked()
    rotated = reduce_tally(careful, unpacked, start, executor)
    factor = rotated["normal"]
    assert isinstance(factor, TriangularFactor)  # the route says so
    kept = independent_columns(factor, _raw_lengths(data.design, factor.gram[:-1, :-1]))
    kept |= model.penalty.l2 > 0.0
    plain = replace(model, kept=kept)
    if not _is_suspicious(plain, data.design, counts):
        return plain, data, counts
    return replace(careful, kept=kept), unpacked, rotated


def _diverging_columns(
    model: GLMModel, data: GLMData, fit: Fit[GLMParams], step: FloatArray, executor: Executor
) -> BoolArray:
    """Columns whose coefficients still grow when the deviance has stopped falling: they separate the outcomes.

    Along such a column the likelihood rises for ever while its curvature vanishes, so each Newton step is
    about as long as the one before. The test is whether the next step still moves the predictor of a typical
    row.
    """
    coef = fit.params.coef
    nothing = np.zeros(coef.size, dtype=np.bool_)
    if not isinstance(model.link, UnitLink | Log) or model.penalty.is_sparse or fit.params.stuck:
        return nothing
    # Column by column, so that the units of columns do not matter.
    if not np.any(step > SETTLED_STEP * np.abs(coef)):
        return nothing
    moved = step * data.deviations(executor)
    return np.asarray(moved > max(DIVERGING_STEP, 0.1 * float(np.max(moved, initial=0.0))))


def _edge_row(model: GLMModel, data: GLMData, params: GLMParams, executor: Executor) -> int | None:
    """The first row whose mean is a rounding error away from the edge of the family, under a link that has an edge."""
    if isinstance(model.link, UnitLink | Log) or math.isinf(model.family.lower_bound):
        return None
    typical = data.mean_target
    if not data.is_distant:
        return _first_at_edge(model, data, params, typical)
    rows: Any = data

    def measure(part: GLMData, start: int) -> Largest:
        found = _first_at_edge(model, part, params, typical)
        return Largest(-math.inf if found is None else -float(start + found))

    first = -float(rows.each(executor, measure).value)
    return int(first) if math.isfinite(first) else None


def _first_at_edge(model: GLMModel, data: GLMData, params: GLMParams, typical: float) -> int | None:
    """The first such row of some rows in memory."""
    scratch = data.design.scratch()
    for chunk in data:
        predictor = data.design.load(chunk.rows, scratch).predictor(params.coef)
        mean = model.link.inverse(predictor if chunk.offset is None else predictor + chunk.offset)[0]
        edge = mean < AT_EDGE * typical
        if isinstance(model.family, BinomialFamily):
            edge |= mean > 1.0 - AT_EDGE
        if chunk.weight is not None:
            edge &= chunk.weight > 0.0
        if edge.any():
            return int(chunk.rows.start) + int(np.flatnonzero(edge)[0])
    return None
