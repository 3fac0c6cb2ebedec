"""How good the answers are: accuracy, confusion and calibration with intervals, class by class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from softcount._types import FloatArray
from softcount.estimators.table.answers import Answers, Sureness
from softcount.estimators.table.evaluation import Evaluation, Reliability, wilson_interval
from softcount.report.data import LIMITS, Bin, Class, Confusion, Level, Quality
from softcount.report.wording import shown

__all__ = ["describe_classes", "describe_quality"]


def describe_quality(
    found: Evaluation, names: Sequence[str], *, how: str, calibration: str = "none", answers: Answers | None = None
) -> Quality:
    """An evaluation for a report.

    Parameters
    ----------
    found : Evaluation
    names : sequence of str
        The classes.
    how : str
        Where the answers come from, as in :class:`~softcount.report.data.Quality`.
    calibration : str
        How the probabilities were calibrated.
    answers : Answers, optional
        The answers row by row.
    """
    short = [shown(name, LIMITS.name) for name in names]
    fits = len(short) <= LIMITS.matrix
    mistakes = found.confusion.copy()
    np.fill_diagonal(mistakes, 0.0)
    pairs = np.argsort(-mistakes, axis=None, kind="stable")[: LIMITS.confusions]
    commonest = int(found.confusion.sum(axis=1).argmax())
    return Quality(
        how=how,
        n_rows=found.n_rows,
        accuracy=found.accuracy,
        accuracy_interval=found.interval,
        commonest_class=short[commonest],
        accuracy_of_commonest_class=found.baseline,
        log_loss=found.log_loss,
        log_loss_before_calibration=found.log_loss_before,
        calibration=calibration,
        calibration_error=found.after.error,
        calibration_error_before=found.before.error,
        reliability=_bins(found.after),
        reliability_before=_bins(found.before),
        levels=tuple(_level(sure) for sure in (answers.sureness if answers is not None else ())),
        confusion=tuple(tuple(row) for row in found.confusion.tolist()) if fits else None,
        confusions=tuple(
            Confusion(short[i], short[j], float(mistakes[i, j]))
            for i, j in (divmod(int(pair), len(short)) for pair in pairs)
            if mistakes[i, j] > 0.0
        ),
        n_confusions=int((mistakes > 0.0).sum()),
    )


def describe_classes(
    names: Sequence[str],
    labels: Mapping[str, int],
    found: Evaluation | None,
    share_of_unlabeled: FloatArray | None = None,
) -> tuple[Class, ...]:
    """Every class: its labels, and how well it is told from the others.

    Parameters
    ----------
    names : sequence of str
    labels : mapping of str to int
        Labeled rows by class.
    found : Evaluation, optional
    share_of_unlabeled : array of shape (n_classes,), optional
        Shares of the classes among predictions for rows without a label.
    """
    described = []
    for k, name in enumerate(names[: LIMITS.classes]):
        share = None if share_of_unlabeled is None else float(share_of_unlabeled[k])
        about = Class(shown(name, LIMITS.name), labels.get(name, 0), share_of_unlabeled=share)
        if found is not None:
            hits, held = float(found.confusion[k, k]), float(found.confusion[k].sum())
            said = float(found.confusion[:, k].sum())
            recall, recall_interval = _share(hits, held)
            precision, precision_interval = _share(hits, said)
            about = Class(
                about.name, about.n_labels, held, recall, recall_interval, precision, precision_interval, share
            )
        described.append(about)
    return tuple(described)


def _share(part: float, whole: float) -> tuple[float | None, tuple[float, float] | None]:
    """A proportion and its interval; None of nothing."""
    if whole <= 0.0:
        return None, None
    # Rows that were held out several times count once, so that the number of rows is whole up to rounding.
    return part / whole, wilson_interval(part / whole, max(1, round(whole)))


def _bins(reliability: Reliability) -> tuple[Bin, ...]:
    columns = zip(reliability.stated.tolist(), reliability.observed.tolist(), reliability.weight.tolist(), strict=True)
    return tuple(Bin(s, o, wilson_interval(o, max(1, round(w))), w) for s, o, w in columns if w > 0.0)


def _level(sure: Sureness) -> Level:
    if math.isnan(sure.accuracy):
        return Level(sure.at_least, sure.share, sure.n_rows, None, None)
    interval = wilson_interval(sure.accuracy, max(1, round(sure.n_rows)))
    return Level(sure.at_least, sure.share, sure.n_rows, sure.accuracy, interval)
