"""Formulas for linear models, by formulaic, which is loaded when a formula is used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._optional import need
from softcount.estimators.glm.design import FormulaDesign, read_design

__all__ = ["FormulaFit", "FormulaRows", "column_of", "fit_formula"]

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class FormulaRows:
    """What a formula made of a data frame.

    Attributes
    ----------
    table : data frame
        The columns, without the intercept's.
    target : array of shape (n_rows,) or (n_rows, 2)
        The left-hand side.
    fit : FormulaFit
        How to make the columns of other data.
    fitting : dict
        Keyword arguments of ``fit``, names of columns replaced by the columns.
    """

    table: Any
    target: Any
    fit: FormulaFit
    fitting: dict[str, Any]


@dataclass(frozen=True)
class FormulaFit:
    """How a fitted model makes columns of new data.

    Attributes
    ----------
    fit_intercept : bool
    design : FormulaDesign or None
        The columns as products of plain factors; None where the formula does more than that.
    spec : formulaic.ModelSpec or None
        How formulaic makes the columns, for formulas that do. Model files do not hold it.
    """

    fit_intercept: bool
    design: FormulaDesign | None
    spec: Any = field(default=None, repr=False, compare=False)

    def table(self, data: Any) -> Any:
        """The columns of new data, without the intercept's."""
        if self.design is not None:
            return self.design.table(data)
        matrix = self.spec.get_model_matrix(_frame(data), na_action="raise")
        return np.asarray(matrix.drop(columns=INTERCEPT) if self.fit_intercept else matrix, dtype=np.float64)


def fit_formula(formula: str, data: Any, fitting: dict[str, Any]) -> FormulaRows:
    """Apply ``formula`` to ``data``."""
    need("formulaic", "A formula", "'softcount[formula]'")
    import formulaic
    from formulaic.errors import FormulaicError

    if "~" not in formula:
        raise InputError(f"formula={formula!r} has no '~'; expected 'target ~ terms', as in 'y ~ age + C(region)'.")
    frame = _frame(data)
    _refuse_dates(formula, frame)
    try:
        matrices = formulaic.model_matrix(formula, frame, na_action="raise")
    except ValueError as error:
        if "missing" not in str(error).lower() and "null" not in str(error).lower():
            raise
        raise InputError(_lost_cells(formula, frame, error)) from None
    except FormulaicError as error:
        raise InputError(_cannot_be_read(formula, frame, error)) from None
    right = matrices.rhs
    has_intercept = INTERCEPT in right.columns
    table = right.drop(columns=INTERCEPT) if has_intercept else right
    return FormulaRows(
        table,
        _target(formula, matrices.lhs, frame),
        FormulaFit(has_intercept, read_design(right.model_spec, list(table.columns), frame, table), right.model_spec),
        {name: column_of(frame, name, value) for name, value in fitting.items()},
    )


def column_of(data: Any, name: str, value: Any) -> Any:
    """``value``, or where it is a text the column of ``data`` that it names."""
    if not isinstance(value, str):
        return value
    try:
        return data[value]
    except (KeyError, IndexError, TypeError, ValueError):
        raise InputError(f"{name}={value!r} names a column of the data, which has none of that name.") from None


def _frame(data: Any) -> Any:
    """A pandas data frame of a data frame of another library, or of columns by name."""
    need("pandas", "A data frame")
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        # formulaic takes columns of pandas' own type of texts for numbers.
        texts = [name for name, dtype in data.dtypes.items() if isinstance(dtype, pd.StringDtype)]
        return data.astype(dict.fromkeys(texts, object)) if texts else data
    if isinstance(data, Mapping):
        return pd.DataFrame({name: np.asarray(column) for name, column in data.items()})
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        return pd.DataFrame({str(name): data[name].to_numpy() for name in data.columns})
    raise InputError(
        f"A formula needs columns with names, but the data are a {type(data).__name__}. Give a data frame, or a "
        "dictionary of columns."
    )


def _target(formula: str, left: Any, data: Any) -> Any:
    """The numbers on the left-hand side; categories are refused, for only the user knows which one counts."""
    for name, (kind, _) in left.model_spec.encoder_state.items():
        if getattr(kind, "value", "") != "categorical":
            continue
        values = list(dict.fromkeys(data[name])) if name in data.columns else []
        if values and all(isinstance(value, (bool, np.bool_)) for value in values):
            continue
        shown = f" {', '.join(map(repr, values[:5]))}{', ...' if len(values) > 5 else ''}" if values else ""
        example = values[-1] if values else "yes"
        right = formula.split("~", 1)[1].strip()
        raise InputError(
            f"The target {name!r} of {formula!r} holds categories{shown}. Say which one counts as a success: "
            f"{{{name} == {example!r}}} ~ {right}."
        )
    target = np.asarray(left, dtype=np.float64)
    return target[:, 0] if target.shape[1] == 1 else target


def _refuse_dates(formula: str, data: Any) -> None:
    """A product of a number and a date is none; inside a call of the formula a date may become a number."""
    plain = set(re.findall(r"\w+", re.sub(r"\([^()]*\)", "", formula)))
    for name, dtype in data.dtypes.items():
        if getattr(dtype, "kind", "") in ("M", "m") and str(name) in plain:
            raise InputError(
                f"Column {name!r} holds dates or times ({dtype}). Turn it into numbers (days since a date) or "
                "categories (month, weekday), or leave it out."
            )


def _lost_cells(formula: str, data: Any, error: Exception) -> str:
    """Which columns of the formula have missing cells, how many, and where the first ones are."""
    words = set(re.findall(r"\w+", formula))
    places = []
    for name in data.columns:
        lost = np.flatnonzero(np.asarray(data[name].isna())) if str(name) in words else np.empty(0, dtype=np.intp)
        if lost.size:
            places.append(f"{name!r} in {lost.size} of {len(data)} rows (the first is row {lost[0]})")
    found = "; ".join(places) or str(error)
    return (
        f"The columns of {formula!r} have missing values: {found}. Rows are never dropped silently; drop or fill "
        "them first."
    )


def _cannot_be_read(formula: str, data: Any, error: Exception) -> str:
    """What is wrong with a formula, and what the data have to offer."""
    what = re.sub(r"\x1b\[[0-9;]*m|[\u29db\u29da]", "", str(error))
    hint = " Two counts, successes and failures, are written 'successes + failures ~ terms'." * ("cbind" in formula)
    names = ", ".join(map(str, list(data.columns)[:30]))
    return f"formula={formula!r} cannot be applied: {' '.join(what.split())} The columns are: {names}.{hint}"
