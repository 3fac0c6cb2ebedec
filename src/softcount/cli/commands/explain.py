"""``softcount explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from softcount.cli.console import Console
from softcount.cli.options import data_options, opener, output_options
from softcount.cli.outcomes import DataError, ExitCode, UsageError

if TYPE_CHECKING:
    from softcount.cli.readers import Source
    from softcount.inputs.raw_table import RawTable

__all__ = ["command"]

SCHEMA = "softcount.explain/1"


@click.command("explain", short_help="Show the evidence for one row.")
@click.argument("model")
@click.argument("data")
@click.option("--row", type=click.IntRange(1), default=1, show_default=True, help="Which row, the first being 1.")
@click.option("--against", metavar="CLASS", help="Compare with this class. [default: the second most probable]")
@click.option(
    "-k", "--most", type=click.IntRange(1), default=10, show_default=True, help="How many pieces of evidence."
)
@data_options
@output_options
def command(model: str, data: str, **options: Any) -> int:
    """Show what in one row of DATA speaks for the predicted class, and what against it.

    The evidence is in nats: its sum is the logarithm of how many times more probable the predicted class is than the
    other one.
    """
    from softcount.cli.models import load_table_classifier
    from softcount.cli.wording import did_you_mean, feature_shortened, shortened, table_lines

    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    classifier = load_table_classifier(model)
    source = opener(options)(data)
    piece = _row(source, options["row"])
    names = [str(name) for name in classifier.classes_]
    posterior = classifier.predict_proba(piece)[0]
    order = sorted(range(len(names)), key=lambda k: -posterior[k])
    other = options["against"] or names[order[1]]
    if other not in names:
        raise UsageError(f"There is no class {other!r}{did_you_mean(other, names)} The classes are {', '.join(names)}.")
    if other == names[order[0]]:
        raise UsageError(f"{other!r} is the predicted class; compare it with another one.")
    evidence = classifier.contributions(piece, classifier.classes_[order[0]], classifier.classes_[names.index(other)])
    top = evidence.top(0, options["most"])
    total, baseline = float(evidence.total()[0]), float(evidence.baseline[0])
    rest = total - baseline - sum(score for _, score in top)
    console.document(
        SCHEMA,
        {
            "where": piece.where(0),
            "prediction": names[order[0]],
            "probabilities": {names[k]: float(posterior[k]) for k in order},
            "against": other,
            "baseline": baseline,
            "evidence": [{"feature": name, "score": score} for name, score in top],
            "rest": rest,
            "total": total,
        },
    )
    console.line(f"{piece.where(0)}: {names[order[0]]} with probability {posterior[order[0]]:.3f}")
    for name, cells in piece.columns.items():
        console.line(f"  {shortened(name, 20)}: {shortened('' if cells[0] is None else cells[0], 56)}")
    console.line()
    rows = [(feature_shortened(name, 40), f"{score:+.2f}") for name, score in top]
    rows += [("everything else", f"{rest:+.2f}"), ("how common the classes are", f"{baseline:+.2f}")]
    rows.append(("together", f"{total:+.2f}"))
    for line in table_lines((f"for {names[order[0]]}, against {other}", "evidence"), rows):
        console.line(line)
    return ExitCode.OK


def _row(source: Source, number: int) -> RawTable:
    """The row with that number; nothing behind it is read."""
    passed = 0
    for piece in source.pieces():
        if passed + piece.n_rows >= number:
            return piece.rows(number - passed - 1, number - passed)
        passed += piece.n_rows
    raise DataError(f"{source.path}: there is no row {number:,}; there are {passed:,}.")
