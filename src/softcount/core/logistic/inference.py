r"""Standard errors and the number of parameters of a fitted logistic regression.

The covariance of the coefficients is the inverse of the penalized information,

.. math:: C = (H + \Lambda)^{-1} ,

which without a penalty is the maximum-likelihood covariance and with an L2 penalty that of the posterior under the
normal prior that the penalty is. The effective number of parameters is :math:`\operatorname{tr}(C H)`, without a
penalty the number of coefficients. With ``K`` classes the symmetric coefficients are a linear map of the differences
from the last class, and so is their covariance:

.. math:: \theta_k = \psi_k - \tfrac1K \sum_l \psi_l , \qquad \psi_K = 0 .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softcount._types import FloatArray
from softcount.core.execute import Executor
from softcount.core.logistic.data import LogisticData
from softcount.core.logistic.fit import LogisticFit
from softcount.core.logistic.methods import MOST_COEFFICIENTS, tally_information
from softcount.core.logistic.newton import factor_system

__all__ = ["LogisticInference", "infer", "is_affordable", "symmetric"]

#: The information is tallied unasked where it costs at most this many multiplications.
MOST_MULTIPLICATIONS = 1e11


@dataclass(frozen=True)
class LogisticInference:
    """What is known about the coefficients' uncertainty.

    Attributes
    ----------
    covariance : array of shape (n, n) or None
        Of the coefficients of the unshifted columns, one class after the other, the intercept first: two classes,
        ``n = n_columns``; more, ``n = n_classes * n_columns``. Zero for columns left out.
    n_parameters : float
        Effective number of parameters.
    """

    covariance: FloatArray | None
    n_parameters: float


def is_affordable(data: LogisticData) -> bool:
    """Whether the information matrix costs little enough to be tallied unasked."""
    size = float(data.n_coefficients)
    return size <= MOST_COEFFICIENTS and data.n_samples * size * size <= MOST_MULTIPLICATIONS


def symmetric(coef: FloatArray, data: LogisticData) -> FloatArray:
    """The outputs' coefficients as those of the classes, whose mean is zero; those of two classes as they are."""
    if data.is_binary or not data.reference:
        return coef
    whole = np.concatenate([coef, np.zeros((1, coef.shape[1]))])
    return np.asarray(whole - whole.mean(axis=0))


def infer(fit: LogisticFit, data: LogisticData, executor: Executor, *, wanted: bool) -> LogisticInference:
    """Covariance and effective number of parameters; ``wanted=False`` counts the coefficients alone."""
    if fit.penalty.has_l1:
        # Columns that were chosen by looking at the data: no covariance accounts for that.
        free = np.count_nonzero(fit.coef)
        return LogisticInference(None, float(free))
    if not wanted:
        return LogisticInference(None, float(np.count_nonzero(fit.kept) * data.n_outputs))
    information = fit.information
    if information is None:
        information = tally_information(data, fit.coef, executor)["information"].arrays()["information"]
    kept = np.tile(fit.kept, data.n_outputs)
    inside = np.ix_(kept, kept)
    inverse = factor_system(fit.penalty.add_curvature(information)[inside]).inverse()
    n_parameters = float(np.sum(inverse * information[inside]))
    if not np.any(fit.penalty.l2 > 0.0):
        n_parameters = float(np.count_nonzero(kept))
    whole = np.zeros_like(information)
    whole[inside] = inverse
    spread = np.eye(data.n_outputs)
    if not data.is_binary:
        spread = np.eye(data.n_classes)[:, :-1] - 1.0 / data.n_classes
    back = np.kron(spread, data.design.uncentering())
    return LogisticInference(back @ whole @ back.T, n_parameters)
