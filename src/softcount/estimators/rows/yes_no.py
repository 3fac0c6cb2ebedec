"""Rows of yes/no columns: numbers above a threshold, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount.estimators._generative import GenerativeEstimator
from softcount.estimators._tables import (
    check_finite,
    dense_block,
    is_sparse,
    range_of,
    read_numbers,
    sparse_block,
    without_duplicates,
)
from softcount.families.bernoulli import Bernoulli
from softcount.families.blocks import Block, SparseBlock
from softcount.families.columns import ColumnFamily

__all__ = ["YesNoRows"]


class YesNoRows(GenerativeEstimator):
    """An estimator of Bernoulli columns; cells above ``binarize`` are ones."""

    binarize: float | None

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        X = read_numbers(self, X, reset=reset, check_finite=False)
        if is_sparse(X):
            if self.binarize is not None and self.binarize < 0:
                raise InputError(
                    f"Cannot binarize a sparse matrix with threshold < 0 (binarize={self.binarize}): every empty cell "
                    "would become 1. Use a threshold of 0 or more, or a dense array."
                )
            return (self._sparse_block(without_duplicates(X)),)
        has_missing = False
        if X.dtype.kind == "f":
            seen = range_of(X, self.n_jobs)
            if not (seen.least > -np.inf and seen.greatest < np.inf):
                check_finite(self, X)
            has_missing = seen.has_missing
        if self.binarize is None:
            self._check_between(X)
        threshold = None if _is_yes_or_no(X, self.binarize) else self.binarize
        return (dense_block(X, threshold=threshold, has_missing=has_missing),)

    def _sparse_block(self, X: Any) -> SparseBlock:
        seen, threshold = range_of(X, self.n_jobs), self.binarize
        if not (seen.least > -np.inf and seen.greatest < np.inf):
            check_finite(self, X)
        if threshold is not None and seen.least > threshold and not seen.has_missing:
            return SparseBlock(X.indptr, X.indices, None, X.shape[1])
        return sparse_block(_thresholded(X, threshold), binary=True, has_missing=seen.has_missing)

    def _check_between(self, X: NDArray[Any]) -> None:
        wrong = (X < 0) | (X > 1)
        if wrong.any():
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            raise InputError(
                f"Row {row}, column {self._feature_names()[column]!r} holds {X[row, column]}; with binarize=None "
                "cells lie between 0 and 1. Set binarize to the threshold that makes them 0 or 1."
            )

    def _families(self) -> tuple[ColumnFamily, ...]:
        return (Bernoulli(),)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_yes_or_no(X: NDArray[Any], threshold: float | None) -> bool:
    """Whether cells are whole numbers that a threshold would leave as they are: nobody need apply it then."""
    if threshold is None or X.dtype.kind == "f" or X.size == 0:
        return False
    return 0.0 <= threshold < 1.0 and bool(X.dtype.kind == "b" or (X.min() >= 0 and X.max() <= 1))


def _thresholded(X: Any, threshold: float | None) -> Any:
    """A sparse matrix of zeros and ones with the same pattern; missing cells stay missing."""
    if threshold is None:
        wrong = (X.data < 0) | (X.data > 1)
        if wrong.any():
            raise InputError(
                f"X holds {X.data[wrong][0].item()!r}; with binarize=None cells lie between 0 and 1. Set binarize to "
                "the threshold that makes them 0 or 1."
            )
        return X
    above = X.data > threshold
    if X.data.dtype.kind == "f" and np.isnan(X.data).any():
        data = np.where(np.isnan(X.data), np.nan, above.astype(np.float64))
    else:
        data = above.astype(np.uint8)
    return type(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)
