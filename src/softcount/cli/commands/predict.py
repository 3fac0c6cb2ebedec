"""``softcount predict``."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from softcount.cli.console import Console
from softcount.cli.options import dask_option, data_options, opener
from softcount.cli.outcomes import DataError, ExitCode, UsageError

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
@dask_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors on standard error.")
def command(model: str, data: str, **options: Any) -> int:
    """Write DATA with the prediction of MODEL and its probability for every row.

    MODEL was made by 'softcount train' (the answer is a class), 'softcount cluster' (a group) or 'softcount glm' (a
    mean). DATA is read and written in pieces, so it may be larger than memory. A row whose columns say nothing gets the
    commonest class.
    """
    from softcount.cli.answers import answerer, written_rows
    from softcount.cli.export import atomic_output, check_place, output_format, table_writer
    from softcount.cli.models import load_model
    from softcount.cli.streaming import on_dask, worked_out

    if options["dask"] is not None and options["jobs"] is not None:
        raise UsageError("--jobs counts threads of this process, and --dask lets workers predict; give one of them.")
    console = Console(quiet=options["quiet"])
    output = options["output"]
    kind = output_format(output, options["to"])
    check_place(output, [model, data])
    estimator = load_model(model)
    answerer(estimator, model, probabilities=options["probabilities"])  # refuses what it cannot answer
    how = {"probabilities": options["probabilities"], "only_answers": options["only_answers"]}
    # The workers of a cluster are the threads.
    estimator.n_jobs = options["jobs"] if options["dask"] is None else 1
    source = opener(options)(data)
    n_rows, names = 0, list[str]()
    with (
        on_dask(options["dask"]),
        console.progress(f"predicting {data}") as progress,
        atomic_output(output) as file,
    ):
        writer = table_writer(file, kind, raw=options["raw"])
        task = partial(written_rows, **how)
        for size, rows, columns in worked_out(
            source, task, progress, estimator, model, dask=options["dask"] is not None
        ):
            names = names or columns
            n_rows += size
            if size:
                writer.write(rows)
        if n_rows == 0:
            below = f" below the first line, which names the columns {', '.join(map(repr, names[:5]))}" if names else ""
            raise DataError(f"{data}: there are no rows to predict{below}.")
        writer.close()
    if output != "-":
        console.note(f"{n_rows:,} predictions written to {output}")
    return ExitCode.OK
