"""``softcount compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from softcount.cli.console import Console
from softcount.cli.options import data_options, opener, output_options, read_roles, role_options
from softcount.cli.outcomes import ExitCode, UsageError

if TYPE_CHECKING:
    from softcount.cli.training import LabeledTable
    from softcount.explain.compare import PairComparison

__all__ = ["command"]

SCHEMA = "softcount.compare/1"


@click.command("compare", short_help="Compare two kinds of model.")
@click.argument("data")
@click.option("-l", "--label", metavar="COLUMN", help="The column with the labels; rows without one are left out.")
@click.option("--sizes", metavar="N,N,...", help="Numbers of training rows. [default: ten, evenly on a log scale]")
@click.option("--repeats", type=click.IntRange(2), default=20, show_default=True, help="Random splits.")
@click.option("--most-rows", type=click.IntRange(10), default=10_000, show_default=True,
              help="Compare on at most so many rows, drawn at random.")  # fmt: skip
@click.option("--figure", metavar="FILE", help="Draw the curves: a .svg, .png or .pdf file.")
@role_options
@click.option("--missing", metavar="TEXT", multiple=True, help="One more text that means a missing value.")
@data_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the splits.")
@output_options
def command(data: str, **options: Any) -> int:
    """Show how naive Bayes (generative) and logistic regression (discriminative) learn from more and more rows.

    With few labels the generative model is usually ahead, with many the discriminative one. The curves say where they
    cross on DATA, and so which kind of model to use, and whether more labels would pay. Every split keeps a third of
    the labeled rows for testing.
    """
    from softcount.cli.comparing import compare, comparison_content, comparison_lines, draw
    from softcount.cli.export import check_place
    from softcount.cli.settings import TrainSettings
    from softcount.cli.training import read_labeled

    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    if options["figure"] is not None:
        check_place(options["figure"], [data])
        if not options["figure"].lower().endswith((".svg", ".png", ".pdf")):
            raise UsageError(f"--figure {options['figure']}: the name has to end in .svg, .png or .pdf.")
    settings = TrainSettings(label=options["label"], columns=read_roles(options), missing=tuple(options["missing"]))
    with console.progress(f"reading {data}") as progress:
        table = read_labeled([data], settings, progress, opener(options))
    compared = compare(
        table,
        settings,
        console,
        sizes=_sizes(options["sizes"]),
        n_repeats=options["repeats"],
        most_rows=options["most_rows"],
        seed=options["seed"],
    )
    if options["figure"] is not None:
        draw(compared, options["figure"])
    console.document(SCHEMA, {"data": data, "label": table.label_name, **comparison_content(compared),
                              "figure": options["figure"]})  # fmt: skip
    for line in comparison_lines(compared):
        console.line(line)
    if options["figure"] is not None:
        console.note(f"The curves were drawn to {options['figure']}")
    _tell_next(data, table, compared, console)
    return ExitCode.OK


def _sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--sizes {text!r}: expected whole numbers with commas between, such as 10,100,1000."
        ) from None


def _tell_next(data: str, table: LabeledTable, compared: PairComparison, console: Console) -> None:
    from softcount.cli.wording import command_line

    if compared.mean_errors[0, -1] <= compared.mean_errors[1, -1]:
        console.note(f"Next: {command_line('softcount', 'train', data, '--label', table.label_name)}")
    else:
        console.note("Logistic regression is in Python: softcount.LogisticRegression.")
