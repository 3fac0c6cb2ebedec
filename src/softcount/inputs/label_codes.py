"""Labels that are whole numbers in a narrow range, the commonest kind: read by counting instead of sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["narrow_range", "narrow_unique"]

#: Widest range of values that is looked up in a table.
WIDEST = 65536
#: So few values without a gap may all be found among so many first rows, and need no count of all rows.
FEW, FIRST_ROWS = 256, 4096


def narrow_range(values: NDArray[Any]) -> tuple[int, int] | None:
    """Smallest and largest of whole-number labels, or None where they are not, or lie far apart."""
    if values.dtype.kind not in "iu" or values.size == 0:
        return None
    low, high = int(values.min()), int(values.max())
    return (low, high) if high - low < WIDEST else None


def narrow_unique(values: NDArray[Any], low: int, high: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The distinct values, sorted, and the position of each label among them."""
    # Narrow types would wrap around, and large numbers without a sign fit no other type.
    wide = values if values.dtype.kind == "u" else values.astype(np.int64, copy=False)
    n_values = high - low + 1
    first = (wide[:FIRST_ROWS] - wide.dtype.type(low)).astype(np.intp, copy=False)
    if n_values <= FEW and np.bincount(first, minlength=n_values).all():
        # The first rows show that no value between is left out: its distance from the lowest is its position.
        codes = np.empty(values.shape[0], dtype=np.int32)
        np.subtract(wide, wide.dtype.type(low), out=codes, casting="unsafe")
        return (np.arange(n_values).astype(wide.dtype) + wide.dtype.type(low)).astype(values.dtype), codes
    shifted = (wide - wide.dtype.type(low)).astype(np.intp, copy=False)
    found = np.flatnonzero(np.bincount(shifted, minlength=n_values))
    position = np.zeros(n_values, dtype=np.int32)
    position[found] = np.arange(found.size, dtype=np.int32)
    return (found.astype(wide.dtype) + wide.dtype.type(low)).astype(values.dtype), position[shifted]
