"""``softcount train``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softcount.cli.console import Console
from softcount.cli.options import (
    checkpoint_options,
    checkpointed,
    dask_option,
    data_options,
    match_columns,
    opener,
    output_options,
    read_roles,
    role_options,
    with_options,
)
from softcount.cli.outcomes import ExitCode, UsageError
from softcount.cli.reporting import report_option

if TYPE_CHECKING:
    from softcount.cli.settings import TrainSettings
    from softcount.cli.streaming import StreamedTable
    from softcount.cli.training import LabeledTable
    from softcount.report.data import Report

__all__ = ["command"]

SHOWN_SUSPECTS = 5
SHOWN_NEXT = 3

_model_options = with_options(
    click.option("--config", metavar="FILE", help="TOML file with any of these settings."),
    role_options,
    click.option("--words", metavar="A-B", help="Count runs of A to B words; none counts no words. [default: 1]"),
    click.option("--characters", metavar="A-B", help="Count runs of A to B characters as well. [default: none]"),
    click.option("--stop-words", metavar="FILE", help="Words to leave out, one per line."),
    click.option("--min-rows", type=click.IntRange(1), help="Count words that occur in as many rows. [default: 1]"),
    click.option("--most-words", type=click.IntRange(1), help="Count the commonest words only."),
    click.option("--hashed", type=click.IntRange(2, 2**24), help="Spread words over as many columns: memory is fixed."),
    click.option("--event-model", type=click.Choice(["auto", "multinomial", "bernoulli"]),
                 help="Count words, or only whether they occur. [default: auto, by cross-validation]"),
    click.option("--alpha", metavar="NUMBER", help="Smoothing. [default: auto, by cross-validation]"),
    click.option("--unlabeled", metavar="WEIGHT",
                 help="Weight of rows without a label; 0 leaves them out. [default: auto, by cross-validation]"),
    click.option("--calibrate", type=click.Choice(["auto", "none", "temperature", "isotonic"]),
                 help="How probabilities are calibrated. [default: auto]"),
    click.option("--missing", metavar="TEXT", multiple=True, help="One more text that means a missing value."),
)  # fmt: skip


@click.command("train", short_help="Learn a model.")
@click.argument("data", nargs=-1, required=True)
@click.option(
    "-l",
    "--label",
    metavar="COLUMN",
    help="The column with the labels; empty cells are rows to be labeled. [default: the one column that is named "
    "label, class, category, target or y]",
)
@click.option("-o", "--output", metavar="FILE", help="The model file. [default: like DATA, ending in .softcount]")
@data_options
@_model_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of random choices.")
@click.option("--jobs", type=click.IntRange(1), help="Threads. [default: all cores]")
@click.option(
    "--in-pieces/--at-once", default=None, help="Read DATA piece by piece, pass after pass. [default: if it is large]"
)
@dask_option
@checkpoint_options
@click.option("--strict", is_flag=True, help="Exit with 4 if the fit has not converged.")
@report_option("like the model, ending in .report.html")
@click.option("--no-report", is_flag=True, help="Write no report.")
@click.option("--dry-run", is_flag=True, help="Say what the columns are taken for, and stop.")
@output_options
@click.pass_context
def command(context: click.Context, /, data: tuple[str, ...], **options: Any) -> int:
    """Learn a model from DATA, of which some rows have a label.

    DATA is a CSV, JSONL or Parquet file, a folder of .txt files (subfolders are labels), an mbox file or a Maildir; "-"
    reads standard input. Rows without a label are used where cross-validation says they help.
    """
    from softcount.cli.export import check_place
    from softcount.cli.models import sha256_of
    from softcount.cli.reporting import command_typed, write_report
    from softcount.cli.streaming import on_dask
    from softcount.cli.training import fit
    from softcount.cli.wording import command_line, printable
    from softcount.report.as_json import content_of
    from softcount.report.build import Origin, report_training

    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    settings, kept = _settings(options), checkpointed(options)
    output = options["output"] or _model_path(data[0])
    check_place(output, data)
    report_path = None if options["dry_run"] else _report_path(options, output, data, console)
    with on_dask(options["dask"]):
        table, streamed = _read(data, settings, options, console)
        if options["dry_run"]:
            return _tell_columns(table, settings, console)
        with kept:
            given = {} if streamed is None else {"rows": streamed.rows, "n_rows": streamed.n_rows}
            model, notes = fit(table, settings, console, seed=options["seed"], n_jobs=options["jobs"], **given)
    with console.progress("looking at the answers"):
        origin = Origin(command_typed(context), data, table.label_name, output)
        whole = None if streamed is None else (streamed.n_rows, streamed.counts)
        report = report_training(
            model, table.table, table.labels, origin, notes=notes, seed=options["seed"], whole=whole
        )
    model.save(output)
    report = replace(report, sha256=sha256_of(output))
    if report_path is not None:
        write_report(report, report_path)
    console.content(content_of(report))
    _tell(report, notes, console)
    console.note()
    console.line(printable(f"Model written to {output}"))
    if report_path is not None:
        console.line(printable(f"Report written to {report_path}"))
    console.note(f"Next: {command_line('softcount', 'predict', output, 'NEW.csv', '-o', 'predictions.csv')}")
    if not model.converged_:
        console.note("The fit has not converged: more iterations would still change it.")
        return ExitCode.NOT_CONVERGED if options["strict"] else ExitCode.OK
    return ExitCode.OK


def _read(
    data: tuple[str, ...], settings: TrainSettings, options: dict[str, Any], console: Console
) -> tuple[LabeledTable, StreamedTable | None]:
    """The table, or some rows of one that is read piece by piece."""
    from softcount.cli.streaming import in_pieces, read_streamed
    from softcount.cli.training import read_labeled

    with console.progress("reading") as progress:
        if options["dask"] is None and not in_pieces(data, options["in_pieces"]):
            return read_labeled(data, settings, progress, opener(options)), None
        streamed = read_streamed(data, settings, progress, opener(options), dask=options["dask"] is not None)
        return streamed.some, streamed


def _settings(options: dict[str, Any]) -> TrainSettings:
    from softcount.cli.settings import TrainSettings, read_number, read_settings, read_span

    settings = TrainSettings() if options["config"] is None else read_settings(options["config"])
    columns = read_roles(options)
    told: dict[str, Any] = {
        name: options[name]
        for name in ("label", "min_rows", "most_words", "hashed", "event_model", "calibrate")
        if options[name] is not None
    }
    for name in ("alpha", "unlabeled"):
        if options[name] is not None:
            told[name] = read_number(options[name], f"--{name}")
    if options["stop_words"] is not None:
        try:
            told["stop_words"] = tuple(Path(options["stop_words"]).read_text(encoding="utf-8").lower().split())
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--stop-words {options['stop_words']}: cannot be read ({error}).") from None
    settings = settings.changed(columns=columns, missing=options["missing"] or None, **told)
    # None is a value of these: no runs of that kind.
    spans = {
        name: read_span(options[name], f"--{name}") for name in ("words", "characters") if options[name] is not None
    }
    return settings.with_spans(**spans)


def _model_path(data: str) -> str:
    if data == "-":
        return "model.softcount"
    place = Path(data.rstrip("/\\"))
    return str(place.with_suffix(".softcount") if place.suffix and not place.is_dir() else f"{place}.softcount")


def _tell_columns(table: LabeledTable, settings: TrainSettings, console: Console) -> int:
    from softcount.cli.wording import shortened, table_lines
    from softcount.inputs.cells import MISSING_MARKS
    from softcount.inputs.roles import decide_roles

    marks = MISSING_MARKS | set(settings.missing)
    roles = decide_roles(
        table.table.columns, match_columns(settings.columns, table.table.columns), marks, where=table.table.where
    )
    rows = [(shortened(r.name, 24), r.role, shortened(r.reason, 48)) for r in roles]
    for line in table_lines(("column", "taken for", "because"), rows, numbers_from=3):
        console.line(line)
    content = [{"name": r.name, "role": r.role, "reason": r.reason} for r in roles]
    counts = dict(Counter(label for label in table.labels if label is not None))
    console.document("softcount.columns/1", {"label": table.label_name, "labels": counts, "columns": content})
    return ExitCode.OK


def _report_path(options: dict[str, Any], output: str, data: tuple[str, ...], console: Console) -> str | None:
    """Where the report goes; None where there is to be none."""
    from softcount.cli.reporting import MISSING_ENGINE, check_report
    from softcount.report.as_html import can_render_html

    if options["no_report"]:
        if options["report"] is not None:
            raise UsageError("--report and --no-report contradict each other.")
        return None
    if options["report"] is None and not can_render_html():
        console.note(f"Note: no report will be written; {MISSING_ENGINE}")
        return None
    place = Path(output)
    path = options["report"] or str(place.with_name((place.stem or place.name) + ".report.html"))
    check_report(path, (*data, output))
    return path


def _tell(report: Report, notes: Sequence[str], console: Console) -> None:
    from softcount.report import as_text

    unlabeled = report.n_rows - report.n_labeled
    told = f"{report.n_rows:,} rows, {report.n_labeled:,} with a label, {unlabeled:,} without"
    console.heading(f"{told}; labels are those of {report.label!r}")
    for line in [*as_text.class_lines(report.classes), "", *as_text.column_lines(report.columns), ""]:
        console.note(line)
    if report.evaluation is None:
        console.note("No label could be held out, so nobody knows how good the model is. Label more rows.")
    else:
        console.heading("How good it is")
        matrix = as_text.confusion_lines(report.evaluation, report.classes)
        for line in [*as_text.quality_lines(report.evaluation), "", *matrix]:
            console.note(line)
    if report.unlabeled is not None and report.unlabeled.verdict is not None:
        console.note()
        console.note(report.unlabeled.verdict)
    console.note()
    console.heading("What speaks for each class")
    for line in as_text.evidence_lines(report.evidence, 8):
        console.note(line)
    for title, lines in (
        ("Labels that look wrong", as_text.suspect_lines(report, SHOWN_SUSPECTS)),
        ("About the data", [text for text in report.warnings if text not in notes]),
        ("What would help most", [f"{advice.do} {advice.why}" for advice in report.verdict.advice]),
        ("What to label next", as_text.next_lines(report, SHOWN_NEXT)),
    ):
        if lines:
            console.note()
            console.heading(title)
            for line in lines:
                console.note(line)
