r"""Scores under Gaussians that share one covariance: the rows are turned once, for all classes together.

With :math:`\Sigma^{-1} = U U^\top` and :math:`z = (x - c) U` the density of a row under class k is that of :math:`z`
under independent unit variances around :math:`m_k = (\mu_k - c) U`, so a row costs :math:`d^2 + dK` products and not
:math:`d^2 K`. Where only differences between classes matter, the part of :math:`z` outside the span Q of the
:math:`m_k` is the same for all of them; left out, a row costs :math:`dK` products.
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

#: Class means closer than this, as a share of the largest distance, lie in no direction of their own.
RANK_TOLERANCE = 1e-12


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
        span, sizes, _ = np.linalg.svd(self.mean, full_matrices=False)
        span = span[:, : max(1, int(np.sum(sizes > RANK_TOLERANCE * sizes[0])))]
        self.span = np.ascontiguousarray(factor @ span)
        self.inside = np.ascontiguousarray(span.T @ self.mean)

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

    def add_differences(self, block: DenseBlock, out: FloatArray) -> None:
        """Add the scores up to a number that is the same for all classes of a row."""
        if block.missing is not None and block.missing.any():
            self.add(block, out)
            return
        values: Any = np.asarray(block.values, dtype=np.float64)
        turned = np.ascontiguousarray((values - self.center) @ self.span)
        kernels.gaussian_scores(turned, self.inside, np.ones_like(self.inside), out)

    def _add_complete(self, values: FloatArray, out: FloatArray) -> None:
        turned = np.ascontiguousarray((values - self.center) @ self.factor)
        kernels.gaussian_scores(turned, self.mean, self.precision, out)
        out += self.log_det
