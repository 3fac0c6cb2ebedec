r"""Multivariate Gaussian rows with missing cells: density of the observed part, expected moments of the rest.

Given class ``k``, a row with observed part ``o`` and missing part ``m`` has

.. math::
   E[x_m \mid x_o] = \mu_m + \Sigma_{mo}\Sigma_{oo}^{-1}(x_o - \mu_o), \qquad
   \mathrm{Cov}[x_m \mid x_o] = \Sigma_{mm} - \Sigma_{mo}\Sigma_{oo}^{-1}\Sigma_{om} .

Rows are taken together by their pattern of missing cells, so each matrix is factored once per pattern and
class.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softcount._types import BoolArray, FloatArray, IntArray
from softcount.families._base import Params
from softcount.families.cholesky import cholesky_factors
from softcount.families.statistics import Moments

__all__ = ["add_incomplete_scores", "count_incomplete"]

LOG_2PI = float(np.log(2.0 * np.pi))


def incomplete_patterns(missing: BoolArray) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Rows, observed columns and missing columns of every pattern with something missing."""
    rows = np.flatnonzero(missing.any(axis=1))
    patterns, group = np.unique(missing[rows], axis=0, return_inverse=True)
    for index, pattern in enumerate(patterns):
        yield rows[group.reshape(-1) == index], np.flatnonzero(~pattern), np.flatnonzero(pattern)


def add_incomplete_scores(values: FloatArray, missing: BoolArray, params: Params, out: FloatArray) -> None:
    """Add the observed parts' log-densities of the incomplete rows to ``out``."""
    for rows, seen, _ in incomplete_patterns(missing):
        if seen.size == 0:
            continue
        for k in range(out.shape[1]):
            factor = cholesky_factors(params["cov"][k][np.ix_(seen, seen)])
            deviation = values[np.ix_(rows, seen)] - params["mean"][seen, k]
            solved = np.linalg.solve(factor, deviation.T)
            log_det = 2.0 * np.log(np.diagonal(factor)).sum()
            out[rows, k] -= 0.5 * (seen.size * LOG_2PI + log_det + np.sum(solved * solved, axis=0))


def count_incomplete(values: FloatArray, missing: BoolArray, resp: FloatArray, params: Params) -> Moments:
    """Expected moments of the incomplete rows."""
    n_columns, n_classes = values.shape[1], resp.shape[1]
    zeros = np.zeros((n_columns, n_classes))
    total = Moments(zeros, zeros, np.zeros((n_classes, n_columns, n_columns)))
    for rows, seen, lost in incomplete_patterns(missing):
        part = [
            _expected(values[rows], resp[rows, k], (seen, lost), params["mean"][:, k], params["cov"][k])
            for k in range(n_classes)
        ]
        total = total + Moments(
            np.broadcast_to([p[0] for p in part], zeros.shape).copy(),
            np.stack([p[1] for p in part], axis=1),
            np.stack([p[2] for p in part]),
        )
    return total


def _expected(
    values: FloatArray,
    weight: FloatArray,
    pattern: tuple[IntArray, IntArray],
    mean: FloatArray,
    cov: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Weight, mean and scatter of one class's expected rows; ``pattern``: observed and missing columns."""
    seen, lost = pattern
    gain = np.linalg.solve(cov[np.ix_(seen, seen)], cov[np.ix_(seen, lost)]).T
    complete = values.copy()
    complete[:, lost] = mean[lost] + (values[:, seen] - mean[seen]) @ gain.T
    total = float(weight.sum())
    if total <= 0.0:
        return 0.0, np.zeros_like(mean), np.zeros_like(cov)
    center = weight @ complete / total
    deviation = complete - center
    scatter = (deviation * weight[:, None]).T @ deviation
    scatter[np.ix_(lost, lost)] += total * (cov[np.ix_(lost, lost)] - gain @ cov[np.ix_(seen, lost)])
    return total, center, scatter
