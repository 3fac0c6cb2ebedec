"""Sparse rows: what the sparse kernels compute, written with SciPy's matrix product."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcount.kernels.arrays import ClassCodes, FloatArray, IndexArray, NumberArray
from softcount.kernels.fallback.checks import check_output, check_pattern, check_shape, membership
from softcount.kernels.word_index import MAX_CHUNK_ROWS, WordIndex

PIECE_LENGTH = 1024
"""Longer rows are summed in pieces, which keeps their rounding error that of a short row."""


def csr_scores(
    indptr: IndexArray, indices: IndexArray, data: NumberArray | None, table: FloatArray, out: FloatArray
) -> None:
    r"""Add ``X @ table`` to ``out`` for one chunk of sparse rows.

    .. math:: \text{out}_{ik} \mathrel{+}= \sum_j x_{ij}\, t_{jk}, \qquad 0 \cdot (-\infty) = 0

    Parameters
    ----------
    indptr : ndarray of int32 or int64, shape (n_rows + 1,)
        Where each row of the chunk begins in ``indices``; the first entry need not be zero.
    indices : ndarray of int32 or int64
        Columns of the whole matrix's non-zeros (not sliced).
    data : ndarray or None
        Values beside ``indices``; None means that every value is 1.
    table : ndarray of float64, shape (n_features, n_classes)
        Log-probabilities or natural parameters; may hold ``-inf``.
    out : ndarray of float64, shape (n_rows, n_classes)
        Added to in place.
    """
    check_shape("table", table, (table.shape[0], out.shape[-1]))
    check_output("out", out, (indptr.shape[0] - 1, table.shape[1]))
    lengths = np.diff(indptr)
    if lengths.size and int(lengths.max()) > PIECE_LENGTH:
        n_pieces = np.maximum(-(-lengths // PIECE_LENGTH), 1)
        first = np.cumsum(n_pieces) - n_pieces
        within = np.arange(int(n_pieces.sum())) - np.repeat(first, n_pieces)
        pieces = np.append(np.repeat(indptr[:-1], n_pieces) + within * PIECE_LENGTH, indptr[-1])
        sums: FloatArray = _chunk(pieces, indices, data, table.shape[0]) @ table
        out += np.add.reduceat(sums, first, axis=0)
    else:
        out += _chunk(indptr, indices, data, table.shape[0]) @ table


def csr_accumulate(
    indptr: IndexArray, indices: IndexArray, data: NumberArray | None, resp: FloatArray, out: FloatArray
) -> None:
    r"""Add ``X.T @ resp`` to ``out`` for one chunk of sparse rows.

    .. math:: \text{out}_{jk} \mathrel{+}= \sum_i x_{ij}\, r_{ik}

    Parameters
    ----------
    indptr, indices, data
        The chunk, as in :func:`csr_scores`.
    resp : ndarray of float64, shape (n_rows, n_classes)
        Responsibilities, already times the row weight.
    out : ndarray of float64, shape (n_features, n_classes)
        Added to in place.
    """
    check_shape("resp", resp, (indptr.shape[0] - 1, out.shape[-1]))
    check_output("out", out, (out.shape[0], resp.shape[1]))
    out += _chunk(indptr, indices, data, out.shape[0]).T @ resp


def csr_word_index(
    indptr: IndexArray, indices: IndexArray, data: NumberArray | None, n_features: int
) -> WordIndex | None:
    """Sort the non-zeros of one chunk by column, to be counted again and again with other responsibilities.

    Parameters
    ----------
    indptr, indices, data
        The chunk, as in :func:`csr_scores`; at most 65536 rows.
    n_features : int
        Columns of the matrix.

    Returns
    -------
    WordIndex or None
        None when a value is not a whole number from 0 to 255, and so does not fit into three bytes per
        non-zero: use :func:`csr_accumulate` for this chunk.
    """
    n_rows = indptr.shape[0] - 1
    if n_rows > MAX_CHUNK_ROWS:
        raise ValueError(f"The chunk has {n_rows} rows, expected at most {MAX_CHUNK_ROWS}.")
    part = check_pattern(indptr, indices, data, n_features)
    columns = indices[part].astype(np.int32)
    rows = np.repeat(np.arange(n_rows, dtype=np.int64), np.diff(indptr)).astype(np.uint16)
    counts: NDArray[np.uint8] | None = None
    if data is not None:
        values = data[part]
        if not bool(((values >= 0) & (values <= 255) & (values == np.floor(values))).all()):
            return None
        kept = values != 0
        columns, rows, values = columns[kept], rows[kept], values[kept]
        counts = None if bool((values == 1).all()) else values.astype(np.uint8)
    order = np.argsort(columns, kind="stable")
    words, first = np.unique(columns[order], return_index=True)
    starts = np.append(first, columns.size).astype(np.int32)
    return WordIndex(words, starts, rows[order], None if counts is None else counts[order], n_rows, n_features)


def csr_accumulate_words(index: WordIndex, resp: FloatArray, out: FloatArray) -> None:
    """Do what :func:`csr_accumulate` does, from the column-sorted index of the chunk.

    Parameters
    ----------
    index : WordIndex
        From :func:`csr_word_index`.
    resp : ndarray of float64, shape (n_rows, n_classes)
        Responsibilities, already times the row weight.
    out : ndarray of float64, shape (n_features, n_classes)
        Added to in place.
    """
    check_shape("resp", resp, (index.n_rows, out.shape[-1]))
    check_output("out", out, (index.n_features, resp.shape[1]))
    values = np.ones(index.rows.size) if index.counts is None else index.counts.astype(np.float64)
    by_word = csr_array((values, index.rows.astype(np.int32), index.starts), shape=(index.words.size, index.n_rows))
    out[index.words] += np.asarray(by_word @ resp)


def csr_class_counts(
    indptr: IndexArray,
    indices: IndexArray,
    data: NumberArray | None,
    class_codes: ClassCodes,
    weight: FloatArray | None,
    out: FloatArray,
) -> None:
    r"""Add the weighted column sums of each class, the classes being known, to ``out``.

    .. math:: \text{out}_{kj} \mathrel{+}= \sum_{i : c_i = k} w_i\, x_{ij}

    Here the class axis is first: all counts of a class lie together, and a row is added to those of one class.

    Parameters
    ----------
    indptr, indices, data
        The chunk, as in :func:`csr_scores`.
    class_codes : ndarray of int32, shape (n_rows,)
        Class of each row; -1 skips the row.
    weight : ndarray of float64, shape (n_rows,), or None
        Weight of each row; None means 1.
    out : ndarray of float64, shape (n_classes, n_features)
        Added to in place.
    """
    resp = membership(class_codes, weight, indptr.shape[0] - 1, out.shape[0])
    check_output("out", out, (resp.shape[1], out.shape[1]))
    out += (_chunk(indptr, indices, data, out.shape[1]).T @ resp).T


def csr_repeats(indptr: IndexArray, indices: IndexArray, n_features: int) -> bool:
    """Whether some row lists a column more than once.

    Parameters
    ----------
    indptr, indices
        The chunk, as in :func:`csr_scores`.
    n_features : int
        Columns of the matrix.
    """
    part = check_pattern(indptr, indices, None, n_features)
    rows = np.repeat(np.arange(indptr.shape[0] - 1), np.diff(indptr))
    cells = rows * np.int64(n_features) + indices[part]
    cells.sort()
    return bool((cells[1:] == cells[:-1]).any())


def _chunk(indptr: IndexArray, indices: IndexArray, data: NumberArray | None, n_features: int) -> csr_array:
    """Wrap the chunk as a SciPy matrix without its explicit zeros, which would turn -inf into NaN."""
    part = check_pattern(indptr, indices, data, n_features)
    n_rows = indptr.shape[0] - 1
    columns, starts = indices[part], indptr - indptr[0]
    if data is None:
        return csr_array((np.ones(part.stop - part.start), columns, starts), shape=(n_rows, n_features))
    values = data[part].astype(np.float64, copy=False)
    nonzero = values != 0
    if not nonzero.all():
        values, columns = values[nonzero], columns[nonzero]
        starts = np.concatenate([[0], np.cumsum(nonzero)])[starts]
    return csr_array((values, columns, starts), shape=(n_rows, n_features))
