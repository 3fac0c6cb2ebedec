"""Whether the unlabeled rows helped: cross-validated accuracy and log-loss with and without them, in a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from softcount._types import FloatArray
from softcount.core.crossfit import brier, cool, hits, log_loss

if TYPE_CHECKING:
    from softcount.core.unlabeled import HeldOut

__all__ = ["Verdict", "no_evidence", "weigh_up"]

#: Two-sided 90 % of a normal distribution.
Z90 = 1.6448536269514722


@dataclass(frozen=True)
class Verdict:
    """What the rows without a label were worth, judged by cross-validation on the labeled rows.

    Attributes
    ----------
    n_labeled, n_unlabeled : int
    used : {"none", "marginals", "full"}
        How the unlabeled rows were used: not at all, for the columns' overall distributions, or by EM.
    accuracy_labeled, accuracy : float
        Accuracy of the labeled rows alone, and of the fit that was kept; NaN where no row could be held out.
    log_loss_labeled, log_loss : float
        Their log-loss, with calibrated probabilities.
    difference : float
        Gain in accuracy; shrunk a little towards zero, as one win and one loss more would.
    interval : tuple of float
        90 % interval of the difference.
    direction : int
        1 if the unlabeled rows seem to help, -1 if they seem to hurt, 0 if they were not used.
    conclusive : bool
        Whether the interval leaves out zero.
    sentence : str
    """

    n_labeled: int
    n_unlabeled: int
    used: str
    accuracy_labeled: float
    accuracy: float
    log_loss_labeled: float
    log_loss: float
    difference: float
    interval: tuple[float, float]
    direction: int
    conclusive: bool
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def no_evidence(used: str, n_labeled: int, n_unlabeled: int) -> Verdict:
    """The verdict where no labeled row could be held out."""
    sentence = (
        f"Too few labels to tell ({n_labeled} labeled rows, none of which could be held out): the {n_unlabeled:,} "
        "unlabeled rows were used, because with so few labels they usually help. Label at least 2 rows per class."
    )
    nan = math.nan
    return Verdict(n_labeled, n_unlabeled, used, nan, nan, nan, nan, nan, (nan, nan), 1, False, sentence)


def weigh_up(
    held_out: HeldOut,
    cooling: dict[str, float],
    used: str,
    *,
    n_labeled: int,
    n_unlabeled: int,
    every_class_twice: bool,
) -> Verdict:
    r"""Compare the fit that was kept with the labeled rows alone, paired by held-out row.

    With :math:`d_i` the difference in hits of row i (mean over repeats) and n rows,

    .. math:: m = \frac{\sum_i d_i}{n + 2}, \qquad
       s^2 = \frac{1}{n + 2}\left(\frac{\sum_i d_i^2 + 1}{n + 2} - m^2\right),

    and the 90 % interval is :math:`m \pm 1.645\,s` (Agresti and Min's interval for paired proportions, 2005).
    """
    codes, length = held_out.codes, held_out.length
    alone, kept = held_out.log_posterior["none"], held_out.log_posterior[used]
    calm_alone, calm = cool(alone, length, cooling["none"]), cool(kept, length, cooling[used])
    gain = _mean_by_row(hits(kept, codes) - hits(alone, codes), held_out)
    n = gain.size
    middle = float(gain.sum()) / (n + 2.0)
    spread = math.sqrt(max((float(gain @ gain) + 1.0) / (n + 2.0) - middle**2, 0.0) / (n + 2.0))
    conclusive = every_class_twice and used != "none" and abs(middle) > Z90 * spread
    direction = _direction(used, gain, brier(calm_alone, codes) - brier(calm, codes), every_class_twice)
    accuracy_alone, accuracy = float(hits(alone, codes).mean()), float(hits(kept, codes).mean())
    verdict = Verdict(
        n_labeled,
        n_unlabeled,
        used,
        accuracy_alone,
        accuracy,
        float(log_loss(calm_alone, codes).mean()),
        float(log_loss(calm, codes).mean()),
        middle,
        (middle - Z90 * spread, middle + Z90 * spread),
        direction,
        conclusive,
        "",
    )
    return Verdict(**{**verdict.__dict__, "sentence": _sentence(verdict, Z90 * spread, every_class_twice)})


def _mean_by_row(values: FloatArray, held_out: HeldOut) -> FloatArray:
    _, place, count = np.unique(held_out.rows, return_inverse=True, return_counts=True)
    return np.asarray(np.bincount(place, values) / count)


def _direction(used: str, gain: FloatArray, brier_gain: FloatArray, every_class_twice: bool) -> int:
    if used == "none":
        return 0
    total = float(gain.sum())
    if not every_class_twice:
        return 1
    if total == 0.0:
        total = float(brier_gain.sum())
    return 1 if total >= 0.0 else -1


def _sentence(verdict: Verdict, half_width: float, every_class_twice: bool) -> str:
    rows = f"the {verdict.n_unlabeled:,} unlabeled rows"
    if verdict.used == "none":
        return f"The {verdict.n_unlabeled:,} unlabeled rows did not help; they were given weight 0."
    change = "raised" if verdict.difference > 0.0 else "lowered"
    figures = f"from {verdict.accuracy_labeled:.2f} to {verdict.accuracy:.2f} (± {half_width:.2f})"
    how = "" if verdict.used == "full" else ", which were used for the overall distribution of the columns only,"
    if verdict.conclusive:
        return (
            f"Using {rows}{how} {change} accuracy {figures}, by repeated cross-validation on "
            f"{verdict.n_labeled:,} labeled rows."
        )
    if not every_class_twice:
        return (
            f"Too few labels to tell: some class has a single labeled row. {rows.capitalize()} were used, because with "
            "so few labels they usually help. Label at least 2 rows per class."
        )
    return (
        f"Too few labels to tell ({verdict.n_labeled:,} labeled rows: accuracy {verdict.accuracy_labeled:.2f} without "
        f"and {verdict.accuracy:.2f} with {rows}, ± {half_width:.2f}); they were used{how.rstrip(',')}, because the "
        "held-out probabilities were better."
    )
