"""Arrow tables of plain numbers as arrays, without going through a data frame.

A stream asks for this once per batch: a data frame of thirty columns costs more to make than its cells to count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount.inputs.batches import is_arrow

__all__ = ["plain_numbers"]


def plain_numbers(table: Any) -> NDArray[Any] | None:
    """The cells as the array that the table's data frame would become; None where a column is not of plain numbers.

    Missing cells are NaN, which makes columns of integers double precision. The array is laid out column by column.

    Parameters
    ----------
    table : object
        Anything; only Arrow tables are looked at.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_numbers(pa.table({"a": [1, 2], "b": [0.5, None]}))
    array([[1. , 0.5],
           [2. , nan]])
    """
    if not is_arrow(table) or table.num_columns == 0:
        return None
    found = [_number_type(column) for column in table.columns]
    types = [given for given in found if given is not None]
    if len(types) < len(found) or not _restores_plain(table.schema):
        return None
    cells = np.empty((table.num_columns, table.num_rows), dtype=np.result_type(*types))
    for row, column in zip(cells, table.columns, strict=True):
        start = 0
        for chunk in column.chunks:
            row[start : start + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
            start += len(chunk)
    return cells.T


def _number_type(column: Any) -> np.dtype[Any] | None:
    """The type a data frame gives the column, if it is one of integers or of single or double precision."""
    from pyarrow import types

    if not (types.is_integer(column.type) or types.is_float32(column.type) or types.is_float64(column.type)):
        return None
    own: np.dtype[Any] = np.dtype(column.type.to_pandas_dtype())
    return np.dtype(np.float64) if own.kind != "f" and column.null_count else own


def _restores_plain(schema: Any) -> bool:
    """Whether pandas, if it wrote the table, had columns of NumPy's types in it, and not its own that know NA."""
    written = schema.pandas_metadata
    if written is None:
        return True
    plain = {field.name: str(np.dtype(field.type.to_pandas_dtype())) for field in schema}
    return all(
        entry.get("numpy_type") == plain[entry.get("field_name")]
        for entry in written.get("columns", ())
        if entry.get("field_name") in plain
    )
