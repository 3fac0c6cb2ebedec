"""``softcount cluster``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softcount.cli.console import Console
from softcount.cli.options import (
    checkpoint_options,
    checkpointed,
    data_options,
    opener,
    output_options,
    read_roles,
    role_options,
    with_options,
)
from softcount.cli.outcomes import ExitCode, UsageError

if TYPE_CHECKING:
    from softcount.estimators.table.groups import TreatedTable
    from softcount.inputs.raw_table import RawTable
    from softcount.select import Selection

__all__ = ["command"]

SCHEMA = "softcount.cluster/1"

_model_options = with_options(
    click.option("--kind", "model_kind", type=click.Choice(["auto", "latent-class", "mixture"]), default="auto",
                 help="Latent classes (categories, by maximum likelihood) or a mixture. [default: by the columns]"),
    role_options,
    click.option("--missing", metavar="TEXT", multiple=True, help="One more text that means a missing value."),
    click.option("--weight", metavar="COLUMN", help="Column that says how much each row counts."),
    click.option("--criterion", type=click.Choice(["aic", "bic", "sabic", "caic", "icl"]), default="bic",
                 show_default=True, help="What decides between numbers of groups; lower is better."),
    click.option("--bootstrap", "n_bootstrap", type=click.IntRange(0), default=0, metavar="N",
                 help="Also test each number against the next by N simulated tables. [default: no test]"),
    click.option("--starts", "n_starts", type=click.IntRange(1), default=20, show_default=True,
                 help="Random starts of every fit."),
)  # fmt: skip


@click.command("cluster", short_help="Find groups of rows.")
@click.argument("data")
@click.option("-k", "--classes", default="1:6", show_default=True, metavar="A:B", help="Numbers of groups to try.")
@click.option("-o", "--output", metavar="FILE", help="Write DATA with the group of every row; - is standard output.")
@click.option("--to", type=click.Choice(["csv", "jsonl", "parquet"]), help="Format of the output. [default: told from "
              "its name]")  # fmt: skip
@click.option("-m", "--model", metavar="FILE", help="The model file. [default: like DATA, ending in "
              ".groups.softcount]")  # fmt: skip
@click.option("--raw", is_flag=True, help="Write CSV cells as they are, even those a spreadsheet takes for formulas.")
@data_options
@_model_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of random choices.")
@click.option("--jobs", type=click.IntRange(1), help="Threads. [default: all cores]")
@checkpoint_options
@click.option("--strict", is_flag=True, help="Exit with 4 if the fit that is recommended has not converged.")
@output_options
def command(data: str, **options: Any) -> int:
    """Find groups of similar rows of DATA: how many, what marks them, and who is in them.

    Tables of categories are taken for latent classes, others for a mixture: numbers and dates are normal within a
    group, counts Poisson, categories have a probability each. Missing cells are left out. Identifiers, constants and
    texts take no part.
    """
    from softcount.cli import clustering
    from softcount.cli.readers import read_all
    from softcount.estimators.table.groups import TreatedTable
    from softcount.inputs.cells import MISSING_MARKS

    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    kept = checkpointed(options)
    model_path, output = options["model"] or _model_path(data), options["output"]
    _check_outputs(data, model_path, output, as_json=options["as_json"])
    settings = clustering.ClusterSettings(
        clustering.read_classes(options["classes"]),
        options["model_kind"],
        options["criterion"],
        options["n_bootstrap"],
        options["n_starts"],
        options["seed"],
        options["jobs"],
    )
    source = opener(options)(data)
    with console.progress(f"reading {data}") as progress:
        table = read_all(source, progress.read)
    marks = sorted(MISSING_MARKS | set(options["missing"]))
    bare, weight = clustering.take_weights(table, options["weight"], marks)
    roles = clustering.decide_columns(bare, read_roles(options), marks)
    treated = TreatedTable.learn(bare, roles, marks)
    with kept:
        selection = clustering.choose(treated, weight, settings, console)
    best = selection.best_model
    best.origin_ = {"label": None, "n_rows": table.n_rows}
    best.save(model_path)
    if output is not None:
        _write_assignments(best, treated, table, options)
    _tell(selection, treated, {**options, "data": data, "model": model_path}, console)
    if not best.converged_:
        return ExitCode.NOT_CONVERGED if options["strict"] else ExitCode.OK
    return ExitCode.OK


def _model_path(data: str) -> str:
    place = Path("table" if data == "-" else data.rstrip("/\\"))
    return str(place.with_suffix("" if not place.is_dir() else place.suffix)) + ".groups.softcount"


def _check_outputs(data: str, model_path: str, output: str | None, *, as_json: bool) -> None:
    """Refuse before the work what could not be written after it."""
    from softcount.cli.export import check_place

    written = [path for path in (model_path, output) if path is not None]
    for path in written:
        check_place(path, [data])
    if output is not None and Path(output).resolve() == Path(model_path).resolve():
        raise UsageError(f"{output}: the model and the table cannot have the same name.")
    if output == "-" and as_json:
        raise UsageError("Standard output holds one document: give -o a file, or leave out --json.")


def _write_assignments(best: Any, treated: TreatedTable, table: RawTable, options: dict[str, Any]) -> None:
    from softcount.cli.answers import beside, most_probable
    from softcount.cli.export import atomic_output, output_format, table_writer

    answers = most_probable("group", best.group_names, best.predict_proba(treated).tolist(), probabilities=False)
    with atomic_output(options["output"]) as file:
        writer = table_writer(file, output_format(options["output"], options["to"]), raw=options["raw"])
        writer.write(beside(table, answers))
        writer.close()


def _tell(selection: Selection, treated: TreatedTable, options: dict[str, Any], console: Console) -> None:
    from softcount.cli import clustering
    from softcount.cli.models import sha256_of
    from softcount.cli.wording import command_line, printable, shortened, table_lines

    best, output, model_path = selection.best_model, options["output"], options["model"]
    rows, weights = best.profile(), best.weights_.tolist()
    content = clustering.selection_content(selection, treated)
    console.document(SCHEMA, {"model": model_path, "sha256": sha256_of(model_path), "data": options["data"], **content})
    # Where the table goes to standard output, nothing else does.
    line = console.note if output == "-" else console.line
    words = "latent classes" if "Latent" in type(best).__name__ else "mixtures"
    console.heading(f"{treated.n_rows:,} rows, {words} with {options['classes']} groups")
    decided = [(shortened(r.name, 24), r.role, shortened(r.reason, 48)) for r in treated.treatment.roles]
    for text in table_lines(("column", "taken for", "because"), decided, numbers_from=3):
        console.note(text)
    console.note()
    for text in [*clustering.criteria_lines(selection), "", *clustering.in_words(selection), ""]:
        line(text)
    console.heading("What the groups look like")
    for text in clustering.profile_lines(rows, weights):
        line(text)
    for note in best.notes_:
        console.note(f"Note: {printable(note)}.")
    console.note()
    if output is not None:
        console.note(f"The group of every row was written to {output}")
    line(printable(f"Model written to {model_path}"))
    if output is None:
        next_command: tuple[object, ...] = ("cluster", options["data"], "-k", selection.best, "-o", "groups.csv")
    else:
        next_command = ("predict", model_path, "NEW.csv", "-o", "groups.csv")
    console.note(f"Next: {command_line('softcount', *next_command)}")
