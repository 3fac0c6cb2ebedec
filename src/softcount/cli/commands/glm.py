"""``softcount glm``."""

from __future__ import annotations

from typing import Any

import click

from softcount.cli.console import Console
from softcount.cli.options import (
    GLM_FAMILIES,
    GLM_LINKS,
    checkpoint_options,
    checkpointed,
    data_options,
    opener,
    output_options,
    with_options,
)
from softcount.cli.outcomes import ExitCode

__all__ = ["command"]

SCHEMA = "softcount.glm/1"

_model_options = with_options(
    click.option("--family", type=click.Choice(GLM_FAMILIES), default="gaussian", show_default=True,
                 help="Distribution of the target."),
    click.option("--link", type=click.Choice(GLM_LINKS), help="Link. [default: the family's usual one]"),
    click.option("--offset", metavar="COLUMN", help="Column that is added to the linear predictor."),
    click.option("--exposure", metavar="COLUMN", help="Column that multiplies the mean; needs the log link."),
    click.option("--weights", metavar="COLUMN", help="Column of precision weights: each row is a mean of so many."),
    click.option("--frequency", metavar="COLUMN", help="Column that says how often each row was observed."),
    click.option("--success", metavar="VALUE", help="Which of a binomial target's two texts is counted. [default: the "
                 "second by alphabet]"),
    click.option("--penalty", type=click.FloatRange(0.0), default=0.0, show_default=True,
                 help="Strength of the elastic-net penalty."),
    click.option("--l1-ratio", type=click.FloatRange(0.0, 1.0), default=0.0, show_default=True,
                 help="Share of absolute values in the penalty."),
    click.option("--theta", type=click.FloatRange(0.0, min_open=True),
                 help="Shape of the negative binomial family. [default: estimated]"),
    click.option("--power", type=float, default=1.5, show_default=True, help="Variance power of the Tweedie family."),
    click.option("--robust", is_flag=True, help="Standard errors that hold when the variances are other than assumed."),
    click.option("--drop-missing", is_flag=True, help="Leave rows with missing cells out; their number is told."),
    click.option("--missing", metavar="TEXT", multiple=True, help="One more text that means a missing value."),
)  # fmt: skip


@click.command("glm", short_help="Fit a generalized linear model.")
@click.argument("data")
@click.argument("formula")
@_model_options
@click.option("--level", type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True), default=0.95, show_default=True,
              help="Probability the intervals are to hold.")  # fmt: skip
@click.option("--ratios", is_flag=True, help="Also print exp(coefficient): odds ratios, rate ratios.")
@click.option("-m", "--model", metavar="FILE", help="Write the model to a file, for 'softcount predict'.")
@data_options
@click.option("--jobs", type=click.IntRange(1), help="Threads. [default: all cores]")
@checkpoint_options
@click.option("--strict", is_flag=True, help="Exit with 4 if the fit has not converged.")
@output_options
def command(data: str, formula: str, **options: Any) -> int:
    """Fit FORMULA to DATA and print coefficients with standard errors, deviance and AIC.

    FORMULA is 'target ~ columns', for example 'claims ~ age + C(region)': C(...) takes numbers for categories, a:b and
    a*b are interactions, log(a) a logarithm, '- 1' leaves the intercept out. 'cases + controls ~ dose' are successes
    and failures of a binomial family.
    """
    from softcount import GLM
    from softcount.cli import regression
    from softcount.cli.export import check_place
    from softcount.cli.readers import read_all
    from softcount.cli.wording import command_line, printable
    from softcount.inputs.cells import MISSING_MARKS

    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    kept = checkpointed(options)
    if options["model"] is not None:
        check_place(options["model"], [data])
    source = opener(options)(data)
    with console.progress(f"reading {data}") as progress:
        table = read_all(source, progress.read)
    named = {
        "offset": options["offset"],
        "exposure": options["exposure"],
        "sample_weight": options["weights"],
        "frequency_weight": options["frequency"],
    }
    columns = regression.formula_columns(formula, table, named.values())
    marks = MISSING_MARKS | set(options["missing"])
    part, n_dropped = regression.without_missing(table, columns, marks, drop=options["drop_missing"])
    frame, styles = regression.data_frame(part)
    frame, counted = regression.code_target(frame, formula, options["family"], options["success"])
    model: Any = GLM(
        options["family"],
        options["link"],
        alpha=options["penalty"],
        l1_ratio=options["l1_ratio"],
        theta=options["theta"],
        power=options["power"],
        covariance="sandwich" if options["robust"] else "model",
        n_jobs=options["jobs"],
    )
    notes = [f"{n_dropped:,} rows with a missing cell were left out."] if n_dropped else []
    if counted is not None:
        notes.append(f"The target is 1 where it holds {counted!r}; --success names the other value.")
    with kept:
        notes += regression.fit(model, formula, frame, named, console)
    notes += regression.cautions(model, options["family"])
    if options["model"] is not None:
        model.n_jobs = None
        model.origin_ = {"formula": formula, "n_rows": part.n_rows, "missing": sorted(options["missing"]),
                         "styles": styles, **named}  # fmt: skip
        model.save(options["model"])
    content = regression.glm_content(model, options["level"])
    console.document(SCHEMA, {"data": data, "formula": formula, **content, "n_dropped": n_dropped, "notes": notes,
                              "model": options["model"]})  # fmt: skip
    for line in regression.coefficient_lines(model, options["level"], ratios=options["ratios"]):
        console.line(line)
    for note in notes:
        console.note(f"Note: {printable(note)}")
    if options["model"] is not None:
        console.line(printable(f"Model written to {options['model']}"))
        console.note(f"Next: {command_line('softcount', 'predict', options['model'], 'NEW.csv', '-o', 'means.csv')}")
    if not model.converged_:
        return ExitCode.NOT_CONVERGED if options["strict"] else ExitCode.OK
    return ExitCode.OK
