"""Labels given as a matrix: a row of class probabilities for each row of X."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import FloatArray

__all__ = ["is_label_matrix", "read_label_matrix"]

# Probabilities written with six digits still sum to one.
SUM_TOLERANCE = 1e-6


def is_label_matrix(y: Any) -> bool:
    """Whether ``y`` has several columns (a single column is a vector laid out badly)."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, Sequence) and len(y) and isinstance(y[0], (list, tuple, np.ndarray)):
        try:
            shape = np.shape(np.asarray(y, dtype=np.float64))
        except (TypeError, ValueError):
            return False
    return shape is not None and len(shape) == 2 and shape[1] != 1


def read_label_matrix(
    y: Any, n_rows: int, classes: NDArray[Any] | None, n_classes: int | None, *, sums_to_one: bool
) -> tuple[FloatArray, NDArray[Any]]:
    """The probabilities, checked, with NaN in the rows without a label; and the classes of the columns.

    A table's columns have names, which are matched with ``classes`` where both are there.

    Parameters
    ----------
    y : matrix of shape (n_rows, n_classes)
    n_rows : int
        Rows of X.
    classes : array or None
        All classes, in order.
    n_classes : int or None
        How many classes there are.
    sums_to_one : bool
        Whether each row has to sum to one (responsibilities) or not (factors on the class prior).
    """
    if type(y).__name__ == "Table" and hasattr(y, "to_pandas"):
        y = y.to_pandas()
    names = list(getattr(y, "columns", []))
    try:
        matrix = np.array(y, dtype=np.float64)
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
    if n_classes is not None and n_classes != matrix.shape[1]:
        raise InputError(f"y has {matrix.shape[1]} columns of probabilities, but n_classes is {n_classes}.")
    missing = np.asarray(np.isnan(matrix).all(axis=1))
    _check_probabilities(matrix, missing, sums_to_one=sums_to_one)
    if matrix.shape[1] == 0:
        raise InputError("y is a matrix without columns; give one column of probabilities per class.")
    if classes is None:
        return matrix, np.asarray(names) if names else np.arange(matrix.shape[1])
    if classes.shape[0] != matrix.shape[1]:
        raise InputError(f"y has {matrix.shape[1]} columns of probabilities, but there are {classes.shape[0]} classes.")
    if names and names != list(range(matrix.shape[1])):
        order = [names.index(name) for name in classes.tolist() if name in names]
        if len(order) != len(names):
            raise InputError(
                f"The columns of y are {names}, but the classes are {classes.tolist()}. Name the columns of y as the "
                "classes, or give an array whose columns are in the order of the classes."
            )
        matrix = matrix[:, order]
    return matrix, classes


def _check_probabilities(matrix: FloatArray, missing: NDArray[np.bool_], *, sums_to_one: bool) -> None:
    wrong = ~missing & ~(np.isfinite(matrix) & (matrix >= 0.0)).all(axis=1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"y should be a 1d array of labels or a matrix of class probabilities; row {row} of y is "
            f"{matrix[row].tolist()}, but probabilities are 0 or more. A row of NaN means unlabeled."
        )
    sums = np.where(missing, 1.0, matrix.sum(axis=1))
    off = np.abs(sums - 1.0) > SUM_TOLERANCE if sums_to_one else ~((sums > 0.0) & np.isfinite(sums))
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise InputError(
            f"Row {row} of y sums to {sums[row]}, but a row of class probabilities sums to 1. "
            "(y should be a 1d array of labels or a matrix of class probabilities.)"
        )
