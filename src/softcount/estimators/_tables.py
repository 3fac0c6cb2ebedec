"""From a checked homogeneous X to a block: numbers, counts, yes/no, codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from softcount._errors import InputError
from softcount._types import IntArray
from softcount.families.blocks import CodesBlock, DenseBlock, SparseBlock

__all__ = ["dense_block", "read_codes", "read_numbers", "sparse_block"]

LARGEST_VALUE = 1e150
SMALLEST_VALUE = 1e-150
#: Tables of counts larger than this, for columns with far fewer values than codes, are refused.
LARGEST_TABLE = 2**30


def read_numbers(estimator: Any, X: Any, *, reset: bool, accept_sparse: bool = True) -> Any:
    """X checked by scikit-learn's rules, with NaN allowed; sparse input comes out as CSR."""
    checked = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr" if accept_sparse else False,
        dtype="numeric",
        ensure_all_finite="allow-nan",
    )
    if checked.dtype == np.float16:
        checked = checked.astype(np.float32)
    elif checked.dtype.kind == "f" and checked.dtype.itemsize > 8:
        checked = checked.astype(np.float64)
    return checked


def dense_block(X: NDArray[Any], *, threshold: float | None = None) -> DenseBlock:
    """A dense block, knowing whether any cell is missing."""
    has_missing = X.dtype.kind == "f" and bool(np.isnan(np.sum(X))) and bool(np.isnan(X).any())
    if X.dtype == np.bool_:
        return DenseBlock(X.view(np.uint8), False, None)
    return DenseBlock(X, has_missing, threshold)


def sparse_block(X: Any, *, binary: bool = False) -> SparseBlock:
    """A sparse block of a CSR matrix; ``binary`` keeps the pattern of the stored entries alone."""
    data = X.data
    missing = None
    if data.dtype.kind == "f" and np.isnan(np.sum(data)) and np.isnan(data).any():
        lost = np.isnan(data)
        counts = np.concatenate([[0], np.cumsum(lost)])
        missing = SparseBlock(counts[X.indptr].astype(np.int64), X.indices[lost], None, X.shape[1])
        data = np.where(lost, 0.0, data)
    if (binary and missing is None and data.dtype.kind != "f" and not (data == 0).any()) or (binary and missing is None and (data == 1).all()):
        data = None
    return SparseBlock(X.indptr, X.indices, data, X.shape[1], missing)


def without_duplicates(X: Any) -> Any:
    """A CSR matrix in which no cell is stored twice."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def check_magnitude(X: NDArray[Any], names: list[str]) -> None:
    """Refuse values whose squares leave the range of floating point."""
    if X.dtype.kind != "f" or X.size == 0:
        return
    largest = np.nanmax(np.abs(X), axis=0, initial=0.0, where=~np.isnan(X)) if X.dtype.itemsize > 4 else None
    if largest is None:
        return
    wrong = (largest > LARGEST_VALUE) | ((largest > 0.0) & (largest < SMALLEST_VALUE))
    if wrong.any():
        j = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"Column {names[j]!r} holds values as large as {largest[j]:.3g} in size, whose squares leave the range of "
            "floating point. Rescale the column, for example by dividing it by its largest absolute value."
        )


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array."""
    return bool(issparse(X))


def read_codes(X: NDArray[Any], name: str) -> tuple[NDArray[Any], IntArray]:
    """Whole-number categories with -1 for missing, and the largest code per column.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Numbers; NaN where missing.
    name : str
        Estimator, for error messages.
    """
    missing = np.isnan(X) if X.dtype.kind == "f" else None
    if missing is not None:
        whole = missing | (np.floor(X) == X)
        if not whole.all():
            row, column = (int(i) for i in np.argwhere(~whole)[0])
            raise InputError(
                f"Row {row}, column {column} holds {X[row, column]!r}, but {name} takes categories as whole numbers "
                "0, 1, 2, ... Encode the categories, or use NaiveBayes, which takes them as they are."
            )
    negative = X < 0
    if negative.any():
        row, column = (int(i) for i in np.argwhere(negative)[0])
        raise InputError(
            f"Negative values in data passed to {name} (input X): row {row}, column {column} holds {X[row, column]!r}. "
            "Categories are whole numbers 0, 1, 2, ...; a missing value is NaN."
        )
    has_missing = missing is not None and bool(missing.any())
    filled = X if missing is None or not has_missing else np.where(missing, -1.0, X)
    largest = filled.max(axis=0, initial=0).astype(np.int64)
    top = int(largest.max(initial=0))
    dtype = np.uint8 if top < 255 and not has_missing else np.int16 if top < 2**15 else np.int32
    if top >= 2**31:
        raise InputError(f"{name} was given a category code of {top}; recode the categories as 0, 1, 2, ...")
    return np.ascontiguousarray(filled.astype(dtype)), largest


def codes_block(codes: NDArray[Any], offsets: IntArray) -> CodesBlock:
    """A block of codes."""
    return CodesBlock(codes, offsets)
