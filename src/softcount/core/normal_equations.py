r"""Weighted normal equations: what one Newton step of a linear model needs of the rows.

For a design with rows :math:`x_i` (a leading 1 stands for the intercept), root weights :math:`s_i` and scaled
residuals :math:`p_i`, the tally is the one matrix

.. math:: \sum_i (s_i x_i,\; p_i)^\top (s_i x_i,\; p_i)
          = \begin{pmatrix} X^\top W X & X^\top W^{1/2} p \\ \cdot & p^\top p \end{pmatrix},
          \qquad W = \operatorname{diag}(s^2) .

With :math:`s_i^2 = w_i (d\mu/d\eta)^2 / V(\mu)` and the Pearson residual :math:`p_i = \sqrt{w_i} (y_i -
\mu_i) / \sqrt{V(\mu_i)}` its blocks are the Fisher information, the score and Pearson's statistic. It says
the same as :math:`X^\top W z = X^\top W X \beta + X^\top W^{1/2} p`, but nothing is divided by a weight that
may underflow, and repeating the step refines its own rounding errors.

Columns are shifted by a fixed ``center`` while a chunk lies in the cache: a column around 1e8 loses no
digits. The table itself is never copied: a lane owns one scratch block of ``chunk rows x columns``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from softcount._types import FloatArray, SparseArray, Table
from softcount.core.loaded_rows import DenseRows, GramTally, LoadedRows, SparseRows, UnshiftedRows

__all__ = ["Design", "GramTally", "LoadedRows", "row_slices"]

# A dense scratch block of this size stays in the second-level cache between its three uses.
SCRATCH_BYTES = 2**20
FEWEST_ROWS = 256
# Sparse chunks need no dense scratch; they should be long enough to pay for the dense sum of their products.
SPARSE_CHUNK_ENTRIES = 2**19
# Below this share of nonzero entries a sparse product beats a dense one on the unpacked chunk (measured).
SPARSE_PRODUCT_DENSITY = 0.06


@dataclass(frozen=True)
class Design:
    """The table of a linear model, with a leading column of ones for the intercept.

    ``coef`` vectors of this module have ``n_columns`` entries: the intercept first (with ``fit_intercept``),
    then one per column of ``table``. They belong to the *shifted* columns; :meth:`uncentered` maps them back.

    Parameters
    ----------
    table : ndarray (float64 or float32) or scipy CSR of shape (n_samples, n_features)
        The features. Read only, never copied.
    fit_intercept : bool
        Whether column 0 of the design is a column of ones.
    center : array of shape (n_features,) or None
        Subtracted from the columns of a dense table; needs an intercept, which takes the shift up.
    unpack : bool
        Whether to unpack every chunk of a sparse table, which orthogonal factorizations need.

    Examples
    --------
    >>> import numpy as np
    >>> design = Design(np.array([[1.0], [2.0], [3.0]]), fit_intercept=True)
    >>> rows = design.load(slice(0, 3), design.scratch())
    >>> rows.predictor(np.array([1.0, 10.0]))
    array([11., 21., 31.])
    """

    table: Table
    fit_intercept: bool = True
    center: FloatArray | None = None
    unpack: bool = False

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.table.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns, the intercept's included."""
        return self.table.shape[1] + int(self.fit_intercept)

    @property
    def is_sparse(self) -> bool:
        """Whether the table is sparse."""
        return bool(sp.issparse(self.table))

    @property
    def multiplies_sparse(self) -> bool:
        """Whether chunks stay sparse in the products (else the scratch holds them unpacked)."""
        if self.unpack or not self.is_sparse:
            return False
        return self._stored_per_row() < SPARSE_PRODUCT_DENSITY * self.table.shape[1]

    def slices(self) -> list[slice]:
        """Chunks of rows for :meth:`load`; they depend on the shape of the table alone."""
        if self.multiplies_sparse:
            n_rows = int(max(FEWEST_ROWS, SPARSE_CHUNK_ENTRIES // max(1.0, self._stored_per_row())))
            return row_slices(self.n_samples, n_rows)
        return row_slices(self.n_samples, chunk_rows(self.n_columns + 1))

    def scratch(self) -> FloatArray:
        """One lane's block for :meth:`load`: the columns of the design and one for the residual."""
        if self.multiplies_sparse:
            return np.empty((0, self.n_columns + 1))
        longest = min(self.n_samples, chunk_rows(self.n_columns + 1))
        return np.empty((longest, self.n_columns + 1))

    def load(self, rows: slice, scratch: FloatArray) -> LoadedRows:
        """The rows of the design, shifted, in ``scratch`` (or as a sparse chunk)."""
        if self.multiplies_sparse:
            return SparseRows(_sparse_rows(cast("SparseArray", self.table), rows), self.fit_intercept)
        block = scratch[: rows.stop - rows.start]
        inner = block[:, int(self.fit_intercept) : -1]
        if self.is_sparse:
            inner[...] = _sparse_rows(cast("SparseArray", self.table), rows).toarray()
        else:
            part = cast("FloatArray", self.table)[rows]
            if self.center is not None:
                np.subtract(part, self.center, out=inner)
            elif part.dtype == np.float64:
                return UnshiftedRows(part, block, self.fit_intercept)
            else:
                inner[...] = part
        if self.fit_intercept:
            block[:, 0] = 1.0
        return DenseRows(block)

    def _stored_per_row(self) -> float:
        return len(cast("SparseArray", self.table).data) / max(1, self.n_samples)

    def centered(self, coef: FloatArray) -> FloatArray:
        """``coef`` for the shifted columns, from one for the columns as they are."""
        return self._shifted(coef, 1.0)

    def uncentered(self, coef: FloatArray) -> FloatArray:
        """``coef`` for the columns as they are, from one for the shifted columns (any leading axes)."""
        return self._shifted(coef, -1.0)

    def _shifted(self, coef: FloatArray, sign: float) -> FloatArray:
        moved = np.array(coef, dtype=np.float64)
        if self.center is not None:
            moved[..., 0] += sign * (moved[..., 1:] @ self.center)
        return moved

    def uncentering(self) -> FloatArray:
        """The matrix ``T`` with ``uncentered(coef) = T @ coef``: a covariance ``C`` becomes ``T C T'``."""
        matrix = np.eye(self.n_columns)
        if self.center is not None:
            matrix[0, 1:] = -self.center
        return matrix


def row_slices(n_samples: int, n_rows: int) -> list[slice]:
    """Consecutive slices of at most ``n_rows`` rows; one empty slice when there are no rows.

    Examples
    --------
    >>> row_slices(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    starts: Sequence[int] = range(0, max(n_samples, 1), n_rows)
    return [slice(start, min(start + n_rows, n_samples)) for start in starts]


def chunk_rows(n_columns: int) -> int:
    """How many rows of ``n_columns`` floats make one dense scratch block."""
    in_cache = SCRATCH_BYTES // (8 * max(1, n_columns))
    # With many columns the sum of the products costs a pass over n_columns**2: let every chunk be worth it.
    return max(FEWEST_ROWS, in_cache, min(n_columns, 1024))


def _sparse_rows(table: SparseArray, rows: slice) -> Any:
    """The rows as a ``csr_array`` that shares the table's memory."""
    begin, end = int(table.indptr[rows.start]), int(table.indptr[rows.stop])
    pointers = table.indptr[rows.start : rows.stop + 1] - table.indptr[rows.start]
    part = (table.data[begin:end], table.indices[begin:end], pointers)
    return sp.csr_array(part, shape=(rows.stop - rows.start, table.shape[1]))
