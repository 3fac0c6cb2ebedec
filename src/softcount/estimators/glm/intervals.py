r"""Intervals around a prediction: for the mean, and for a new observation.

The linear predictor of a row is normal (or t) with standard error :math:`\sqrt{x^\top C x}`. The interval for
the mean is that of the predictor, sent through the inverse link. A new observation varies around its mean as
well; its interval holds the quantiles of the family's distribution averaged over the predictor's,

.. math:: F(q) = \int F(q \mid g^{-1}(\eta))\, N(\eta;\, \hat\eta,\, x^\top C x)\, d\eta .

For the Gaussian family with identity link that is :math:`\hat\mu \pm t \sqrt{\hat\phi / w + x^\top C x}`
exactly.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.glm.families import BinomialFamily, GLMFamily, TweedieFamily
from softcount.core.glm.links import Link
from softcount.core.normal_equations import Design, row_slices
from softcount.estimators.coefficient_table import critical_value

__all__ = ["IntervalKind", "mean_interval", "observation_interval", "predictor_error"]

IntervalKind = Literal["mean", "observation"]

ROWS_AT_ONCE = 4096
HERMITE_NODES = 9
BISECTIONS = 40


def predictor_error(design: Design, covariance: FloatArray) -> FloatArray:
    """Standard error of every row's linear predictor: the root of ``x' C x`` for the columns as the design has them."""
    design = replace(design, unpack=True)
    answer, scratch = np.empty(design.n_samples), design.scratch()
    ones = np.ones(design.n_samples)
    for rows in design.slices():
        inner = design.load(rows, scratch).weighted(ones[rows], ones[rows])[:, :-1]
        answer[rows] = np.einsum("ij,ij->i", inner @ covariance, inner)
    return np.sqrt(np.maximum(answer, 0.0))


def mean_interval(family: GLMFamily, link: Link, predictor: FloatArray, error: FloatArray, reach: float) -> FloatArray:
    """Limits of every row's mean ``reach`` standard errors to either side, shape ``(n_rows, 2)``.

    Where the predictor leaves the means that the family can have, the limit is the edge of these means.
    """
    rises = link.inverse(predictor)[1] >= 0.0
    step = np.where(rises, reach, -reach) * error
    highest = 1.0 if isinstance(family, BinomialFamily) else np.inf
    ends = (predictor - step, family.lower_bound), (predictor + step, highest)
    limits = []
    for at, edge in ends:
        inside = family.contains(link, at)
        limit = np.full(predictor.shape, edge)
        limit[inside] = link.inverse(at[inside])[0]
        limits.append(limit)
    return np.column_stack(limits)


def observation_interval(
    family: GLMFamily,
    link: Link,
    predictor: FloatArray,
    error: FloatArray,
    dispersion: FloatArray,
    *,
    level: float,
    df: float,
) -> FloatArray:
    """Lower and upper limits of a new observation of every row, shape ``(n_rows, 2)``."""
    if not family.has_likelihood or (isinstance(family, TweedieFamily) and not family.is_compound):
        raise InputError(
            f"The {family.name} family has no distribution, so a new observation has no interval. Ask for kind='mean'."
        )
    if family.name == "gaussian" and link.name == "identity":
        reach = critical_value(level, df) * np.sqrt(dispersion + error * error)
        return np.column_stack([predictor - reach, predictor + reach])
    answer = np.empty((predictor.size, 2))
    for rows in row_slices(predictor.size, ROWS_AT_ONCE):
        for side, probability in enumerate((0.5 - 0.5 * level, 0.5 + 0.5 * level)):
            answer[rows, side] = _quantiles(family, link, (predictor[rows], error[rows]), dispersion[rows], probability)
    return answer


def _quantiles(
    family: GLMFamily,
    link: Link,
    predictor: tuple[FloatArray, FloatArray],
    dispersion: FloatArray,
    probability: float,
) -> FloatArray:
    """Quantiles of the mixture over the predictor, by bisection; the next possible value for discrete families."""
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(HERMITE_NODES)
    node_weights = node_weights / node_weights.sum()
    center, error = predictor
    means = []
    for node in nodes:
        at = center + node * error
        # A node beyond the link's branch stands for a mean no observation could have: use the center's.
        means.append(link.inverse(np.where(family.contains(link, at), at, center))[0])
    # Trials share a unit of proportion among them; other counts come in whole numbers.
    unit = dispersion if family.name == "binomial" else np.ones_like(dispersion)

    def cdf(value: FloatArray) -> FloatArray:
        total = np.zeros_like(value)
        for weight, mean in zip(node_weights, means, strict=True):
            total += weight * family.cdf(value, mean, dispersion)
        return total

    spread = np.sqrt(dispersion * family.variance(means[HERMITE_NODES // 2])) + error + 1e-8
    middle = means[HERMITE_NODES // 2]
    low = middle - spread if math.isinf(family.lower_bound) else np.full_like(middle, family.lower_bound)
    high = middle + spread
    for _ in range(200):
        short = cdf(high) < probability
        if not short.any():
            break
        high = np.where(short, middle + 2.0 * (high - middle), high)
    if math.isinf(family.lower_bound):
        for _ in range(200):
            over = cdf(low) > probability
            if not over.any():
                break
            low = np.where(over, middle - 2.0 * (middle - low), low)
    at_bound = cdf(low) >= probability
    bound = low.copy()
    for _ in range(BISECTIONS):
        half = 0.5 * (low + high)
        enough = cdf(half) >= probability
        high = np.where(enough, half, high)
        low = np.where(enough, low, half)
    if family.is_discrete:
        high = np.ceil(np.round(high / unit, 9)) * unit
    return np.where(at_bound, bound, high)
