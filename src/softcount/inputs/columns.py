"""Tables with columns of different kinds: pandas, polars and Arrow tables, object arrays, lists of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import BoolArray

__all__ = ["Column", "encode", "is_table", "learn_categories", "read_columns"]

#: Whole-number columns with at most this many different values are read as categories.
FEW_VALUES = 10
#: Whole numbers of this size and more are not all told apart as floating point.
LARGEST_EXACT = 2.0**53


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : {"boolean", "integer", "number", "category"}
    values : array of shape (n_rows,)
        Numbers as float64 with NaN where missing (whole-number columns without missing cells keep their type), or
        objects for a category column.
    missing : array of bool
        Where cells are missing.
    levels : tuple or None
        The order of its values that a table's own categories state.
    """

    name: str
    kind: str
    values: NDArray[Any]
    missing: BoolArray
    levels: tuple[Any, ...] | None = None


def is_table(X: Any) -> bool:
    """Whether X is a data frame or Arrow table rather than an array."""
    return hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__") or type(X).__module__.startswith("narwhals")


def read_columns(X: Any) -> list[Column]:
    """The columns of a data frame, or of a two-dimensional array (named ``x0``, ``x1``, ...)."""
    if is_table(X):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(X, eager_only=True)
        # By position: a name that is a number would be read as one.
        return [_from_series(series, nw) for series in frame.iter_columns()]
    array = X if isinstance(X, np.ndarray) else _object_table(X)
    return [_from_array(array[:, j], f"x{j}") for j in range(array.shape[1])]


def _object_table(X: Any) -> NDArray[Any]:
    rows = [list(row) for row in X]
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        row = next(i for i, r in enumerate(rows) if len(r) != len(rows[0]))
        raise InputError(f"Row {row} of X has {len(rows[row])} cells, but row 0 has {len(rows[0])}.")
    array = np.empty((len(rows), widths.pop() if widths else 0), dtype=object)
    for i, cells in enumerate(rows):
        array[i] = cells
    return array


def _from_series(series: Any, nw: Any) -> Column:
    name, dtype = str(series.name), series.dtype
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if dtype == nw.Boolean:
        if missing.any():
            values = np.array([math.nan if is_null(v) else float(v) for v in series.to_list()])
        else:
            values = series.to_numpy().astype(np.float64)
        return Column(name, "boolean", values, missing)
    if dtype.is_numeric():
        if dtype.is_integer() and not missing.any():
            return Column(name, "integer", np.asarray(series.to_numpy()), missing)
        values = np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        values[missing] = math.nan
        kind = "integer" if dtype.is_integer() else "number"
        if kind == "integer" and np.nanmax(np.abs(values), initial=0.0) >= LARGEST_EXACT:
            objects = np.empty(len(missing), dtype=object)
            objects[:] = series.to_list()
            return Column(name, kind, _whole_numbers(objects, values, missing), missing)
        return Column(name, kind, values, np.isnan(values))
    if dtype.is_temporal():
        raise InputError(
            f"Column {name!r} holds dates or times ({dtype}). Turn it into numbers (days since a date) or categories "
            "(month, weekday), or leave it out."
        )
    objects = np.empty(len(missing), dtype=object)
    objects[:] = series.to_list()
    return replace(_from_array(objects, name), levels=_stated_order(series, nw))


def _stated_order(series: Any, nw: Any) -> tuple[Any, ...] | None:
    """The categories of a column in the order its table states: what polars orders by appearance has none."""
    if series.dtype == nw.Enum or (series.dtype == nw.Categorical and series.implementation.is_pandas()):
        return tuple(series.cat.get_categories().to_list())
    return None


def _from_array(values: NDArray[Any], name: str) -> Column:
    kind = values.dtype.kind
    if kind == "b":
        return Column(name, "boolean", values.astype(np.float64), np.zeros(values.shape, dtype=bool))
    if kind in "iu":
        return Column(name, "integer", values, np.zeros(values.shape, dtype=bool))
    if kind == "f":
        return Column(name, "number", values, np.isnan(values))
    if kind in "US":
        return Column(name, "category", values.astype(object), np.zeros(values.shape, dtype=bool))
    return _from_objects(values, name)


