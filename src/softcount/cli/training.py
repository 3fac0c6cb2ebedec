"""The job behind ``softcount train``: read, decide, learn, evaluate, save."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softcount.cli.console import Console, Progress
from softcount.cli.options import match_columns
from softcount.cli.outcomes import DataError, UsageError
from softcount.cli.readers import Source, open_source, read_all
from softcount.cli.settings import TrainSettings
from softcount.cli.wording import command_line, did_you_mean, printable
from softcount.inputs.cells import MISSING_MARKS, find_missing, parse_numbers
from softcount.inputs.raw_table import RawTable

if TYPE_CHECKING:
    from softcount.estimators.table import TableClassifier

__all__ = ["LabeledTable", "fit", "labels_of", "read_labeled", "with_labels"]

#: Names a column of labels usually has.
LABEL_NAMES = ("label", "class", "category", "target", "y")
#: More classes than this are nearly always a wrong choice of column.
MOST_CLASSES = 1_000
#: With as many labels, of which most are different, there are no classes.
FEWEST_TO_JUDGE = 30


_FOLDS = re.compile(r"\bfolds? (\d+)(?: to \d+)? of (\d+)")


@dataclass(frozen=True)
class LabeledTable:
    """A table, its labels (None where missing), and the column they come from."""

    table: RawTable
    labels: list[str | None]
    label_name: str


def read_labeled(
    paths: Sequence[str],
    settings: TrainSettings,
    progress: Progress,
    opened: Callable[[str], Source] = open_source,
) -> LabeledTable:
    """Read all files into one table, and take the labels out of it.

    Parameters
    ----------
    paths : sequence of str
        Several files have the same columns; if they have no column of labels, each is a class named like the file.
    settings : TrainSettings
    progress : Progress
    opened : callable
        Opens a path, as :func:`~softcount.cli.readers.open_source`.
    """
    tables = []
    for path in paths:
        progress.says(f"reading {path}")
        source = opened(path)
        tables.append(read_all(source, progress.read))
    progress.endless()
    if len(tables) == 1:
        return with_labels(tables[0], settings)
    names = list(tables[0].columns)
    for path, table in zip(paths, tables, strict=True):
        if set(table.columns) != set(names):
            raise DataError(f"{path}: has the columns {list(table.columns)}, but {paths[0]} has {names}.")
    columns = {name: [cell for table in tables for cell in table.columns[name]] for name in names}
    joined = RawTable(columns, [place for table in tables for place in table.places], tables[0].unit)
    if settings.label is not None or any(name.lower() in LABEL_NAMES for name in names):
        return with_labels(joined, settings)
    labels = [Path(path).stem for path, table in zip(paths, tables, strict=True) for _ in range(table.n_rows)]
    return LabeledTable(joined, list(labels), "(name of the file)")


def with_labels(table: RawTable, settings: TrainSettings, counted: Counter[str] | None = None) -> LabeledTable:
    """The table without its column of labels, and these.

    Parameters
    ----------
    table : RawTable
    settings : TrainSettings
    counted : Counter, optional
        How often each label occurs, where the table is a part of a larger one.
    """
    names = list(table.columns)
    label = settings.label
    if label is None:
        found = [name for name in names if name.lower() in LABEL_NAMES]
        if len(found) != 1:
            raise UsageError(f"Say which column holds the labels with --label. The columns are {', '.join(names)}.")
        label = found[0]
    if label not in names:
        hint = did_you_mean(label, names)
        raise UsageError(f"There is no column {label!r}{hint} The columns are {', '.join(names)}.")
    marks = MISSING_MARKS | set(settings.missing)
    labels = labels_of(table, label, marks)
    counts = Counter(value for value in labels if value is not None) if counted is None else counted
    if not counts:
        raise DataError(f"No row has a label: column {label!r} is empty. Label at least two rows of each class.")
    if len(counts) == 1:
        raise DataError(
            f"Column {label!r} holds the single class {next(iter(counts))!r}, so there is nothing to tell apart. "
            f"Label at least two rows of another class."
        )
    n_labeled = sum(counts.values())
    if len(counts) > MOST_CLASSES or (n_labeled >= FEWEST_TO_JUDGE and 2 * len(counts) > n_labeled):
        advice = "Name the column that holds classes with --label."
        if not parse_numbers(list(counts), np.zeros(len(counts), dtype=bool), "plain")[1].size:
            command = command_line("softcount", "glm", "DATA", f"{label} ~ ...")
            advice = f"Numbers are predicted from other columns by {command}."
        raise DataError(
            f"Column {label!r} holds {len(counts):,} different values in {n_labeled:,} cells, which are no classes. "
            + advice
        )
    return LabeledTable(table.without(label), labels, label)


def labels_of(table: RawTable, name: str, marks: Any = MISSING_MARKS) -> list[str | None]:
    """Labels as texts, None where missing."""
    cells = table.columns[name]
    missing = find_missing(cells, marks).tolist()
    return [None if lost else _class_name(cell) for cell, lost in zip(cells, missing, strict=True)]


def _class_name(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def tell_step(progress: Progress, text: str) -> None:
    """Show what a fit says of itself; where it counts folds, that tells how long it will take.

    Parameters
    ----------
    progress : Progress
    text : str
        Such as "cross-validation, fold 3 of 10 (6 labeled rows held out)".
    """
    progress.says(text)
    folds = _FOLDS.search(text)
    if folds is None:
        progress.endless()
    else:
        progress.read(int(folds[1]) - 1, int(folds[2]))


def make_classifier(settings: TrainSettings, *, seed: int, n_jobs: int | None) -> TableClassifier:
    """The estimator that the settings describe."""
    from softcount.estimators.table import TableClassifier, TextOptions

    options = TextOptions(
        settings.words,
        settings.characters,
        settings.stop_words,
        settings.min_rows,
        settings.most_words,
        settings.hashed,
    )
    return TableClassifier(
        roles=settings.columns or None,
        text=options,
        event_model=settings.event_model,
        alpha=settings.alpha,
        missing_marks=tuple(sorted(MISSING_MARKS | set(settings.missing))) if settings.missing else None,
        unlabeled_weight=settings.unlabeled,
        calibrate=settings.calibrate,
        random_state=seed,
        n_jobs=n_jobs,
    )


def fit(
    data: LabeledTable,
    settings: TrainSettings,
    console: Console,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    rows: Any = None,
    n_rows: int | None = None,
) -> tuple[TableClassifier, list[str]]:
    """Learn from a table; warnings become notes, which are told and returned beside the model.

    Parameters
    ----------
    data : LabeledTable
    settings : TrainSettings
    console : Console
    seed : int
    n_jobs : int, optional
    rows, n_rows
        What to learn from, and how many rows that has, where the table is but a part of it.
    """
    settings = settings.with_spans(columns=match_columns(settings.columns, data.table.columns))
    for name in settings.columns:
        if name not in data.table.columns:
            hint = " It holds the labels." if name == data.label_name else ""
            known = list(data.table.columns)
            raise UsageError(
                f"A role is given for the column {name!r}, which is not there{did_you_mean(name, known)}{hint}"
            )
    model = make_classifier(settings, seed=seed, n_jobs=n_jobs)
    with warnings.catch_warnings(record=True) as caught, console.progress("learning") as progress:
        warnings.simplefilter("always")
        if rows is None:
            # The report asks about them.
            model.fit(data.table, data.labels, listener=partial(tell_step, progress), keep_rows=True)
        else:
            model.fit(rows, listener=partial(tell_step, progress))
    notes = list(dict.fromkeys(str(warning.message) for warning in caught))
    for message in notes:
        console.note(f"Note: {printable(message)}")
    if model.interrupted_:
        raise KeyboardInterrupt
    model.origin_ = {"label": data.label_name, "n_rows": data.table.n_rows if n_rows is None else n_rows}
    return model, notes
