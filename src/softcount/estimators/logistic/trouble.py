"""What fitting a logistic regression ran into, said once and with what to do about it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import ConvergenceWarning
from softcount._types import FloatArray
from softcount.core.journal import way_on
from softcount.core.logistic.data import LogisticData
from softcount.core.logistic.fit import LogisticFit
from softcount.estimators.glm.trouble import AliasedColumnsWarning, SeparationWarning

__all__ = ["aliased_names", "explain_separation", "separated_names", "warn_about"]

MOST_NAMES = 8
#: Coefficients of two classes that differ by less than this share of the largest of their column do not differ.
ALIKE = 1e-6


def aliased_names(fit: LogisticFit, names: list[str], *, fit_intercept: bool) -> list[str]:
    """Columns that are combinations of those before them."""
    first = int(fit_intercept)
    return [name for name, kept in zip(names, fit.kept[first:], strict=True) if not kept]


def separated_names(fit: LogisticFit, names: list[str], *, fit_intercept: bool) -> list[str]:
    """Columns that together sort the classes."""
    if fit.separation is None:
        return []
    return [names[column - int(fit_intercept)] for column in fit.separation.columns]


def explain_separation(
    fit: LogisticFit, data: LogisticData, classes: NDArray[Any], names: list[str], scale: FloatArray | None
) -> str | None:
    """One sentence that says which columns separate the classes and where the border lies."""
    found = fit.separation
    if found is None:
        return None
    columns = separated_names(fit, names, fit_intercept=data.design.fit_intercept)
    if not columns:
        return "the intercept alone sorts the classes"
    if data.is_binary and len(columns) == 1:
        column = int(found.columns[0])
        feature = column - int(data.design.fit_intercept)
        values = _column(data, feature) * (1.0 if scale is None else scale[feature])
        return _explain_column(columns[0], values, data, classes.tolist(), rises=bool(found.direction[0, column] > 0.0))
    shown = ", ".join(repr(name) for name in columns[:MOST_NAMES])
    more = f" and {len(columns) - MOST_NAMES} more" if len(columns) > MOST_NAMES else ""
    noun = "column" if len(columns) == 1 else "a combination of the columns"
    groups = _classes_set_apart(found.direction, data, classes.tolist())
    if len(groups) < data.n_classes and not found.complete:
        return f"{noun} {shown}{more} sets {' apart from '.join(groups)}"
    border = "" if found.complete else ", but for rows on the border"
    return f"{noun} {shown}{more} sorts the classes without error{border}"


def _classes_set_apart(direction: FloatArray, data: LogisticData, labels: list[Any]) -> list[str]:
    """The classes as the direction sorts them, the smallest group first; it says nothing within a group."""
    outputs = direction
    if data.is_binary or data.reference:
        level = np.zeros_like(direction[:1])
        outputs = np.concatenate([level, direction] if data.is_binary else [direction, level])
    largest = np.abs(outputs).max(axis=0, initial=0.0)
    units = outputs / np.where(largest > 0.0, largest, 1.0)
    groups: list[list[int]] = []
    for k in range(len(labels)):
        alike = [group for group in groups if np.abs(units[group[0]] - units[k]).max() < ALIKE]
        if alike:
            alike[0].append(k)
        else:
            groups.append([k])
    return [", ".join(repr(labels[k]) for k in group) for group in sorted(groups, key=len)]


def _explain_column(name: str, values: FloatArray, data: LogisticData, labels: list[Any], *, rises: bool) -> str:
    """Where the border lies in one column, and which classes are on its sides."""
    counted = np.ones(values.shape, dtype=np.bool_) if data.weight is None else data.weight > 0.0
    upper_label, lower_label = (labels[1], labels[0]) if rises else (labels[0], labels[1])
    share = data.target if rises else 1.0 - data.target
    below = values[counted & (share < 1.0)]
    above = values[counted & (share > 0.0)]
    if below.max() < above.min():
        border = 0.5 * (below.max() + above.min())
        return (
            f"column {name!r} separates the classes: every row above {border:.6g} is {upper_label!r}, every row below "
            f"is {lower_label!r}"
        )
    border = below.max()
    sides = []
    if np.any(values[counted] > border):
        sides.append(f"every row above {border:.6g} is {upper_label!r}")
    if np.any(values[counted] < border):
        sides.append(f"every row below {border:.6g} is {lower_label!r}")
    return f"column {name!r} separates the classes: {', '.join(sides)} (at {border:.6g} there are rows of both)"


def _column(data: LogisticData, feature: int) -> FloatArray:
    table: Any = data.design.table
    column = table[:, [feature]]
    return np.asarray(column.toarray() if data.design.is_sparse else column, dtype=np.float64)[:, 0]


def warn_about(fit: LogisticFit, aliased: list[str], separation: str | None, *, tol: float, max_iter: int) -> None:
    """Warn of collinear columns, separated classes and a fit that stopped early."""
    if aliased:
        several = len(aliased) > 1
        shown = ", ".join(repr(name) for name in aliased[:MOST_NAMES]) + (", ..." if len(aliased) > MOST_NAMES else "")
        _warn(
            f"Column{'s' if several else ''} {shown} {'are linear combinations' if several else 'is a combination'} "
            "of the columns before: the data cannot tell them apart, so the coefficient is 0 and the standard error "
            "not a number (R prints NA). Drop the column, or use a penalty (a finite C).",
            AliasedColumnsWarning,
        )
    if separation is not None:
        _warn(
            f"The classes are separated: {separation}. The likelihood rises for ever as the coefficients grow, so "
            "there is no maximum-likelihood estimate. The answer given is the finite one under a weak normal prior "
            "(standard deviation 10 per standard deviation of a column); its standard errors and p-values mean little. "
            "Use a penalty of your own (a finite C), or leave the column out.",
            SeparationWarning,
        )
    if fit.interrupted:
        text = f"Interrupted after {fit.n_iter} iterations; the model is the last finished one."
        _warn(text + way_on(), ConvergenceWarning)
    elif not fit.converged and tol > 0.0:
        step = f"{fit.step:.3g}" if np.isfinite(fit.step) else "unknown"
        _warn(
            f"Not converged after {fit.n_iter} iterations (max_iter={max_iter}): the next step would still change the "
            f"linear predictor by {step} (root mean square), and tol is {tol:g}. Raise max_iter or tol, put the "
            "columns on a common scale, or use solver='auto'.",
            ConvergenceWarning,
        )


def _warn(message: str, category: type[Warning]) -> None:
    warnings.warn(message, category, stacklevel=5)
