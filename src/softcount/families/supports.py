"""Which numbers a family can produce. A missing value (NaN) counts as possible everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcount._types import BoolArray

__all__ = ["is_count", "is_finite", "is_fraction", "is_non_negative", "is_positive", "is_yes_or_no"]


def is_yes_or_no(x: ArrayLike) -> BoolArray:
    """Zero or one."""
    x = np.asarray(x)
    return _or_missing(x, (x == 0) | (x == 1))


def is_count(x: ArrayLike) -> BoolArray:
    """Whole numbers of zero or more."""
    x = np.asarray(x)
    if x.dtype.kind in "ub":
        return np.ones(x.shape, dtype=bool)
    return _or_missing(x, (x >= 0) & (x == np.floor(x)) & ~np.isinf(x))


def is_non_negative(x: ArrayLike) -> BoolArray:
    """Finite numbers of zero or more."""
    x = np.asarray(x)
    return _or_missing(x, (x >= 0) & ~np.isinf(x))


def is_positive(x: ArrayLike) -> BoolArray:
    """Finite numbers above zero."""
    x = np.asarray(x)
    return _or_missing(x, (x > 0) & ~np.isinf(x))


def is_fraction(x: ArrayLike) -> BoolArray:
    """Numbers strictly between zero and one."""
    x = np.asarray(x)
    return _or_missing(x, (x > 0) & (x < 1))


def is_finite(x: ArrayLike) -> BoolArray:
    """Finite numbers."""
    x = np.asarray(x)
    return _or_missing(x, ~np.isinf(x))


def _or_missing(x: NDArray[Any], possible: BoolArray) -> BoolArray:
    return np.asarray(possible | np.isnan(x) if x.dtype.kind == "f" else possible)
