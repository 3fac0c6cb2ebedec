r"""A multinomial logit whose outcome is a membership: given in shares, or measured with known errors.

.. math:: \ell(\gamma) = \sum_i w_i \sum_s a_{is} \log \sum_k \pi_k(z_i) D_{ks}

with :math:`\pi_k(z) \propto e^{z^\top\gamma_k}`, :math:`\gamma_1 = 0`; without errors D is the identity.
"""

from __future__ import annotations

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.membership import class_logits

__all__ = ["curvature", "fit_logit", "is_separated", "slopes_by_chances"]

MAX_STEPS, MAX_HALVINGS, TOLERANCE = 200, 30, 1e-10
#: Information below this share of what a covariate could give: its coefficient runs to infinity.
SEPARATED = 1e-7


def is_separated(design: FloatArray, weight: FloatArray, information: FloatArray) -> bool:
    """Whether some coefficient has no finite best value."""
    possible = np.tile(weight @ (design * design), information.shape[0] // design.shape[1])
    return bool((np.diagonal(information) < SEPARATED * possible).any())


def _targets(share: FloatArray, assigned: FloatArray, measured: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Expected memberships, shape (n_rows, n_components), and per row their spread (n_components, n_components)."""
    if measured is None:
        return assigned, np.zeros((assigned.shape[0], assigned.shape[1], assigned.shape[1]))
    n = assigned.shape[1]
    expected = np.zeros_like(share)
    spread = np.zeros((share.shape[0], n, n))
    for s in range(n):
        joint = share * measured[:, s]
        part = joint / joint.sum(axis=1, keepdims=True)
        expected += assigned[:, s, None] * part
        spread += assigned[:, s, None, None] * (part[:, :, None] * np.eye(n) - part[:, :, None] * part[:, None, :])
    return expected, spread


def curvature(
    design: FloatArray, assigned: FloatArray, weight: FloatArray, measured: FloatArray | None, coef: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Scores of the rows and the observed information, of the coefficients of all components but the first."""
    share = np.exp(class_logits(coef, design))
    expected, spread = _targets(share, assigned, measured)
    n, p = share.shape[1], design.shape[1]
    score = ((expected - share)[:, 1:, None] * design[:, None, :]).reshape(design.shape[0], -1)
    inner = share[:, :, None] * np.eye(n) - share[:, :, None] * share[:, None, :] - spread
    information = np.zeros(((n - 1) * p, (n - 1) * p))
    for k in range(1, n):
        for other in range(1, n):
            part = (design * (weight * inner[:, k, other])[:, None]).T @ design
            information[(k - 1) * p : k * p, (other - 1) * p : other * p] = part
    return score, information


def slopes_by_chances(
    design: FloatArray,
    assigned: FloatArray,
    weight: FloatArray,
    measured: FloatArray | None,
    coef: FloatArray,
    *,
    inverse: FloatArray,
) -> FloatArray:
    """Derivatives of the summed scores by the chances of assignment, (n_coefficients, n_components, n_components).

    ``assigned`` are assignments measured with the chances ``measured``, or without these the corrected memberships
    :math:`a D^{-1}`, of which ``inverse`` is :math:`D^{-1}`.
    """
    n, p = assigned.shape[1], design.shape[1]
    slopes = np.zeros((n, p, n, n))
    share = np.exp(class_logits(coef, design))
    if measured is None:
        moved = np.einsum("il,ij->lj", assigned * weight[:, None], design)
        slopes = -np.einsum("lj,sk->kjls", moved, inverse)
        return np.asarray(slopes[1:].reshape(-1, n, n))
    for s in range(n):
        part = share * measured[:, s]
        seen = part.sum(axis=1, keepdims=True)
        ratio = share / seen * (assigned[:, s] * weight)[:, None]
        for k in range(n):
            away = -ratio * (part[:, k, None] / seen)
            away[:, k] += ratio[:, k]
            slopes[k, :, :, s] += design.T @ away
    return np.asarray(slopes[1:].reshape(-1, n, n))


def _objective(
    design: FloatArray, assigned: FloatArray, weight: FloatArray, measured: FloatArray | None, coef: FloatArray
) -> float:
    log_share = class_logits(coef, design)
    if measured is None:
        return float(weight @ (assigned * log_share).sum(axis=1))
    with np.errstate(divide="ignore"):
        log_seen = np.log(np.exp(log_share) @ measured)
    return float(weight @ np.where(assigned > 0.0, assigned * log_seen, 0.0).sum(axis=1))


def fit_logit(design: FloatArray, assigned: FloatArray, weight: FloatArray, measured: FloatArray | None) -> FloatArray:
    """Coefficients (n_coefficients, n_components) at the maximum, those of the first component zero."""
    n, p = assigned.shape[1], design.shape[1]
    coef = np.zeros((p, n))
    value = _objective(design, assigned, weight, measured, coef)
    for _ in range(MAX_STEPS):
        score, information = curvature(design, assigned, weight, measured, coef)
        gradient = weight @ score
        if np.linalg.eigvalsh(information)[0] <= 0.0:
            # Where the surface bends upwards, by the information of known memberships, which always leads up.
            information = curvature(design, assigned, weight, None, coef)[1]
        step = np.linalg.lstsq(information, gradient, rcond=1e-12)[0].reshape(n - 1, p).T
        if float(gradient @ step.T.reshape(-1)) <= TOLERANCE * max(abs(value), 1.0):
            coef[:, 1:] += step
            return coef
        moved, new = coef, value
        for _ in range(MAX_HALVINGS):
            moved = coef.copy()
            moved[:, 1:] += step
            new = _objective(design, assigned, weight, measured, moved)
            if new >= value:
                break
            step = step / 2.0
        coef, value = moved, new
    raise InputError(
        f"The coefficients did not settle in {MAX_STEPS} steps: some covariate tells components apart without fail. "
        "Leave it out, or group its values."
    )
