r"""The gamma function where differences of large logarithms would cancel, and two inverses.

Densities of the gamma, beta and Dirichlet families contain :math:`\log\Gamma(a)` next to :math:`a \log a`:
at :math:`a = 10^{10}` both are near :math:`2 \cdot 10^{11}` and their difference keeps four digits. Written
with the functions below the large parts never appear.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from softcount._types import FloatArray

__all__ = [
    "inverse_digamma",
    "log_gamma_ratio",
    "log_minus_digamma",
    "relative_gap",
    "shape_from_gap",
    "stirling_remainder",
]

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
EULER = 0.5772156649015329
#: From here on five terms of the asymptotic series are exact to rounding.
ASYMPTOTIC = 20.0


def stirling_remainder(a: ArrayLike) -> FloatArray:
    r"""What Stirling's formula leaves over, of size :math:`1 / (12 a)`.

    .. math:: \log\Gamma(a) - (a - \tfrac12) \log a + a - \tfrac12 \log 2\pi
    """
    a = np.asarray(a, dtype=np.float64)
    large = np.maximum(a, ASYMPTOTIC)
    square = 1.0 / (large * large)
    series = 1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    small = np.minimum(a, ASYMPTOTIC)
    direct = special.gammaln(small) - (small - 0.5) * np.log(small) + small - HALF_LOG_2PI
    return np.asarray(np.where(a >= ASYMPTOTIC, series / large, direct))


def log_minus_digamma(a: ArrayLike) -> FloatArray:
    r""":math:`\log a - \psi(a)`, positive and of size :math:`1 / (2 a)`."""
    a = np.asarray(a, dtype=np.float64)
    large = np.maximum(a, ASYMPTOTIC)
    square = 1.0 / (large * large)
    series = 1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132)))
    small = np.minimum(a, ASYMPTOTIC)
    return np.asarray(np.where(a >= ASYMPTOTIC, 0.5 / large + square * series, np.log(small) - special.digamma(small)))


def log_gamma_ratio(a: ArrayLike, x: ArrayLike) -> FloatArray:
    r""":math:`\log\Gamma(a + x) - \log\Gamma(a)` for :math:`x \ge 0`."""
    a, x = np.asarray(a, dtype=np.float64), np.asarray(x, dtype=np.float64)
    large = np.maximum(a, ASYMPTOTIC)
    growth = (large - 0.5) * np.log1p(x / large) + x * (np.log(large + x) - 1.0)
    growth = growth + stirling_remainder(large + x) - stirling_remainder(large)
    small = np.minimum(a, ASYMPTOTIC)
    return np.asarray(np.where(a >= ASYMPTOTIC, growth, special.gammaln(small + x) - special.gammaln(small)))


def relative_gap(x: ArrayLike, center: ArrayLike) -> FloatArray:
    r""":math:`t - \log(1 + t) \ge 0` for :math:`t = (x - c) / c`: exact near zero, without overflow far off.

    With :math:`s = t / (2 + t)` it is :math:`t s - 2 s^3 (\tfrac13 + \tfrac{s^2}{5} + \tfrac{s^4}{7} + \dots)`.
    """
    x, center = np.asarray(x, dtype=np.float64), np.asarray(center, dtype=np.float64)
    with np.errstate(over="ignore"):
        t = (x - center) / center
        near = np.abs(t) < 0.25
        small = np.where(near, t, 0.0)
        s = small / (2.0 + small)
        tail = np.zeros_like(s)
        for power in range(21, 1, -2):
            tail = tail * s * s + 1.0 / power
        far = t - (np.log(x) - np.log(center))
    return np.asarray(np.where(near, small * s - 2.0 * s**3 * tail, far))


def inverse_digamma(y: ArrayLike) -> FloatArray:
    r"""The :math:`a > 0` with :math:`\psi(a) = y`, by Newton's method from the asymptotes of :math:`\psi`."""
    y = np.asarray(y, dtype=np.float64)
    low = np.minimum(y, -2.0)
    a = np.where(y >= -2.22, np.exp(np.minimum(y, 700.0)) + 0.5, -1.0 / (low + EULER))
    for _ in range(6):
        a = a - (special.digamma(a) - y) / special.polygamma(1, a)
    return np.asarray(a)


def shape_from_gap(gap: ArrayLike) -> FloatArray:
    r"""The :math:`a > 0` with :math:`\log a - \psi(a)` equal to ``gap > 0``.

    Newton's method for the logarithm of both sides as functions of :math:`\log a`, which are nearly
    straight lines.
    """
    gap = np.asarray(gap, dtype=np.float64)
    a = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(8):
        value = log_minus_digamma(a)
        slope = np.where(a > 1e6, -value, a * _digamma_gap_slope(a))
        a = a * np.exp(-value * np.log(value / gap) / slope)
    return np.asarray(a)


def _digamma_gap_slope(a: FloatArray) -> FloatArray:
    r""":math:`1 / a - \psi'(a)`."""
    return np.asarray(1.0 / a - special.polygamma(1, a))
