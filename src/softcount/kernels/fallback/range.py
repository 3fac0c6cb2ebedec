"""One look at many numbers."""

import numpy as np

from softcount.kernels.arrays import NumberArray
from softcount.kernels.number_range import NumberRange

PIECE = 1 << 17
"""Numbers looked at together: they stay in the cache."""


def number_range(numbers: NumberArray) -> NumberRange:
    r"""Return the least and the greatest number, the total, and whether any is missing.

    Parameters
    ----------
    numbers : ndarray of numbers or booleans, shape (n,)
        NaN is missing and left out.

    Returns
    -------
    NumberRange
    """
    least, greatest, total, has_missing = np.inf, -np.inf, 0.0, False
    for start in range(0, numbers.size, PIECE):
        piece = numbers[start : start + PIECE]
        if piece.dtype.kind == "f":
            hole = np.isnan(piece)
            if hole.any():
                has_missing, piece = True, piece[~hole]
        if piece.size:
            least, greatest = min(least, float(piece.min())), max(greatest, float(piece.max()))
            with np.errstate(over="ignore", invalid="ignore"):
                total += float(piece.sum(dtype=np.float64))
    return NumberRange(least, greatest, total, has_missing)
