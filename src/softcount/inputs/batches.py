"""Rows that are read batch by batch: files, memory-mapped arrays, and whatever can be gone through again and again.

A :class:`Source` gives all its rows once more each time it is asked, in the same order, in batches that say where they
come from. What it is made of, nobody else has to know.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from softcount._errors import InputError

__all__ = [
    "Batch",
    "BatchesSource",
    "MappedArraySource",
    "RowValues",
    "Source",
    "at",
    "is_arrow",
    "is_batches",
    "is_path",
    "named",
    "split",
]


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows.

    Attributes
    ----------
    X : array, sparse matrix or table
    y, weight : array-like or None
    where : str
        Which rows of what these are, for messages.
    beside : dict
        What else there is about the rows, such as their offsets; None or no entry where there is nothing.
    """

    X: Any
    y: Any
    weight: Any
    where: str
    beside: Mapping[str, Any] = field(default_factory=dict)


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


def named(value: Any) -> tuple[str, ...]:
    """The columns that a value names: one by a text, several by a tuple of texts; none where it is something else.

    Examples
    --------
    >>> named("kind"), named(("sick", "well")), named(["sick", "well"])
    (('kind',), ('sick', 'well'), ())
    """
    if isinstance(value, str):
        return (value,)
    return value if isinstance(value, tuple) and all(isinstance(name, str) for name in value) else ()


def split(X: Any, values: Mapping[str, Any], where: str, features: Sequence[str] | None = None) -> Batch:
    """X without the columns that some of the values name, with those columns beside it.

    Parameters
    ----------
    X : table or array
    values : dict
        Names of columns, or the values of the rows themselves: ``y``, ``sample_weight`` and others.
    where : str
        For messages.
    features : sequence of str or None
        The columns to keep, where not all others are.
    """
    names = names_of(X)
    asked = [name for value in values.values() for name in named(value)]
    if names is None:
        if asked:
            raise InputError(
                f"{where} has columns without names, so none is called {asked[0]!r}. Give tables, or tuples (X, y)."
            )
        return _batch(X, values, where)
    for name in asked:
        if name not in names:
            raise InputError(f"{where} has no column {name!r}; it has {', '.join(map(repr, names))}.")
    kept = [name for name in names if name not in asked]
    if features is not None:
        lost = [name for name in features if name not in kept]
        if lost:
            raise InputError(f"{where} has no column {lost[0]!r}, which the model learned from; it has {names}.")
        kept = list(features)
    found = {}
    for key, value in values.items():
        columns = named(value)
        found[key] = value if not columns else taken(X, value) if isinstance(value, str) else chosen(X, columns)
    return _batch(X if kept == names else chosen(X, kept), found, where)


def _batch(X: Any, values: Mapping[str, Any], where: str) -> Batch:
    others = {name: value for name, value in values.items() if name not in ("y", "sample_weight")}
    return Batch(X, values.get("y"), values.get("sample_weight"), where, others)


# ---- sources
class RowValues:
    """Labels, weights and other values of all rows: names of columns, or something as long as the rows.

    Parameters
    ----------
    n_rows : int
    values : dict
        By name; None where there is nothing.
    """

    def __init__(self, n_rows: int, values: Mapping[str, Any]) -> None:
        self._values = {name: _sliceable(name, value, n_rows) for name, value in values.items()}
        #: The columns that are named.
        self.columns = [name for value in values.values() for name in named(value)]

    def of(self, rows: slice) -> dict[str, Any]:
        """Those of some rows; names of columns stay names."""
        return {
            name: value[rows] if hasattr(value, "__getitem__") and not named(value) else value
            for name, value in self._values.items()
        }


def _sliceable(name: str, values: Any, n_rows: int) -> Any:
    """Values that lie beside the rows, as something to slice; checked to be as many."""
    if values is None or named(values) or np.ndim(values) == 0:
        return values
    array = values if hasattr(values, "__getitem__") and hasattr(values, "shape") else _listed(values)
    array = array.iloc if hasattr(array, "iloc") else array
    if len(values) != n_rows:
        raise InputError(f"X has {n_rows} rows, but {name} has {len(values)} entries.")
    return array


def _listed(values: Any) -> Any:
    """A list as an array of whatever is in it."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


class MappedArraySource:
    """A memory-mapped array, with labels, weights and other values that are arrays as well.

    Parameters
    ----------
    X : memmap of shape (n_rows, n_features)
    values : dict
        By name: ``y``, ``sample_weight`` and others.
    """

    def __init__(self, X: Any, values: Mapping[str, Any]) -> None:
        self.n_rows: int | None = int(X.shape[0])
        self._X, self._values = X, RowValues(X.shape[0], values)

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """All rows, so many at a time, copied out of the map."""
        assert self.n_rows is not None
        for start in range(0, self.n_rows, most_rows):
            rows = slice(start, min(start + most_rows, self.n_rows))
            where = f"rows {rows.start} to {rows.stop - 1} of the mapped array"
            yield split(np.array(self._X[rows]), self._values.of(rows), where)


class BatchesSource:
    """Batches that are gone through again and again.

    Parameters
    ----------
    given : iterable or callable
        Gives tuples ``(X, y)``, ``(X, y, weight)`` or ``(X, y, weight, others)``, the last a dictionary by name;
        arrays, sparse matrices, data frames or Arrow record batches. A callable is called for every pass.
    values : dict
        Names of columns of the tables: of ``y``, ``sample_weight`` and of whatever else may come along.
    features : sequence of str or None
        The columns to keep, where not all others are.
    """

    n_rows: int | None = None

    def __init__(self, given: Any, values: Mapping[str, Any], features: Sequence[str] | None = None) -> None:
        for name, value in values.items():
            beside = name not in ("y", "sample_weight")
            if value is not None and not named(value) and not (beside and np.ndim(value) == 0):
                raise InputError(
                    f"X is given in batches, so {name} comes with them: give tuples (X, y), (X, y, weight) or "
                    f"(X, y, weight, {{{name!r}: ...}}), or the name of a column."
                    if beside
                    else f"X is given in batches, so {name} comes with them: give tuples (X, y) or (X, y, weight), or "
                    "the name of a column."
                )
        self._given, self._values, self._features = given, dict(values), features
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
        X, values = entry, self._values
        if isinstance(entry, tuple):
            if not 1 <= len(entry) <= 4 or (len(entry) == 4 and not isinstance(entry[3], Mapping)):
                raise InputError(
                    f"{where} is a tuple of {len(entry)}; give (X, y), (X, y, weight), or (X, y, weight, others) with "
                    "a dictionary of what else there is about the rows."
                )
            X, y, weight, others = (*entry, None, None, None)[:4]
            own = {"y": y, "sample_weight": weight, **(others or {})}
            strange = [name for name in own if name not in values and own[name] is not None]
            if strange:
                raise InputError(f"{where} comes with {strange[0]!r}, which is not taken here; leave it out.")
            # What comes with a batch are values, in whatever sequence; a text may still name a column.
            own = {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}
            values = {name: value if own.get(name) is None else own[name] for name, value in values.items()}
        X = as_table(X)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows:
            yield split(X, values, where, self._features)
