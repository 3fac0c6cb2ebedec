r"""Expected log-factorials of counts, which the entropies of count families contain.

For a count with probability generating function :math:`G(s) = E[s^X]`, Malmstén's integral for
:math:`\log\Gamma` gives

.. math::
   E[\log\Gamma(X + r)] - \log\Gamma(r)
   = \int_0^\infty \Bigl(E[X] e^{-t} - e^{-r t} \frac{1 - G(e^{-t})}{1 - e^{-t}}\Bigr) \frac{dt}{t} ,

a smooth integral in :math:`\log t`, where the trapezoidal rule converges exponentially, however long the tail
of :math:`X` is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softcount._types import FloatArray

__all__ = ["mean_log_binomial", "mean_log_factorial"]


#: Steps in log t. The integrands are analytic within pi/2 of the real line: the error is exp(-pi^2 / STEP).
STEP = 0.2
SMALLEST = -60.0


def mean_log_factorial(rate: ArrayLike) -> FloatArray:
    r""":math:`E[\log X!]` of a Poisson count, where :math:`1 - G(s) = 1 - e^{-\lambda (1 - s)}`."""
    rate = np.asarray(rate, dtype=np.float64)[..., None]
    t = _times(decay=1.0)
    y = rate * -np.expm1(-t)
    # 1 - (1 - exp(-y)) / y, by its series where the two nearly cancel.
    near, far = np.minimum(y, 0.1), np.maximum(y, 0.1)
    series = np.ones_like(near)
    for term in range(11, 2, -1):
        series = 1.0 - near / term * series
    gap = np.where(y < 0.1, near / 2.0 * series, 1.0 + np.expm1(-far) / far)
    return np.asarray((rate * gap * np.exp(-t)).sum(axis=-1) * STEP)


def mean_log_binomial(size: float, odds: ArrayLike) -> FloatArray:
    r""":math:`E[\log\binom{X + r - 1}{X}]` of a negative binomial count with mean :math:`r` times ``odds``.

    Here :math:`1 - G(s) = 1 - (1 + q (1 - s))^{-r}` with :math:`q` the odds, and the integrals for
    :math:`\Gamma(X + r)` and :math:`\Gamma(X + 1)` are taken as one.
    """
    odds = np.asarray(odds, dtype=np.float64)[..., None]
    t = _times(decay=min(size, 1.0))
    from_one = -np.expm1(-t)
    gone = -np.expm1(-size * np.log1p(odds * from_one))
    return np.asarray(((np.exp(-t) - np.exp(-size * t)) * gone / from_one).sum(axis=-1) * STEP)


def _times(decay: float) -> FloatArray:
    """Equal steps in log t, as far as exp(-decay t) is above rounding."""
    return np.asarray(np.exp(np.arange(SMALLEST, np.log(800.0 / decay), STEP)))
