"""The columns that a formula made, as data: so that a model file needs neither the formula's language nor its code.

A formula may run any Python, which a model file must never do. Here a column is a product of plain factors: a column of
the table, a logarithm or the like of one, or the indicator of one of its values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import FloatArray

__all__ = ["DesignColumn", "DesignFactor", "FormulaDesign", "read_design"]

#: What a factor may do to the numbers of a column, by the name it has in formulas.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "": lambda values: values,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "exp": np.exp,
    "sqrt": np.sqrt,
}
_CALL = re.compile(r"(?:np\.)?(\w+)\(\s*(?:`([^`]+)`|([^\W\d]\w*))\s*\)")
MOST_COLUMNS = 20_000


@dataclass(frozen=True)
class DesignFactor:
    """One factor of a column of the design.

    Attributes
    ----------
    column : str
        The table's column.
    function : str
        A key of :data:`FUNCTIONS`; of numbers only.
    levels : tuple or None
        All values the column had, where it is a category.
    level : int
        Which of them this factor is the indicator of; -1 for a number.
    """

    column: str
    function: str = ""
    levels: tuple[Any, ...] | None = None
    level: int = -1

    def values(self, cells: NDArray[Any]) -> FloatArray:
        """The factor's value of every row."""
        if self.levels is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(FUNCTIONS[self.function](np.asarray(cells, dtype=np.float64)), dtype=np.float64)
        return np.asarray(cells == self.level, dtype=np.float64)


@dataclass(frozen=True)
class DesignColumn:
    """A product of factors.

    Attributes
    ----------
    name : str
        The name of its coefficient.
    factors : tuple of DesignFactor
    """

    name: str
    factors: tuple[DesignFactor, ...]


@dataclass(frozen=True)
class FormulaDesign:
    """The columns of a design matrix, without the intercept's.

    Attributes
    ----------
    columns : tuple of DesignColumn
    """

    columns: tuple[DesignColumn, ...]

    def __post_init__(self) -> None:
        for column in self.columns:
            for factor in column.factors:
                if factor.function not in FUNCTIONS:
                    raise InputError(f"A column of the design applies {factor.function!r}, which is no known function.")
                if factor.levels is not None and not 0 <= factor.level < len(factor.levels):
                    raise InputError(f"A column of the design has no level {factor.level!r}.")

    @property
    def variables(self) -> dict[str, tuple[Any, ...] | None]:
        """The table's columns that are needed: None for numbers, the known values of categories."""
        return {factor.column: factor.levels for column in self.columns for factor in column.factors}

    def table(self, data: Any) -> FloatArray:
        """The design matrix of new rows, shape (n_rows, n_columns).

        Parameters
        ----------
        data : data frame or mapping
            Cells by column.
        """
        coded = {name: self._coded(data, name, levels) for name, levels in self.variables.items()}
        columns = list(coded.values()) or (list(data.values()) if isinstance(data, Mapping) else [data])
        n_rows = len(columns[0]) if columns else 0
        matrix = np.ones((n_rows, len(self.columns)))
        for j, column in enumerate(self.columns):
            for factor in column.factors:
                matrix[:, j] *= factor.values(coded[factor.column])
        return matrix

    def _coded(self, data: Any, name: str, levels: tuple[Any, ...] | None) -> NDArray[Any]:
        try:
            cells = list(data[name])
        except (KeyError, TypeError):
            raise InputError(f"The model was fitted with the column {name!r}, which is not there.") from None
        if levels is None:
            try:
                return np.array(cells, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(f"Column {name!r} cannot be read as numbers: {error}.") from None
        place = {level: k for k, level in enumerate(levels)}
        codes = np.array([place.get(cell, -1) for cell in cells], dtype=np.int64)
        if (codes < 0).any():
            row = int(np.flatnonzero(codes < 0)[0])
            raise InputError(
                f"Row {row}, column {name!r} holds {cells[row]!r}, which was not there when the model was fitted; "
                f"there were {', '.join(map(repr, levels[:20]))}."
            )
        return codes


def read_design(spec: Any, names: Sequence[str], data: Any, matrix: Any) -> FormulaDesign | None:
    """The design behind a formula, or None where it does more than products of plain factors.

    Parameters
    ----------
    spec : formulaic.ModelSpec
    names : sequence of str
        The columns of the design, without the intercept's.
    data : data frame
        What the formula was applied to.
    matrix : data frame
        The design it gave, which the answer has to equal.
    """
    found: dict[str, DesignColumn] = {}
    for term in spec.structure:
        for scoped in term.scoped_terms:
            choices = [_choices(scoped_factor, spec.encoder_state) for scoped_factor in getattr(scoped, "factors", ())]
            if len(names) > MOST_COLUMNS or any(choice is None for choice in choices):
                return None
            for parts in product(*[choice for choice in choices if choice is not None]):
                name = ":".join(label for label, _ in parts)
                found[name] = DesignColumn(name, tuple(factor for _, factor in parts))
    if any(name not in found for name in names):
        return None
    design = FormulaDesign(tuple(found[name] for name in names))
    try:
        same = np.array_equal(design.table(data), np.asarray(matrix, dtype=np.float64))
    except (InputError, TypeError, ValueError):
        return None
    return design if same else None


def _choices(scoped: Any, encoder_state: Mapping[str, Any]) -> list[tuple[str, DesignFactor]] | None:
    """The columns one factor of a formula makes, with the names they have, or None where it is not plain."""
    expression = scoped.factor.expr
    kind, state = encoder_state.get(expression, (None, {}))
    column, function = expression, ""
    call = _CALL.fullmatch(expression)
    if call is not None:
        function, column = call[1], call[2] or call[3]
    if state.get("categories") is None:
        if getattr(kind, "value", "") != "numerical" or function not in FUNCTIONS:
            return None
        return [(expression, DesignFactor(column, function))]
    if function not in ("", "C") or type(state["contrasts"].contrasts).__name__ != "TreatmentContrasts":
        return None
    levels = tuple(level.item() if isinstance(level, np.generic) else level for level in state["categories"])
    if not all(isinstance(level, (str, int, float, bool)) for level in levels):
        return None
    mark = "T." if scoped.reduced else ""
    first = int(scoped.reduced)
    return [
        (f"{expression}[{mark}{level}]", DesignFactor(column, "", levels, k))
        for k, level in enumerate(levels)
        if k >= first
    ]
