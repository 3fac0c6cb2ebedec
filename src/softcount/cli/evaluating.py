"""The job behind ``softcount evaluate``: predict a table piece by piece, and compare with its labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from softcount.cli.console import Progress
from softcount.cli.outcomes import DataError, UsageError
from softcount.cli.training import labels_of
from softcount.cli.wording import did_you_mean
from softcount.estimators.table.answers import answers_of
from softcount.estimators.table.evaluation import evaluate
from softcount.report.build import Origin, report_evaluation, row_picker
from softcount.report.data import LIMITS, Report
from softcount.report.picks import merge_rows
from softcount.report.quality import describe_quality

if TYPE_CHECKING:
    from softcount.cli.readers import Source
    from softcount.estimators.table import TableClassifier

__all__ = ["evaluate_source"]


def evaluate_source(classifier: TableClassifier, source: Source, origin: Origin, progress: Progress) -> Report:
    """Compare predictions with the labels of a table, which is read in pieces.

    Parameters
    ----------
    classifier : TableClassifier
    source : Source
    origin : Origin
        Names the column of labels.
    progress : Progress
    """
    names, label, picker = [str(name) for name in classifier.classes_], origin.label, row_picker(classifier)
    code_of = {name: code for code, name in enumerate(names)}
    before, after, least_sure, suspects = [], [], [], []
    codes: list[int] = []
    n_rows = 0
    strangers: dict[str, str] = {}
    for piece in source.pieces():
        if label not in piece.columns:
            raise UsageError(
                f"{source.path}: there is no column {label!r}{did_you_mean(label, piece.columns)} Say which column "
                "holds the labels with --label."
            )
        labels = labels_of(piece, label, classifier.treatment_.missing_marks)
        n_rows += len(labels)
        for row, name in enumerate(labels):
            if name is not None and name not in code_of:
                strangers.setdefault(name, piece.where(row))
        rows = [row for row, name in enumerate(labels) if name in code_of]
        if rows:
            part, known = piece.take(rows), [code_of[str(labels[row])] for row in rows]
            posterior = classifier.predict_proba(part)
            answers = answers_of(posterior, np.arange(len(rows)), np.array(known, dtype=np.int32))
            least_sure.append(picker.least_sure(part, answers))
            suspects.append(picker.suspects(part, answers, len(rows)))
            after.append(posterior)
            before.append(classifier.predict_uncalibrated(part))
            codes.extend(known)
        progress.read(source.done(), source.size)
    if strangers:
        name, place = next(iter(strangers.items()))
        raise DataError(
            f"{source.path}: {place} has the label {name!r}, which the model does not know; its classes are "
            f"{', '.join(names)}. Correct the labels, or empty the cells that are not to be counted."
        )
    if not codes:
        raise DataError(f"{source.path}: no row has a label in column {label!r}.")
    known_codes, every = np.array(codes, dtype=np.int32), np.arange(len(codes))
    calibrated = np.concatenate(after)
    found = evaluate(np.concatenate(before), calibrated, known_codes, every)
    kind = "none" if classifier.calibration_ is None else classifier.calibration_.kind
    answers = answers_of(calibrated, every, known_codes)
    quality = describe_quality(found, names, how="of this table", calibration=kind, answers=answers)
    return report_evaluation(
        classifier,
        found,
        quality,
        origin,
        n_rows=n_rows,
        least_sure=merge_rows(least_sure, LIMITS.least_sure, lambda row: row.probability - row.second_probability),
        suspects=merge_rows(suspects, LIMITS.suspects, lambda row: row.label_probability or 0.0),
    )
