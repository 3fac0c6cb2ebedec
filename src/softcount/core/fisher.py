r"""Fisher's discriminant directions: where class means are farthest apart in units of the spread within classes.

With the classes' means :math:`\mu_k`, weights :math:`\pi_k` and mean covariance :math:`\sum_k \pi_k\Sigma_k = LL^\top`,
the directions are :math:`W = L^{-\top} V`, with the left singular vectors :math:`V` of
:math:`L^{-1} [\sqrt{\pi_1}(\mu_1 - \bar\mu), \dots]`; so :math:`W^\top LL^\top W = I`, and the squared singular values
are the variances of the class means along them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softcount._types import FloatArray
from softcount.families.cholesky import precision_factors
from softcount.families.gaussian_missing import incomplete_patterns

__all__ = ["FisherDirections", "completed"]


@dataclass(frozen=True)
class FisherDirections:
    """Directions of a linear discriminant analysis.

    Attributes
    ----------
    center : array of shape (n_features,)
        Overall mean.
    scalings : array of shape (n_features, n_directions)
        The directions, best first; in each, the entry largest in size is positive.
    ratio : array of shape (n_directions,)
        Share of the variance between classes that lies along each.
    """

    center: FloatArray
    scalings: FloatArray
    ratio: FloatArray

    @classmethod
    def of(cls, mean: FloatArray, weight: FloatArray, within: FloatArray) -> FisherDirections:
        """The directions for means (n_features, n_classes), weights, and the mean covariance (or variances)."""
        n_features, n_classes = mean.shape
        n_directions = min(n_classes - 1, n_features)
        center = mean @ weight
        between = (mean - center[:, None]) * np.sqrt(weight)
        is_diagonal = within.ndim == 1
        # Times the inverse: LAPACK's triangular solver calls threads for the smallest tables, which then wait.
        unit = 1.0 / np.sqrt(within)[:, None] if is_diagonal else precision_factors(within[None])[0][0]
        spread = between * unit if is_diagonal else unit.T @ between
        vectors, sizes, _ = np.linalg.svd(spread, full_matrices=False)
        vectors = vectors[:, :n_directions]
        scalings = vectors * unit if is_diagonal else unit @ vectors
        largest = np.abs(scalings).argmax(axis=0) if n_directions else np.empty(0, dtype=np.int64)
        signs = np.sign(scalings[largest, np.arange(n_directions)])
        total = float(np.sum(sizes * sizes))
        ratio = sizes[:n_directions] ** 2 / (total if total > 0.0 else 1.0)
        return cls(center, scalings * np.where(signs == 0.0, 1.0, signs), ratio)


def completed(values: FloatArray, resp: FloatArray, mean: FloatArray, cov: FloatArray | None) -> FloatArray:
    """Rows with missing cells (NaN) replaced by their expectation given the others and the class probabilities.

    Parameters
    ----------
    values : array of shape (n_rows, n_features)
    resp : array of shape (n_rows, n_classes)
    mean : array of shape (n_features, n_classes)
    cov : array of shape (n_classes, n_features, n_features) or None
        None where columns are independent within classes.
    """
    result = np.where(np.isnan(values), 0.0, values)
    for rows, seen, lost in incomplete_patterns(np.isnan(values)):
        observed = values[np.ix_(rows, seen)]
        for k in range(resp.shape[1]):
            expected = mean[lost, k]
            if cov is not None:
                gain = np.linalg.solve(cov[k][np.ix_(seen, seen)], cov[k][np.ix_(seen, lost)])
                expected = expected + (observed - mean[seen, k]) @ gain
            result[np.ix_(rows, lost)] += resp[rows, k, None] * expected
    return result
