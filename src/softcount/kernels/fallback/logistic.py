"""One pass of a logistic regression of two classes over dense rows."""

import numpy as np

from softcount.kernels.arrays import FloatArray
from softcount.kernels.fallback.checks import check_output, check_shape


def logistic_score(
    X: FloatArray,
    coef: FloatArray,
    offset: FloatArray | None,
    sign: FloatArray,
    weight: FloatArray | None,
    score: FloatArray,
    log_likelihood: FloatArray,
) -> None:
    r"""Add the gradient of the log-likelihood, and the log-likelihood itself, of one chunk of rows.

    With :math:`\eta_i = b + o_i + x_i^\top w` and the margin :math:`m_i = s_i \eta_i`,

    .. math:: \ell \mathrel{+}= -\sum_i w_i \log(1 + e^{-m_i}), \qquad
              g \mathrel{+}= \sum_i w_i\, \frac{s_i}{1 + e^{m_i}} \binom{1}{x_i} .

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
        Laid out row by row.
    coef : ndarray of float64, shape (n_features + 1,)
        The intercept first.
    offset : ndarray of float64, shape (n_rows,), or None
        Added to the predictor.
    sign : ndarray of float64, shape (n_rows,)
        1 for the second class, -1 for the first.
    weight : ndarray of float64, shape (n_rows,), or None
        Weight of each row; None means 1.
    score : ndarray of float64, shape (n_features + 1,)
        Added to in place.
    log_likelihood : ndarray of float64, shape (1,)
        Added to in place.
    """
    n_rows, n_features = X.shape
    check_shape("coef", coef, (n_features + 1,))
    check_shape("sign", sign, (n_rows,))
    for name, optional in (("offset", offset), ("weight", weight)):
        if optional is not None:
            check_shape(name, optional, (n_rows,))
    check_output("score", score, (n_features + 1,))
    check_output("log_likelihood", log_likelihood, (1,))
    predictor = X @ coef[1:]
    predictor += coef[0]
    if offset is not None:
        predictor += offset
    margin = sign * predictor
    small = np.exp(-np.abs(margin))
    terms = np.minimum(margin, 0.0) - np.log1p(small)
    less = small / (1.0 + small)
    residual = sign * np.where(margin >= 0.0, less, 1.0 - less)
    if weight is not None:
        residual *= weight
        terms *= weight
    log_likelihood += terms.sum()
    score[0] += residual.sum()
    score[1:] += residual @ X
