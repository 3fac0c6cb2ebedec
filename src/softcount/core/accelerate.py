r"""SQUAREM on the counts: leap along the path that expected counts take from one iteration to the next.

EM is a map from counts to counts (solve, then tally). Varadhan and Roland (2008) extrapolate three successive iterates
:math:`s_0, s_1, s_2` of such a map with :math:`r = s_1 - s_0`, :math:`v = (s_2 - s_1) - r` and a step
:math:`a = -\lVert r\rVert / \lVert v\rVert \le -1`:

.. math:: s' = s_0 - 2 a r + a^2 v = (1 + a)^2 s_0 - 2 a (1 + a) s_1 + a^2 s_2 .

The coefficients sum to one, so every linear constraint on the counts (class weights sum to the number of rows, the
counts of a column's values sum to the class weight) holds for :math:`s'` as well, for every family alike. What can
break is the sign of a count. A leap that would empty a class, or take away the last count of a value that still has
some, is shortened: a probability of zero stays zero for ever, so EM would be kept from the maximum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from softcount._types import FloatArray
from softcount.core.counts import Counts
from softcount.families.statistics import Moments, Statistics, Sums

__all__ = ["extrapolate"]

SMALLEST_LEAP = 1.05
LARGEST_LEAP = 64.0


def extrapolate(trail: Sequence[Counts]) -> Counts | None:
    """The leap from three successive counts, or None where it would not go beyond the last of them."""
    step = _step_length(trail)
    while step > SMALLEST_LEAP:
        leap = _combine(trail, -step)
        if _is_inside(leap, trail[-1]):
            return leap.clipped()
        step = (step + 1.0) / 2.0
    return None


def _step_length(trail: Sequence[Counts]) -> float:
    """``|a|``: the norm of the first difference over that of the second, arrays on a common scale."""
    first, second = 0.0, 0.0
    arrays = [counts.arrays() for counts in trail]
    for name in arrays[0]:
        s0, s1, s2 = (a[name] for a in arrays)
        scale = _scale(name, s2)
        r = (s1 - s0) / scale
        v = (s2 - 2.0 * s1 + s0) / scale
        first += float(np.vdot(r, r))
        second += float(np.vdot(v, v))
    if second == 0.0:
        return 1.0
    return min(math.sqrt(first / second), LARGEST_LEAP)


def _combine(trail: Sequence[Counts], a: float) -> Counts:
    s0, s1, s2 = trail
    # The two positive terms first: their weights never cancel.
    return (s0.scaled((1.0 + a) ** 2) + s2.scaled(a * a)) + s1.scaled(-2.0 * a * (1.0 + a))


def _scale(name: str, array: FloatArray) -> FloatArray:
    """What differences are measured by: the root mean square of a table, row by row where columns have their units."""
    own_units = name.endswith(("/mean", "/scatter")) and array.ndim == 2
    square = np.mean(array * array, axis=1 if own_units else None, keepdims=True)
    return np.asarray(np.where(square > 0.0, np.sqrt(square), 1.0))


def _is_inside(leap: Counts, last: Counts) -> bool:
    """Whether a leap keeps every class and every value that the last counts have."""
    if not all(bool(np.all(np.isfinite(array))) for array in leap.arrays().values()):
        return False
    if not np.all(leap.parts["classes"].arrays()["weight"] > 0.0):
        return False
    return all(_keeps_support(part, last.parts[name]) for name, part in leap.parts.items())


def _keeps_support(leap: Statistics, last: Statistics) -> bool:
    if isinstance(leap, Moments) and isinstance(last, Moments):
        if np.any((leap.weight <= 0.0) & (last.weight > 0.0)):
            return False
        if leap.is_full:
            return bool(np.all(np.linalg.eigvalsh(leap.scatter)[:, 0] >= 0.0))
        return not np.any((leap.scatter <= 0.0) & (last.scatter > 0.0))
    signed = leap.signed if isinstance(leap, Sums) else ()
    after, before = ({n: a for n, a in part.arrays().items() if n not in signed} for part in (leap, last))
    if any(np.any((after[name] <= 0.0) & (before[name] > 0.0)) for name in after):
        return False
    if isinstance(leap, Sums) and "sum" in leap and "weight" in leap and np.all(before["sum"] <= before["weight"]):
        # Sums of yes/no columns: the zeros are counts as well.
        return not np.any((after["sum"] >= after["weight"]) & (before["sum"] < before["weight"]))
    return True
