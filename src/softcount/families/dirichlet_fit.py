r"""Maximum likelihood of Dirichlet (and beta) distributions from averaged logarithms.

The concentrations satisfy :math:`\psi(a_i) - \psi(S) = E[\log x_i]` with :math:`S = \sum_i a_i`, so all of
them follow from :math:`S` alone, which is the one root of

.. math:: g(S) = \sum_i \psi^{-1}\bigl(E[\log x_i] + \psi(S)\bigr) - S .

:math:`g` is positive to the left of the root and negative to the right: Newton's method inside a bracket
finds it from anywhere.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from softcount._types import FloatArray
from softcount.families.gamma_function import inverse_digamma, relative_gap, stirling_remainder

__all__ = ["LARGEST_TOTAL", "concentrations", "log_density"]

#: Constant columns would have infinite concentrations; with this total standard deviations are at most 5e-5.
LARGEST_TOTAL = 1e8
SMALLEST_TOTAL = 1e-4
LARGEST_MEAN_LOG = -1e-12
HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


def concentrations(mean_log: FloatArray) -> FloatArray:
    """The concentrations with these expected logarithms (last axis), their total at most :data:`LARGEST_TOTAL`."""
    mean_log = np.minimum(mean_log, LARGEST_MEAN_LOG)
    low = np.full(mean_log.shape[:-1], np.log(SMALLEST_TOTAL))
    high = np.full(mean_log.shape[:-1], np.log(LARGEST_TOTAL))
    log_total = 0.5 * (low + high)
    for _ in range(80):
        total = np.exp(log_total)
        excess, slope = _excess(mean_log, total)
        low = np.where(excess > 0.0, log_total, low)
        high = np.where(excess > 0.0, high, log_total)
        step = log_total - excess / np.where(slope < 0.0, slope, -1.0) / total
        inside = (slope < 0.0) & (step > low) & (step < high)
        proposal = np.where(inside, step, 0.5 * (low + high))
        if np.all(np.abs(proposal - log_total) <= 1e-15 * np.maximum(np.abs(log_total), 1.0)):
            break
        log_total = proposal
    free = inverse_digamma(mean_log + special.digamma(np.exp(log_total))[..., None])
    capped = _excess(mean_log, np.full(log_total.shape, LARGEST_TOTAL))[0] >= 0.0
    return np.where(capped[..., None], _with_total(mean_log, LARGEST_TOTAL), free) if capped.any() else free


def _excess(mean_log: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The function :math:`g` and its derivative."""
    a = inverse_digamma(mean_log + special.digamma(total)[..., None])
    slope = special.polygamma(1, total) * (1.0 / special.polygamma(1, a)).sum(axis=-1) - 1.0
    return a.sum(axis=-1) - total, slope


def _with_total(mean_log: FloatArray, total: float) -> FloatArray:
    """The most likely concentrations with a given total, ``psi(a_i)`` being the mean logarithms plus a constant."""
    shift = special.digamma(total) - np.logaddexp.reduce(mean_log, axis=-1, keepdims=True)
    for _ in range(20):
        a = inverse_digamma(mean_log + shift)
        shift = shift - (a.sum(axis=-1, keepdims=True) - total) / (1.0 / special.polygamma(1, a)).sum(
            axis=-1, keepdims=True
        )
    return inverse_digamma(mean_log + shift)


def log_density(parts: FloatArray, concentration: FloatArray) -> FloatArray:
    r"""Log-density of parts that sum to one (last axis), for any size of the concentrations.

    With Stirling's formula for every gamma function and :math:`p_i = a_i / S`:

    .. math::
       -\sum_i a_i \Bigl(\frac{x_i}{p_i} - 1 - \log\frac{x_i}{p_i}\Bigr) - \sum_i \log x_i
       + \tfrac12 \sum_i \log\frac{a_i}{2\pi} - \tfrac12\log\frac{S}{2\pi} + r(S) - \sum_i r(a_i)
    """
    total = concentration.sum(axis=-1)
    gap = concentration * relative_gap(parts, concentration / total[..., None])
    each = 0.5 * np.log(concentration) - HALF_LOG_2PI - stirling_remainder(concentration) - np.log(parts) - gap
    return np.asarray(each.sum(axis=-1) - 0.5 * np.log(total) + HALF_LOG_2PI + stirling_remainder(total))
