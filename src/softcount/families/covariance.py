r"""Covariances from scatters: the mode under a prior, kept at or above a smallest variance in every direction.

A covariance that the likelihood would let collapse (fewer rows than columns, duplicated or constant columns) is
estimated under the constraint :math:`\Sigma \succeq B` with a diagonal :math:`B`. Under it

.. math:: -\log|\Sigma| - \mathrm{tr}(\Sigma^{-1} S)

has its maximum where, in units of :math:`\sqrt B`, every eigenvalue of :math:`S` below one is raised to one and
everything else stays: a matrix that needs no help is left exactly as it is. Since it is the maximum, EM with it never
lowers its objective, and no penalty has to be added to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from softcount._types import BoolArray, FloatArray

__all__ = ["as_matrix", "column_units", "directions_at_bound", "free_scatter", "raised_covariance", "raised_variance"]

#: A standard deviation this many times smaller than the values' size is rounding in a constant column.
RESOLUTION = 4.0 * float(np.finfo(np.float64).eps)


def raised_covariance(cov: FloatArray, bound: FloatArray | None) -> FloatArray:
    """The matrix with no variance below ``bound`` (one per column) in any direction, in units of its roots.

    Examples
    --------
    >>> raised_covariance(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([0.5, 0.5])).round(3)
    array([[1.25, 0.75],
           [0.75, 1.25]])
    """
    if bound is None:
        return cov
    scale = np.sqrt(bound)
    unit = cov / scale[:, None] / scale
    if _is_positive_definite(unit - np.eye(unit.shape[0])):
        return cov
    values, vectors = np.linalg.eigh(unit)
    raised = (vectors * np.maximum(values, 1.0)) @ vectors.T
    raised = scale[:, None] * (0.5 * (raised + raised.T)) * scale
    return np.asarray(raised)


def raised_variance(var: FloatArray, bound: FloatArray | None, *, spherical: bool) -> FloatArray:
    """Variances, columns first, none below the column's bound (one for all columns: below the bounds' mean)."""
    if bound is None:
        return var
    return np.maximum(var, bound.mean() if spherical else bound[:, None])


def directions_at_bound(params: Mapping[str, FloatArray], bound: FloatArray, *, is_spherical: bool) -> list[int]:
    """In how many directions the covariance of each class lies at its bound."""
    limit = 1.0 + 1e-4
    if "var" in params:
        least = bound.mean() if is_spherical else bound[:, None]
        return [int(count) for count in np.sum(params["var"] <= least * limit, axis=0)]
    scale = np.sqrt(bound)
    counts = []
    for cov in params["cov"]:
        unit = cov / scale[:, None] / scale
        is_clear = _is_positive_definite(unit - limit * np.eye(unit.shape[0]))
        counts.append(0 if is_clear else int(np.sum(np.linalg.eigvalsh(unit) <= limit)))
    return counts


def column_units(within: FloatArray, total: FloatArray, mean: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The variance that counts as large in each column, and which columns are constant.

    It is the variance within classes; where that is zero the total one; of a constant column the square of its value,
    so that no rounding in the column's mean can ever count (one if the value is zero).
    """
    rounding = (RESOLUTION * mean) ** 2
    is_constant = ~(total > rounding)
    unit = np.where(within > rounding, within, np.where(is_constant, mean**2, total))
    return np.where(unit > 0.0, unit, 1.0), is_constant


def as_matrix(prior_scatter: Any, n_columns: int) -> FloatArray:
    """A prior scatter as a matrix (or one per class): a number or a number per column means a diagonal one."""
    scatter: FloatArray = np.asarray(prior_scatter, dtype=np.float64)
    if scatter.ndim >= 2 and scatter.shape[-2:] == (n_columns, n_columns):
        return scatter
    return np.asarray(np.broadcast_to(scatter.reshape(-1), (n_columns,)) * np.eye(n_columns))


def free_scatter(prior_scatter: Any, *, shared: bool, spherical: bool) -> FloatArray:
    """A prior scatter per column and class as one per variance that is free: averaged over the cells that share it."""
    scatter: FloatArray = np.asarray(prior_scatter, dtype=np.float64)
    if scatter.ndim < 2:
        scatter = scatter.reshape(-1, 1)
    if shared:
        scatter = scatter.mean(axis=1, keepdims=True)
    if spherical:
        scatter = scatter.mean(axis=0, keepdims=True)
    return scatter


def _is_positive_definite(matrix: FloatArray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
