"""What fitting a logistic regression ran into, said once and with what to do about it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import ConvergenceWarning
from softcount._types import FloatArray
from softcount.core.execute import Executor
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


@dataclass(frozen=True)
class _Border:
    """The values of a column on the two sides of a border: the highest below, the lowest above, and of all rows."""

    below: float
    above: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, data: LogisticData, feature: int, *, rises: bool) -> _Border:
        """Of some rows in memory."""
        values = _column(data, feature)
        counted = np.ones(values.shape, dtype=np.bool_) if data.weight is None else data.weight > 0.0
        share = data.target if rises else 1.0 - data.target
        below, above = values[counted & (share < 1.0)], values[counted & (share > 0.0)]
        return cls(
            float(below.max(initial=-np.inf)),
            float(above.min(initial=np.inf)),
            float(values[counted].min(initial=np.inf)),
            float(values[counted].max(initial=-np.inf)),
        )

    def __add__(self, other: _Border) -> _Border:
        return _Border(
            max(self.below, other.below),
            min(self.above, other.above),
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )

    def scaled(self, factor: float) -> _Border:
        """In other units."""
        return _Border(self.below * factor, self.above * factor, self.lowest * factor, self.highest * factor)


def explain_separation(
    fit: LogisticFit,
    data: LogisticData,
    classes: NDArray[Any],
    names: list[str],
    scale: FloatArray | None,
    *,
    executor: Executor,
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
        rises = bool(found.direction[0, column] > 0.0)
        rows: Any = data
        border = (
            rows.each(executor, lambda part, _: _Border.of(part, feature, rises=rises))
            if data.is_distant
            else _Border.of(data, feature, rises=rises)
        )
        border = border.scaled(1.0 if scale is None else float(scale[feature]))
        return _explain_column(columns[0], border, classes.tolist(), rises=rises)
    shown = ", ".join(repr(name) for name in columns[:MOST_NAMES])
    more = f" and {len(columns) - MOST_NAMES} more" if len(columns) > MOST_NAMES else ""
    noun = "column" if len(columns) == 1 else "a combination of the columns"
    groups = _classes_set_apart(found.direction, data, classes.tolist())
    if len(groups) < data.n_classes and not found.complete:
        return f"{noun} {shown}{more} sets {' apart from '.join(groups)}"
    edge = "" if found.complete else ", but for rows on the border"
    return f"{noun} {shown}{more} sorts the classes without error{edge}"


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


def _explain_column(name: str, found: _Border, labels: list[Any], *, rises: bool) -> str:
    """Where the border lies in one column, and which classes are on its sides."""
    upper_label, lower_label = (labels[1], labels[0]) if rises else (labels[0], labels[1])
    if found.below < found.above:
        border = 0.5 * (found.below + found.above)
        return (
            f"column {name!r} separates the classes: every row above {border:.6g} is {upper_label!r}, every row below "
            f"is {lower_label!r}"
        )
    border = found.below
    sides = []
    if found.highest > border:
        sides.append(f"every row above {border:.6g} is {upper_label!r}")
    if found.lowest < border:
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
    elif not fit.converged and tol > 0.0 and fit.n_iter < max_iter:
        _warn(
            f"No step raises the likelihood after {fit.n_iter} iterations, though its slope is not zero: most rows are "
            "so certain that they tell nothing of the way. Use smaller offsets or a stronger penalty, or put the "
            "columns on a common scale.",
            ConvergenceWarning,
        )
    elif not fit.converged and tol > 0.0:
        step = f"{fit.step:.3g}" if np.isfinite(fit.step) else "unknown"
        _warn(
            f"Not converged after {fit.n_iter} iterations (max_iter={max_iter}): the next step would still change the "
            f"linear predictor by {step} (root mean square), and tol is {tol:g}. Raise max_iter or tol, put the "
            "columns on a common scale, or use solver='auto'.",
            ConvergenceWarning,
        )


def _warn(message: str, category: type[Warning]) -> None:
    warnings.warn(message, category, stacklevel=6)
