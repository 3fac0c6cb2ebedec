"""Labels: what the user said about each row's class.

One form holds a known class, no label, a set of candidate classes and a row of probabilities: a code per row (-1 where
no single class is known) and, for the rows that say more than nothing and less than everything, a row of factors over
the classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import BoolArray, CodesArray, FloatArray, IntArray
from softcount.inputs.label_codes import narrow_range, narrow_unique
from softcount.inputs.label_matrix import is_label_matrix, read_label_matrix
from softcount.inputs.label_values import (
    as_vector,
    class_names,
    is_missing,
    is_null,
    natural_type,
    warn_of_written_missing,
)
from softcount.inputs.masked import unmasked_labels

__all__ = ["Labels", "read_classes", "read_labels"]

#: Rows of so few classes are faster counted class by class.
FEW_CLASSES = 8
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
        return bool(self.codes.min(initial=0) >= 0)

    def class_support(self, weight: FloatArray | None = None) -> FloatArray:
        """The weight of the rows that speak for each class.

        Parameters
        ----------
        weight : array of shape (n_rows,) or None
            Row weights; ``None`` counts every row once.
        """
        support = self.class_totals(weight).astype(np.float64)
        if self.factors is not None and self.factor_row is not None:
            share = np.ones(self.n_rows) if weight is None else weight
            # Factors shared by several classes single none of them out, unless they are responsibilities.
            alone = np.count_nonzero(self.factors, axis=1) == 1
            votes = self.factors if self.fixed else (self.factors > 0.0) * alone[:, None]
            partly = self.factor_row >= 0
            used = np.bincount(self.factor_row[partly], share[partly], minlength=self.factors.shape[0])
            support = support + used @ votes
        return support

    def class_totals(self, weight: FloatArray | None = None) -> NDArray[Any]:
        """How many rows are known to be of each class, or their weight."""
        if weight is None and self.n_classes <= FEW_CLASSES:
            return np.array([np.count_nonzero(self.codes == k) for k in range(self.n_classes)], dtype=np.int64)
        # Unknown rows are counted as well, ahead of the others: that is faster than to leave them out.
        return np.bincount(self.codes + 1, weight, minlength=self.n_classes + 1)[1:]

    def take(self, rows: IntArray) -> Labels:
        """The labels of the given rows, in that order."""
        factor_row = None if self.factor_row is None else self.factor_row[rows]
        return Labels(self.codes[rows], self.n_classes, self.factors, factor_row, self.fixed)

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
    n_classes: Any = None,
    soft_labels: str = "responsibility",
    estimator: str = "this estimator",
    in_order: bool = False,
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
    in_order : bool
        Whether ``classes`` are those of a fitted model, which keep their order; otherwise they are sorted.

    Returns
    -------
    labels : Labels
    classes : array of shape (n_classes,)
    """
    if soft_labels not in SOFT_LABELS:
        raise InputError(f"soft_labels is {soft_labels!r}; choose one of {', '.join(map(repr, SOFT_LABELS))}.")
    if n_classes is not None and not (isinstance(n_classes, (int, np.integer)) and n_classes >= 1):
        raise InputError(f"n_classes is {n_classes!r}; give a whole number of 1 or more.")
    size = None if n_classes is None else int(n_classes)
    asked_for = None if classes is None else read_classes(classes, in_order=in_order)
    if asked_for is not None and size is not None and size != asked_for.shape[0]:
        raise InputError(f"n_classes is {size}, but classes= names {asked_for.shape[0]} classes.")
    if y is None:
        if asked_for is None and n_classes is None:
            raise InputError(
                f"{estimator} requires y to be passed, but the target y is None. Give labels (NaN or None where a "
                "label is missing), or say how many classes to find with n_classes= or classes=."
            )
        y = np.full(n_rows, np.nan)
    y = unmasked_labels(y)
    if is_label_matrix(y):
        fixed = soft_labels == "responsibility"
        matrix, names = read_label_matrix(y, n_rows, asked_for, size, sums_to_one=fixed)
        return _from_matrix(matrix, fixed=fixed), names
    values = as_vector(y)
    if values.shape[0] != n_rows:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {values.shape[0]} labels."
        )
    return _from_vector(values, missing_label, asked_for, size)


def read_classes(classes: Any, *, in_order: bool = False) -> NDArray[Any]:
    """The classes the user named, sorted unless they are to keep their order."""
    if in_order:
        return np.asarray(classes)
    if isinstance(classes, str) or np.ndim(classes) == 0:
        raise InputError(f"classes is {classes!r}; give a list of all classes.")
    values = as_vector(classes)
    if values.size == 0 or is_missing(values, None).any():
        raise InputError(f"classes is {classes!r}; name at least one class, and none of them NaN or None.")
    return class_names(natural_type(values))


