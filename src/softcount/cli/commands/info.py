"""``softcount info``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from softcount.cli.console import Console
from softcount.cli.options import output_options
from softcount.cli.outcomes import ExitCode

__all__ = ["command"]

SCHEMA = "softcount.info/1"


@click.command("info", short_help="Show what is in a model file.")
@click.argument("model")
@output_options
def command(model: str, **options: Any) -> int:
    """Show what MODEL was learned from, how good it was found to be, and the fingerprint of the file."""
    from softcount.cli.models import load_model, origin_of, sha256_of
    from softcount.cli.wording import shortened
    from softcount.estimators.table import TableClassifier
    from softcount.report.as_text import column_lines, quality_lines
    from softcount.report.checks import describe_columns
    from softcount.report.quality import describe_quality

    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    estimator = load_model(model)
    content: dict[str, Any] = {
        "model": model,
        "estimator": type(estimator).__name__,
        "bytes": Path(model).stat().st_size,
        "sha256": sha256_of(model),
    }
    console.line(f"estimator    {content['estimator']}")
    console.line(f"file         {content['bytes']:,} bytes, sha256 {content['sha256']}")
    if not isinstance(estimator, TableClassifier):
        return _tell_other(estimator, content, console)
    names = [str(name) for name in estimator.classes_]
    label, n_rows = origin_of(estimator)
    found, calibration = estimator.evaluation_, estimator.calibration_
    quality = None
    if found is not None:
        kind = "none" if calibration is None else calibration.kind
        quality = describe_quality(found, names, how="held out in training", calibration=kind)
    content |= {
        "label": label,
        "n_rows": n_rows,
        "classes": names,
        "columns": [{"name": r.name, "role": r.role, "reason": r.reason} for r in estimator.treatment_.roles],
        "event_model": estimator.setting_.event_model,
        "alpha": estimator.setting_.alpha,
        "unlabeled": estimator.unlabeled_use_,
        "converged": bool(estimator.converged_),
        "evaluation": None if quality is None else asdict(quality),
    }
    console.document(SCHEMA, content)
    if label is not None and n_rows is not None:
        console.line(f"learned from {n_rows:,} rows, labels in {shortened(label, 40)!r}")
    console.line(f"classes      {shortened(', '.join(names), 64)}")
    console.line(f"words        {content['event_model']}, smoothing {content['alpha']:g}")
    for line in [] if quality is None else quality_lines(quality):
        console.line(line)
    console.line()
    for line in column_lines(describe_columns(estimator.treatment_.roles, {})):
        console.line(line)
    return ExitCode.OK


def _tell_other(estimator: Any, content: dict[str, Any], console: Console) -> int:
    """Groups, linear models, and what was saved from Python."""
    from softcount.cli.models import origin_of
    from softcount.cli.wording import shortened, table_lines

    origin = getattr(estimator, "origin_", None)
    if hasattr(estimator, "group_names"):
        roles = estimator.treatment_.roles
        content |= {
            "n_rows": origin_of(estimator)[1],
            "groups": dict(zip(estimator.group_names, estimator.weights_.tolist(), strict=True)),
            "columns": [{"name": r.name, "role": r.role, "reason": r.reason} for r in roles],
            "converged": bool(estimator.converged_),
        }
        console.line(f"learned from {content['n_rows'] or 0:,} rows")
        shares = ", ".join(f"{name} ({100.0 * share:.0f} %)" for name, share in content["groups"].items())
        console.line(f"groups       {shortened(shares, 64)}")
        console.line()
        rows = [(shortened(r.name, 24), r.role, shortened(r.reason, 48)) for r in roles]
        for line in table_lines(("column", "taken for", "because"), rows, numbers_from=3):
            console.line(line)
    elif isinstance(origin, dict) and isinstance(origin.get("formula"), str):
        coefficients = [estimator.intercept_] * estimator._has_intercept() + estimator.coef_.tolist()
        content |= {
            "n_rows": origin.get("n_rows"),
            "formula": origin["formula"],
            "family": estimator.family_.name,
            "link": estimator.link_.name,
            "coefficients": dict(zip(estimator.coefficient_names_, coefficients, strict=True)),
            "converged": bool(estimator.converged_),
        }
        console.line(f"formula      {shortened(origin['formula'], 64)}")
        for line in str(estimator.summary()).splitlines():
            console.line(line)
    else:
        console.note("This model was saved from Python; load it there with softcount.load.")
    console.document(SCHEMA, content)
    return ExitCode.OK
