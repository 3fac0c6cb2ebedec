"""Means and standard deviations of the columns of a table, in one pass over chunks of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softcount._types import FloatArray
from softcount.core.execute import Executor
from softcount.core.normal_equations import Design
from softcount.families.statistics import Sums

__all__ = ["centering", "column_deviations", "column_means", "deviations_of", "squares_of"]

#: A mean this many standard deviations from zero costs a Gram matrix two digits: worth a subtraction.
FAR_FROM_ZERO = 10.0
# So many rows tell roughly how far from zero a column lies.
SAMPLE_ROWS = 1000


def centering(design: Design, means: FloatArray) -> FloatArray | None:
    """The means, where some column of a dense table lies far enough from zero that shifting pays; else None.

    Examples
    --------
    >>> import numpy as np
    >>> centering(Design(np.array([[1.0], [-2.0], [3.0]])), np.array([0.7])) is None
    True
    """
    if design.is_sparse or not design.fit_intercept:
        return None
    sample = np.asarray(design.table)[:: max(1, design.n_samples // SAMPLE_ROWS)]
    deviation = np.std(sample, axis=0, dtype=np.float64)
    return means if bool(np.any(np.abs(means) > FAR_FROM_ZERO * deviation)) else None


def column_means(design: Design, executor: Executor) -> FloatArray:
    """Mean of every column of a dense table; not a number where a column holds one that is none.

    Examples
    --------
    >>> import numpy as np
    >>> from softcount.core.execute import ThreadExecutor
    >>> column_means(Design(np.array([[1.0, 5.0], [3.0, 5.0]])), ThreadExecutor(1))
    array([2., 5.])
    """
    table = np.asarray(design.table)

    def tally(lane: Sequence[slice]) -> Sums:
        total = np.zeros(table.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # reported by row and column, not as a warning
            for rows in lane:
                part = table[rows]
                total += np.ones(part.shape[0], dtype=part.dtype) @ part
        return Sums({"sum": total})

    with np.errstate(over="ignore", invalid="ignore"):
        return executor.reduce(tally, design.slices())["sum"] / max(1, design.n_samples)


def column_deviations(design: Design, executor: Executor) -> FloatArray:
    """Standard deviation of every column of a design; 1 for the intercept."""
    return deviations_of(squares_of(design, executor), design.n_samples, fit_intercept=design.fit_intercept)


def squares_of(design: Design, executor: Executor) -> Sums:
    """Sums of every column of a design, and of its squares."""

    def tally(lane: Sequence[slice]) -> Sums:
        first, second = np.zeros(design.n_columns), np.zeros(design.n_columns)
        scratch = design.scratch()
        for rows in lane:
            loaded = design.load(rows, scratch)
            ones = np.ones(rows.stop - rows.start)
            first += loaded.score(ones)
            second += loaded.squares()
        return Sums({"first": first, "second": second})

    return executor.reduce(tally, design.slices())


def deviations_of(sums: Sums, n_samples: int, *, fit_intercept: bool) -> FloatArray:
    """Standard deviations from these sums."""
    mean = sums["first"] / n_samples
    deviations = np.sqrt(np.maximum(sums["second"] / n_samples - mean * mean, 0.0))
    if fit_intercept:
        deviations[0] = 1.0
    return deviations
