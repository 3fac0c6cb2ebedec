"""Dense binary and count matrices, multiplied block by block so that X is never converted whole."""

from collections.abc import Iterator

import numpy as np

from softcount.kernels.arrays import ClassCodes, FloatArray, NumberArray
from softcount.kernels.fallback.checks import check_output, check_shape, membership

BLOCK_CELLS = 1 << 18
"""Cells converted to float64 at a time (2 MiB)."""


def dense_scores(X: NumberArray, table: FloatArray, out: FloatArray) -> None:
    r"""Add ``X @ table`` to ``out`` for one chunk of dense rows.

    .. math:: \text{out}_{ik} \mathrel{+}= \sum_j x_{ij}\, t_{jk}, \qquad 0 \cdot (-\infty) = 0

    Parameters
    ----------
    X : ndarray of numbers or booleans, shape (n_rows, n_features)
        Non-negative counts; a NaN cell adds nothing.
    table : ndarray of float64, shape (n_features, n_classes)
        Log-probabilities or natural parameters; may hold ``-inf``.
    out : ndarray of float64, shape (n_rows, n_classes)
        Added to in place.
    """
    check_shape("table", table, (X.shape[1], out.shape[-1]))
    check_output("out", out, (X.shape[0], table.shape[1]))
    impossible = np.isneginf(table)
    finite = np.where(impossible, 0.0, table) if impossible.any() else table
    for rows, block in _blocks(X):
        out[rows] += block @ finite
        if finite is not table:
            out[rows][(block != 0).astype(np.float64) @ impossible > 0] = -np.inf


def dense_accumulate(X: NumberArray, resp: FloatArray, out: FloatArray) -> None:
    r"""Add ``X.T @ resp`` to ``out`` for one chunk of dense rows.

    .. math:: \text{out}_{jk} \mathrel{+}= \sum_i x_{ij}\, r_{ik}

    Parameters
    ----------
    X : ndarray of numbers or booleans, shape (n_rows, n_features)
        A NaN cell adds nothing.
    resp : ndarray of float64, shape (n_rows, n_classes)
        Responsibilities, already times the row weight.
    out : ndarray of float64, shape (n_features, n_classes)
        Added to in place.
    """
    check_shape("resp", resp, (X.shape[0], out.shape[-1]))
    check_output("out", out, (X.shape[1], resp.shape[1]))
    for rows, block in _blocks(X):
        out += block.T @ resp[rows]


def dense_class_counts(X: NumberArray, class_codes: ClassCodes, weight: FloatArray | None, out: FloatArray) -> None:
    r"""Add the weighted column sums of each class, the classes being known, to ``out``.

    .. math:: \text{out}_{jk} \mathrel{+}= \sum_{i : c_i = k} w_i\, x_{ij}

    Parameters
    ----------
    X : ndarray of numbers or booleans, shape (n_rows, n_features)
        A NaN cell adds nothing.
    class_codes : ndarray of int32, shape (n_rows,)
        Class of each row; -1 skips the row.
    weight : ndarray of float64, shape (n_rows,), or None
        Weight of each row; None means 1.
    out : ndarray of float64, shape (n_features, n_classes)
        Added to in place.
    """
    dense_accumulate(X, membership(class_codes, weight, X.shape[0], out.shape[1]), out)


def _blocks(X: NumberArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield a few rows at a time as float64, with zero in place of NaN."""
    step = max(1, BLOCK_CELLS // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        block = X[rows].astype(np.float64, copy=False)
        hole = np.isnan(block)
        yield rows, np.where(hole, 0.0, block) if hole.any() else block
