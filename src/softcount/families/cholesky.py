"""Triangular factors of covariance matrices, and what to say when there is none."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from softcount._errors import InputError
from softcount._types import FloatArray

__all__ = ["cholesky_factors", "precision_factors"]


def cholesky_factors(cov: FloatArray) -> FloatArray:
    r"""Lower triangular :math:`L` with :math:`\Sigma = L L^\top`, for the last two axes."""
    try:
        return np.asarray(np.linalg.cholesky(cov))
    except np.linalg.LinAlgError:
        matrices = cov.reshape(-1, *cov.shape[-2:])
        worst = int(np.argmin(np.linalg.eigvalsh(matrices)[:, 0]))
        which = f" of component {worst}" if len(matrices) > 1 else ""
        raise InputError(
            f"The covariance{which} is singular: its rows lie in a subspace (or there are too few of them) and nothing "
            "keeps it off the boundary. Raise var_smoothing, reg_covar or min_variance, use shrinkage or a shared or "
            "diagonal covariance, or drop columns that are functions of others."
        ) from None


def precision_factors(cov: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Upper triangular :math:`U_k` with :math:`\Sigma_k^{-1} = U_k U_k^\top`, and :math:`\log|U_k|`."""
    lower = cholesky_factors(cov)
    log_det = -np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    # LAPACK itself: what scipy.linalg checks around it takes longer than small matrices do.
    factors = [lapack.dtrtri(factor, lower=1)[0].T for factor in lower]
    return np.stack(factors), np.asarray(log_det)
