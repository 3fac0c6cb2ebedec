"""Gaussian rows with a full covariance per class; no missing cells."""

import numpy as np

from softcount.kernels.arrays import FloatArray, NumberArray
from softcount.kernels.fallback.checks import check_output, check_shape
from softcount.kernels.fallback.gaussian import LOG_2PI


def gaussian_full_scores(
    X: NumberArray, mean: FloatArray, precision_chol: FloatArray, log_det: FloatArray, out: FloatArray
) -> None:
    r"""Add the log-density of each row under each class's full Gaussian.

    .. math:: \text{out}_{ik} \mathrel{+}= \log\det U_k - \tfrac{d}{2}\log 2\pi
        - \tfrac12 \| (x_i - m_k) U_k \|^2, \qquad P_k = U_k U_k^\top

    Parameters
    ----------
    X : ndarray of float64 or float32, shape (n_rows, n_features)
        No NaN.
    mean : ndarray of float64, shape (n_classes, n_features)
        Means.
    precision_chol : ndarray of float64, shape (n_classes, n_features, n_features)
        Upper-triangular factor ``U`` of each precision matrix.
    log_det : ndarray of float64, shape (n_classes,)
        Log-determinant of each factor ``U``: the sum of the logs of its diagonal.
    out : ndarray of float64, shape (n_rows, n_classes)
        Added to in place.
    """
    n_classes, n_features = mean.shape
    check_shape("mean", mean, (out.shape[-1], X.shape[1]))
    check_shape("precision_chol", precision_chol, (n_classes, n_features, n_features))
    check_shape("log_det", log_det, (n_classes,))
    check_output("out", out, (X.shape[0], n_classes))
    for k in range(n_classes):
        whitened = (X - mean[k]) @ precision_chol[k]
        square = np.einsum("ij,ij->i", whitened, whitened)
        out[:, k] += log_det[k] - 0.5 * n_features * LOG_2PI - 0.5 * square


def gaussian_full_moments(
    X: NumberArray,
    resp: FloatArray,
    center: FloatArray,
    weight_out: FloatArray,
    sum_out: FloatArray,
    scatter_out: FloatArray,
) -> None:
    r"""Add weighted first and second moments of the rows about a center near each class's mean.

    .. math:: n_k \mathrel{+}= \sum_i r_{ik}, \quad s_k \mathrel{+}= \sum_i r_{ik} (x_i - c_k), \quad
        S_k \mathrel{+}= \sum_i r_{ik} (x_i - c_k)(x_i - c_k)^\top

    Parameters
    ----------
    X : ndarray of float64 or float32, shape (n_rows, n_features)
        No NaN.
    resp : ndarray of float64, shape (n_rows, n_classes)
        Responsibilities, already times the row weight.
    center : ndarray of float64, shape (n_classes, n_features)
        Where the moments are taken about.
    weight_out : ndarray of float64, shape (n_classes,)
        Added to in place.
    sum_out : ndarray of float64, shape (n_classes, n_features)
        Added to in place.
    scatter_out : ndarray of float64, shape (n_classes, n_features, n_features)
        Added to in place; both triangles.
    """
    n_classes, n_features = center.shape
    check_shape("resp", resp, (X.shape[0], n_classes))
    check_shape("center", center, (n_classes, X.shape[1]))
    check_output("weight_out", weight_out, (n_classes,))
    check_output("sum_out", sum_out, center.shape)
    check_output("scatter_out", scatter_out, (n_classes, n_features, n_features))
    weight_out += resp.sum(axis=0)
    for k in range(n_classes):
        shifted = X - center[k]
        weighted = shifted * resp[:, k, None]
        sum_out[k] += weighted.sum(axis=0)
        scatter = weighted.T @ shifted
        # Both triangles are to hold the same bits.
        scatter_out[k] += 0.5 * (scatter + scatter.T)
