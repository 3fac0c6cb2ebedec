"""The prior of a Bayesian linear regression, read from what the user gave."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.bayesian_spectrum import LinearPrior

__all__ = ["check_noise", "read_prior"]


def read_prior(precision: Any, covariance: Any, mean: Any, size: int) -> tuple[LinearPrior, bool]:
    """The prior of ``size`` coefficients, and whether the evidence scales its precision.

    Parameters
    ----------
    precision : float, array or "evidence"
        A number for all, one per column, or a matrix.
    covariance : float, array or None
        The covariance instead.
    mean : float or array
        The mean.
    size : int
        Number of coefficients.

    Examples
    --------
    >>> prior, scaled = read_prior("evidence", None, 0.0, 2)
    >>> scaled
    True
    """
    center = np.asarray(mean, dtype=np.float64)
    if center.shape not in ((), (size,)) or not np.isfinite(center).all():
        raise InputError(f"prior_mean has shape {center.shape}; expected a finite number, or {size} of them.")
    center = np.broadcast_to(center, (size,))
    if covariance is not None:
        if not (isinstance(precision, str) and precision == "evidence"):
            raise InputError("prior_precision and prior_covariance are both given; give one of them.")
        root = _positive_definite("prior_covariance", covariance, size)
        inverse = np.linalg.inv(root @ root.T)
        return LinearPrior(center, _positive_definite("prior_covariance", 0.5 * (inverse + inverse.T), size)), False
    if isinstance(precision, str):
        if precision != "evidence":
            raise InputError(
                f"prior_precision={precision!r}; expected 'evidence', a positive number, one per column, or a matrix."
            )
        return LinearPrior(center, np.eye(size)), True
    return LinearPrior(center, _positive_definite("prior_precision", precision, size)), False


def check_noise(noise: Any, shape: float, rate: float) -> None:
    """Refuse a noise that is neither a positive variance nor the name of a rule."""
    if isinstance(noise, str):
        if noise not in ("evidence", "conjugate"):
            raise InputError(f"noise={noise!r}; expected a variance, 'evidence' or 'conjugate'.")
    elif not 0.0 < noise < math.inf:
        raise InputError(f"noise={noise!r}; expected a positive variance, 'evidence' or 'conjugate'.")
    for name, value in (("noise_shape", shape), ("noise_rate", rate)):
        if not 0.0 < value < math.inf:
            raise InputError(f"{name}={value!r}; expected a positive number.")


def _positive_definite(name: str, value: Any, size: int) -> FloatArray:
    """Cholesky factor of a number, a diagonal or a matrix."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.ndim == 1 and array.shape == (size,) and (array > 0.0).all() and np.isfinite(array).all():
        return np.diag(np.sqrt(array))
    if array.shape == (size, size) and np.isfinite(array).all() and np.allclose(array, array.T):
        try:
            factor: FloatArray = np.linalg.cholesky(array).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            pass
        else:
            return factor
    raise InputError(
        f"{name} has shape {array.shape} and must be positive: a number, {size} numbers, or a symmetric positive "
        f"definite matrix of shape {(size, size)}."
    )
