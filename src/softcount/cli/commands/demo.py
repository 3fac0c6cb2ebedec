"""``softcount demo``."""

from __future__ import annotations

import csv
import io
from importlib import resources
from pathlib import Path

import click

from softcount.cli.console import Console
from softcount.cli.outcomes import ExitCode

__all__ = ["command"]

N_TEST = 250
N_LABELED = 60


@click.command("demo", short_help="Do the whole job on embedded messages.")
@click.option("--folder", default="softcount-demo", show_default=True, help="Where the files of the demo go.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors on standard error.")
@click.pass_context
def command(context: click.Context, folder: str, *, quiet: bool) -> int:
    """Learn to tell unwanted messages from wanted ones, from 60 labels and about 500 messages without one.

    Writes messages.csv and new.csv, trains on the first (which writes a report), and evaluates and predicts the second.
    """
    from softcount.cli.commands import evaluate, predict, train
    from softcount.cli.export import atomic_output
    from softcount.cli.wording import command_line

    console = Console(quiet=quiet)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    # The data alone: the package around it stands above the command line.
    embedded = (resources.files("softcount") / "demo" / "messages.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(embedded)))
    texts, labels = [row["text"] for row in rows], [row["label"] for row in rows]
    known = [label if i < N_LABELED else "" for i, label in enumerate(labels[:-N_TEST])]
    tables = {"messages.csv": (known, texts[:-N_TEST]), "new.csv": (labels[-N_TEST:], texts[-N_TEST:])}
    paths = {name: str(place / name) for name in (*tables, "messages.softcount", "predictions.csv")}
    for name, (column, messages) in tables.items():
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([("label", "text"), *zip(column, messages, strict=True)])
        with atomic_output(paths[name]) as file:
            file.write(text.getvalue().encode())
    quietly = ["--quiet"] if quiet else []
    steps: list[tuple[click.Command, list[str]]] = [
        (train.command, ["train", paths["messages.csv"], "--label", "label", "-o", paths["messages.softcount"]]),
        (evaluate.command, ["evaluate", paths["messages.softcount"], paths["new.csv"]]),
        (predict.command, ["predict", paths["messages.softcount"], paths["new.csv"], "-o", paths["predictions.csv"]]),
    ]
    for step, (name, *arguments) in steps:
        console.note()
        console.heading(f"$ {command_line('softcount', name, *arguments)}")
        typed = [name, *arguments]
        with step.make_context(name, arguments + quietly, parent=context, obj=typed) as inner:
            step.invoke(inner)
    console.note()
    console.line(f"Predictions: {paths['predictions.csv']}")
    report = place / "messages.report.html"
    if report.exists():
        console.line(f"Report: {report}")
    console.line(f"Model: {paths['messages.softcount']}")
    return ExitCode.OK
