"""Rows that are read batch by batch: files, memory-mapped arrays, and whatever can be gone through again and again.

A :class:`Source` gives all its rows once more each time it is asked, in the same order, in batches that say where they
come from. What it is made of, nobody else has to know.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softcount._errors import InputError

__all__ = ["Batch", "BatchesSource", "MappedArraySource", "Source", "at", "is_arrow", "is_batches", "is_path"]


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows.

    Attributes
    ----------
    X : array, sparse matrix or table
    y, weight : array-like or None
    where : str
        Which rows of what these are, for messages.
    """

    X: Any
    y: Any
    weight: Any
    where: str


class Source(Protocol):
    """Rows that can be read again and again.

    Attributes
    ----------
    n_rows : int or None
        How many there are, where that is known beforehand.
    """

    n_rows: int | None

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """All rows from the first to the last, at most so many at a time where the source can choose."""
        ...


@contextlib.contextmanager
def at(where: str) -> Iterator[None]:
    """Say where the rows are that an error is about."""
    try:
        yield
    except TypeError as error:
        raise TypeError(f"In {where}: {error}") from error
    except ValueError as error:
        raise InputError(f"In {where}: {error}") from error


# ---- what is what
def is_path(X: Any) -> bool:
    """Whether X names a file or a folder."""
    return isinstance(X, (str, os.PathLike))


def is_arrow(X: Any) -> bool:
    """Whether X is an Arrow table."""
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "column_names")


def is_batches(X: Any) -> bool:
    """Whether X is a sequence of batches, or gives batches when it is gone through, rather than rows.

    A list is one of batches where its first entry is a table, a matrix, or a tuple that begins with one.
    """
    if isinstance(X, (list, tuple)):
        return bool(X) and _is_batch(X[0])
    if hasattr(X, "shape") or hasattr(X, "__array__") or hasattr(X, "__dataframe__"):
        return False
    if callable(X) and not hasattr(X, "fit"):
        return True
    return hasattr(X, "__iter__") and not isinstance(X, (str, bytes, dict, set, frozenset, range, Sequence))


def _is_batch(entry: Any) -> bool:
    first = entry[0] if isinstance(entry, tuple) and entry else entry
    if isinstance(first, np.ndarray):
        return first.ndim == 2
    return hasattr(first, "__dataframe__") or hasattr(first, "__arrow_c_array__") or _is_sparse(first)


def _is_sparse(X: Any) -> bool:
    return type(X).__module__.startswith("scipy.sparse")


# ---- columns of tables
def as_table(X: Any) -> Any:
    """Arrow record batches as tables, the rest as it is."""
    if type(X).__module__.startswith("pyarrow") and type(X).__name__ == "RecordBatch":
        import pyarrow as pa

        return pa.Table.from_batches([X])
    return X


def taken(X: Any, name: str) -> Any:
    """One column of a table."""
    if is_arrow(X):
        return X.column(name)
    import narwhals.stable.v2 as nw

    return nw.from_native(X, eager_only=True).get_column(name).to_native()


def chosen(X: Any, names: Sequence[str]) -> Any:
    """Some columns of a table, in that order."""
    if is_arrow(X):
        return X.select(list(names))
    import narwhals.stable.v2 as nw

    return nw.from_native(X, eager_only=True).select(list(names)).to_native()


def names_of(X: Any) -> list[str] | None:
    """The names of a table's columns, or None where it has none."""
    if is_arrow(X):
        return list(X.column_names)
    if not hasattr(X, "__dataframe__") and not hasattr(X, "__arrow_c_stream__"):
        return None
    columns = getattr(X, "columns", None)
    return None if columns is None else list(columns)


