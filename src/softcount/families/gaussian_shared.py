r"""Scores under Gaussians that share one covariance: the rows are turned once, for all classes together.

With :math:`\Sigma^{-1} = U U^\top` and :math:`z = (x - c) U` the density of a row under class k is that of :math:`z`
under independent unit variances around :math:`m_k = (\mu_k - c) U`, so a row costs :math:`d^2 + dK` products and not
:math:`d^2 K`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount import kernels
from softcount._types import FloatArray
from softcount.families._base import Params
from softcount.families.blocks import DenseBlock
from softcount.families.gaussian_missing import add_incomplete_scores

__all__ = ["SharedGaussianScorer"]


class SharedGaussianScorer:
    r"""Adds the log-densities of rows under classes with one covariance.

    Parameters
    ----------
    params : Params
        Means (d, K), and the covariances, which are all the same.
    factor : array of shape (d, d)
        :math:`U`.
    log_det : float
        :math:`\log|U|`.
    """

    def __init__(self, params: Params, factor: FloatArray, log_det: float) -> None:
        self.params = params
        self.center = params["mean"].mean(axis=1)
        self.factor = factor
        self.log_det = log_det
        self.mean = np.ascontiguousarray(factor.T @ (params["mean"] - self.center[:, None]))
        self.precision = np.ones_like(self.mean)

    def add(self, block: DenseBlock, out: FloatArray) -> None:
        """Add the scores of the block's rows to ``out``."""
        values: Any = np.asarray(block.values, dtype=np.float64)
        if block.missing is None or not block.missing.any():
            self._add_complete(values, out)
            return
        whole = np.flatnonzero(~block.missing.any(axis=1))
        part = np.zeros((whole.shape[0], out.shape[1]))
        self._add_complete(values[whole], part)
        out[whole] += part
        add_incomplete_scores(values, block.missing, self.params, out)

    def _add_complete(self, values: FloatArray, out: FloatArray) -> None:
        turned = np.ascontiguousarray((values - self.center) @ self.factor)
        kernels.gaussian_scores(turned, self.mean, self.precision, out)
        out += self.log_det