def _from_objects(values: NDArray[Any], name: str) -> Column:
    """A column of Python objects, read as what all its observed cells are."""
    missing = np.fromiter((is_null(v) for v in values), dtype=bool, count=values.shape[0])
    kinds = {type(v) for v in values[~missing]}
    if not kinds:
        return Column(name, "number", np.full(values.shape, math.nan), missing)
    if any(issubclass(kind, (complex, np.complexfloating)) for kind in kinds):
        raise InputError(f"Column {name!r} holds complex numbers. Give their real and imaginary parts as two columns.")
    is_boolean = all(issubclass(k, (bool, np.bool_)) for k in kinds)
    if not is_boolean and not all(issubclass(k, (int, float, np.integer, np.floating)) for k in kinds):
        return Column(name, "category", values, missing)
    numbers = np.array([math.nan if lost else float(v) for v, lost in zip(values, missing, strict=True)])
    if is_boolean:
        return Column(name, "boolean", numbers, missing)
    if not all(issubclass(k, (int, np.integer)) for k in kinds):
        return Column(name, "number", numbers, missing)
    return Column(name, "integer", _whole_numbers(values, numbers, missing), missing)


def _whole_numbers(values: NDArray[Any], numbers: NDArray[Any], missing: BoolArray) -> NDArray[Any]:
    """Whole numbers in a type that tells any two of them apart; where it is one of objects, NaN marks missing ones."""
    if np.all(np.abs(numbers[~missing]) < LARGEST_EXACT):
        return numbers if missing.any() else numbers.astype(np.int64)
    whole = np.array([math.nan if lost else int(v) for v, lost in zip(values, missing, strict=True)], dtype=object)
    try:
        return whole if missing.any() else whole.astype(np.int64)
    except OverflowError:
        return whole


def is_null(value: Any) -> bool:
    """Whether a cell is None, NaN, ``pd.NA`` or ``pd.NaT``."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, (float, np.floating)) and math.isnan(value))
    )


def few_values(column: Column, limit: int = FEW_VALUES) -> int | None:
    """How many different values a column has, or None if more than ``limit``."""
    observed = column.values[~column.missing]
    seen: set[Any] = set()
    for start in range(0, observed.shape[0], 4096):
        seen.update(np.unique(observed[start : start + 4096]).tolist())
        if len(seen) > limit:
            return None
    return len(seen)


def learn_categories(column: Column) -> list[Any]:
    """The different values of a column in the order its table states, else sorted where they can be."""
    observed = column.values[~column.missing]
    if column.levels is not None and column.kind == "category":
        seen = set(observed.tolist())
        stated = [level for level in column.levels if level in seen]
        if len(stated) == len(seen):
            return stated
    if observed.dtype.kind != "O":
        return list(np.unique(observed).tolist())
    try:
        distinct = set(observed.tolist())
    except TypeError:
        row = next(i for i, v in enumerate(column.values) if not column.missing[i] and _is_unhashable(v))
        raise InputError(
            f"Row {row}, column {column.name!r} holds {column.values[row]!r} of type "
            f"{type(column.values[row]).__name__}; a category is a string or a number."
        ) from None
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=lambda v: (type(v).__name__, repr(v)))


def _is_unhashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return True
    return False


def encode(column: Column, categories: Sequence[Any]) -> tuple[NDArray[np.int32], BoolArray]:
    """Codes of the cells in ``categories`` (-1 where missing or unknown), and where they are unknown."""
    codes = np.full(column.values.shape, -1, dtype=np.int32)
    observed = np.flatnonzero(~column.missing)
    values = column.values[observed]
    if values.dtype.kind != "O":
        table = np.asarray(categories)
        if table.dtype.kind in "biuf" and table.size:
            place = np.minimum(np.searchsorted(table, values), table.size - 1)
            found = table[place] == values
            codes[observed] = np.where(found, place, -1)
            unknown = np.zeros(codes.shape, dtype=bool)
            unknown[observed] = ~found
            return codes, unknown
    position = {value: code for code, value in enumerate(categories)}
    codes[observed] = [position.get(_hashable(v), -1) for v in values.tolist()]
    unknown = ~column.missing & (codes < 0)
    return codes, unknown


def _hashable(value: Any) -> Any:
    return repr(value) if _is_unhashable(value) else value
