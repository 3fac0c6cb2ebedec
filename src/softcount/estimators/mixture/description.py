"""A fitted mixture in words and tables: its parameters row by row, and a summary to print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from softcount._types import FloatArray
from softcount.core.membership import Membership
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.families.bernoulli import Bernoulli
from softcount.families.categorical import Categorical
from softcount.families.gaussian import Gaussian
from softcount.families.gaussian_full import MultivariateGaussian
from softcount.families.multinomial import Multinomial
from softcount.families.poisson import Poisson

__all__ = [
    "ParameterRow",
    "block_width",
    "error_rows",
    "head_lines",
    "number_text",
    "parameter_table",
    "row_label",
    "summary_text",
]

#: Lines of parameters a summary prints.
MOST_LINES = 200
#: For families with one parameter, its key and what it is.
QUANTITIES: dict[type, tuple[str, str]] = {
    Bernoulli: ("log_prob", "probability"),
    Multinomial: ("log_prob", "probability"),
    Poisson: ("rate", "rate"),
}


class ParameterRow(NamedTuple):
    """One parameter of a column, in every component."""

    column: str
    #: The value whose probability it is, or the column a covariance is with.
    category: Any
    quantity: str
    values: FloatArray


def parameter_table(
    model: MixtureModel, params: MixtureParams, names: list[str], categories: list[list[Any] | None]
) -> list[ParameterRow]:
    """The parameters of all columns.

    Parameters
    ----------
    model, params
        A fit.
    names : list of str
        Names of the blocks' columns, one block after the other.
    categories : list
        The values of each of these columns, where it has a list of them.
    """
    rows: list[ParameterRow] = []
    start = 0
    for family, block in zip(model.families, params.blocks, strict=True):
        width = block_width(family, block)
        rows.extend(_block_rows(family, block, names[start : start + width], categories[start : start + width]))
        start += width
    return rows


def error_rows(
    model: MixtureModel, blocks: tuple[Any, ...], names: list[str], categories: list[list[Any] | None]
) -> list[ParameterRow]:
    """The standard errors of all parameters, in the order of :func:`parameter_table`.

    ``blocks`` are tables like the parameters', those of ``log_prob`` being of the probability itself.
    """
    with np.errstate(divide="ignore"):
        alike = tuple({n: np.log(t) if n == "log_prob" else t for n, t in block.items()} for block in blocks)
    return parameter_table(model, MixtureParams(np.zeros(model.n_components), alike), names, categories)


def block_width(family: Any, params: Any) -> int:
    """How many columns a block with these parameters has."""
    if isinstance(family, Categorical):
        return len(family.n_values)
    table = params["mean"] if "mean" in params else next(iter(params.values()))
    return int(table.shape[0])


def _block_rows(
    family: Any, params: Any, names: list[str], categories: list[list[Any] | None]
) -> Iterator[ParameterRow]:
    for j, name in enumerate(names):
        if isinstance(family, Categorical):
            table = np.exp(params["log_prob"][family.offsets[j] : family.offsets[j] + family.n_values[j]])
            labels = categories[j] or list(range(family.n_values[j]))
            for label, values in zip(labels, table, strict=True):
                yield ParameterRow(name, label, "probability", values)
        elif isinstance(family, MultivariateGaussian):
            yield ParameterRow(name, None, "mean", params["mean"][j])
            for other in range(j, len(names)):
                quantity = "variance" if other == j else "covariance"
                yield ParameterRow(name, None if other == j else names[other], quantity, params["cov"][:, j, other])
        elif isinstance(family, Gaussian):
            yield ParameterRow(name, None, "mean", params["mean"][j])
            yield ParameterRow(name, None, "variance", params["var"][j])
        elif isinstance(family, Membership):
            yield ParameterRow(name, None, "log-odds", params["coef"][j])
        elif type(family) in QUANTITIES:
            key, quantity = QUANTITIES[type(family)]
            values = np.exp(params[key][j]) if key.startswith("log") else params[key][j]
            yield ParameterRow(name, None, quantity, values)
        else:
            for key, table in params.items():
                yield ParameterRow(name, None, key, table[j])


def summary_text(estimator: Any, rows: list[ParameterRow], head: list[str]) -> str:
    """The summary of a mixture: what was fitted, how the search went, criteria, sizes, parameters, notes."""
    names = [str(name) for name in estimator.component_names_.tolist()]
    lines = [*head, "", "Component weights"]
    width = max(9, *map(len, names))
    label = max(8, *(len(row_label(row)) for row in rows[:MOST_LINES])) if rows else 8
    lines.append(" " * label + "".join("  " + name.rjust(width) for name in names))
    lines.append("".ljust(label) + _cells(estimator.weights_, width))
    lines += ["", "Parameters"]
    lines.append(" " * label + "".join("  " + name.rjust(width) for name in names))
    lines += [row_label(row).ljust(label) + _cells(row.values, width) for row in rows[:MOST_LINES]]
    if len(rows) > MOST_LINES:
        lines.append(f"... and {len(rows) - MOST_LINES} more; frame() has them all")
    lines += ["", *(f"Note: {note}." for note in estimator.notes_)] if estimator.notes_ else []
    return "\n".join(lines)


def head_lines(estimator: Any, n_columns: int) -> list[str]:
    """What was fitted, how the search went, and the criteria."""
    n_rows, patterns = estimator._n_rows, estimator.n_patterns_
    distinct = "" if patterns is None else f" ({patterns} distinct)"
    state = "converged" if estimator.converged_ else "not converged"
    lines = [
        f"{type(estimator).__name__}: {estimator.weights_.shape[0]} components, {n_columns} columns, "
        f"{n_rows:g} rows{distinct}",
        f"log-likelihood {estimator.log_likelihood_:.4f}, {estimator.n_parameters_} parameters; {state} after "
        f"{estimator.n_iter_} iterations",
    ]
    if estimator.n_starts_ > 1:
        finished = estimator.n_finished_starts_
        lines.append(
            f"{estimator.n_starts_} starts, {finished} run to the end; {estimator.n_best_starts_} of these reached the "
            "best objective"
        )
    criteria = estimator.criteria()
    lines.append(", ".join(f"{name.upper()} {value:.4f}" for name, value in criteria.items()))
    return lines


def row_label(row: ParameterRow) -> str:
    """The column, quantity and category of a parameter in one line."""
    if row.category is None:
        return f"{row.column} {row.quantity}"
    joint = " with " if row.quantity == "covariance" else " = "
    prefix = "" if row.quantity == "probability" else f" {row.quantity}"
    return f"{row.column}{prefix}{joint}{row.category}"


def _cells(values: FloatArray, width: int) -> str:
    return "".join("  " + number_text(float(value)).rjust(width) for value in values)


def number_text(value: float) -> str:
    """Four digits behind the point, or four significant ones for what is very large or small."""
    size = abs(value)
    return f"{value:.4f}" if size < 1e4 and (size >= 1e-3 or size == 0.0) else f"{value:.4g}"
