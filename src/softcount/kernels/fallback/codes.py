"""Categorical cells: every cell of a row picks one row of a table of all columns' levels."""

import numpy as np

from softcount.kernels.arrays import ClassCodes, FloatArray, NumberArray
from softcount.kernels.fallback.checks import check_output, check_shape, membership
from softcount.kernels.fallback.csr import csr_accumulate, csr_scores
from softcount.kernels.fallback.normalize import normalize_rows


def codes_scores(codes: NumberArray, offsets: NumberArray, table: FloatArray, out: FloatArray) -> None:
    r"""Add, for every cell that is present, the table row of its level.

    .. math:: \text{out}_{ik} \mathrel{+}= \sum_{j : \text{present}} t_{o_j + c_{ij},\, k}

    Parameters
    ----------
    codes : ndarray of int32, int16 or uint8, shape (n_rows, n_features)
        Level of each cell; missing is -1, or 255 when the codes are uint8.
    offsets : ndarray of int64, shape (n_features + 1,)
        Column ``j`` owns the table rows ``offsets[j]:offsets[j + 1]``.
    table : ndarray of float64, shape (offsets[-1], n_classes)
        Log-probabilities; may hold ``-inf``.
    out : ndarray of float64, shape (n_rows, n_classes)
        Added to in place.
    """
    indptr, indices = _one_hot(codes, offsets)
    check_shape("table", table, (int(offsets[-1]), out.shape[-1]))
    csr_scores(indptr, indices, None, table, out)


def codes_accumulate(codes: NumberArray, offsets: NumberArray, resp: FloatArray, out: FloatArray) -> None:
    r"""Add each row's responsibilities to the levels of its cells.

    .. math:: \text{out}_{o_j + l,\, k} \mathrel{+}= \sum_{i : c_{ij} = l} r_{ik}

    Parameters
    ----------
    codes, offsets
        The cells, as in :func:`codes_scores`.
    resp : ndarray of float64, shape (n_rows, n_classes)
        Responsibilities, already times the row weight.
    out : ndarray of float64, shape (offsets[-1], n_classes)
        Added to in place.
    """
    indptr, indices = _one_hot(codes, offsets)
    check_shape("out", out, (int(offsets[-1]), resp.shape[-1]))
    csr_accumulate(indptr, indices, None, resp, out)


def codes_class_counts(
    codes: NumberArray,
    offsets: NumberArray,
    class_codes: ClassCodes,
    weight: FloatArray | None,
    out: FloatArray,
) -> None:
    r"""Add the weight of each row to the levels of its cells, in the column of its known class.

    .. math:: \text{out}_{o_j + l,\, k} \mathrel{+}= \sum_{i : c_{ij} = l,\, y_i = k} w_i

    Parameters
    ----------
    codes, offsets
        The cells, as in :func:`codes_scores`.
    class_codes : ndarray of int32, shape (n_rows,)
        Class of each row; -1 skips the row.
    weight : ndarray of float64, shape (n_rows,), or None
        Weight of each row; None means 1.
    out : ndarray of float64, shape (offsets[-1], n_classes)
        Added to in place.
    """
    indptr, indices = _one_hot(codes, offsets)
    check_shape("out", out, (int(offsets[-1]), out.shape[-1]))
    csr_accumulate(indptr, indices, None, membership(class_codes, weight, codes.shape[0], out.shape[1]), out)


def codes_pass(
    codes: NumberArray,
    offsets: NumberArray,
    table: FloatArray,
    log_weights: FloatArray,
    row_weight: FloatArray | None,
    counts: FloatArray,
    class_weight: FloatArray,
    log_likelihood: FloatArray,
) -> None:
    r"""One pass of EM over rows without labels, for one or several runs: scores, responsibilities, expected counts.

    .. math:: s_{ik} = \log\pi_k + \sum_{j : \text{present}} t_{o_j + c_{ij},\, k}, \qquad
        r_{ik} = w_i\, e^{s_{ik} - z_i}, \qquad z_i = \log \sum_k e^{s_{ik}}

    Each run gets the bits that it gets alone. What the tables of all runs have in their last axis are the classes of
    the first run, of the second, and so on.

    Parameters
    ----------
    codes, offsets
        The cells, as in :func:`codes_scores`.
    table : ndarray of float64, shape (offsets[-1], n_runs * n_classes)
        Log-probabilities; may hold ``-inf``.
    log_weights : ndarray of float64, shape (n_runs * n_classes,)
        Log-probabilities of the classes; a row that is impossible under every class is given to the classes as these
        are.
    row_weight : ndarray of float64, shape (n_rows,), or None
        Weight of each row; None means 1.
    counts : ndarray of float64, shape (offsets[-1], n_runs * n_classes)
        Responsibilities of the rows by level, added to in place.
    class_weight : ndarray of float64, shape (n_runs * n_classes,)
        Responsibilities of all rows, added to in place.
    log_likelihood : ndarray of float64, shape (n_runs,)
        The rows' :math:`\sum_i w_i z_i` in each run, added to in place.
    """
    indptr, indices = _one_hot(codes, offsets)
    n_runs, n_columns = log_likelihood.shape[0], log_weights.shape[0]
    if n_runs == 0 or n_columns == 0 or n_columns % n_runs:
        raise ValueError(f"codes_pass: {n_columns} columns are no whole number of classes for {n_runs} runs.")
    check_shape("table", table, (int(offsets[-1]), n_columns))
    check_output("counts", counts, (int(offsets[-1]), n_columns))
    check_output("class_weight", class_weight, (n_columns,))
    n_classes = n_columns // n_runs
    for run in range(n_runs):
        own = slice(run * n_classes, (run + 1) * n_classes)
        scores, counted = np.zeros((codes.shape[0], n_classes)), np.zeros((counts.shape[0], n_classes))
        csr_scores(indptr, indices, None, np.ascontiguousarray(table[:, own]), scores)
        scores += log_weights[own]
        log_likelihood[run] += normalize_rows(scores, row_weight, log_weights[own], None)
        csr_accumulate(indptr, indices, None, scores, counted)
        counts[:, own] += counted
        class_weight[own] += scores.sum(axis=0)


def _one_hot(codes: NumberArray, offsets: NumberArray) -> tuple[NumberArray, NumberArray]:
    """Return the CSR pattern of the cells that are present, after checking every level."""
    n_features = codes.shape[1]
    check_shape("offsets", offsets, (n_features + 1,))
    if int(offsets[0]) != 0:
        raise ValueError(f"offsets begins with {int(offsets[0])}, expected 0.")
    falls = np.flatnonzero(np.diff(offsets) < 0)
    if falls.size:
        raise ValueError(f"offsets decreases after column {int(falls[0])}.")
    missing = codes == (255 if codes.dtype == np.uint8 else -1)
    levels = codes.astype(np.int64)
    wrong = ~missing & ((levels < 0) | (levels >= np.diff(offsets)))
    if wrong.any():
        row, column = (int(axis[0]) for axis in np.nonzero(wrong))
        n_levels = int(offsets[column + 1] - offsets[column])
        raise IndexError(
            f"codes[{row}, {column}] is {int(codes[row, column])}, expected a level 0 <= code < {n_levels} or missing."
        )
    present = ~missing
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return indptr, (levels + offsets[:-1])[present]
