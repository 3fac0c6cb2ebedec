r"""How much evidence a document is: words repeat inside documents, so a long one is worth fewer words than it has.

The intraclass correlation of the words of one document is estimated without any label. With
:math:`r_i = \sum_t x_{it}(x_{it} - 1) / (n_i(n_i - 1))`, the chance that two words of document i are the same, its mean
:math:`\bar r` over documents, and :math:`s` the chance that two words of different documents are the same,

.. math:: \rho = \frac{\bar r - s}{1 - s}, \qquad
   s = \frac{\sum_t T_t^2 - \sum_i\sum_t x_{it}^2}{(\sum_i n_i)^2 - \sum_i n_i^2}, \qquad T_t = \sum_i x_{it} .

By the design effect of cluster sampling, :math:`n_i` words of one document carry the evidence of
:math:`n_i / (1 + (n_i - 1)\rho)` independent ones: the row's log-density and statistics enter with the factor
:math:`\beta_i = 1/(1 + (n_i - 1)\rho)`. Scaled rows are rows of the same family, so EM on them is ordinary EM.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from softcount._types import FloatArray
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock
from softcount.kernels import csr_repeats

__all__ = ["correlation_from_sums", "repetition_sums", "row_totals", "token_correlation", "with_evidence"]

#: Cells, or stored entries, looked at together.
CELLS_AT_ONCE = 2**17


def row_totals(block: Block) -> tuple[FloatArray, FloatArray]:
    """Per row the total and the sum of squares of its counts, missing cells left out."""
    total, square = np.zeros(block.n_rows), np.zeros(block.n_rows)
    per_row: float = block.n_columns
    if isinstance(block, SparseBlock):
        per_row = (block.indptr[-1] - block.indptr[0]) / max(block.n_rows, 1)
    step = max(1, int(CELLS_AT_ONCE // max(per_row, 1.0)))
    for start in range(0, block.n_rows, step):
        part = block.rows(start, min(start + step, block.n_rows))
        rows = slice(start, start + part.n_rows)
        if isinstance(part, SparseBlock):
            total[rows], square[rows] = _sparse_totals(part)
        elif isinstance(part, DenseBlock):
            values = np.asarray(part.numbers, dtype=np.float64)
            total[rows], square[rows] = values.sum(axis=1), np.einsum("ij,ij->i", values, values)
        else:
            total[rows] = square[rows] = (part.codes >= 0).sum(axis=1)
    return total, square


def _sparse_totals(block: SparseBlock) -> tuple[FloatArray, FloatArray]:
    block = _summed(block)
    start, stop = int(block.indptr[0]), int(block.indptr[-1])
    lengths = np.diff(block.indptr)
    if block.data is None:
        ones = np.asarray(lengths, dtype=np.float64)
        return ones, ones
    data = np.asarray(block.data[start:stop], dtype=np.float64)
    rows = np.repeat(np.arange(block.n_rows), lengths)
    total = np.asarray(np.bincount(rows, data, minlength=block.n_rows), dtype=np.float64)
    return total, np.asarray(np.bincount(rows, data * data, minlength=block.n_rows), dtype=np.float64)


def _summed(block: SparseBlock) -> SparseBlock:
    """The rows with every word's count in one entry: two entries may share it, but their squares are not its square."""
    if not csr_repeats(block.indptr, block.indices, block.n_columns):
        return block
    from scipy.sparse import csr_array

    part = slice(int(block.indptr[0]), int(block.indptr[-1]))
    data = np.ones(part.stop - part.start) if block.data is None else block.data[part]
    shape = (block.n_rows, block.n_columns)
    table: Any = csr_array((data, block.indices[part], block.indptr - part.start), shape=shape, copy=True)
    table.sum_duplicates()
    return SparseBlock(table.indptr, table.indices, table.data, block.n_columns)


def token_correlation(
    total: FloatArray, square: FloatArray, words: FloatArray, weight: FloatArray | None = None
) -> float:
    r"""The intraclass correlation :math:`\rho` of the words of one document.

    Parameters
    ----------
    total, square : array of shape (n_rows,)
        Words per document, and sum of squared counts.
    words : array of shape (n_words,)
        Weighted total :math:`T_t` of each word.
    weight : array of shape (n_rows,), optional
        Weight of each document.
    """
    return correlation_from_sums(repetition_sums(total, square, weight), words)


def repetition_sums(total: FloatArray, square: FloatArray, weight: FloatArray | None) -> FloatArray:
    """What the correlation needs of some documents: five weighted sums over them."""
    w = np.ones_like(total) if weight is None else weight
    long = (total >= 2.0) & (w > 0.0)
    within = (square[long] - total[long]) / (total[long] * (total[long] - 1.0))
    return np.array([w[long] @ within, w[long].sum(), w @ total, w @ total**2, w @ square], dtype=np.float64)


def correlation_from_sums(sums: FloatArray, words: FloatArray) -> float:
    """The correlation from the sums over all documents and the weighted total of each word."""
    within, n_long, n_words, squared_length, square = (float(value) for value in sums)
    pairs = n_words**2 - squared_length
    if n_long <= 0.0 or pairs <= 0.0:
        return 0.0
    mean_within = within / n_long
    between = (float(words @ words) - square) / pairs
    if not between < 1.0:
        return 0.0
    return float(np.clip((mean_within - between) / (1.0 - between), 0.0, 1.0))


def with_evidence(block: Block, total: FloatArray, correlation: float) -> Block:
    """The block with every row discounted by its design effect."""
    if correlation <= 0.0 or isinstance(block, CodesBlock):
        return block
    return replace(block, evidence=1.0 / (1.0 + np.maximum(total - 1.0, 0.0) * correlation))
