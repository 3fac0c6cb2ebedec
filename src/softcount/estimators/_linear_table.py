"""Tables of linear models: every cell a finite number. Errors name row and column."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from softcount._errors import InputError
from softcount._types import FloatArray, Table
from softcount.estimators._plain_array import FLOATS, take_plain
from softcount.estimators._tables import refuse_repeated_names, with_place, without_na
from softcount.inputs.batches import is_arrow
from softcount.inputs.masked import unmasked

#: The squared number of columns has to fit into memory a few times: 3 GB each at this width.
MOST_COLUMNS = 20_000
NO_NUMBER = (
    "Linear models take numbers: make indicator columns of texts and categories, for example with "
    "sklearn.preprocessing.OneHotEncoder, or for a GLM by a formula with C(column)."
)

__all__ = [
    "check_columns",
    "check_finite",
    "check_size",
    "check_sizes",
    "check_width",
    "column_names",
    "column_sizes",
    "read_table",
    "what_it_is",
]


def read_table(estimator: Any, X: Any, *, reset: bool, fewest_columns: int = 1) -> Table:
    """X as float64 or float32, dense or CSR; finiteness is checked by :func:`check_finite`."""
    if take_plain(estimator, X, reset=reset, kinds=FLOATS, check_finite=False):
        return cast("Table", X)
    if is_arrow(X):
        return _read_arrow(estimator, X, reset=reset)
    X = unmasked(X)
    refuse_repeated_names(X)
    shape = getattr(X, "shape", ())
    if not fewest_columns and shape[1:] == (0,):
        X = np.empty(shape)

    def check(table: Any) -> Table:
        checked = validate_data(
            estimator,
            table,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_features=fewest_columns,
        )
        return cast("Table", checked)

    try:
        return check(X)
    except TypeError as error:
        if "NAType" not in str(error):
            raise with_place(error, X, estimator, NO_NUMBER) from None
        return check(without_na(X))
    except ValueError as error:
        raise with_place(error, X, estimator, NO_NUMBER) from None


def _read_arrow(estimator: Any, X: Any, *, reset: bool) -> Table:
    """The columns of an Arrow table, by name; missing cells become NaN."""
    from pyarrow import types

    names = [str(name) for name in X.column_names]
    if not reset:
        learned = [str(name) for name in getattr(estimator, "feature_names_in_", names)]
        if learned != names or len(names) != estimator.n_features_in_:
            raise InputError(f"X has the columns {names[:20]}, but the model learned from {learned[:20]}.")
    texts = [n for n, t in zip(names, X.schema.types, strict=True) if not (_is_number(types, t))]
    if texts:
        raise InputError(f"Column {texts[0]!r} holds no numbers. {NO_NUMBER}")
    dtype = np.float32 if all(types.is_float32(t) for t in X.schema.types) else np.float64
    table = np.empty((X.num_rows, len(names)), dtype=dtype)
    for j in range(len(names)):
        table[:, j] = X.column(j).to_numpy()
    if reset:
        estimator.n_features_in_ = len(names)
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return table


def _is_number(types: Any, kind: Any) -> bool:
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def check_width(n_columns: int, reason: str, way_out: str) -> None:
    """Refuse a table too wide for a matrix of its columns, where ``reason`` needs one."""
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"X has {n_columns} columns. {reason} needs a matrix of as many rows and columns, which is formed for at "
            f"most {MOST_COLUMNS}. {way_out}"
        )


def check_finite(table: Table, names: list[str]) -> None:
    """Refuse cells that are missing or infinite, naming the first."""
    if sp.issparse(table):
        values = cast("Any", table).data
        with np.errstate(over="ignore", invalid="ignore"):  # what is wrong is said below
            total = values.sum()
        if np.isfinite(total):
            return
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size == 0:
            return
        first = int(wrong[0])
        row = int(np.searchsorted(cast("Any", table).indptr, first, side="right")) - 1
        column, value = int(cast("Any", table).indices[first]), float(values[first])
    else:
        array = np.asarray(table)
        found = next(
            (
                (start + int(r), int(c))
                for start in range(0, array.shape[0], 4096)
                for r, c in np.argwhere(~np.isfinite(array[start : start + 4096]))[:1]
            ),
            None,
        )
        if found is None:
            return
        row, column = found
        value = float(array[row, column])
    raise InputError(
        f"Input X contains {what_it_is(value)}: row {row}, column {names[column]!r}. Linear models need every cell; "
        "drop the row, or fill the cell, for example with sklearn.impute."
    )


def check_size(name: str, values: FloatArray, *, smallest: float, largest: float) -> None:
    """Refuse numbers so large, or all so small, that what is made of them is no number any more, or zero."""
    size = float(np.max(np.abs(values), initial=0.0))
    if size > largest or 0.0 < size < smallest:
        beyond = f"above {largest:.0e}" if size > largest else f"that are all below {smallest:.0e}"
        raise InputError(
            f"{name} holds values up to {size:.3g} in size, and the products of numbers {beyond} leave the range of "
            f"floating point. Change the unit, for example divide by {size:.3g}."
        )


def check_columns(table: Table, names: list[str], largest: float) -> None:
    """Refuse columns of numbers beyond ``largest``, after one look at the largest of all."""
    values: Any = table.data if sp.issparse(table) else table
    # Two numbers tell that no column needs a closer look.
    if max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))) <= largest:
        return
    for name, size in zip(names, column_sizes(table), strict=True):
        check_size(f"Column {name!r} of X", size, smallest=0.0, largest=largest)


def check_sizes(table: Table, target: FloatArray, names: list[str], largest: float) -> None:
    """Refuse columns and targets beyond ``largest``, and tables and targets that are all below its inverse."""
    check_size("y", target, smallest=1.0 / largest, largest=largest)
    check_size("X", column_sizes(table), smallest=1.0 / largest, largest=math.inf)
    check_columns(table, names, largest)


def column_sizes(table: Table) -> FloatArray:
    """Largest absolute value of every column."""
    both: list[Any] = [cast("Any", table).max(axis=0), cast("Any", table).min(axis=0)]
    highest, lowest = (np.asarray(one.toarray().ravel() if sp.issparse(table) else one) for one in both)
    sizes: FloatArray = np.maximum(highest, -lowest).astype(np.float64)
    return sizes


def column_names(estimator: Any) -> list[str]:
    """The names of the columns of X: those of the data frame it was, or x0, x1, ..."""
    if hasattr(estimator, "feature_names_in_"):
        return [str(name) for name in estimator.feature_names_in_]
    return [f"x{j}" for j in range(estimator.n_features_in_)]


def what_it_is(value: float) -> str:
    """A number that is none, in words."""
    return "NaN" if math.isnan(value) else "infinity"
