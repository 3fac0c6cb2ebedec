"""The last digits of a generalized linear model.

Fisher scoring with a link that is not canonical converges linearly. Close to the top the deviance is flat to
all its digits while the coefficients still move in their fifth, so the loop's objective cannot tell when they
have settled. What can is the next step, measured in standard errors. Once steps shrink at a steady ratio
``r``, all of them together are ``1 / (1 - r)`` times the next one (Aitken), and are taken at once.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial

import numpy as np

from softcount._types import FloatArray
from softcount.core.execute import Executor
from softcount.core.glm.data import GLMData
from softcount.core.glm.model import GLMModel, GLMParams
from softcount.core.glm.start import reduce_tally
from softcount.core.iterate import Fit, Step
from softcount.core.journal import NO_JOURNAL, Journal, Record

__all__ = ["finish"]

#: Steps this share of a standard error long are of no consequence.
NEGLIGIBLE_STEP = 1e-8
MOST_STEPS = 50
# Ratios of successive steps between which they are taken to shrink steadily.
STEADY = (0.1, 0.98)
# Steps that shrink less than this are rounding errors.
STALLED = 0.99
ROUNDING = 1e-9


def finish(
    model: GLMModel,
    data: GLMData,
    fit: Fit[GLMParams],
    executor: Executor,
    *,
    total_weight: float,
    journal: Journal = NO_JOURNAL,
) -> Fit[GLMParams]:
    """Iterate on until the steps are short against the standard errors, or no longer shrink."""
    before: FloatArray | None = None
    first = 0
    known = journal.recall()
    if known is not None:
        fit, before, first = _recalled(fit, known), known["before"], known["n_steps"]
    began = time.perf_counter() - fit.history[-1].seconds
    for number in range(first, MOST_STEPS):
        ahead = model.solve(fit.counts, fit.params)
        step = _in_errors(model, fit, ahead, total_weight)
        length = float(np.linalg.norm(step))
        if fit.params.stuck or length <= NEGLIGIBLE_STEP:
            break
        stride = 1.0
        if before is not None:
            if length > STALLED * float(np.linalg.norm(before)):
                break
            ratio = float(step @ before) / float(before @ before)
            same_columns = np.array_equal(ahead.coef != 0.0, fit.params.coef != 0.0)
            if STEADY[0] < ratio < STEADY[1] and same_columns:
                stride = 1.0 / (1.0 - ratio)
        found = _take(model, data, fit, ahead, executor, stride=stride) or _take(
            model, data, fit, ahead, executor, stride=1.0
        )
        if found is None:
            break
        seconds = time.perf_counter() - began
        last = Step(fit.n_iter + 1, found.objective, found.objective - fit.objective, seconds)
        fit = replace(found, n_iter=fit.n_iter + 1, history=(*fit.history, last))
        before = step if stride == 1.0 else None
        journal.keep(partial(_record, fit, before, number + 1), finished=False)
    return fit


def _record(fit: Fit[GLMParams], before: FloatArray | None, n_steps: int) -> Record:
    """What has been come to, as it is written down."""
    return {
        "params": fit.params,
        "counts": fit.counts,
        "objective": fit.objective,
        "history": fit.history,
        "before": before,
        "n_steps": n_steps,
    }


def _recalled(fit: Fit[GLMParams], known: Record) -> Fit[GLMParams]:
    """The fit that was written down."""
    found = {name: known[name] for name in ("params", "counts", "objective", "history")}
    return replace(fit, n_iter=len(known["history"]) - 1, **found)


def _take(
    model: GLMModel,
    data: GLMData,
    fit: Fit[GLMParams],
    ahead: GLMParams,
    executor: Executor,
    *,
    stride: float,
) -> Fit[GLMParams] | None:
    """The fit ``stride`` steps ahead, unless the objective is lower there."""
    theta = fit.params.theta
    if model.estimates_theta:
        theta *= (ahead.theta / fit.params.theta) ** stride
    params = GLMParams(fit.params.coef + stride * (ahead.coef - fit.params.coef), theta)
    if stride == 1.0:
        params = ahead
    counts = reduce_tally(model, data, params, executor)
    objective = counts.objective + model.log_prior(params)
    if not objective >= fit.objective - ROUNDING * abs(fit.objective):
        return None
    return replace(fit, params=params, counts=counts, objective=objective)


def _in_errors(model: GLMModel, fit: Fit[GLMParams], ahead: GLMParams, total_weight: float) -> FloatArray:
    """The next step, in standard errors of each parameter given the others."""
    gram, _ = model.system(fit.counts)
    error = 1.0
    if model.family.fixed_dispersion is None:
        deviance = float(fit.counts["deviance"].arrays()["deviance"][0])
        error = max(math.sqrt(deviance / total_weight), 1e-150)
    step = (ahead.coef - fit.params.coef) * np.sqrt(np.diag(gram)) / error
    if model.estimates_theta:
        information = abs(float(fit.counts["theta"].arrays()["theta"][1]))
        step = np.append(step, math.log(ahead.theta / fit.params.theta) * math.sqrt(information))
    return step
