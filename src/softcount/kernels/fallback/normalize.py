"""Scores to responsibilities."""

import numpy as np

from softcount.kernels.arrays import FloatArray
from softcount.kernels.fallback.checks import check_output, check_shape


def normalize_rows(
    scores: FloatArray,
    row_weight: FloatArray | None,
    fallback_log_prob: FloatArray,
    log_norm_out: FloatArray | None,
) -> float:
    r"""Turn joint log-probabilities into weighted responsibilities, in place.

    .. math:: r_{ik} = w_i\, e^{s_{ik} - z_i}, \qquad z_i = \log \sum_k e^{s_{ik}}

    Parameters
    ----------
    scores : ndarray of float64, shape (n_rows, n_classes)
        Joint log-probabilities; overwritten with responsibilities. ``-inf`` is allowed, ``+inf`` is not.
    row_weight : ndarray of float64, shape (n_rows,), or None
        Weight of each row; None means 1.
    fallback_log_prob : ndarray of float64, shape (n_classes,)
        Log class probabilities given to a row that is impossible under every class.
    log_norm_out : ndarray of float64, shape (n_rows,), or None
        Where to store :math:`z_i`.

    Returns
    -------
    float
        The weighted log-likelihood :math:`\sum_i w_i z_i`. A row that is impossible under every class makes
        it ``-inf``, unless its weight is zero: a row of weight zero adds nothing.
    """
    n_rows, n_classes = scores.shape
    check_output("scores", scores, (n_rows, n_classes))
    check_shape("fallback_log_prob", fallback_log_prob, (n_classes,))
    weight = np.ones(n_rows) if row_weight is None else row_weight
    check_shape("row_weight", weight, (n_rows,))
    if n_classes == 0:
        raise ValueError("scores has no classes.")
    if n_rows == 0:
        return 0.0
    top = scores.max(axis=1)
    impossible = np.isneginf(top)
    scores[impossible] = fallback_log_prob
    shift = np.where(impossible, 0.0, top)[:, None]
    scores -= shift
    np.exp(scores, out=scores)
    total = scores.sum(axis=1)
    total[impossible] = 1.0
    log_norm = np.where(impossible, -np.inf, top + np.log(total))
    scores *= (weight / total)[:, None]
    if log_norm_out is not None:
        check_output("log_norm_out", log_norm_out, (n_rows,))
        log_norm_out[:] = log_norm
    counted = weight != 0
    return float(weight[counted] @ log_norm[counted])
