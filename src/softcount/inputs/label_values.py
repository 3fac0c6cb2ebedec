"""The entries of ``y`` one by one: what is missing, what is a class, and how classes are ordered."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import BoolArray, IntArray

__all__ = ["as_vector", "class_names", "is_missing", "natural_type", "warn_of_written_missing"]


def as_vector(y: Any) -> NDArray[Any]:
    """``y`` as a one-dimensional array, without losing what marks missing labels."""
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()
    elif type(y).__module__.startswith("polars") and hasattr(y, "to_list"):
        # As an array, whole numbers beside a null would become fractions.
        y = y.to_list()
    elif getattr(getattr(y, "dtype", None), "na_value", None) is not None and y.dtype.kind in "iu" and y.isna().any():
        y = y.to_numpy(dtype=object, na_value=None)
    if isinstance(y, (str, dict)):
        raise InputError(
            f"y should be a 1d array: it is {_shortened(y)}. Give a label for each row; of a column's name, "
            "that column itself, as table[name] (names are for rows that are not in memory)."
        )
    array = _array_of(list(y)) if isinstance(y, (list, tuple, range)) else np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if array.dtype.kind == "c":
        raise InputError("y holds complex numbers, but labels are names or whole numbers.")
    return array


def _shortened(y: str | dict[Any, Any]) -> str:
    return f"the text {y[:40]!r}" if isinstance(y, str) else "a dictionary"


def _array_of(labels: list[Any]) -> NDArray[Any]:
    """A list as an array in which every entry is what it was: NumPy would turn ``["a", nan]`` into two strings."""
    if set(map(type, labels)) == {str, type(None)}:
        # What files hold, without a look at every entry.
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        return array
    texts = [isinstance(v, str) for v in labels]
    if all(texts) or not (any(texts) or any(is_null(v) or isinstance(v, (set, frozenset)) for v in labels)):
        try:
            plain = np.asarray(labels)
        except ValueError:
            plain = np.empty(0, dtype=object)
        if plain.dtype.kind in "biufcUS" and plain.ndim <= 2 and len(labels):
            return plain
    array = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):
        array[i] = label
    return array


def is_missing(values: NDArray[Any], marker: Any) -> BoolArray:
    """Which entries are NaN, None, ``pd.NA`` or the marker."""
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind in "mM":
        missing = np.isnat(values)
    elif values.dtype.kind == "O":
        missing = np.fromiter((v is None or is_null(v) for v in values.tolist()), dtype=bool, count=values.shape[0])
    else:
        missing = np.zeros(values.shape, dtype=bool)
    if not is_null(marker):
        if values.dtype.kind in "biuf" and isinstance(marker, (Real, np.bool_)):
            missing = missing | (values == marker)
        else:
            equal = (_equals(v, marker) for v in values)
            missing = missing | np.fromiter(equal, dtype=bool, count=values.shape[0])
    return np.asarray(missing)


#: What tables and conversions write where there is no label. ``np.array(["a", nan])`` holds the text "nan".
_WRITTEN_MISSING = frozenset({"", "?", "nan", "NaN", "None", "<NA>", "N/A", "NULL", "null"})


def warn_of_written_missing(names: NDArray[Any]) -> None:
    """Say so where a class bears a name that usually stands for a missing label; such rows count as labeled."""
    if names.dtype.kind not in "OUS":
        return
    for name in names.tolist():
        if isinstance(name, str) and name.strip() in _WRITTEN_MISSING:
            warnings.warn(
                f"{name!r} is taken for a class. If it marks rows without a label, say missing_label={name!r}, or put "
                "None in its place.",
                UserWarning,
                stacklevel=2,
            )


def is_null(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def _equals(value: Any, marker: Any) -> bool:
    if isinstance(value, (set, frozenset)) or isinstance(value, str) != isinstance(marker, str):
        return False
    # A null equals no marker; asking pd.NA would not even give a yes or no.
    return not is_null(value) and bool(value == marker)


def natural_type(known: NDArray[Any], rows: IntArray | None = None) -> NDArray[Any]:
    """Known labels in their natural type, checked to be labels rather than measurements.

    Parameters
    ----------
    known : array of shape (n_known,)
        Labels, none of them missing.
    rows : integer array of shape (n_known,) or None
        Their rows in ``y``, for error messages.
    """

    def place(position: int) -> str:
        return "" if rows is None else f" (row {int(rows[position])} of y)"

    if known.dtype.kind == "O" and known.size:
        _check_hashable(known, place)
        kinds = {type(v) for v in known}
        if all(issubclass(kind, str) for kind in kinds):
            known = np.array(known.tolist())
        elif all(issubclass(kind, (Integral, np.bool_)) for kind in kinds):
            plain = np.array(known.tolist())
            # Whole numbers beyond 64 bits would lose digits as floating point.
            known = plain if plain.dtype.kind in "bi" else known
        elif all(issubclass(kind, (Integral, np.bool_, float, np.floating)) for kind in kinds):
            known = np.array(known.tolist(), dtype=np.float64)
    if known.dtype.kind == "f":
        infinite = np.flatnonzero(~np.isfinite(known))
        if infinite.size:
            first = int(infinite[0])
            raise InputError(
                f"Input y contains infinity or a value too large: {known[first]}{place(first)}. Labels are names or "
                "whole numbers."
            )
        fractions = np.flatnonzero(known != np.floor(known))
        if fractions.size:
            first = int(fractions[0])
            raise InputError(
                f"Unknown label type: continuous. y holds {known[first]}{place(first)}, which is a measurement rather "
                "than a class. A classifier needs classes: bin the values, or use a regression."
            )
    return known


def _check_hashable(known: NDArray[Any], place: Any) -> None:
    for position, label in enumerate(known):
        try:
            hash(label)
        except TypeError:
            raise InputError(
                f"Unknown label type: y holds a {type(label).__name__}{place(position)}. A label is one value (a "
                "string, a number); give a set where several classes are possible."
            ) from None


def class_names(given: NDArray[Any], candidates: Sequence[Any] = ()) -> NDArray[Any]:
    """The distinct labels among known labels and the members of sets, sorted."""
    try:
        found = np.unique(given)
        if len(candidates):
            every = natural_type(_array_of([*found.tolist(), *candidates]))
            found = np.unique(every)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in [*given.tolist(), *candidates]})
        raise InputError(
            f"y mixes labels of types {', '.join(kinds)}, which have no common order (labels must be uniformly "
            "strings or numbers). Convert them to one type."
        ) from None
    return found
