"""NumPy's masked arrays: what is masked is missing, which ``np.asarray`` would forget."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["unmasked", "unmasked_labels"]


def unmasked(values: Any) -> Any:
    """The cells of a masked array, NaN where masked (None among objects); anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> unmasked(np.ma.masked_array([1, 2, 3], [False, True, False]))
    array([ 1., nan,  3.])
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return np.asarray(values)
    kind = values.dtype.kind
    cells: Any = np.array(values.data, dtype=np.float64 if kind in "biu" else None if kind == "f" else object)
    cells[np.ma.getmaskarray(values)] = np.nan if kind in "biuf" else None
    return cells


def unmasked_labels(y: Any) -> Any:
    """The labels of a masked array, each what it was, and None where masked; rows of probabilities as cells are."""
    if isinstance(y, np.ma.MaskedArray) and y.ndim == 1 and np.ma.is_masked(y):
        labels = np.array(y.data, dtype=object)
        labels[np.ma.getmaskarray(y)] = None
        return labels
    return unmasked(y)
