"""One row written into or added to all rows of a table, and all rows summed, where rows are short.

NumPy goes through a table of a few columns row by row, and every row costs more than its few numbers. Several rows
taken as one long row cost as much as one.
"""

from __future__ import annotations

import numpy as np

from softcount._types import FloatArray

__all__ = ["LONG", "add_to_rows", "fill_rows", "plus_row", "sum_of_rows"]

#: Rows taken as one.
TOGETHER = 64
#: Rows this long are long enough to be added to; sums still gain from a few at a time.
LONG = 64
FEW_TOGETHER = 8
VERY_LONG = 512


def fill_rows(table: FloatArray, row: FloatArray) -> None:
    """Write ``row`` of shape (n_columns,) into every row of a C-contiguous table.

    Examples
    --------
    >>> table = np.empty((130, 2))
    >>> fill_rows(table, np.array([1.0, 2.0]))
    >>> table.sum(axis=0)
    array([130., 260.])
    """
    n_rows, n_columns = table.shape
    whole = n_rows - n_rows % TOGETHER
    if n_columns >= LONG or whole == 0 or not table.flags.c_contiguous:
        table[:] = row
        return
    table[:whole].reshape(-1, TOGETHER * n_columns)[:] = _repeated(row)
    table[whole:] = row


def add_to_rows(table: FloatArray, row: FloatArray) -> None:
    """Add ``row`` of shape (n_columns,) to every row of a C-contiguous table, in place.

    Examples
    --------
    >>> table = np.zeros((130, 2))
    >>> add_to_rows(table, np.array([1.0, 2.0]))
    >>> table.sum(axis=0)
    array([130., 260.])
    """
    n_rows, n_columns = table.shape
    whole = n_rows - n_rows % TOGETHER
    if n_columns >= LONG or whole == 0 or not table.flags.c_contiguous:
        table += row
        return
    long = table[:whole].reshape(-1, TOGETHER * n_columns)
    long += _repeated(row)
    table[whole:] += row


def _repeated(row: FloatArray) -> FloatArray:
    """What ``np.tile`` gives, which takes as long as a few hundred rows."""
    together = np.empty((TOGETHER, row.shape[0]))
    together[:] = row
    return together.ravel()


def plus_row(table: FloatArray, more: FloatArray) -> None:
    """Add ``more`` to a table in place: a table of the same shape, or one row for all.

    Examples
    --------
    >>> table = np.zeros((130, 2))
    >>> plus_row(table, np.array([[1.0, 2.0]]))
    >>> table.sum(axis=0)
    array([130., 260.])
    """
    if more.ndim == 2 and more.shape[0] == 1:
        add_to_rows(table, more[0])
    else:
        table += more


def sum_of_rows(table: FloatArray) -> FloatArray:
    """The sum over the rows of a C-contiguous table, shape (n_columns,).

    Examples
    --------
    >>> sum_of_rows(np.ones((130, 2)))
    array([130., 130.])
    """
    n_rows, n_columns = table.shape
    together = TOGETHER if n_columns < LONG else FEW_TOGETHER
    whole = n_rows - n_rows % together
    if n_columns >= VERY_LONG or whole == 0 or not table.flags.c_contiguous:
        return np.asarray(table.sum(axis=0))
    long = table[:whole].reshape(-1, together * n_columns).sum(axis=0)
    return np.asarray(long.reshape(together, n_columns).sum(axis=0) + table[whole:].sum(axis=0))
