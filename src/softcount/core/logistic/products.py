r"""Products of a table with coefficients and with residuals, chunk by chunk: :math:`X W^\top` and :math:`R X`.

These are all that a pass without a Hessian needs of the table. A dense table is multiplied where it lies; its columns
are shifted by rank-one corrections, or, where a column's mean dwarfs its spread, on a copy of the chunk. A sparse table
goes through SciPy (one output) or the package's kernels (several outputs, which read each stored entry once for all).
"""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np
import scipy.sparse as sp

from softcount import kernels
from softcount._types import FloatArray, SparseArray
from softcount.core.normal_equations import Design, row_slices

__all__ = ["Products", "products_of"]

# Dense chunks of this size are read from memory once and found in the cache the second time.
DENSE_CHUNK_BYTES = 2 * 2**20
# Sparse chunks: enough entries to pay for adding up one gradient per lane.
SPARSE_CHUNK_ENTRIES = 2**19
# The class-by-row arrays of one chunk.
CLASS_ROW_BYTES = 2**20
FEWEST_ROWS = 256


class Products(Protocol):
    """The two products for one set of coefficients; all arrays are class-major."""

    def predictor(self, rows: slice) -> FloatArray:
        """``coef @ x_i``, shape (n_outputs, n_rows)."""
        ...

    def add(self, rows: slice, residual: FloatArray) -> None:
        """Add ``residual @ X`` of the rows to the running total."""
        ...

    def total(self) -> FloatArray:
        """The sum of what was added, shape (n_outputs, n_columns)."""
        ...


def products_of(design: Design, coef: FloatArray, *, careful: bool = False) -> Products:
    """The products of a design for coefficients of shape (n_outputs, n_columns), with a total of zero.

    Parameters
    ----------
    design : Design
        Columns; the intercept first.
    coef : array of shape (n_outputs, n_columns)
        For the shifted columns.
    careful : bool
        Shift a copy of every chunk of a dense table instead of correcting its products.

    Examples
    --------
    >>> import numpy as np
    >>> design = Design(np.array([[1.0], [2.0]]))
    >>> products = products_of(design, np.array([[1.0, 10.0]]))
    >>> products.predictor(slice(0, 2))
    array([[11., 21.]])
    >>> products.add(slice(0, 2), np.array([[1.0, 1.0]]))
    >>> products.total()
    array([[2., 3.]])
    """
    if design.is_sparse:
        return SparseProducts(design, coef)
    return DenseProducts(design, coef, careful=careful)


def product_slices(design: Design, n_classes: int) -> list[slice]:
    """Chunks of rows for these products; they depend on the shapes alone."""
    n_rows = max(FEWEST_ROWS, CLASS_ROW_BYTES // (8 * n_classes))
    if design.is_sparse:
        stored = len(cast("SparseArray", design.table).data) / max(1, design.n_samples)
        n_rows = min(n_rows, max(FEWEST_ROWS, int(SPARSE_CHUNK_ENTRIES / max(1.0, stored))))
    else:
        n_rows = min(n_rows, max(FEWEST_ROWS, DENSE_CHUNK_BYTES // (8 * max(1, design.n_columns))))
    return row_slices(design.n_samples, n_rows)


class DenseProducts:
    """Products of a dense table."""

    def __init__(self, design: Design, coef: FloatArray, *, careful: bool) -> None:
        self._table = cast("FloatArray", design.table)
        self._first = int(design.fit_intercept)
        self._center = design.center
        self._careful = careful and design.center is not None
        self._slopes = np.ascontiguousarray(coef[:, self._first :])
        constant = coef[:, 0].copy() if self._first else np.zeros(coef.shape[0])
        if design.center is not None and not self._careful:
            constant -= self._slopes @ design.center
        self._constant = constant[:, None]
        self._sum = np.zeros_like(self._slopes)
        self._weight = np.zeros(coef.shape[0])

    def predictor(self, rows: slice) -> FloatArray:
        """``coef @ x_i``."""
        part = self._part(rows)
        eta = (part @ self._slopes[0])[None] if len(self._slopes) == 1 else self._slopes @ part.T
        eta += self._constant
        return eta

    def add(self, rows: slice, residual: FloatArray) -> None:
        """Add ``residual @ X``."""
        part = self._part(rows)
        if residual.shape[0] == 1:
            self._sum[0] += residual[0] @ part
        else:
            self._sum += residual @ part
        self._weight += residual.sum(axis=1)

    def total(self) -> FloatArray:
        """The sum so far, of the shifted columns."""
        shifted = self._sum
        if self._center is not None and not self._careful:
            shifted = shifted - np.outer(self._weight, self._center)
        return np.column_stack([self._weight, shifted]) if self._first else shifted

    def _part(self, rows: slice) -> FloatArray:
        part = self._table[rows]
        if self._careful and self._center is not None:
            return np.asarray(part - self._center, dtype=np.float64)
        return part if part.dtype == np.float64 else part.astype(np.float64)


class SparseProducts:
    """Products of a table in compressed sparse row form."""

    def __init__(self, design: Design, coef: FloatArray) -> None:
        self._table: Any = design.table
        self._first = int(design.fit_intercept)
        self._constant = coef[:, :1] if self._first else np.zeros((coef.shape[0], 1))
        self._slopes = np.ascontiguousarray(coef[:, self._first :].T)
        self._sum = np.zeros_like(self._slopes)
        self._weight = np.zeros(coef.shape[0])

    def predictor(self, rows: slice) -> FloatArray:
        """``coef @ x_i``."""
        if self._slopes.shape[1] == 1:
            eta = np.asarray(csr_rows(self._table, rows) @ self._slopes[:, 0])[None]
        else:
            scores = np.zeros((rows.stop - rows.start, self._slopes.shape[1]))
            kernels.csr_scores(*self._arrays(rows), self._slopes, scores)
            eta = np.ascontiguousarray(scores.T)
        eta += self._constant
        return eta

    def add(self, rows: slice, residual: FloatArray) -> None:
        """Add ``residual @ X``."""
        if self._slopes.shape[1] == 1:
            self._sum[:, 0] += csr_rows(self._table, rows, transposed=True) @ residual[0]
        else:
            kernels.csr_accumulate(*self._arrays(rows), np.ascontiguousarray(residual.T), self._sum)
        self._weight += residual.sum(axis=1)

    def total(self) -> FloatArray:
        """The sum so far."""
        return np.column_stack([self._weight, self._sum.T]) if self._first else self._sum.T.copy()

    def _arrays(self, rows: slice) -> tuple[Any, Any, Any]:
        return self._table.indptr[rows.start : rows.stop + 1], self._table.indices, self._table.data


def csr_rows(table: Any, rows: slice, *, transposed: bool = False) -> Any:
    """Rows of a CSR table as a ``csr_array``, or their transpose as a ``csc_array``, that shares its memory."""
    pointers = table.indptr[rows.start : rows.stop + 1]
    begin, end = int(pointers[0]), int(pointers[-1])
    shape = (table.shape[1], rows.stop - rows.start) if transposed else (rows.stop - rows.start, table.shape[1])
    # Given its arrays at once, the constructor would copy slices of arrays much longer than they are.
    part: Any = (sp.csc_array if transposed else sp.csr_array)(shape, dtype=table.data.dtype)
    part.data, part.indices = table.data[begin:end], table.indices[begin:end]
    part.indptr = (pointers - begin).astype(part.indices.dtype, copy=False)
    return part
