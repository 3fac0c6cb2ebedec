"""Rows under Gaussians with a full covariance per class: their scores and their moments."""

from __future__ import annotations

import numpy as np

from softcount import kernels
from softcount._errors import InputError
from softcount._types import CodesArray, FloatArray
from softcount.families._base import Params
from softcount.families.blocks import DenseBlock
from softcount.families.cholesky import precision_factors
from softcount.families.columns import one_hot
from softcount.families.gaussian_missing import add_incomplete_scores, count_incomplete
from softcount.families.statistics import Moments

__all__ = ["FullGaussianScorer", "FullGaussianTally"]


class FullGaussianScorer:
    """Adds the log-densities of rows; incomplete rows are scored by their observed part."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.mean = np.ascontiguousarray(params["mean"].T)
        self.factors, self.log_det = precision_factors(params["cov"])

    def add(self, block: DenseBlock, out: FloatArray) -> None:
        """Add the scores of the block's rows to ``out``."""
        values = np.asarray(block.values, dtype=np.float64)
        if block.missing is None or not block.missing.any():
            kernels.gaussian_full_scores(values, self.mean, self.factors, self.log_det, out)
            return
        whole = np.flatnonzero(~block.missing.any(axis=1))
        part = np.zeros((whole.shape[0], out.shape[1]))
        kernels.gaussian_full_scores(values[whole], self.mean, self.factors, self.log_det, part)
        out[whole] += part
        add_incomplete_scores(values, block.missing, self.params, out)


class FullGaussianTally:
    """Collects moments with full scatters; missing cells enter by their expectation given the observed ones."""

    CANCELLATION = 1e3

    def __init__(self, n_columns: int, n_classes: int, params: Params | None) -> None:
        self.params = params
        zeros = np.zeros((n_columns, n_classes))
        self.moments = Moments(zeros, zeros, np.zeros((n_classes, n_columns, n_columns)))
        self._is_empty = True

    def add(self, block: DenseBlock, resp: FloatArray) -> None:
        """Count rows with responsibilities."""
        values = np.asarray(block.values, dtype=np.float64)
        if block.missing is None or not block.missing.any():
            self._merge(values, resp)
            return
        if self.params is None:
            raise InputError(
                "Rows with missing cells are counted by their expectation under some parameters; none were given. Pass "
                "params, e.g. means and a diagonal covariance from the gaussian family."
            )
        whole = np.flatnonzero(~block.missing.any(axis=1))
        self._merge(np.ascontiguousarray(values[whole]), np.ascontiguousarray(resp[whole]))
        self._take_in(count_incomplete(values, block.missing, resp, self.params))

    def add_known(self, block: DenseBlock, codes: CodesArray, weight: FloatArray | None) -> None:
        """Count rows of known class."""
        self.add(block, one_hot(codes, weight, self.moments.weight.shape[1]))

    def statistics(self) -> Moments:
        """The moments."""
        return self.moments

    def _merge(self, values: FloatArray, resp: FloatArray) -> None:
        center = self.moments.mean if self.params is None else self.params["mean"]
        part = self._about(values, resp, center)
        spread = np.diagonal(part.scatter, axis1=1, axis2=2).T
        if np.any(part.weight * (part.mean - center) ** 2 > self.CANCELLATION * spread):
            part = self._about(values, resp, part.mean)
        self._take_in(part)

    def _take_in(self, part: Moments) -> None:
        # Adding to nothing changes nothing, and with a few hundred rows it is a tenth of what counting them takes.
        self.moments = part if self._is_empty else self.moments + part
        self._is_empty = False

    def _about(self, values: FloatArray, resp: FloatArray, center: FloatArray) -> Moments:
        n_columns, n_classes = center.shape
        weight, total = np.zeros(n_classes), np.zeros((n_classes, n_columns))
        scatter = np.zeros((n_classes, n_columns, n_columns))
        kernels.gaussian_full_moments(values, resp, np.ascontiguousarray(center.T), weight, total, scatter)
        safe = np.where(weight > 0.0, weight, 1.0)
        mean = np.where(weight > 0.0, center + total.T / safe, 0.0)
        scatter = scatter - total[:, :, None] * total[:, None, :] / safe[:, None, None]
        return Moments(np.broadcast_to(weight, center.shape).copy(), mean, scatter)
