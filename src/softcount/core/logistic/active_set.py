r"""The elastic-net quadratic by active sets: signs are searched, values are solved for.

Minimize, over :math:`\beta`,

.. math:: \tfrac12 \beta^\top G \beta - h^\top \beta + \sum_j \lambda_{1j} |\beta_j| .

With the signs :math:`s` of the nonzero coefficients :math:`A` fixed, the minimizer solves
:math:`G_{AA} \beta_A = h_A - \lambda_{1A} s_A`. The step towards it ends where the objective along it, a quadratic with
kinks where coefficients vanish, is smallest; coefficients that vanish there leave the set. When the set is solved,
coefficients that violate :math:`|h_j - (G \beta)_j| \le \lambda_{1j}` join it, several at a time (Lee et al.
2007 take one). Every step lowers the objective, and a step costs one factorization, however correlated the columns
are: what coordinate descent needs thousands of sweeps for takes a handful.
"""

from __future__ import annotations

import numpy as np

from softcount._types import BoolArray, FloatArray
from softcount.core.symmetric_solve import factorize

__all__ = ["minimize_elastic_net"]

MOST_STEPS = 2000
# Relative to the largest entry of the linear part: a slope this small is zero.
SLACK = 1e-11
# Where the matrix does not determine the solution, this share of its diagonal chooses one.
RIDGE = 1e-10
REFINEMENTS = 3


def minimize_elastic_net(
    gram: FloatArray, linear: FloatArray, start: FloatArray, l1: FloatArray, *, most_steps: int = MOST_STEPS
) -> tuple[FloatArray, bool]:
    """The minimizer of the module's objective, and whether it is that or only lower than the start.

    Parameters
    ----------
    gram : array of shape (n, n)
        ``G``, symmetric positive semidefinite, squared penalties included.
    linear : array of shape (n,)
        ``h``.
    start : array of shape (n,)
        Where to begin: the closer the signs, the fewer steps.
    l1 : array of shape (n,)
        Strengths; zero for coefficients without a penalty.
    most_steps : int
        Steps after which a lower point is answer enough.

    Examples
    --------
    >>> import numpy as np
    >>> minimize_elastic_net(np.eye(2), np.array([3.0, 0.5]), np.zeros(2), np.ones(2))
    (array([2., 0.]), True)
    """
    movable = np.diag(gram) > 0.0
    coef = np.where(movable, start, 0.0)
    slack = SLACK * max(float(np.max(np.abs(linear), initial=0.0)), float(np.max(l1, initial=0.0)))
    most_new = max(10, coef.size)
    for _ in range(most_steps):
        slope = linear - gram @ coef
        active = movable & ((coef != 0.0) | (l1 == 0.0))
        signs = np.sign(coef)
        if np.all(np.abs(slope - l1 * signs)[active] <= slack * 10.0):
            violation = np.where(movable & ~active, np.abs(slope) - l1, 0.0)
            worst = np.flatnonzero(violation > slack)
            if worst.size == 0:
                return coef, True
            worst = worst[np.argsort(-violation[worst], kind="stable")[:most_new]]
            active[worst] = True
            signs[worst] = np.sign(slope[worst])
        stepped = _step(gram, linear, coef, l1, signs=signs, active=active)
        if np.array_equal(stepped, coef):
            if most_new == 1:  # rounding: no step gets lower
                return coef, True
            most_new = max(1, most_new // 4)
        coef = stepped
    return coef, False


def _step(
    gram: FloatArray, linear: FloatArray, coef: FloatArray, l1: FloatArray, *, signs: FloatArray, active: BoolArray
) -> FloatArray:
    """The lowest point on the way to the solution for these signs, newcomers that would turn back left out."""
    active = active.copy()
    while True:
        chosen = np.flatnonzero(active)
        matrix = gram[np.ix_(chosen, chosen)]
        goal = _solve(matrix, linear[chosen] - l1[chosen] * signs[chosen])
        change = goal - coef[chosen]
        turned = (coef[chosen] == 0.0) & (l1[chosen] > 0.0) & (change * signs[chosen] <= 0.0)
        if not turned.any():
            break
        active[chosen[turned]] = False
        if not active.any():
            return coef
    here = coef[chosen]
    length = _lowest_point(matrix, linear[chosen], here, change, l1[chosen])
    if length == 0.0:
        return coef
    there = here + length * change
    if length == 1.0:
        there = goal
    # A coefficient that vanishes at the end of the step vanishes exactly.
    there[(here * there < 0.0) & (np.abs(there) <= 1e-14 * np.abs(here))] = 0.0
    crossing = here != 0.0
    ends = np.divide(-here, change, out=np.full_like(here, np.inf), where=crossing & (change != 0.0))
    there[crossing & (np.abs(ends - length) <= 1e-14) & (l1[chosen] > 0.0)] = 0.0
    moved = np.zeros_like(coef)
    moved[chosen] = there
    return moved


def _lowest_point(gram: FloatArray, linear: FloatArray, here: FloatArray, change: FloatArray, l1: FloatArray) -> float:
    """How far along ``change``, at most all of it, the objective is smallest."""
    image = gram @ change
    bend = float(change @ image)
    smooth = float(here @ image - linear @ change)  # slope of the quadratic at the start
    signs = np.where(here != 0.0, np.sign(here), np.sign(change))
    rate = l1 * change
    kinks = float(rate @ signs)
    crossing = np.flatnonzero((here * change < 0.0) & (l1 > 0.0))
    times = -here[crossing] / change[crossing]
    order = np.argsort(times, kind="stable")
    before = 0.0
    for i in order:
        time = float(times[i])
        if time >= 1.0:
            break
        # Slope at the kink, from the left and from the right.
        left = smooth + bend * time + kinks
        if left >= 0.0:
            return _root(smooth + kinks, bend, before, time)
        kinks += 2.0 * abs(float(rate[crossing[i]]))
        if smooth + bend * time + kinks >= 0.0:
            return time
        before = time
    if smooth + bend + kinks <= 0.0 or not crossing.size or before == 0.0:
        return 1.0 if smooth + kinks < 0.0 else 0.0
    return _root(smooth + kinks, bend, before, 1.0)


def _root(slope: float, bend: float, low: float, high: float) -> float:
    return min(max(-slope / bend if bend > 0.0 else high, low), high)


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """A solution of a consistent system, which may leave a shift common to all classes undetermined."""
    if matrix.shape[0] == 0:
        return np.zeros(0)
    factor = factorize(matrix)
    if not factor.aliased.any():
        return factor.solve(right)
    factor = factorize(matrix + RIDGE * np.diag(np.diag(matrix)), tolerance=0.0)
    answer = factor.solve(right)
    for _ in range(REFINEMENTS):  # takes back the ridge
        answer = answer + factor.solve(right - matrix @ answer)
    return answer
