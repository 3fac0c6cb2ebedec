r"""Generalized linear models with so many columns that no matrix of them is formed.

Fisher scoring by conjugate gradients (:mod:`softcount.core.logistic.truncated`), or, with absolute values in the
penalty, by working sets (:mod:`softcount.core.logistic.working_set`): the methods of logistic regression, over rows
whose curvature is that of the family. There are no standard errors: they are the diagonal of an inverse that nobody
forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray
from softcount.core.column_moments import column_deviations
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.glm.data import GLMData
from softcount.core.glm.distant import DistantGLMData, DistantGLMRows
from softcount.core.glm.links import Log, UnitLink
from softcount.core.glm.model import GLMModel, GLMParams
from softcount.core.glm.rows import GLMRows
from softcount.core.glm.start import null_predictor
from softcount.core.iterate import Fit, Step, iterate
from softcount.core.journal import NO_JOURNAL, Journal
from softcount.core.linear_chunks import SERIAL
from softcount.core.logistic.methods import MOST_COEFFICIENTS
from softcount.core.logistic.model import (
    ROUNDING_STEP,
    LogisticMethod,
    LogisticModel,
    LogisticState,
    LogisticStopping,
    Watch,
    WatchedExecutor,
)
from softcount.core.logistic.newton import NewtonMethod
from softcount.core.logistic.penalty import LogisticPenalty
from softcount.core.logistic.products import products_of
from softcount.core.logistic.truncated import TruncatedNewtonMethod
from softcount.core.logistic.working_set import TooManyColumnsError, WorkingSetMethod
from softcount.families.statistics import Sums

__all__ = ["DIVERGING_STEP", "fit_wide"]

# Fisher scoring with a canonical link squares the error, so a step this far above the root of the tolerated gain is
# the last but one.
STEP_PER_ROOT_GAIN = 1e-2
#: A step of a converged fit that still moves a typical row's predictor this much leads to infinity.
DIVERGING_STEP = 0.05
MOST_NAMED = 10


def fit_wide(
    model: GLMModel,
    data: GLMData,
    executor: Executor,
    *,
    max_iter: int,
    tol: float,
    null_deviance: float,
    on_step: Callable[[Step, LogisticState], None] | None = None,
    journal: Journal = NO_JOURNAL,
) -> tuple[Fit[GLMParams], float, BoolArray]:
    """The fit, what another step would gain, and which columns' coefficients grow without bound.

    ``tol`` is the share of the objective that may be left to gain.
    """
    rows: Any = GLMRows.of(model.family, model.link, data)
    if isinstance(data, DistantGLMData):
        rows = DistantGLMRows.of_data(model.family, model.link, data)
    penalty = LogisticPenalty(model.penalty.l1, model.penalty.l2, np.eye(1))
    # Predictors have the units of the targets where the family does not fix the dispersion.
    unit = 1.0
    if model.family.fixed_dispersion is None and 0.0 < null_deviance < math.inf:
        unit = math.sqrt(null_deviance / rows.total_weight)
    step_tol = STEP_PER_ROOT_GAIN * math.sqrt(tol) * unit
    method: LogisticMethod = TruncatedNewtonMethod(executor)
    if penalty.has_l1 and data.is_distant:
        raise InputError(
            "Absolute values in the penalty of so many columns need the rows in memory. Use l1_ratio=0, or fewer "
            "columns."
        )
    if penalty.has_l1:
        method = WorkingSetMethod(executor, _restricted_fit(executor, max_iter, 0.1 * step_tol), MOST_COEFFICIENTS)
    watch = Watch(step_tol, method.patience, rounding=ROUNDING_STEP * unit)
    wide = LogisticModel(rows, penalty, method, model.kept, watch)
    try:
        found = iterate(
            wide,
            WatchedExecutor(executor, watch),
            rows.slices,
            LogisticState(_start(model, data, executor)[None]),
            LogisticStopping(max_iter, watch=watch),
            on_step=on_step,
            journal=journal,
        )
    except TooManyColumnsError:
        raise InputError(
            f"More than {MOST_COEFFICIENTS} columns have coefficients other than zero under this penalty, too many for "
            "its absolute values. Raise alpha or l1_ratio, or use l1_ratio=0, which takes any number of columns."
        ) from None
    history = found.history[:-1] if watch.finished and found.n_iter > 0 else found.history
    coef = found.params.coef[0]
    stuck = watch.finished and not watch.converged
    fit = Fit(
        GLMParams(coef, stuck=stuck),
        found.counts,
        found.objective,
        watch.converged,
        len(history) - 1,
        history,
        found.interrupted,
    )
    left = 0.5 * rows.total_weight * watch.step**2
    if penalty.has_l1 or stuck or not isinstance(model.link, UnitLink | Log):
        return fit, left, np.zeros(coef.size, dtype=np.bool_)
    return fit, left, _diverging_columns(rows, _next_step(wide, found.counts, found.params.coef, executor), executor)


def _start(model: GLMModel, data: GLMData, executor: Executor) -> FloatArray:
    """The null model."""
    predictor = null_predictor(model.family, model.link, data, executor)
    if predictor is None:
        raise InputError(
            f"No starting values without an intercept: with link {model.link.name!r} a predictor of 0 is a mean that "
            f"the {model.family.name} family cannot have. Use fit_intercept=True, or another link, for example 'log'."
        )
    coef = np.zeros(data.design.n_columns)
    if data.design.fit_intercept:
        coef[0] = predictor
    return coef


def _restricted_fit(
    executor: Executor, max_iter: int, tol: float
) -> Callable[[GLMRows, LogisticPenalty, FloatArray], FloatArray]:
    """How to fit the same rows with some of the columns."""

    def solve(rows: GLMRows, penalty: LogisticPenalty, coef: FloatArray) -> FloatArray:
        watch = Watch(tol, NewtonMethod.patience)
        part = LogisticModel(rows, penalty, NewtonMethod(), np.ones(rows.n_columns, dtype=np.bool_), watch)
        stopping = LogisticStopping(max_iter, watch=watch)
        return iterate(part, WatchedExecutor(executor, watch), rows.slices, LogisticState(coef), stopping).params.coef

    return solve


def _next_step(wide: LogisticModel, counts: Counts, coef: FloatArray, executor: Executor) -> FloatArray:
    """The step of Fisher scoring from the end of the fit."""
    onward = replace(wide, watch=Watch(0.0))
    ahead = TruncatedNewtonMethod(executor).advance(onward, LogisticState(coef), wide.slope(counts, coef))
    return np.zeros_like(coef) if ahead is None else ahead.coef - coef


def _diverging_columns(rows: GLMRows, step: FloatArray, executor: Executor) -> BoolArray:
    """The columns that matter most to a step that still moves a typical row, though the deviance has stopped falling.

    Along a separating direction every step is about as long as the last (see :mod:`softcount.core.glm.fit`).
    """
    if isinstance(rows, DistantGLMRows):
        squares = rows.each(executor, lambda part, _: _moved(part, step, SERIAL))
    else:
        squares = _moved(rows, step, executor)
    answer = np.zeros(step.shape[1], dtype=np.bool_)
    if math.sqrt(float(squares["sum"][0]) / rows.total_weight) > DIVERGING_STEP:
        of_columns = rows.deviations(executor) if isinstance(rows, DistantGLMRows) else None
        reach = np.abs(step[0]) * (column_deviations(rows.design, executor) if of_columns is None else of_columns)
        reach[reach < 0.1 * reach.max()] = 0.0
        answer[np.argsort(-reach, kind="stable")[:MOST_NAMED]] = True
        answer &= reach > 0.0
    return answer


def _moved(rows: GLMRows, step: FloatArray, executor: Executor) -> Sums:
    """Weighted sum of the squares by which a step changes the predictors."""

    def tally(lane: Sequence[slice]) -> Sums:
        products, total = products_of(rows.design, step, careful=rows.careful), 0.0
        for part in lane:
            squares = products.predictor(part)[0] ** 2
            total += float(squares.sum() if rows.weight is None else rows.weight[part] @ squares)
        return Sums({"sum": np.array([total])})

    return executor.reduce(tally, rows.slices)