def split(X: Any, y: Any, weight: Any, where: str, features: Sequence[str] | None = None) -> tuple[Any, Any, Any]:
    """X without the columns that ``y`` and ``weight`` name, and those columns.

    Parameters
    ----------
    X : table or array
    y, weight : str, array-like or None
        Names of columns, or the labels and weights themselves.
    where : str
        For messages.
    features : sequence of str or None
        The columns to keep, where not all others are.
    """
    names = names_of(X)
    asked = [name for name in (y, weight) if isinstance(name, str)]
    if names is None:
        if asked:
            raise InputError(
                f"{where} has columns without names, so none is called {asked[0]!r}. Give tables, or tuples (X, y)."
            )
        return X, y, weight
    for name in asked:
        if name not in names:
            raise InputError(f"{where} has no column {name!r}; it has {', '.join(map(repr, names))}.")
    kept = [name for name in names if name not in asked]
    if features is not None:
        lost = [name for name in features if name not in kept]
        if lost:
            raise InputError(f"{where} has no column {lost[0]!r}, which the model learned from; it has {names}.")
        kept = list(features)
    labels = taken(X, y) if isinstance(y, str) else y
    weights = taken(X, weight) if isinstance(weight, str) else weight
    return (X if kept == names else chosen(X, kept)), labels, weights


# ---- sources
class MappedArraySource:
    """A memory-mapped array, with labels and weights that are arrays as well.

    Parameters
    ----------
    X : memmap of shape (n_rows, n_features)
    y, weight : array-like or None
    """

    def __init__(self, X: Any, y: Any, weight: Any) -> None:
        self.n_rows: int | None = int(X.shape[0])
        self._X, self._y, self._weight = X, row_values("y", y, self.n_rows), row_values("w", weight, self.n_rows)

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """All rows, so many at a time, copied out of the map."""
        assert self.n_rows is not None
        for start in range(0, self.n_rows, most_rows):
            rows = slice(start, min(start + most_rows, self.n_rows))
            y, weight = (None if values is None else values[rows] for values in (self._y, self._weight))
            yield Batch(np.array(self._X[rows]), y, weight, f"rows {rows.start} to {rows.stop - 1} of the mapped array")


def row_values(name: str, values: Any, n_rows: int | None) -> Any:
    """Labels or weights that lie beside the rows, as something to slice; checked to be as many."""
    if values is None:
        return None
    array = values if hasattr(values, "__getitem__") and hasattr(values, "shape") else _listed(values)
    array = array.iloc if hasattr(array, "iloc") else array
    size = len(values)
    if n_rows is not None and size != n_rows:
        raise InputError(f"X has {n_rows} rows, but {'y' if name == 'y' else 'sample_weight'} has {size} entries.")
    return array


def _listed(values: Any) -> Any:
    """A list as an array of whatever is in it."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


class BatchesSource:
    """Batches that are gone through again and again.

    Parameters
    ----------
    given : iterable or callable
        Gives tuples ``(X, y)`` or ``(X, y, weight)``, arrays, sparse matrices, data frames or Arrow record batches; a
        callable is called for every pass.
    y, weight : str or None
        Columns of the tables.
    features : sequence of str or None
        The columns to keep, where not all others are.
    """

    n_rows: int | None = None

    def __init__(self, given: Any, y: Any, weight: Any, features: Sequence[str] | None = None) -> None:
        for name, value in (("y", y), ("sample_weight", weight)):
            if value is not None and not isinstance(value, str):
                raise InputError(
                    f"X is given in batches, so {name} comes with them: give tuples (X, y) or (X, y, weight), or the "
                    "name of a column."
                )
        self._given, self._y, self._weight, self._features = given, y, weight, features
        if not callable(given) and iter(given) is given:
            raise InputError(
                "X is an iterator, which can be gone through once, but learning reads all rows several times. Give a "
                "list, an object whose __iter__ begins anew, or a function that returns an iterator."
            )

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """The batches as they come; those without rows are passed over."""
        again: Callable[[], Any] | None = self._given if callable(self._given) else None
        for number, entry in enumerate(self._given if again is None else again()):
            yield from self._batch(entry, f"batch {number}")

    def _batch(self, entry: Any, where: str) -> Iterator[Batch]:
        X, y, weight = entry, self._y, self._weight
        if isinstance(entry, tuple):
            if not 1 <= len(entry) <= 3:
                raise InputError(f"{where} is a tuple of {len(entry)}; give (X, y) or (X, y, weight).")
            X, own_y, own_weight = (*entry, None, None)[:3]
            y = y if own_y is None else own_y
            weight = weight if own_weight is None else own_weight
        X = as_table(X)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows:
            yield Batch(*split(X, y, weight, where, self._features), where)
