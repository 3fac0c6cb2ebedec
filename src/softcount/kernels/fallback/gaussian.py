"""Gaussian cells with independent columns; a NaN cell is missing and adds nothing."""

import numpy as np

from softcount.kernels.arrays import ClassCodes, FloatArray, NumberArray
from softcount.kernels.fallback.checks import check_output, check_shape, membership

LOG_2PI = float(np.log(2.0 * np.pi))


def gaussian_scores(X: NumberArray, mean: FloatArray, precision: FloatArray, out: FloatArray) -> None:
    r"""Add the log-density of each row's observed cells under each class.

    .. math:: \text{out}_{ik} \mathrel{+}= \sum_{j : \text{observed}}
        \tfrac12 \log\frac{p_{jk}}{2\pi} - \tfrac12 p_{jk} (x_{ij} - m_{jk})^2

    Parameters
    ----------
    X : ndarray of float64 or float32, shape (n_rows, n_features)
        NaN marks a missing cell.
    mean, precision : ndarray of float64, shape (n_features, n_classes)
        Mean and inverse variance of each column in each class.
    out : ndarray of float64, shape (n_rows, n_classes)
        Added to in place.
    """
    check_shape("mean", mean, (X.shape[1], out.shape[-1]))
    check_shape("precision", precision, mean.shape)
    check_output("out", out, (X.shape[0], mean.shape[1]))
    observed = ~np.isnan(X)
    cells = np.where(observed, X, 0.0).astype(np.float64, copy=False)
    # A cell so far out that its square overflows has log-density -inf.
    with np.errstate(over="ignore", divide="ignore"):
        half_log = 0.5 * (np.log(precision) - LOG_2PI)
        for k in range(mean.shape[1]):
            shifted = cells - mean[:, k]
            log_density = half_log[:, k] - 0.5 * (precision[:, k] * shifted * shifted)
            out[:, k] += np.where(observed, log_density, 0.0).sum(axis=1)


def gaussian_moments(
    X: NumberArray,
    resp: FloatArray,
    center: FloatArray,
    weight_out: FloatArray,
    sum_out: FloatArray,
    square_out: FloatArray,
) -> None:
    r"""Add the weighted moments of each column about a center near its mean.

    .. math:: n_{jk} \mathrel{+}= \sum_i r_{ik}, \quad
        s_{jk} \mathrel{+}= \sum_i r_{ik} (x_{ij} - c_{jk}), \quad
        q_{jk} \mathrel{+}= \sum_i r_{ik} (x_{ij} - c_{jk})^2

    over the observed cells. A center near the mean keeps the variance exact when the mean is large.

    Parameters
    ----------
    X : ndarray of float64 or float32, shape (n_rows, n_features)
        NaN marks a missing cell.
    resp : ndarray of float64, shape (n_rows, n_classes)
        Responsibilities, already times the row weight.
    center : ndarray of float64, shape (n_features, n_classes)
        Where the moments are taken about.
    weight_out, sum_out, square_out : ndarray of float64, shape (n_features, n_classes)
        Added to in place.
    """
    shape = (X.shape[1], resp.shape[1])
    check_shape("resp", resp, (X.shape[0], resp.shape[1]))
    check_shape("center", center, shape)
    for name, out in (("weight_out", weight_out), ("sum_out", sum_out), ("square_out", square_out)):
        check_output(name, out, shape)
    observed = ~np.isnan(X)
    cells = np.where(observed, X, 0.0).astype(np.float64, copy=False)
    weight_out += observed.T.astype(np.float64) @ resp
    for k in range(shape[1]):
        shifted = np.where(observed, cells - center[:, k], 0.0)
        weighted = resp[:, k, None] * shifted
        sum_out[:, k] += weighted.sum(axis=0)
        square_out[:, k] += np.einsum("ij,ij->j", weighted, shifted)


def gaussian_class_moments(
    X: NumberArray,
    class_codes: ClassCodes,
    weight: FloatArray | None,
    center: FloatArray,
    weight_out: FloatArray,
    sum_out: FloatArray,
    square_out: FloatArray,
) -> None:
    r"""Add the moments of :func:`gaussian_moments` when the class of each row is known.

    .. math:: r_{ik} = w_i\,[c_i = k]

    Parameters
    ----------
    X : ndarray of float64 or float32, shape (n_rows, n_features)
        NaN marks a missing cell.
    class_codes : ndarray of int32, shape (n_rows,)
        Class of each row; -1 skips the row.
    weight : ndarray of float64, shape (n_rows,), or None
        Weight of each row; None means 1.
    center : ndarray of float64, shape (n_features, n_classes)
        Where the moments are taken about.
    weight_out, sum_out, square_out : ndarray of float64, shape (n_features, n_classes)
        Added to in place.
    """
    resp = membership(class_codes, weight, X.shape[0], center.shape[1])
    gaussian_moments(X, resp, center, weight_out, sum_out, square_out)
