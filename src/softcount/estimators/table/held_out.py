"""What was said of labeled rows while they were held out."""

from __future__ import annotations

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.core.calibration import Calibration, fit_isotonic
from softcount.core.crossfit import HeldOut
from softcount.estimators.table.answers import Answers, answers_of
from softcount.estimators.table.evaluation import Evaluation, evaluate

__all__ = ["held_out_answers"]

#: Parts of the rows whose isotonic maps are fitted to the other parts, for the evaluation only.
PARTS = 5


def held_out_answers(
    held: HeldOut | None, name: str, calibration: Calibration | None, known: IntArray | None
) -> tuple[Evaluation | None, Answers | None]:
    """How good the cross-fitted answers are, and the answers, as rows of the table.

    Parameters
    ----------
    held : HeldOut or None
    name : str
        The candidate they are of.
    calibration : Calibration or None
    known : array of int or None
        The rows with a label; None where the table is not in memory.
    """
    if held is None or len(held) == 0:
        return None, None
    before = held.cooled(name, 0.0)
    after = before if calibration is None else _calibrated(held, name, calibration)
    rows = held.rows if known is None else known[held.rows]
    return evaluate(before, after, held.codes, rows, held.weight), answers_of(after, rows, held.codes, held.weight)


def _calibrated(held: HeldOut, name: str, calibration: Calibration) -> FloatArray:
    """Calibrated posteriors; those of isotonic maps, which can follow every row, from maps the row had no part in."""
    scores = held.log_posterior[name]
    after = calibration.apply(scores, held.length)
    if calibration.kind != "isotonic":
        # One number is hardly flattered by the rows it was found on.
        return after
    rows, place = np.unique(held.rows, return_inverse=True)
    part = np.random.default_rng(0).permutation(rows.size)[place] % PARTS
    for number in range(PARTS):
        own, others = np.flatnonzero(part == number), np.flatnonzero(part != number)
        if own.size and others.size:
            maps = fit_isotonic(
                scores[others], held.length[others], held.codes[others], calibration.correlation, held.weight[others]
            )
            mapped = Calibration("isotonic", calibration.correlation, maps)
            after[own] = mapped.apply(scores[own], held.length[own])
    return after
