"""Where a generalized linear model starts: the null model, or a fit that knows nothing of the link."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.glm.data import GLMChunk, GLMData, each_chunk, fitting_scratch
from softcount.core.glm.families import GLMFamily
from softcount.core.glm.links import Link
from softcount.core.glm.model import DevianceStopping, GLMModel, GLMParams, Penalty
from softcount.core.iterate import iterate
from softcount.core.normal_equations import GramTally
from softcount.core.symmetric_solve import factorize
from softcount.families.statistics import Sums

__all__ = ["null_deviance", "null_predictor", "plain_model", "reduce_tally", "starting_coef"]

# Targets themselves may be no means (a count of 0 under the log), so they are pulled this far to their
# average.
PULLS = (0.5, 0.9, 1.0)


def plain_model(family: GLMFamily, link: Link, data: GLMData) -> GLMModel:
    """The model without a penalty, all columns taking part."""
    nothing = np.zeros(data.design.n_columns)
    return GLMModel(family, link, Penalty(nothing, nothing), np.ones(nothing.size, dtype=np.bool_))


def reduce_tally(model: GLMModel, data: GLMData, params: GLMParams, executor: Executor) -> Counts:
    """The counts of all rows under ``params``."""
    return executor.reduce(lambda lane: model.tally(params, lane), data.chunks, counts_bytes=model.counts_bytes())


def null_deviance(family: GLMFamily, link: Link, data: GLMData, executor: Executor) -> float:
    """Deviance of the best intercept and the offset alone; not a number where such a model has no mean."""
    predictor = null_predictor(family, link, data, executor)
    if predictor is None:
        return math.nan
    bare = data.without_columns()
    params = GLMParams(np.full(bare.design.n_columns, predictor))
    counts = reduce_tally(plain_model(family, link, bare), bare, params, executor)
    deviance = float(counts["deviance"].arrays()["deviance"][0])
    return deviance if math.isfinite(deviance) else math.nan


def null_predictor(family: GLMFamily, link: Link, data: GLMData, executor: Executor) -> float | None:
    """The best intercept without columns; without an intercept 0, or None where that has no mean."""
    if not data.design.fit_intercept:
        return 0.0 if data.all_have_means(family, link, 0.0, executor) else None
    start = family.starting_predictor(link, *data.sized_targets())
    if not data.has_offset:
        # The score of an intercept alone vanishes at the mean, for every family and link.
        mean = np.array([data.mean_target])
        if family.contains_mean(mean).all():
            with np.errstate(divide="ignore", invalid="ignore"):
                predictor = link.link(mean)
            if family.contains(link, predictor).all():
                return float(predictor[0])
        return start
    bare = data.without_columns()
    for shift in data.offset_levels():
        if data.all_have_means(family, link, start - shift, executor):
            first = GLMParams(np.array([start - shift]))
            fit = iterate(plain_model(family, link, bare), executor, bare.chunks, first, DevianceStopping(50, 1e-12))
            return float(fit.params.coef[0])
    raise InputError(
        f"No intercept brings every row's predictor, offset included, to a mean that the {family.name} family with "
        f"link {link.name!r} can have. Check the offset (it is on the scale of the linear predictor) or the link."
    )


def starting_coef(family: GLMFamily, link: Link, data: GLMData, executor: Executor) -> FloatArray:
    """Coefficients of the null model, or of least squares where there is no null model."""
    coef = np.zeros(data.design.n_columns)
    predictor = null_predictor(family, link, data, executor)
    if predictor is not None:
        if data.design.fit_intercept:
            coef[0] = predictor
        return coef
    average = data.mean_target
    model = plain_model(family, link, data)
    for pull in PULLS:
        coef = least_squares(data, partial(_goal, link, pull, average), executor)
        if math.isfinite(reduce_tally(model, data, GLMParams(coef), executor).objective):
            return coef
    raise InputError(
        f"No starting values without an intercept: with link {link.name!r} some row gets a mean that the "
        f"{family.name} family cannot have. Use fit_intercept=True, or another link, for example 'log'."
    )


def _goal(link: Link, pull: float, average: float, target: FloatArray) -> FloatArray:
    """Predictors of the targets, pulled to their average."""
    return link.link((1.0 - pull) * target + pull * average)


def least_squares(data: GLMData, goal: Callable[[FloatArray], FloatArray], executor: Executor) -> FloatArray:
    """Ordinary least squares of a goal for every target, minus the offset, on the columns."""
    n_columns = data.design.n_columns

    def tally(lane: Sequence[GLMChunk]) -> Sums:
        sums = GramTally(n_columns)
        scratch: FloatArray | None = None
        for chunk in each_chunk(lane):
            scratch = fitting_scratch(scratch, chunk)
            wanted = goal(chunk.target)
            part = wanted if chunk.offset is None else wanted - chunk.offset
            chunk.design.load(chunk.rows, scratch).add_to(sums, np.ones(part.shape), part)
        return sums.counts()

    sums = executor.reduce(tally, data.chunks, counts_bytes=GramTally.nbytes(n_columns))
    return factorize(sums["gram"]).solve(sums["score"])