def _from_matrix(matrix: FloatArray, *, fixed: bool) -> Labels:
    """Rows of probabilities as factors; a certain row is a known label."""
    n_rows, n_classes = matrix.shape
    missing = np.asarray(np.isnan(matrix).all(axis=1))
    factors = np.where(missing[:, None], 0.0, matrix)
    certain = ~missing & (factors.max(axis=1) >= 1.0 - 1e-12) & (np.abs(factors.sum(axis=1) - 1.0) <= 1e-9)
    codes = np.full(n_rows, -1, dtype=np.int32)
    codes[certain] = factors[certain].argmax(axis=1)
    factor_row = np.where(missing | certain, -1, np.arange(n_rows)).astype(np.int32)
    if (factor_row < 0).all():
        return Labels(codes, n_classes)
    return Labels(codes, n_classes, factors, factor_row, fixed)


def _from_vector(
    values: NDArray[Any], marker: Any, classes: NDArray[Any] | None, n_classes: int | None
) -> tuple[Labels, NDArray[Any]]:
    span = narrow_range(values) if is_null(marker) and classes is None else None
    if span is not None:
        found, every_code = narrow_unique(values, *span)
        names = _all_classes(found, None, n_classes)
        return Labels(every_code, names.shape[0]), names
    missing = is_missing(values, marker)
    is_set = np.zeros(values.shape, dtype=bool)
    if values.dtype.kind == "O":
        is_set = np.fromiter((isinstance(v, (set, frozenset)) for v in values), dtype=bool, count=values.shape[0])
    known = np.flatnonzero(~missing & ~is_set)
    given = natural_type(values[known], known)
    candidates = _candidates(values, np.flatnonzero(is_set), marker)
    found = class_names(given, candidates)
    if classes is None:
        warn_of_written_missing(found)
    names = _all_classes(found, classes, n_classes)
    codes = np.full(values.shape[0], -1, dtype=np.int32)
    codes[known] = _codes_of(given, names)
    if not is_set.any():
        return Labels(codes, names.shape[0]), names
    return _with_sets(codes, values, is_set, names), names


def _candidates(values: NDArray[Any], rows: IntArray, marker: Any) -> list[Any]:
    """The members of all sets, once each."""
    members: set[Any] = set()
    for row in rows:
        if not values[row]:
            raise InputError(f"Row {int(row)} of y is an empty set of classes; use None where nothing is known.")
        fresh = values[row] - members
        if fresh and is_missing(_objects(fresh), marker).any():
            raise InputError(
                f"Row {int(row)} of y is {set(values[row])}, a set that holds a missing label. Leave it out, or use "
                "None for the whole row where nothing is known."
            )
        members |= fresh
    return list(members)


def _objects(members: Any) -> NDArray[Any]:
    array = np.empty(len(members), dtype=object)
    array[:] = list(members)
    return array


def _all_classes(found: NDArray[Any], asked_for: NDArray[Any] | None, n_classes: int | None) -> NDArray[Any]:
    """The classes found, the classes asked for, and names for those nobody has named."""
    if asked_for is not None:
        names = set(asked_for.tolist())
        unknown = [v for v in found.tolist() if v not in names]
        if unknown:
            raise InputError(
                f"The target label(s) {unknown} in y do not exist in the initial classes {asked_for.tolist()}."
            )
        return asked_for
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
    if found.dtype.kind in "iuf":
        start = int(found.max()) + 1
        return np.concatenate([found, np.arange(start, start + n_new).astype(found.dtype)])
    taken, number = set(found.tolist()), 1
    fresh: list[str] = []
    while len(fresh) < n_new:
        name = f"new {number}"
        fresh.extend([name] if name not in taken else [])
        number += 1
    if found.dtype.kind == "U":
        return np.concatenate([found, np.array(fresh)])
    return np.concatenate([_objects(found.tolist()), _objects(fresh)])


def _codes_of(given: NDArray[Any], names: NDArray[Any]) -> NDArray[Any]:
    """Positions of known labels among the classes."""
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
        if len(members) == 1:
            codes[row] = position[next(iter(members))]
        elif len(members) < names.shape[0]:
            factor_row[row] = distinct.setdefault(members, len(distinct))
    if not distinct:
        return Labels(codes, names.shape[0])
    factors = np.zeros((len(distinct), names.shape[0]))
    for members, index in distinct.items():
        factors[index, [position[v] for v in members]] = 1.0
    return Labels(codes, names.shape[0], factors, factor_row, False)
