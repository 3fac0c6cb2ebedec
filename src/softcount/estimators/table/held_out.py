"""What was said of labeled rows while they were held out."""

from __future__ import annotations

from softcount._types import IntArray
from softcount.core.calibration import Calibration
from softcount.core.crossfit import HeldOut
from softcount.estimators.table.answers import Answers, answers_of
from softcount.estimators.table.evaluation import Evaluation, evaluate

__all__ = ["held_out_answers"]


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
    after = before if calibration is None else calibration.apply(held.log_posterior[name], held.length)
    rows = held.rows if known is None else known[held.rows]
    return evaluate(before, after, held.codes, rows, held.weight), answers_of(after, rows, held.codes, held.weight)
