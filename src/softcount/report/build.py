"""From a fitted classifier of tables and its answers to a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
import sklearn

import softcount
from softcount._types import FloatArray, IntArray
from softcount.report.checks import data_warnings, describe_columns, missing_shares
from softcount.report.data import LIMITS, ClassEvidence, Feature, Quality, Report, Rows, Unlabeled
from softcount.report.picks import RowPicker, pick_next
from softcount.report.quality import describe_classes, describe_quality
from softcount.report.verdict import give_verdict
from softcount.report.wording import shown

if TYPE_CHECKING:
    from softcount.estimators.table import TableClassifier
    from softcount.estimators.table.evaluation import Evaluation
    from softcount.inputs.raw_table import RawTable

__all__ = ["Origin", "report_evaluation", "report_training", "row_picker"]


@dataclass(frozen=True)
class Origin:
    """Where a report comes from.

    Attributes
    ----------
    command : str
        What was typed.
    data : sequence of str
        The files.
    label : str
        The column of labels.
    model, sha256 : str
        The model file and its fingerprint.
    """

    command: str
    data: Sequence[str]
    label: str
    model: str
    sha256: str = ""


def report_training(
    model: TableClassifier,
    table: RawTable,
    labels: Sequence[str | None],
    origin: Origin,
    *,
    notes: Sequence[str] = (),
    seed: int = 0,
    whole: tuple[int, Mapping[str, int]] | None = None,
) -> Report:
    """What training found.

    Parameters
    ----------
    model : TableClassifier
        Just fitted to the table, so that it still has ``held_out_``.
    table : RawTable
        The training table without the column of labels.
    labels : sequence of str or None
    origin : Origin
    notes : sequence of str
        Warnings of the fit.
    seed : int
        Of the random choice of rows to label next.
    whole : tuple, optional
        Where the table is a part of a larger one: the rows of that, and how often each label occurs in it.
    """
    names = [str(name) for name in model.classes_]
    counts = Counter(label for label in labels if label is not None)
    n_rows = table.n_rows
    if whole is not None:
        n_rows, counts = whole[0], Counter(whole[1])
    top = model.top_features(LIMITS.features)
    picker = row_picker(model, top)
    answers, found = getattr(model, "held_out_", None), model.evaluation_
    unlabeled_rows = np.flatnonzero(np.array([label is None for label in labels], dtype=bool))
    n_labels = [counts.get(name, 0) for name in names]
    following = pick_next(partial(_answered, model, table), table, unlabeled_rows, picker, n_labels=n_labels, seed=seed)
    missing = missing_shares(table, model.treatment_.missing_marks)
    shares = None if following is None else following.shares
    quality = None
    if found is not None:
        calibration = "none" if model.calibration_ is None else model.calibration_.kind
        quality = describe_quality(found, names, how="held out", calibration=calibration, answers=answers)
    n_labeled = sum(counts.values())
    warnings = [
        *notes,
        *data_warnings(table, labels, model.treatment_.roles, missing, shares=shares, names=names),
        *_about_the_columns(len(model.treatment_.roles)),
    ]
    if not model.converged_:
        warnings.insert(0, "The fit has not converged: more iterations would still change it.")
    report = _described(model, origin, "train", quality, top)
    report = replace(
        report,
        n_rows=n_rows,
        n_labeled=n_labeled,
        classes=describe_classes(names, counts, found, shares),
        least_sure=None if answers is None else picker.least_sure(table, answers),
        suspects=None if answers is None else picker.suspects(table, answers, n_labeled),
        next=None if following is None else following.rows,
        unlabeled=_unlabeled(model, n_rows - n_labeled),
        columns=describe_columns(model.treatment_.roles, missing),
        warnings=tuple(shown(text, LIMITS.sentence) for text in warnings[: LIMITS.warnings]),
    )
    return _with_verdict(report)


def _answered(model: TableClassifier, table: RawTable, rows: IntArray) -> FloatArray:
    """Class probabilities of some rows of the table, which was perhaps counted when the model learned from it."""
    counted = getattr(model, "counted_", None)
    return model.predict_proba(table.take(rows.tolist()) if counted is None else counted.take(rows))


def row_picker(model: TableClassifier, top: Mapping[Any, list[tuple[str, float]]] | None = None) -> RowPicker:
    """Shows rows by their texts and the columns that tell the classes apart best; ``top`` is what is known of these."""
    top = model.top_features(LIMITS.features) if top is None else top
    columns = {role.name for role in model.treatment_.roles}
    telling: dict[str, float] = {}
    for features in top.values():
        for feature, score in features:
            column = feature if feature in columns else feature.partition("=")[0]
            if column in columns:
                telling[column] = max(telling.get(column, 0.0), abs(score))
    names = [str(name) for name in model.classes_]
    return RowPicker(names, model.treatment_.roles, sorted(telling, key=lambda name: -telling[name]))


def report_evaluation(
    model: TableClassifier,
    found: Evaluation,
    quality: Quality,
    origin: Origin,
    *,
    n_rows: int,
    least_sure: Rows,
    suspects: Rows,
) -> Report:
    """What an evaluation on another table found.

    Parameters
    ----------
    model : TableClassifier
    found : Evaluation
    quality : Quality
        The same, described.
    origin : Origin
    n_rows : int
        Rows of the table, with a label or without.
    least_sure, suspects : Rows
    """
    names = [str(name) for name in model.classes_]
    counts = {name: round(float(n)) for name, n in zip(names, found.confusion.sum(axis=1), strict=True)}
    n_unlabeled = n_rows - found.n_rows
    warnings = []
    if n_unlabeled:
        warnings.append(f"{n_unlabeled:,} of {n_rows:,} rows have no label and were passed over.")
    absent = [name for name, n in counts.items() if n == 0]
    if absent:
        warnings.append(
            f"{len(absent):,} of {len(names):,} classes do not occur in this table ({shown(', '.join(absent), 200)}), "
            "so nothing is said about them."
        )
    warnings += _about_the_columns(len(model.treatment_.roles))
    report = replace(
        _described(model, origin, "evaluate", quality, model.top_features(LIMITS.features)),
        n_rows=n_rows,
        n_labeled=found.n_rows,
        classes=describe_classes(names, counts, found),
        least_sure=least_sure,
        suspects=suspects,
        columns=describe_columns(model.treatment_.roles, {}),
        warnings=tuple(warnings),
    )
    return _with_verdict(report)


def _described(
    model: TableClassifier,
    origin: Origin,
    job: str,
    quality: Quality | None,
    top: Mapping[Any, list[tuple[str, float]]],
) -> Report:
    """A report with what is known of the model alone."""
    return Report(
        job=job,
        command=shown(origin.command, LIMITS.command),
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        versions=_versions(),
        model=shown(origin.model, LIMITS.name),
        sha256=origin.sha256,
        data=tuple(shown(name, LIMITS.name) for name in origin.data[: LIMITS.columns]),
        label=shown(origin.label, LIMITS.name),
        n_rows=0,
        n_labeled=0,
        n_classes=len(model.classes_),
        classes=(),
        verdict=give_verdict(None, (), None, None, None),
        evaluation=quality,
        evidence=_evidence(top),
        least_sure=None,
        suspects=None,
        next=None,
        unlabeled=None,
        n_columns=len(model.treatment_.roles),
        columns=(),
        warnings=(),
        event_model=model.setting_.event_model,
        alpha=float(model.setting_.alpha),
        converged=bool(model.converged_),
        n_iter=int(model.n_iter_),
    )


def _with_verdict(report: Report) -> Report:
    verdict = give_verdict(
        report.evaluation, report.classes, report.suspects, report.next, report.unlabeled, n_labeled=report.n_labeled
    )
    return replace(report, verdict=verdict)


def _evidence(top: Mapping[Any, list[tuple[str, float]]]) -> tuple[ClassEvidence, ...]:
    return tuple(
        ClassEvidence(
            shown(name, LIMITS.name),
            tuple(Feature(shown(feature, LIMITS.feature), score) for feature, score in features),
        )
        for name, features in list(top.items())[: LIMITS.evidence]
    )


def _unlabeled(model: TableClassifier, n_rows: int) -> Unlabeled | None:
    if n_rows == 0:
        return None
    found = model.unlabeled_verdict_
    if found is None:
        return Unlabeled(n_rows, model.unlabeled_use_, None, None, None, None, None)
    if np.isnan(found.difference):
        return Unlabeled(n_rows, model.unlabeled_use_, found.sentence, None, None, None, None)
    low, high = found.interval
    return Unlabeled(
        n_rows,
        model.unlabeled_use_,
        found.sentence,
        found.accuracy_labeled,
        found.accuracy,
        found.difference,
        (low, high),
    )


def _about_the_columns(n_columns: int) -> list[str]:
    if n_columns <= LIMITS.columns:
        return []
    return [f"There are {n_columns:,} columns; the first {LIMITS.columns:,} are listed."]


def _versions() -> dict[str, str]:
    """Versions of what the answer depends on."""
    import platform

    found = {"softcount": softcount.__version__, "python": platform.python_version()}
    return found | {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__}
