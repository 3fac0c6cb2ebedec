"""``softcount evaluate``."""

from __future__ import annotations

from typing import Any

import click

from softcount.cli.console import Console
from softcount.cli.options import dask_option, data_options, opener, output_options
from softcount.cli.outcomes import ExitCode, UsageError
from softcount.cli.reporting import report_option

__all__ = ["command"]


@click.command("evaluate", short_help="Compare predictions with known labels.")
@click.argument("model")
@click.argument("data")
@click.option("-l", "--label", metavar="COLUMN", help="The column with the labels. [default: as in training]")
@data_options
@dask_option
@report_option("none")
@output_options
@click.pass_context
def command(context: click.Context, /, model: str, data: str, **options: Any) -> int:
    """Say how often MODEL is right about the labeled rows of DATA, and how far its probabilities can be trusted.

    DATA should not be the table the model was trained with: that would flatter it.
    """
    from softcount.cli.evaluating import evaluate_source
    from softcount.cli.models import load_table_classifier, origin_of, sha256_of
    from softcount.cli.reporting import check_report, command_typed, write_report
    from softcount.cli.streaming import on_dask
    from softcount.cli.wording import printable
    from softcount.report import as_text
    from softcount.report.as_json import content_of
    from softcount.report.build import Origin

    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    if options["report"] is not None:
        check_report(options["report"], (model, data))
    classifier = load_table_classifier(model)
    label = options["label"] or origin_of(classifier)[0]
    if label is None:
        raise UsageError("The model does not say which column holds the labels; give it with --label.")
    source = opener(options)(data)
    origin = Origin(command_typed(context), (data,), label, model, sha256_of(model))
    with on_dask(options["dask"]), console.progress(f"evaluating {data}") as progress:
        report = evaluate_source(classifier, source, origin, progress, dask=options["dask"] is not None)
    if options["report"] is not None:
        write_report(report, options["report"])
    console.content(content_of(report))
    assert report.evaluation is not None
    matrix = as_text.confusion_lines(report.evaluation, report.classes)
    for line in [*as_text.quality_lines(report.evaluation), "", *matrix]:
        console.line(line)
    for warning in report.warnings:
        console.note(warning)
    if options["report"] is not None:
        console.note(printable(f"Report written to {options['report']}"))
    return ExitCode.OK
