"""Columns of mixed tables that come batch by batch: what they hold, without keeping a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount.inputs.columns import Column

__all__ = ["ColumnSurvey", "as_kind", "short_columns"]

#: Different numbers of a column that are kept: nobody takes a column of more for one of categories without being asked.
MOST_NUMBERS = 64
#: When kinds of cells meet in a column of Python objects, this is what they are together.
ORDER = ("boolean", "integer", "number", "category")


@dataclass(frozen=True)
class ColumnSurvey:
    """What a column holds.

    Attributes
    ----------
    name, kind : str
        As of :class:`~softcount.inputs.columns.Column`.
    values : frozenset
        The different observed values; of more numbers than are kept, some with the smallest and the largest.
    has_missing, has_values : bool
    keeps_all : bool
        Whether all different numbers are kept.
    dtype : dtype
        Of the observed values.
    levels : tuple or None
        The order of the values, where all batches state the same one.
    """

    name: str
    kind: str
    values: frozenset[Any]
    has_missing: bool
    has_values: bool
    keeps_all: bool
    dtype: Any
    levels: tuple[Any, ...] | None = None

    @classmethod
    def of(cls, column: Column, *, keeps_all: bool) -> ColumnSurvey:
        """The column of a batch."""
        observed = column.values[~column.missing]
        if observed.dtype.kind == "O":
            try:
                values = frozenset(observed.tolist())
            except TypeError:
                raise InputError(
                    f"Column {column.name!r} holds lists or other values that are no categories; a category is a "
                    "string or a number."
                ) from None
        else:
            values = frozenset(_few(np.unique(observed), keeps_all=keeps_all).tolist())
        has_missing = bool(column.missing.any())
        has_values = bool(observed.size)
        return cls(column.name, column.kind, values, has_missing, has_values, keeps_all, observed.dtype, column.levels)

    def __add__(self, other: ColumnSurvey) -> ColumnSurvey:
        if self.name != other.name:
            raise InputError(f"A column is called {self.name!r} in one batch and {other.name!r} in another.")
        kinds = [s.kind for s in (self, other) if s.has_values] or [self.kind]
        dtypes = [s.dtype for s in (self, other) if s.has_values] or [self.dtype]
        kind = max(kinds, key=ORDER.index)
        values = self.values | other.values
        if kind != "category" and not self.keeps_all and len(values) > MOST_NUMBERS:
            values = frozenset(_few(np.array(sorted(values)), keeps_all=False).tolist())
        dtype = np.dtype(object) if "category" in kinds else np.result_type(*dtypes)
        return ColumnSurvey(
            self.name,
            kind,
            values,
            self.has_missing or other.has_missing,
            self.has_values or other.has_values,
            self.keeps_all,
            dtype,
            self.levels if self.levels == other.levels else None,
        )

    def column(self) -> Column:
        """A short column that holds what the whole one does: from it the same is learned."""
        missing = np.zeros(len(self.values) + int(self.has_missing), dtype=bool)
        missing[len(self.values) :] = True
        if self.kind == "category":
            cells = np.empty(missing.shape[0], dtype=object)
            for i, value in enumerate(self.values):
                cells[i] = value
            return Column(self.name, self.kind, cells, missing, self.levels)
        dtype = np.dtype(np.float64) if self.has_missing or self.dtype.kind == "O" else self.dtype
        numbers = np.full(missing.shape[0], 0, dtype=dtype)
        numbers[: len(self.values)] = sorted(self.values)
        if self.has_missing:
            numbers[len(self.values) :] = np.nan
        return Column(self.name, self.kind, numbers, missing)


def _few(values: Any, *, keeps_all: bool) -> Any:
    """The values where they are few enough to keep, else some, with the smallest and the largest."""
    if keeps_all or values.size <= MOST_NUMBERS:
        return values
    return np.concatenate([values[:MOST_NUMBERS], values[-1:]])


def as_kind(column: Column, kind: str) -> Column:
    """A batch's column read as what the whole column is."""
    if kind == column.kind or column.values.dtype.kind == "O" or kind != "category":
        return column
    cells = np.empty(column.values.shape[0], dtype=object)
    cells[:] = column.values.tolist()
    cells[column.missing] = None
    return Column(column.name, kind, cells, column.missing)


def short_columns(surveys: Sequence[ColumnSurvey]) -> list[Column]:
    """A short table in which every column holds what the whole one does; shorter ones begin again."""
    columns = [survey.column() for survey in surveys]
    n_rows = max(1, *(column.values.shape[0] for column in columns))
    places = [np.arange(n_rows) % column.values.shape[0] for column in columns]
    return [replace(c, values=c.values[p], missing=c.missing[p]) for c, p in zip(columns, places, strict=True)]
