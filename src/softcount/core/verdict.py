"""Whether the unlabeled rows helped: cross-validated accuracy and log-loss with and without them, in a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from softcount._types import FloatArray
from softcount.core.crossfit import HeldOut, brier, hits, log_loss

__all__ = ["Verdict", "interrupted_verdict", "no_evidence", "paired_interval", "weigh_up"]

#: Two-sided 90 % of a normal distribution.
Z90 = 1.6448536269514722
#: An interval no wider than this to either side is not a matter of too few labels.
NARROW = 0.03


@dataclass(frozen=True)
class Verdict:
    """What the rows without a label were worth, judged by cross-validation on the labeled rows.

    Attributes
    ----------
    n_labeled, n_unlabeled : int
    used : {"none", "marginals", "full"}
        How the unlabeled rows were used: not at all, for the columns' overall distributions, or by EM.
    accuracy_labeled, accuracy : float
        Accuracy of the labeled rows alone, and with the unlabeled rows: of the fit that was kept, or, where they were
        given weight 0, of EM. NaN where no row could be held out.
    log_loss_labeled, log_loss : float
        Their log-loss, with calibrated probabilities.
    difference : float
        Gain in accuracy; shrunk a little towards zero, as one win and one loss more would.
    interval : tuple of float
        90 % interval of the difference.
    direction : int
        1 if the unlabeled rows seem to help, -1 if they seem to hurt, 0 if they were not used.
    conclusive : bool
        Whether the interval leaves out zero, with every class held out.
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


def _unknown(used: str, n_labeled: int, n_unlabeled: int, sentence: str) -> Verdict:
    nan = math.nan
    return Verdict(n_labeled, n_unlabeled, used, nan, nan, nan, nan, nan, (nan, nan), 1, False, sentence)


def no_evidence(used: str, n_labeled: int, n_unlabeled: int) -> Verdict:
    """The verdict where no labeled row could be held out."""
    sentence = (
        f"Too few labels to tell ({_rows(n_labeled)} of known class, none of which could be held out): "
        f"{_were(_open_rows(n_unlabeled))} used, because with so few labels they usually help. Label at least 2 "
        "rows per class."
    )
    return _unknown(used, n_labeled, n_unlabeled, sentence)


def interrupted_verdict(used: str, n_labeled: int, n_unlabeled: int) -> Verdict:
    """The verdict where Ctrl-C ended the fit before its comparison with the labeled rows alone."""
    sentence = (
        f"Interrupted before it was known whether the {n_unlabeled:,} unlabeled rows help: they were used{_how(used)}. "
        "The probabilities are not calibrated."
    )
    return _unknown(used, n_labeled, n_unlabeled, sentence)


def paired_interval(gain: FloatArray, weight: FloatArray) -> tuple[float, float]:
    r"""Mean difference of paired hits, and its standard error, as if one more row had won and one had lost.

    With :math:`d_i` the difference of row i, :math:`w_i` its weight and :math:`n = \sum_i w_i`,

    .. math:: m = \frac{\sum_i w_i d_i}{n + 2}, \qquad
       s^2 = \frac{1}{n + 2}\left(\frac{\sum_i w_i d_i^2 + 1}{n + 2} - m^2\right)

    (Agresti and Min's interval for paired proportions, 2005).

    Parameters
    ----------
    gain : array of shape (n_rows,)
        Differences between -1 and 1.
    weight : array of shape (n_rows,)
    """
    n = float(weight.sum()) + 2.0
    middle = float(weight @ gain) / n
    variance = (float(weight @ gain**2) + 1.0) / n - middle**2
    return middle, math.sqrt(max(variance, 0.0) / n)


