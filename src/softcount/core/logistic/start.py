"""Before a logistic regression is fitted: starting coefficients, collinear columns, representative rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from softcount._types import BoolArray, FloatArray
from softcount.core.execute import Executor
from softcount.core.linear_chunks import SERIAL
from softcount.core.logistic.data import LogisticData
from softcount.core.logistic.penalty import LogisticPenalty
from softcount.core.normal_equations import Design, GramTally
from softcount.core.symmetric_solve import factorize
from softcount.families.statistics import Sums

__all__ = ["column_gram", "gram_deviation", "independent_columns", "null_coef", "spread_stride"]

#: A shifted column shorter than this share of what it was before is constant: the rest is rounding.
CONSTANT = 1e-13


def null_coef(data: LogisticData) -> FloatArray:
    """Coefficients of the model without columns: the log odds of the classes (zero with offsets, which shift them)."""
    coef = np.zeros((data.n_outputs, data.n_columns))
    if data.design.fit_intercept and not data.has_offset:
        log_weights = np.log(np.maximum(data.class_weights(), np.finfo(np.float64).tiny))
        if data.is_binary:
            coef[0, 0] = log_weights[1] - log_weights[0]
        else:
            base = log_weights[-1] if data.reference else log_weights.mean()
            coef[:, 0] = log_weights[: data.n_outputs] - base
    return coef


def spread_stride(n_samples: int, n_wanted: int) -> int:
    """A stride that leaves at least ``n_wanted`` rows; prime, so that it is out of step with patterns in the rows.

    Examples
    --------
    >>> spread_stride(1000, 100)
    7
    """
    stride = n_samples // max(n_wanted, 1)
    while stride > 3 and any(stride % divisor == 0 for divisor in range(2, int(stride**0.5) + 1)):
        stride -= 1
    return max(1, stride)


def column_gram(data: LogisticData, executor: Executor) -> FloatArray:
    """``X'WX`` of the shifted columns, with the row weights alone."""
    if data.is_distant:
        rows: Any = data
        found = rows.each(executor, lambda part, _: Sums({"gram": column_gram(part, SERIAL)}))
        gram: FloatArray = found["gram"]
        return gram
    design = data.design

    def tally(lane: Sequence[slice]) -> Sums:
        sums = GramTally(design.n_columns)
        scratch = design.scratch()
        for rows in lane:
            n_rows = rows.stop - rows.start
            root = np.ones(n_rows) if data.weight is None else np.sqrt(data.weight[rows])
            design.load(rows, scratch).add_to(sums, root, np.zeros(n_rows))
        return sums.counts()

    return executor.reduce(tally, design.slices(), counts_bytes=GramTally.nbytes(design.n_columns))["gram"]


def gram_deviation(gram: FloatArray, *, fit_intercept: bool) -> FloatArray:
    """Standard deviations of the columns behind a Gram matrix (root mean squares without an intercept)."""
    if not fit_intercept:
        return np.asarray(np.sqrt(np.diag(gram) / max(float(np.diag(gram).max(initial=0.0)), 1.0)))
    weight = max(float(gram[0, 0]), np.finfo(np.float64).tiny)
    mean = gram[0] / weight
    deviation: FloatArray = np.sqrt(np.maximum(np.diag(gram) / weight - mean * mean, 0.0))
    deviation[0] = 1.0
    return deviation


def independent_columns(design: Design, gram: FloatArray, penalty: LogisticPenalty) -> BoolArray:
    """Columns that are not linear combinations of the columns before them; penalized ones always count.

    The rule is that of :mod:`softcount.core.symmetric_solve`; a column that is constant beside an intercept is a
    combination of it.
    """
    kept = np.ones(gram.shape[0], dtype=np.bool_)
    free = (penalty.l1 == 0.0) & (penalty.l2 == 0.0)
    diagonal = np.diag(gram)
    if design.center is not None:
        before = diagonal[1:] + gram[0, 0] * design.center**2
        kept[1:] = ~free[1:] | (diagonal[1:] > CONSTANT**2 * before)
    matrix = gram + np.diag(np.where(free, 0.0, diagonal + 1.0))
    kept[kept] = ~factorize(matrix[np.ix_(kept, kept)]).aliased
    return kept
