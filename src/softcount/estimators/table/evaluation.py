"""How good a classifier is on rows whose labels it did not see."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from softcount._types import CodesArray, FloatArray, IntArray
from softcount.core.crossfit import log_loss
from softcount.estimators.table.answers import answers_of

__all__ = ["Evaluation", "Reliability", "evaluate", "wilson_interval"]

N_BINS = 10
N_SUSPECTS = 20
#: Two-sided 95 % of a normal distribution.
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Reliability:
    r"""Stated against observed probability of the predicted class, in bins of equal width.

    .. math:: \mathrm{ECE} = \sum_b \frac{w_b}{w} \,\lvert \bar p_b - \bar h_b \rvert

    Attributes
    ----------
    stated, observed, weight : array of shape (n_bins,)
        Mean stated probability, share of hits and weight of the rows of each bin; NaN where a bin has no row.
    """

    stated: FloatArray
    observed: FloatArray
    weight: FloatArray

    @property
    def error(self) -> float:
        """The expected calibration error."""
        used = self.weight > 0.0
        gap = np.abs(self.stated[used] - self.observed[used])
        return float(gap @ self.weight[used] / self.weight.sum())


@dataclass(frozen=True)
class Evaluation:
    """Accuracy, log-loss and calibration.

    Attributes
    ----------
    n_rows : int
        Rows that were held out, each counted once.
    accuracy : float
    interval : tuple of float
        95 % interval of the accuracy (Wilson).
    baseline : float
        Accuracy of always saying the commonest class.
    log_loss_before, log_loss : float
        Without and with calibration.
    confusion : array of shape (n_classes, n_classes)
        Expected rows by true class (row) and predicted class (column).
    before, after : Reliability
        Without and with calibration.
    suspect_rows, suspect_codes : array
        Rows whose label looks wrong, worst first, and the class predicted for them.
    suspect_doubt : array
        Probability that the row is of another class than its label says.
    """

    n_rows: int
    accuracy: float
    interval: tuple[float, float]
    baseline: float
    log_loss_before: float
    log_loss: float
    confusion: FloatArray
    before: Reliability
    after: Reliability
    suspect_rows: IntArray
    suspect_codes: CodesArray
    suspect_doubt: FloatArray


def evaluate(
    before: FloatArray, after: FloatArray, codes: CodesArray, rows: IntArray, weight: FloatArray | None = None
) -> Evaluation:
    """Compare probabilities with labels.

    Parameters
    ----------
    before, after : array of shape (n_answers, n_classes)
        Probabilities without and with calibration.
    codes : array of shape (n_answers,)
        Labels.
    rows : array of shape (n_answers,)
        Which row an answer is about; several answers about one row share its weight.
    weight : array of shape (n_answers,), optional
    """
    _, place, count = np.unique(rows, return_inverse=True, return_counts=True)
    share = (np.ones(codes.shape[0]) if weight is None else weight) / count[place]
    total, n_classes = float(share.sum()), after.shape[1]
    predicted = after.argmax(axis=1)
    hit = (predicted == codes).astype(np.float64)
    accuracy = float(share @ hit) / total
    confusion = np.bincount(codes * n_classes + predicted, share, minlength=n_classes**2).astype(np.float64)
    answers = answers_of(after, rows, codes)
    suspects = answers.suspects(0.0)[:N_SUSPECTS]
    return Evaluation(
        n_rows=int(count.size),
        accuracy=accuracy,
        interval=wilson_interval(accuracy, int(count.size)),
        baseline=float(np.bincount(codes, share).max()) / total,
        log_loss_before=float(share @ log_loss(before, codes)) / total,
        log_loss=float(share @ log_loss(after, codes)) / total,
        confusion=confusion.reshape(n_classes, n_classes),
        before=_reliability(before, codes, share),
        after=_reliability(after, codes, share),
        suspect_rows=answers.rows[suspects],
        suspect_codes=answers.predicted[suspects],
        suspect_doubt=1.0 - answers.label_probability[suspects],
    )


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    r"""95 % interval of a proportion that is never empty and never leaves [0, 1] (Wilson).

    .. math:: \frac{\hat p + z^2/2n \pm z\sqrt{\hat p(1-\hat p)/n + z^2/4n^2}}{1 + z^2/n}

    Parameters
    ----------
    share : float
        The observed proportion.
    n : int
        Of how many.
    """
    if n == 0:
        return 0.0, 1.0
    middle = share + Z95**2 / (2 * n)
    spread = Z95 * math.sqrt(max(share * (1.0 - share), 0.0) / n + Z95**2 / (4 * n * n))
    scale = 1.0 + Z95**2 / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def _reliability(posterior: FloatArray, codes: CodesArray, share: FloatArray) -> Reliability:
    stated, predicted = posterior.max(axis=1), posterior.argmax(axis=1)
    bins = np.minimum((stated * N_BINS).astype(np.int64), N_BINS - 1)
    weight = np.bincount(bins, share, minlength=N_BINS).astype(np.float64)
    sums = np.bincount(bins, share * stated, minlength=N_BINS)
    hits = np.bincount(bins, share * (predicted == codes), minlength=N_BINS)
    empty = np.where(weight > 0.0, weight, np.nan)
    return Reliability(sums / empty, hits / empty, weight)
