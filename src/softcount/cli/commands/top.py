"""``softcount top``."""

from __future__ import annotations

from typing import Any

import click

from softcount.cli.console import Console
from softcount.cli.options import output_options
from softcount.cli.outcomes import ExitCode

__all__ = ["command"]

SCHEMA = "softcount.top/1"


@click.command("top", short_help="Show what speaks for each class.")
@click.argument("model")
@click.option("-k", "--most", type=click.IntRange(1), default=20, show_default=True, help="How many per class.")
@output_options
def command(model: str, **options: Any) -> int:
    """Show the words, values and columns of MODEL that tell each class (or group) from the others.

    The score is the feature's share of the divergence of the class from the other classes, in nats.
    """
    from softcount.cli.models import load_model, load_table_classifier
    from softcount.cli.wording import feature_shortened, shortened, table_lines

    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    estimator = load_model(model)
    # Groups have their telling features as classes have.
    classifier = estimator if hasattr(estimator, "group_names") else load_table_classifier(model)
    found = classifier.top_features(options["most"])
    content = {
        str(name): [{"feature": feature, "score": score} for feature, score in top] for name, top in found.items()
    }
    console.document(SCHEMA, {"model": model, "top": content})
    for index, (name, top) in enumerate(found.items()):
        if index:
            console.line()
        rows = [(feature_shortened(feature, 48), f"{score:.4f}") for feature, score in top]
        for line in table_lines((shortened(name, 48), "score"), rows):
            console.line(line)
    return ExitCode.OK
