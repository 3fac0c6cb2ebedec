"""Row weights, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.inputs.masked import unmasked

__all__ = ["read_weights"]

#: Weights that large leave the range of floating point once they multiply counts or squares.
LARGEST_WEIGHT = 1e100
#: Below this, sums of weighted squares vanish.
SMALLEST_WEIGHT = 1e-100


def read_weights(sample_weight: Any, n_rows: int, name: str = "sample_weight") -> FloatArray | None:
    """Weights as float64, or None for "every row once".

    Parameters
    ----------
    sample_weight : None, number or array-like of shape (n_rows,)
    n_rows : int
        Rows of X.
    name : str
        The argument's name, for error messages.
    """
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(unmasked(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be read as numbers: {error}.") from None
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise InputError(f"Sample weights must be 1D array or scalar, got {weight.ndim}D array.")
    if weight.shape[0] != n_rows:
        raise InputError(f"{name}.shape == {weight.shape}, expected {(n_rows,)}: one weight per row of X.")
    wrong = ~np.isfinite(weight) | (weight < 0.0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{name} of row {row} is {weight[row]}; weights are finite and 0 or more. Use 0 to leave a row out."
        )
    largest = float(weight.max(initial=0.0))
    if largest > LARGEST_WEIGHT or 0.0 < largest < SMALLEST_WEIGHT:
        raise InputError(
            f"{name} of row {int(weight.argmax())} is {largest:g}, the largest of all; weighted sums would leave the "
            f"range of floating point. Rescale the weights so that the largest lies between {SMALLEST_WEIGHT:g} and "
            f"{LARGEST_WEIGHT:g}."
        )
    return weight
