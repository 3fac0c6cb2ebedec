"""A latent class analysis as text, in the order its users know: probabilities, sizes, fit, classification."""

from __future__ import annotations

from typing import Any

from softcount._types import FloatArray
from softcount.estimators.mixture.description import ParameterRow

__all__ = ["latent_class_text"]

WIDTH = 10


def latent_class_text(estimator: Any, other_rows: list[ParameterRow]) -> str:
    """The summary of a fitted :class:`~softcount.LatentClass`."""
    names = [f"class {name}" if isinstance(name, int) else str(name) for name in estimator.component_names_.tolist()]
    lines = [_title(estimator), ""]
    lines += _probabilities(estimator, names)
    logits = [row for row in other_rows if row.quantity == "log-odds"]
    other_rows = [row for row in other_rows if row.quantity != "log-odds"]
    if other_rows:
        lines += ["", "Other parameters by class", *_block(names, [(_label(row), row.values) for row in other_rows])]
    if logits:
        lines += ["", f"Class membership: log-odds against {names[0]}"]
        lines += _block(names, [(row.column, row.values) for row in logits])
    classified = estimator.classification_
    lines += ["", "Class sizes" + (", over the rows" if logits else "")]
    lines += _block(names, [("estimated", estimator.class_sizes_), ("by modal assignment", classified.assigned_sizes)])
    lines += ["", "Average posterior (columns) of the rows assigned to each class"]
    lines += _block(names, list(zip(names, classified.average_posteriors, strict=True)))
    lines += ["", "Fit", *_fit(estimator)]
    if estimator.notes_:
        lines += ["", *(f"Note: {note}." for note in estimator.notes_)]
    return "\n".join(lines)


def _title(estimator: Any) -> str:
    patterns = "" if estimator.n_patterns_ is None else f" with {estimator.n_patterns_} different patterns"
    given = estimator._covariates
    n_items = estimator.n_features_in_ - (0 if given is None else len(given.names))
    covariates = "" if given is None else f"{len(given.names)} covariate{'s' if len(given.names) != 1 else ''}, "
    n_classes, n_rows = estimator.class_sizes_.shape[0], estimator._n_rows
    return (
        f"Latent class analysis: {n_classes} class{'es' if n_classes != 1 else ''}, {n_items} "
        f"item{'s' if n_items != 1 else ''}, {covariates}{n_rows:g} row{'s' if n_rows != 1.0 else ''}{patterns}"
    )


def _probabilities(estimator: Any, names: list[str]) -> list[str]:
    lines = ["Item-response probabilities by class"]
    rows = []
    for item, table in estimator.item_probabilities_.items():
        values = estimator.item_values_[item]
        rows += [(f"{item}: {value}", probs) for value, probs in zip(values, table.T, strict=True)]
    return lines + _block(names, rows)


def _block(names: list[str], rows: list[tuple[str, FloatArray]]) -> list[str]:
    first = max([8, *(len(label) for label, _ in rows)])
    width = max(WIDTH, *map(len, names))
    lines = [" " * first + "".join("  " + name.rjust(width) for name in names)]
    for label, values in rows:
        cells = "".join("  " + f"{value:.4f}".rjust(width) for value in values)
        lines.append(label.ljust(first) + cells)
    return lines


def _label(row: ParameterRow) -> str:
    return f"{row.column} {row.quantity}" + ("" if row.category is None else f" {row.category}")


def _fit(estimator: Any) -> list[str]:
    criteria = estimator.criteria()
    classified = estimator.classification_
    state = "converged" if estimator.converged_ else "NOT converged"
    facts = [
        ("rows", f"{estimator._n_rows:g}"),
        ("estimated parameters", f"{estimator.n_parameters_}"),
        ("log-likelihood", f"{estimator.log_likelihood_:.4f}"),
        *((name.upper(), f"{value:.4f}") for name, value in criteria.items()),
        ("entropy", f"{classified.entropy:.4f}"),
        ("relative entropy", f"{classified.relative_entropy:.4f}"),
        ("classification error", f"{classified.error:.4f}"),
        ("probabilities of 0 or 1", f"{estimator.n_boundary_}"),
        ("iterations", f"{estimator.n_iter_} ({state})"),
    ]
    if estimator.n_starts_:
        facts.append(
            (
                "starts",
                f"{estimator.n_starts_}, of which {estimator.n_finished_starts_} run to the end; the best value was "
                f"reached by {estimator.n_best_starts_}",
            )
        )
    width = max(len(name) for name, _ in facts)
    lines = [f"{name.ljust(width)}  {value}" for name, value in facts]
    if estimator.goodness_ is not None:
        lines += str(estimator.goodness_).splitlines()
    return lines
