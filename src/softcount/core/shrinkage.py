r"""How much to shrink a covariance: the intensity of Ledoit and Wolf, class by class, from labeled rows.

With the rows of a class standardized to :math:`z_i` and their correlations :math:`C = \frac1n \sum_i z_i z_i^\top`, the
combination :math:`(1-s) C + s m I` with :math:`m = \mathrm{tr}(C)/d` that is closest to the true correlations has, as
estimated by Ledoit and Wolf (2004, "A well-conditioned estimator for large-dimensional covariance matrices", Journal of
Multivariate Analysis 88, lemma 3.3 and following),

.. math::
   s = \min\Bigl(1, \frac{\beta}{\delta}\Bigr), \qquad
   \delta = \lVert C \rVert^2 - d m^2, \qquad
   \beta = \frac1n\Bigl(\frac1n \sum_i \lVert z_i \rVert^4 - \lVert C \rVert^2\Bigr).

Back in the columns' own units the target is :math:`m\,\mathrm{diag}(v)` with the class's variances :math:`v`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softcount._types import FloatArray
from softcount.core.chunks import Chunk, Rows
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.families.statistics import Sums

__all__ = ["ClassShrinkage", "ledoit_wolf_by_class", "ledoit_wolf_intensity"]

PART = "labeled"


@dataclass(frozen=True)
class ClassShrinkage:
    """What shrinking every class on its own would do.

    Attributes
    ----------
    intensity : array of shape (n_classes,)
        :math:`s`.
    target : array of shape (n_classes, n_features)
        Diagonals of the targets.
    covariance : array of shape (n_classes, n_features, n_features)
        The covariances that are shrunk.
    """

    intensity: FloatArray
    target: FloatArray
    covariance: FloatArray

    def shrunk(self) -> FloatArray:
        """The shrunk covariances, shape (n_classes, n_features, n_features)."""
        s = self.intensity[:, None, None]
        return np.asarray((1.0 - s) * self.covariance + s * (self.target[:, :, None] * np.eye(self.target.shape[1])))


def ledoit_wolf_intensity(weight: float, correlation: FloatArray, fourth: float) -> float:
    r"""The intensity :math:`s` from the weight of the rows, :math:`C` and :math:`\sum_i \lVert z_i\rVert^4`.

    Examples
    --------
    >>> round(ledoit_wolf_intensity(50.0, np.array([[1.0, 0.5], [0.5, 1.0]]), 420.0), 4)
    0.236
    """
    d = correlation.shape[0]
    if d <= 1 or weight <= 0.0:
        return 0.0
    square = float(np.sum(correlation * correlation))
    size = float(np.trace(correlation)) / d
    delta = square - d * size * size
    beta = min((fourth / weight - square) / weight, delta)
    return 0.0 if beta <= 0.0 else beta / delta


def ledoit_wolf_by_class(
    chunks: Rows,
    executor: Executor,
    resp_of: Callable[[Chunk], FloatArray],
    mean: FloatArray,
    variance: FloatArray,
) -> ClassShrinkage:
    """Intensities, targets and covariances of the classes, by one pass over the rows.

    Parameters
    ----------
    chunks, executor
        The rows, and who runs the pass.
    resp_of : callable
        Weight of each row of a chunk in each class, shape (n_rows, n_classes).
    mean, variance : arrays of shape (n_features, n_classes)
        Of the classes; a missing cell stands at the mean, a column without variance is not scaled, and one without any
        cell in a class has no part in what is said of that class.
    """
    scale = np.where(variance > 0.0, np.sqrt(variance), 1.0)
    n_features, n_classes = mean.shape

    def tally(lane: Sequence[Chunk]) -> Counts:
        weight, fourth, cells = np.zeros(n_classes), np.zeros(n_classes), np.zeros((n_classes, n_features))
        cross = np.zeros((n_classes, n_features, n_features))
        for chunk in lane:
            resp = resp_of(chunk)
            block: Any = chunk.blocks[0]
            values = np.asarray(block.values, dtype=np.float64)
            for k in range(n_classes):
                rows = np.flatnonzero(resp[:, k])
                z = (values[rows] - mean[:, k]) / scale[:, k]
                missing = np.isnan(z)
                z = np.where(missing, 0.0, z)
                share = resp[rows, k]
                cells[k] += share @ ~missing
                weight[k] += share.sum()
                fourth[k] += share @ np.sum(z * z, axis=1) ** 2
                cross[k] += (z * share[:, None]).T @ z
        return Counts({PART: Sums({"weight": weight, "fourth": fourth, "cross": cross, "cells": cells})})

    size = 8 * n_classes * (n_features * n_features + n_features + 2)
    sums: Any = executor.reduce(tally, chunks, counts_bytes=size).parts[PART]
    safe = np.where(sums["weight"] > 0.0, sums["weight"], 1.0)
    correlation = sums["cross"] / safe[:, None, None]
    seen = sums["cells"] > 0.0
    terms = zip(sums["weight"], correlation, sums["fourth"], seen, strict=True)
    intensity = np.array([ledoit_wolf_intensity(float(w), c[np.ix_(s, s)], float(f)) for w, c, f, s in terms])
    size_of = np.trace(correlation, axis1=1, axis2=2) / np.maximum(seen.sum(axis=1), 1)
    target = size_of[:, None] * (scale.T**2)
    covariance = correlation * scale.T[:, :, None] * scale.T[:, None, :]
    return ClassShrinkage(intensity, target, covariance)
