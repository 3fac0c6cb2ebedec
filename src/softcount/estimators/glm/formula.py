"""Formulas for linear models, by formulaic, which is loaded when a formula is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount.estimators.glm.design import FormulaDesign, read_design

__all__ = ["FormulaFit", "FormulaRows", "fit_formula"]

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
        matrix = self.spec.get_model_matrix(data, na_action="raise")
        return np.asarray(matrix.drop(columns=INTERCEPT) if self.fit_intercept else matrix, dtype=np.float64)


def fit_formula(formula: str, data: Any, fitting: dict[str, Any]) -> FormulaRows:
    """Apply ``formula`` to ``data``."""
    try:
        import formulaic
    except ImportError:
        raise ImportError(
            "Formulas need formulaic, which is not installed: pip install 'softcount[formula]'."
        ) from None
    if "~" not in formula:
        raise InputError(f"formula={formula!r} has no '~'; expected 'target ~ terms', as in 'y ~ age + C(region)'.")
    try:
        matrices = formulaic.model_matrix(formula, data, na_action="raise")
    except ValueError as error:
        if "missing" not in str(error).lower() and "null" not in str(error).lower():
            raise
        raise InputError(
            f"The columns of {formula!r} have missing values: {error}. Rows are never dropped silently; drop or fill "
            "them first."
        ) from None
    right = matrices.rhs
    has_intercept = INTERCEPT in right.columns
    left = np.asarray(matrices.lhs, dtype=np.float64)
    table = right.drop(columns=INTERCEPT) if has_intercept else right
    return FormulaRows(
        table,
        left[:, 0] if left.shape[1] == 1 else left,
        FormulaFit(has_intercept, read_design(right.model_spec, list(table.columns), data, table), right.model_spec),
        {name: data[value] if isinstance(value, str) else value for name, value in fitting.items()},
    )
