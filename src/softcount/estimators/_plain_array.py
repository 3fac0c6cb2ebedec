"""Arrays of numbers with which scikit-learn's checks would find nothing wrong.

Its checks of an array of 100 rows take longer than scoring them, most of it to find out that an array is no data frame
of any kind. Whatever is not plain goes through these checks as before, which say what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["FLOATS", "NUMBERS", "take_plain"]

#: Kinds of numbers, in this machine's byte order.
FLOATS = frozenset(map(np.dtype, ("float64", "float32")))
NUMBERS = FLOATS | {np.dtype(np.bool_)} | {np.dtype(f"{s}int{bits}") for s in ("", "u") for bits in (8, 16, 32, 64)}


def take_plain(estimator: Any, X: Any, *, reset: bool, kinds: frozenset[np.dtype[Any]], check_finite: bool) -> bool:
    """Whether X is an array of numbers with the columns that the estimator knows, and none is infinite or missing.

    With ``reset`` the estimator learns the number of columns, as from scikit-learn's ``validate_data``.

    Parameters
    ----------
    estimator : estimator
    X : object
    reset : bool
    kinds : frozenset of dtype
        Kinds of numbers that may stay as they are.
    check_finite : bool
        Whether the cells are looked at.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or 0 in X.shape or X.dtype not in kinds:
        return False
    fitted = vars(estimator)
    # An array has no names: where names were learned, there is something to warn of or to forget.
    if "feature_names_in_" in fitted or (not reset and fitted.get("n_features_in_") != X.shape[1]):
        return False
    if check_finite and X.dtype.kind == "f" and not _has_finite_sum(X):
        return False
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return True


def _has_finite_sum(X: Any) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.add.reduce(X, axis=None)))
