"""Probabilities that mean what they say: posteriors cooled by one number, or mapped by isotonic regression.

Naive Bayes counts dependent features as independent evidence, so its posteriors are too certain, the more so the longer
the row. Both calibrators are fitted to cross-fitted posteriors, never to rows whose own labels the model had seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from softcount._types import CodesArray, FloatArray
from softcount.core.crossfit import cool, cool_log

__all__ = ["Calibration", "fit_isotonic"]


@dataclass(frozen=True)
class Calibration:
    r"""How posteriors are calibrated.

    Attributes
    ----------
    kind : {"temperature", "isotonic"}
    correlation : float
        The log-odds of row i are divided by :math:`1 + (n_i - 1)\rho`, with :math:`n_i` the row's words or observed
        cells; the most probable class stays the most probable.
    maps : tuple of (array, array)
        For isotonic calibration, per class the cooled probabilities and what they become.
    """

    kind: str
    correlation: float
    maps: tuple[tuple[FloatArray, FloatArray], ...] = ()

    def apply(self, log_posterior: FloatArray, length: FloatArray) -> FloatArray:
        """Calibrated probabilities from log-posteriors and the sizes of the rows."""
        posterior = cool(log_posterior, length, self.correlation)
        if not self.maps:
            return posterior
        mapped = np.stack(
            [np.interp(posterior[:, k], knots, values) for k, (knots, values) in enumerate(self.maps)], axis=1
        )
        total = mapped.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0.0, mapped / np.where(total > 0.0, total, 1.0), posterior))

    def apply_log(self, log_posterior: FloatArray, length: FloatArray) -> FloatArray:
        """Logarithms of the calibrated probabilities; finite for a temperature, however small the probability."""
        if not self.maps:
            return cool_log(log_posterior, length, self.correlation)
        with np.errstate(divide="ignore"):
            return np.log(self.apply(log_posterior, length))


def fit_isotonic(
    log_posterior: FloatArray,
    length: FloatArray,
    codes: CodesArray,
    correlation: float,
    weight: FloatArray | None = None,
) -> tuple[tuple[FloatArray, FloatArray], ...]:
    """One non-decreasing map per class, from cooled probability to observed frequency."""
    from sklearn.isotonic import IsotonicRegression

    posterior = cool(log_posterior, length, correlation)
    maps: list[tuple[FloatArray, FloatArray]] = []
    for k in range(posterior.shape[1]):
        fitted: Any = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        fitted.fit(posterior[:, k], codes == k, sample_weight=weight)
        maps.append((np.asarray(fitted.X_thresholds_), np.asarray(fitted.y_thresholds_)))
    return tuple(maps)
