"""The job behind ``softcount evaluate``: predict a table piece by piece, and compare with its labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from softcount.cli.console import Progress
from softcount.cli.outcomes import DataError, UsageError
from softcount.cli.streaming import worked_out
from softcount.cli.training import labels_of
from softcount.cli.wording import did_you_mean
from softcount.estimators.table.answers import answers_of
from softcount.estimators.table.evaluation import evaluate
from softcount.report.build import Origin, report_evaluation, row_picker
from softcount.report.data import LIMITS, Report, Rows
from softcount.report.picks import merge_rows
from softcount.report.quality import describe_quality

if TYPE_CHECKING:
    from softcount._types import CodesArray, FloatArray
    from softcount.cli.readers import Source
    from softcount.estimators.table import TableClassifier
    from softcount.inputs.raw_table import RawTable
    from softcount.report.picks import RowPicker

__all__ = ["evaluate_source"]


@dataclass(frozen=True)
class _Judged:
    """What a piece of a table says: rows in all, and of those with a label what was predicted.

    Attributes
    ----------
    n_rows : int
    stranger : tuple of str or None
        A label that the model does not know, and where it is.
    codes, before, after : array
        Labels, and probabilities without and with calibration.
    least_sure, suspects : Rows or None
        Rows to show; None where no row has a label.
    """

    n_rows: int
    stranger: tuple[str, str] | None
    codes: CodesArray
    before: FloatArray
    after: FloatArray
    least_sure: Rows | None
    suspects: Rows | None


def _judge(piece: RawTable, classifier: TableClassifier, picker: RowPicker, label: str, path: str) -> _Judged | None:
    """Predict the rows with a label; None where there are none."""
    if label not in piece.columns:
        raise UsageError(
            f"{path}: there is no column {label!r}{did_you_mean(label, piece.columns)} Say which column "
            "holds the labels with --label."
        )
    if piece.n_rows == 0:
        return None
    code_of = {str(name): code for code, name in enumerate(classifier.classes_)}
    labels = labels_of(piece, label, classifier.treatment_.missing_marks)
    strangers = [(name, row) for row, name in enumerate(labels) if name is not None and name not in code_of]
    stranger = (str(strangers[0][0]), piece.where(strangers[0][1])) if strangers else None
    rows = [row for row, name in enumerate(labels) if name in code_of]
    if not rows:
        nothing = np.empty((0, len(code_of)))
        return _Judged(len(labels), stranger, np.empty(0, dtype=np.int32), nothing, nothing, None, None)
    part, codes = piece.take(rows), np.array([code_of[str(labels[row])] for row in rows], dtype=np.int32)
    after = classifier.predict_proba(part)
    answers = answers_of(after, np.arange(len(rows)), codes)
    return _Judged(
        len(labels),
        stranger,
        codes,
        classifier.predict_uncalibrated(part),
        after,
        picker.least_sure(part, answers),
        picker.suspects(part, answers, len(rows)),
    )


def evaluate_source(
    classifier: TableClassifier, source: Source, origin: Origin, progress: Progress, *, dask: bool = False
) -> Report:
    """Compare predictions with the labels of a table, which is read in pieces.

    Parameters
    ----------
    classifier : TableClassifier
    source : Source
    origin : Origin
        Names the column of labels.
    progress : Progress
    dask : bool
        Whether the workers of the Dask client in use read and predict.
    """
    names, label, picker = [str(name) for name in classifier.classes_], origin.label, row_picker(classifier)
    pieces = worked_out(source, _judge, progress, classifier, picker, label, source.path, dask=dask)
    judged = [piece for piece in pieces if piece is not None]
    for piece in judged:
        if piece.stranger is not None:
            name, place = piece.stranger
            raise DataError(
                f"{source.path}: {place} has the label {name!r}, which the model does not know; its classes are "
                f"{', '.join(names)}. Correct the labels, or empty the cells that are not to be counted."
            )
    if not any(piece.codes.size for piece in judged):
        raise DataError(f"{source.path}: no row has a label in column {label!r}.")
    known_codes = np.concatenate([piece.codes for piece in judged])
    every = np.arange(known_codes.size)
    calibrated = np.concatenate([piece.after for piece in judged])
    found = evaluate(np.concatenate([piece.before for piece in judged]), calibrated, known_codes, every)
    kind = "none" if classifier.calibration_ is None else classifier.calibration_.kind
    answers = answers_of(calibrated, every, known_codes)
    quality = describe_quality(found, names, how="of this table", calibration=kind, answers=answers)
    return report_evaluation(
        classifier,
        found,
        quality,
        origin,
        n_rows=sum(piece.n_rows for piece in judged),
        least_sure=merge_rows(
            [piece.least_sure for piece in judged if piece.least_sure is not None],
            LIMITS.least_sure,
            lambda row: row.probability - row.second_probability,
        ),
        suspects=merge_rows(
            [piece.suspects for piece in judged if piece.suspects is not None],
            LIMITS.suspects,
            lambda row: row.label_probability or 0.0,
        ),
    )
