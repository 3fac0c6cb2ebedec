"""Labels: what the user said about each row's class.

One form holds a known class, no label, a set of candidate classes and a row of probabilities: a code per row (-1 where
no single class is known) and, for the rows that say more than nothing and less than everything, a row of factors over
the classes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import BoolArray, CodesArray, FloatArray, IntArray

__all__ = ["Labels", "read_labels"]

SOFT_LABELS = ("responsibility", "prior")


@dataclass(frozen=True)
class Labels:
    """Labels of all rows, as codes and factors.

    Attributes
    ----------
    codes : array of shape (n_rows,)
        Position of the row's class in ``classes``, or -1.
    n_classes : int
    factors : array of shape (n_distinct, n_classes) or None
        What partly known rows say about the classes.
    factor_row : array of shape (n_rows,) or None
        Which row of ``factors`` belongs to each row, or -1.
    fixed : bool
        Whether factors are responsibilities to be kept as they are; otherwise they multiply the class prior.
    """

    codes: CodesArray
    n_classes: int
    factors: FloatArray | None = None
    factor_row: CodesArray | None = None
    fixed: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[0])

    def is_unlabeled(self) -> BoolArray:
        """Which rows nothing is known about."""
        unknown = self.codes < 0
        return unknown if self.factor_row is None else unknown & (self.factor_row < 0)

    def all_known(self) -> bool:
        """Whether every row has exactly one class, or fixed responsibilities."""
        if self.fixed:
            return not self.is_unlabeled().any()
        return bool((self.codes >= 0).all())

    def class_support(self) -> FloatArray:
        """How many rows speak for each class."""
        support = np.bincount(self.codes[self.codes >= 0], minlength=self.n_classes).astype(np.float64)
        if self.factors is not None and self.factor_row is not None:
            # Factors shared by several classes single none of them out, unless they are responsibilities.
            rows = self.factors if self.fixed else (self.factors > 0) / (self.factors > 0).sum(1, keepdims=True)
            share = np.where(rows >= 1.0, rows, 0.0) if not self.fixed else rows
            used = np.bincount(self.factor_row[self.factor_row >= 0], minlength=self.factors.shape[0])
            support = support + used @ share
        return support

    def rows(self, start: int, stop: int) -> Labels:
        """The labels of rows ``start`` to ``stop``."""
        rows = None if self.factor_row is None else self.factor_row[start:stop]
        return Labels(self.codes[start:stop], self.n_classes, self.factors, rows, self.fixed)


def read_labels(
    y: Any,
    n_rows: int,
    *,
    missing_label: Any = math.nan,
    classes: Any = None,
    n_classes: int | None = None,
    soft_labels: str = "responsibility",
    estimator: str = "this estimator",
) -> tuple[Labels, NDArray[Any]]:
    """Read whatever the user gave as ``y``.

    Parameters
    ----------
    y : None, array-like of shape (n_rows,) or (n_rows, n_classes)
        One label per row, some or all missing; an entry may be a set of candidate classes. A matrix holds a row of
        probabilities per row.
    n_rows : int
        Rows of X.
    missing_label : scalar
        The marker of a missing label; NaN, None and ``pd.NA`` always count as missing.
    classes : array-like or None
        All classes there are.
    n_classes : int or None
        How many classes there are, where some have no labeled row; the others get names of their own.
    soft_labels : {"responsibility", "prior"}
        What rows of probabilities mean: responsibilities that are kept, or factors on the class prior.
    estimator : str
        Who asks, for error messages.

    Returns
    -------
    labels : Labels
    classes : array of shape (n_classes,)
    """
    if soft_labels not in SOFT_LABELS:
        raise InputError(f"soft_labels is {soft_labels!r}; choose one of {', '.join(map(repr, SOFT_LABELS))}.")
    if y is None:
        if classes is None and n_classes is None:
            raise InputError(
                f"{estimator} requires y to be passed, but the target y is None. Give labels (NaN or None where a "
                "label is missing), or say how many classes to find with n_classes= or classes=."
            )
        y = np.full(n_rows, np.nan)
    if _is_matrix(y):
        return _read_matrix(y, n_rows, classes, soft_labels)
    values = _as_vector(y)
    if values.shape[0] != n_rows:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {values.shape[0]} labels."
        )
    return _read_vector(values, missing_label, classes, n_classes)


def _is_matrix(y: Any) -> bool:
    shape: tuple[int, ...] | None = getattr(y, "shape", None)
    if shape is None and isinstance(y, Sequence) and len(y) and isinstance(y[0], (list, tuple, np.ndarray)):
        try:
            shape = np.shape(np.asarray(y, dtype=np.float64))
        except (TypeError, ValueError):
            return False
    return shape is not None and len(shape) == 2 and shape[1] != 1


def _read_matrix(y: Any, n_rows: int, classes: Any, soft_labels: str) -> tuple[Labels, NDArray[Any]]:
    names = list(getattr(y, "columns", [])) or None
    try:
        matrix = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"y should be a 1d array of labels or a matrix of class probabilities, got an array of shape "
            f"{np.shape(y)} whose entries are not numbers ({error})."
        ) from None
    if matrix.shape[0] != n_rows:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {matrix.shape[0]} rows."
        )
    missing: BoolArray = np.asarray(np.isnan(matrix).all(axis=1))
    wrong = ~missing & ~(np.isfinite(matrix) & (matrix >= 0.0)).all(axis=1)
    sums = np.where(missing, 1.0, np.nansum(matrix, axis=1))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"y should be a 1d array of labels or a matrix of class probabilities; row {row} of y is "
            f"{matrix[row].tolist()}, but probabilities are 0 or more. A row of NaN means unlabeled."
        )
    off = np.abs(sums - 1.0) > 1e-6 if soft_labels == "responsibility" else sums <= 0.0
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise InputError(
            f"Row {row} of y sums to {sums[row]!r}, but a row of class probabilities sums to 1. "
            "(y should be a 1d array of labels or a matrix of class probabilities.)"
        )
    given = classes if classes is not None else names
    labels_of_columns = np.arange(matrix.shape[1]) if given is None else np.asarray(given)
    if labels_of_columns.shape[0] != matrix.shape[1]:
        raise InputError(
            f"y has {matrix.shape[1]} columns of probabilities, but {labels_of_columns.shape[0]} classes were given."
        )
    factor_row = np.where(missing, -1, np.arange(n_rows)).astype(np.int32)
    codes = np.full(n_rows, -1, dtype=np.int32)
    factors = np.where(missing[:, None], 0.0, matrix)
    certain = ~missing & (factors.max(axis=1) >= 1.0 - 1e-12) & (np.abs(sums - 1.0) <= 1e-9)
    codes[certain] = factors[certain].argmax(axis=1)
    factor_row[certain] = -1
    labels = Labels(codes, matrix.shape[1], factors, factor_row, soft_labels == "responsibility")
    if (factor_row < 0).all():
        labels = Labels(codes, matrix.shape[1])
    return labels, labels_of_columns


def _as_vector(y: Any) -> NDArray[Any]:
    """``y`` as a one-dimensional array, without losing what marks missing labels."""
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()
    if isinstance(y, (list, tuple)):
        array = np.empty(len(y), dtype=object)
        array[:] = y
        if not any(v is None or isinstance(v, (set, frozenset)) for v in y):
            try:
                plain = np.asarray(y)
                array = plain if plain.dtype.kind in "biufUS" and plain.ndim <= 2 else array
            except ValueError:
                pass
    else:
        array = np.asarray(y)
    if array.ndim == 2 and array.shape[-1] == 1:
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
    return array


def _is_missing(values: NDArray[Any], marker: Any) -> BoolArray:
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind == "O":
        missing = np.fromiter((_is_null(v) for v in values), dtype=bool, count=values.shape[0])
    else:
        missing = np.zeros(values.shape, dtype=bool)
    if not _is_null(marker):
        equal = np.fromiter((_equals(v, marker) for v in values), dtype=bool, count=values.shape[0])
        missing = missing | equal
    return np.asarray(missing)


def _is_null(value: Any) -> bool:
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, (float, np.floating)) and math.isnan(value))
    )


def _equals(value: Any, marker: Any) -> bool:
    return (
        not isinstance(value, (set, frozenset))
        and isinstance(value, str) == isinstance(marker, str)
        and bool(value == marker)
    )


def _read_vector(values: NDArray[Any], marker: Any, classes: Any, n_classes: int | None) -> tuple[Labels, NDArray[Any]]:
    missing = _is_missing(values, marker)
    is_set = np.zeros(values.shape, dtype=bool)
    if values.dtype.kind == "O":
        is_set = np.fromiter((isinstance(v, (set, frozenset)) for v in values), dtype=bool, count=values.shape[0])
    known = ~missing & ~is_set
    given = _plain(values[known])
    candidates = [] if not is_set.any() else sorted({v for s in values[is_set] for v in s}, key=repr)
    found = _class_names(given, candidates)
    names = _all_classes(found, classes, n_classes, missing_any=bool(missing.any()))
    codes = np.full(values.shape[0], -1, dtype=np.int32)
    codes[known] = _codes_of(given, names, np.flatnonzero(known))
    if not is_set.any():
        return Labels(codes, names.shape[0]), names
    return _with_sets(codes, values, is_set, names), names


def _plain(known: NDArray[Any]) -> NDArray[Any]:
    """Known labels in their natural type, checked to be labels rather than measurements."""
    if known.dtype.kind == "O" and known.size:
        kinds = {type(v) for v in known}
        if kinds <= {int, np.int64, np.int32, bool, np.bool_} or kinds <= {str, np.str_} or kinds <= {float}:
            known = np.array(known.tolist())
    if known.dtype.kind == "f":
        if not np.isfinite(known).all():
            raise InputError("Input y contains infinity or a value too large; labels are names or whole numbers.")
        if (known != np.floor(known)).any():
            raise InputError(
                f"Unknown label type: continuous. y holds {known[known != np.floor(known)][0]!r}, which is a "
                "measurement rather than a class. A classifier needs classes: bin the values, or use a regression."
            )
    return known


def _class_names(given: NDArray[Any], candidates: list[Any]) -> NDArray[Any]:
    try:
        found = np.unique(given)
        if candidates:
            extra = np.array(candidates, dtype=found.dtype if found.size and found.dtype.kind == "O" else None)
            found = np.unique(np.concatenate([found, extra])) if found.size else np.unique(extra)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in given})
        raise InputError(
            f"y mixes labels of types {', '.join(kinds)}, which have no common order (labels must be uniformly "
            "strings or numbers). Convert them to one type."
        ) from None
    return found


def _all_classes(found: NDArray[Any], classes: Any, n_classes: int | None, *, missing_any: bool) -> NDArray[Any]:
    """The classes found, the classes asked for, and names for those nobody has named."""
    if classes is not None:
        names = np.unique(np.asarray(classes))
        unknown = [v for v in found.tolist() if v not in set(names.tolist())]
        if unknown:
            raise InputError(
                f"The target label(s) {unknown} in y do not exist in the initial classes {names.tolist()}."
            )
        if n_classes is not None and n_classes != names.shape[0]:
            raise InputError(f"n_classes is {n_classes}, but classes= names {names.shape[0]} classes.")
        return names
    if n_classes is None:
        if found.size == 0:
            raise InputError(
                "Input y contains NaN only: no row has a label, so the classes are not known. Say how many there are "
                "with n_classes=, or name them with classes=."
            )
        return found
    if n_classes < found.size:
        raise InputError(f"n_classes is {n_classes}, but y holds {found.size} classes: {found.tolist()}.")
    n_new = n_classes - found.size
    if n_new == 0:
        return found
    if found.size == 0:
        return np.arange(n_classes)
    if found.dtype.kind in "biuf":
        start = int(found.max()) + 1
        return np.concatenate([found, np.arange(start, start + n_new).astype(found.dtype)])
    taken, number = set(found.tolist()), 1
    fresh: list[str] = []
    while len(fresh) < n_new:
        name = f"new {number}"
        fresh.extend([name] if name not in taken else [])
        number += 1
    return np.concatenate([found, np.array(fresh, dtype=object if found.dtype.kind == "O" else None)])


def _codes_of(given: NDArray[Any], names: NDArray[Any], rows: IntArray) -> NDArray[Any]:
    if given.size == 0:
        return np.empty(0, dtype=np.int32)
    if names.dtype.kind != "O" and given.dtype.kind != "O" and np.all(names[:-1] <= names[1:]):
        return np.searchsorted(names, given).astype(np.int32)
    position = {name: i for i, name in enumerate(names.tolist())}
    return np.fromiter((position[v] for v in given.tolist()), dtype=np.int32, count=given.shape[0])


def _with_sets(codes: CodesArray, values: NDArray[Any], is_set: BoolArray, names: NDArray[Any]) -> Labels:
    position = {name: i for i, name in enumerate(names.tolist())}
    distinct: dict[frozenset[Any], int] = {}
    factor_row = np.full(codes.shape[0], -1, dtype=np.int32)
    for row in np.flatnonzero(is_set):
        members = frozenset(values[row])
        if not members:
            raise InputError(f"Row {int(row)} of y is an empty set of classes; use None where nothing is known.")
        if len(members) == 1:
            codes[row] = position[next(iter(members))]
        else:
            factor_row[row] = distinct.setdefault(members, len(distinct))
    factors = np.zeros((len(distinct), names.shape[0]))
    for members, index in distinct.items():
        factors[index, [position[v] for v in members]] = 1.0
    if not distinct:
        return Labels(codes, names.shape[0])
    return Labels(codes, names.shape[0], factors, factor_row, False)
