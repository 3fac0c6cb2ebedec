"""``softcount evaluate``."""

from __future__ import annotations

from typing import Any

import click

from softcount.cli.console import Console
from softcount.cli.options import data_options, output_options, tab
from softcount.cli.outcomes import DataError, ExitCode, UsageError

__all__ = ["command"]

SCHEMA = "softcount.evaluate/1"


@click.command("evaluate", short_help="Compare predictions with known labels.")
@click.argument("model")
@click.argument("data")
@click.option("-l", "--label", metavar="COLUMN", help="The column with the labels. [default: as in training]")
@data_options
@output_options
def command(model: str, data: str, **options: Any) -> int:
    """Say how often MODEL is right about the labeled rows of DATA, and how far its probabilities can be trusted.

    DATA should not be the table the model was trained with: that would flatter it.
    """
    import numpy as np

    from softcount.cli import presenting
    from softcount.cli.models import load_table_classifier, origin_of
    from softcount.cli.readers import open_source
    from softcount.cli.training import labels_of
    from softcount.cli.wording import did_you_mean
    from softcount.estimators.table.evaluation import evaluate

    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    classifier = load_table_classifier(model)
    names = [str(name) for name in classifier.classes_]
    label = options["label"] or origin_of(classifier)[0]
    if label is None:
        raise UsageError("The model does not say which column holds the labels; give it with --label.")
    source = open_source(data, options["kind"], delimiter=tab(options["delimiter"]), encoding=options["encoding"])
    before, after = [], []
    codes: list[int] = []
    n_unlabeled = 0
    strangers: dict[str, str] = {}
    with console.progress(f"evaluating {data}") as progress:
        for piece in source.pieces():
            if label not in piece.columns:
                raise UsageError(
                    f"{data}: there is no column {label!r}{did_you_mean(label, piece.columns)} Say which column "
                    "holds the labels with --label."
                )
            labels = labels_of(piece, label, classifier.treatment_.missing_marks)
            n_unlabeled += labels.count(None)
            for row, name in enumerate(labels):
                if name is not None and name not in names:
                    strangers.setdefault(name, piece.where(row))
            rows = [row for row, name in enumerate(labels) if name in names]
            if rows:
                part = piece.take(rows)
                after.append(classifier.predict_proba(part))
                before.append(classifier.predict_uncalibrated(part))
                codes.extend(names.index(str(labels[row])) for row in rows)
            progress.read(source.done(), source.size)
    if strangers:
        name, place = next(iter(strangers.items()))
        raise DataError(
            f"{data}: {place} has the label {name!r}, which the model does not know; its classes are "
            f"{', '.join(names)}. Correct the labels, or empty the cells that are not to be counted."
        )
    if not codes:
        raise DataError(f"{data}: no row has a label in column {label!r}.")
    known = np.array(codes, dtype=np.int32)
    found = evaluate(np.concatenate(before), np.concatenate(after), known, np.arange(known.size))
    content = presenting.evaluation_content(found, names)
    console.document(SCHEMA, {"model": model, "data": data, "n_without_label": n_unlabeled, "evaluation": content})
    for line in [*presenting.evaluation_lines(found, "of this table"), "", *presenting.confusion_lines(found, names)]:
        console.line(line)
    if n_unlabeled:
        console.note(f"{n_unlabeled:,} rows without a label were passed over.")
    return ExitCode.OK
