"""``softcount predict``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softcount.cli.console import Console
from softcount.cli.options import data_options
from softcount.cli.outcomes import DataError, ExitCode, UsageError

if TYPE_CHECKING:
    from softcount.estimators.table import TableClassifier
    from softcount.inputs.raw_table import RawTable

__all__ = ["command"]


@click.command("predict", short_help="Label the rows of another table.")
@click.argument("model")
@click.argument("data")
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to; - is standard output. [default: -]")
@click.option("--to", type=click.Choice(["csv", "jsonl", "parquet"]), help="Format of the output. [default: told from "
              "its name, CSV on standard output]")  # fmt: skip
@click.option("--probabilities", is_flag=True, help="One more column with the probability of each class.")
@click.option("--only-answers", is_flag=True, help="Leave out the columns of DATA.")
@click.option("--raw", is_flag=True, help="Write CSV cells as they are, even those a spreadsheet takes for formulas.")
@data_options
@click.option("--jobs", type=click.IntRange(1), help="Threads. [default: all cores]")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors on standard error.")
def command(model: str, data: str, **options: Any) -> int:
    """Write DATA with the prediction of MODEL and its probability for every row.

    DATA is read and written in pieces, so it may be larger than memory. A row whose columns say nothing gets the
    commonest class.
    """
    from softcount.cli.export import atomic_output, output_format, table_writer
    from softcount.cli.models import load_table_classifier
    from softcount.cli.readers import open_source

    console = Console(quiet=options["quiet"])
    output = options["output"]
    kind = output_format(output, options["to"])
    inputs = [Path(path).resolve() for path in (model, data) if path != "-"]
    if output != "-" and Path(output).resolve() in inputs:
        raise UsageError(f"{output}: the output would replace an input; give another name with -o.")
    classifier = load_table_classifier(model)
    classifier.n_jobs = options["jobs"]
    delimiter = "\t" if options["delimiter"] in ("\\t", "tab") else options["delimiter"]
    source = open_source(data, options["kind"], delimiter=delimiter, encoding=options["encoding"])
    n_rows = 0
    with console.progress(f"predicting {data}") as progress, atomic_output(output) as file:
        writer = table_writer(file, kind, raw=options["raw"])
        for piece in source.pieces():
            # An empty piece still names the columns, which a file without rows is written with.
            if piece.n_rows == 0 and n_rows:
                continue
            answers = _answers(classifier, piece, probabilities=options["probabilities"])
            writer.write({**answers} if options["only_answers"] else _beside(piece, answers))
            n_rows += piece.n_rows
            progress.read(source.done(), source.size)
        if n_rows == 0:
            raise DataError(f"{data}: there are no rows to predict.")
        writer.close()
    if output != "-":
        console.note(f"{n_rows:,} predictions written to {output}")
    return ExitCode.OK


def _answers(classifier: TableClassifier, piece: RawTable, *, probabilities: bool) -> dict[str, list[Any]]:
    names = [str(name) for name in classifier.classes_]
    if piece.n_rows == 0:
        posterior: list[list[float]] = []
    else:
        posterior = classifier.predict_proba(piece).tolist()
    best = [max(range(len(names)), key=row.__getitem__) for row in posterior]
    answers: dict[str, list[Any]] = {
        "prediction": [names[k] for k in best],
        "probability": [round(row[k], 6) for row, k in zip(posterior, best, strict=True)],
    }
    if probabilities:
        for k, name in enumerate(names):
            answers[f"probability of {name}"] = [round(row[k], 6) for row in posterior]
    return answers


def _beside(piece: RawTable, answers: dict[str, list[Any]]) -> dict[str, Any]:
    """The table's columns and the answers; an answer whose name is taken gets another."""
    columns: dict[str, Any] = dict(piece.columns)
    for name, cells in answers.items():
        free = name
        while free in columns:
            free += "_"
        columns[free] = cells
    return columns
