r"""SQUAREM on the counts: leap along the path that expected counts take from one iteration to the next.

EM is a map from counts to counts (solve, then tally). Varadhan and Roland (2008) extrapolate three successive iterates
:math:`s_0, s_1, s_2` of such a map with :math:`r = s_1 - s_0`, :math:`v = (s_2 - s_1) - r` and a step
:math:`a = -\lVert r\rVert / \lVert v\rVert \le -1`:

.. math:: s' = s_0 - 2 a r + a^2 v = (1 + a)^2 s_0 - 2 a (1 + a) s_1 + a^2 s_2 .

The coefficients sum to one, so every linear constraint on the counts (class weights sum to the number of rows, the
counts of a column's values sum to the class weight) holds for :math:`s'` as well, for every family alike. What can
break is the sign of a count; that is clipped, and a leap that would leave a class without weight is shortened.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from softcount.core.counts import Counts

__all__ = ["extrapolate"]

SMALLEST_LEAP = 1.05
LARGEST_LEAP = 64.0


def extrapolate(trail: Sequence[Counts]) -> Counts | None:
    """The leap from three successive counts, or None where it would not go beyond the last of them."""
    step = _step_length(trail)
    while step > SMALLEST_LEAP:
        leap = _combine(trail, -step)
        if _is_feasible(leap):
            return leap.clipped()
        step = (step + 1.0) / 2.0
    return None


def _step_length(trail: Sequence[Counts]) -> float:
    """``|a|``: the norm of the first difference over that of the second, arrays on a common scale."""
    first, second = 0.0, 0.0
    arrays = [counts.arrays() for counts in trail]
    for name in arrays[0]:
        s0, s1, s2 = (a[name] for a in arrays)
        scale = float(np.sqrt(np.mean(s2 * s2))) if s2.size else 0.0
        if scale == 0.0 or not np.isfinite(scale):
            continue
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


def _is_feasible(counts: Counts) -> bool:
    weight = counts.parts["classes"].arrays()["weight"]
    finite = all(bool(np.all(np.isfinite(a))) for a in counts.arrays().values())
    return finite and bool(np.all(weight > 0.0))