def weigh_up(
    held_out: HeldOut,
    cooling: dict[str, float],
    used: str,
    *,
    n_labeled: int,
    n_unlabeled: int,
    every_class_twice: bool,
) -> Verdict:
    """Compare the fit that was kept with the labeled rows alone, paired by held-out row.

    Parameters
    ----------
    held_out : HeldOut
    cooling : dict of candidate -> float
        What each candidate's posteriors are cooled by.
    used : str
        The candidate that was kept.
    n_labeled, n_unlabeled : int
    every_class_twice : bool
        Whether every class could be held out.
    """
    codes, weight = held_out.codes, held_out.weight
    other = "full" if used == "none" else used

    def mean(values: FloatArray) -> float:
        return float(weight @ values) / float(weight.sum())

    hit = {name: hits(held_out.log_posterior[name], codes) for name in ("none", other)}
    calm = {name: held_out.cooled(name, cooling[name]) for name in ("none", other)}
    gain, row_weight = held_out.by_row(hit[other] - hit["none"])
    middle, error = paired_interval(gain, row_weight)
    brier_gain = mean(brier(calm["none"], codes) - brier(calm[other], codes))
    verdict = Verdict(
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        used=used,
        accuracy_labeled=mean(hit["none"]),
        accuracy=mean(hit[other]),
        log_loss_labeled=mean(log_loss(calm["none"], codes)),
        log_loss=mean(log_loss(calm[other], codes)),
        difference=middle,
        interval=(middle - Z90 * error, middle + Z90 * error),
        direction=_direction(used, float(row_weight @ gain), brier_gain, every_class_twice),
        conclusive=every_class_twice and abs(middle) > Z90 * error,
        sentence="",
    )
    return replace(verdict, sentence=_sentence(verdict, Z90 * error, every_class_twice))


def _direction(used: str, gain: float, brier_gain: float, every_class_twice: bool) -> int:
    if used == "none":
        return 0
    if not every_class_twice:
        return 1
    return 1 if (gain or brier_gain) >= 0.0 else -1


def _sentence(verdict: Verdict, half_width: float, every_class_twice: bool) -> str:
    if verdict.used == "none":
        return _not_used(verdict, half_width)
    rows, how = _open_rows(verdict.n_unlabeled), _how(verdict.used)
    if verdict.conclusive:
        change = "raised" if verdict.difference > 0.0 else "lowered"
        return (
            f"Using {rows}{how} {change} accuracy from {verdict.accuracy_labeled:.2f} to {verdict.accuracy:.2f} "
            f"(± {half_width:.2f}), by repeated cross-validation on {_rows(verdict.n_labeled)}."
        )
    if not every_class_twice:
        return (
            f"Too few labels to tell: some class has a single labeled row. {_were(rows).capitalize()} used{how}, "
            "because with so few labels they usually help. Label at least 2 rows per class."
        )
    figures = f"accuracy {verdict.accuracy_labeled:.2f} without and {verdict.accuracy:.2f} with {rows}"
    reason = f"{_them(verdict)} used{how}, because the held-out probabilities were better"
    if half_width <= NARROW:
        return f"Little difference: {figures} (± {half_width:.2f}); {reason}."
    return f"Too few labels to tell ({_rows(verdict.n_labeled)}: {figures}, ± {half_width:.2f}); {reason}."


def _how(used: str) -> str:
    return "" if used == "full" else " for the columns' overall distributions only"


def _not_used(verdict: Verdict, half_width: float) -> str:
    without, with_em = f"{verdict.accuracy_labeled:.2f}", f"{verdict.accuracy:.2f}"
    rows, weight = _open_rows(verdict.n_unlabeled), f"{_them(verdict)} given weight 0"
    if verdict.accuracy <= verdict.accuracy_labeled or with_em == without:
        figures = f"accuracy {without} without and {with_em} with EM over them, ± {half_width:.2f}"
        return f"{rows.capitalize()} did not help ({figures}); {weight}."
    # More hits but no better probabilities: nobody would call that no help.
    figures = f"accuracy {without} without and {with_em} with EM over {rows}"
    reason = f"{weight}, because the held-out probabilities were not better"
    if verdict.conclusive or half_width <= NARROW:
        return f"Held-out {figures} (± {half_width:.2f}); {reason}."
    return f"Too few labels to tell ({_rows(verdict.n_labeled)}: {figures}, ± {half_width:.2f}); {reason}."


def _open_rows(n: int) -> str:
    return f"the {n:,} unlabeled row{'' if n == 1 else 's'}"


def _were(rows: str) -> str:
    return f"{rows} {'were' if rows.endswith('s') else 'was'}"


def _them(verdict: Verdict) -> str:
    return "it was" if verdict.n_unlabeled == 1 else "they were"


def _rows(n: int) -> str:
    return f"{n:,} labeled row{'' if n == 1 else 's'}"
