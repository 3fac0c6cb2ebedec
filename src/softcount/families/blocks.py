"""Blocks: the columns of a table that share one family, in the layout its kernels want.

A block is a view, never a copy: ``block.rows(start, stop)`` gives the same columns for some rows. Missing
cells are NaN in a :class:`DenseBlock`, -1 in a :class:`CodesBlock`, and the pattern of ``missing`` in a
:class:`SparseBlock`; they carry no weight anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softcount._types import BoolArray, FloatArray, IntArray
from softcount.kernels import WordIndex, csr_word_index

__all__ = ["Block", "CodesBlock", "DenseBlock", "SparseBlock"]


@dataclass(frozen=True)
class DenseBlock:
    """Numbers in a two-dimensional array.

    Attributes
    ----------
    values : array of shape (n_rows, n_columns), any real dtype
    has_missing : bool
        Whether any cell of the whole table's block is NaN (a property of the table, not of these rows).
    threshold : float or None
        If given, a cell counts as 1 where it is larger than this and as 0 elsewhere.
    evidence : array of shape (n_rows,) or None
        Factor on each row's log-density and statistics, see :mod:`softcount.core.repetition`.
    """

    values: NDArray[Any]
    has_missing: bool = False
    threshold: float | None = None
    evidence: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """Rows."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Columns."""
        return int(self.values.shape[1])

    def rows(self, start: int, stop: int) -> DenseBlock:
        """The block of rows ``start`` to ``stop``."""
        evidence = None if self.evidence is None else self.evidence[start:stop]
        return replace(self, values=self.values[start:stop], evidence=evidence)

    @cached_property
    def missing(self) -> BoolArray | None:
        """Where cells are missing, or None if none are."""
        return np.isnan(self.values) if self.has_missing else None

    @cached_property
    def numbers(self) -> NDArray[Any]:
        """The cells as numbers the families can multiply: thresholded if asked, zero where missing."""
        if self.threshold is not None:
            return (self.values > self.threshold).view(np.uint8)
        if self.missing is not None:
            return np.where(self.missing, 0.0, self.values)
        return self.values


@dataclass(frozen=True)
class SparseBlock:
    """Numbers in compressed sparse rows: row ``i`` is ``indptr[i]:indptr[i + 1]`` of the entries.

    Attributes
    ----------
    indptr, indices : integer arrays
    data : array or None
        ``None`` means every stored entry is one.
    n_columns : int
    missing : SparseBlock or None
        The pattern of missing cells, if there are any; ``data`` is zero there.
    evidence : array of shape (n_rows,) or None
        Factor on each row's log-density and statistics.
    words : WordIndex or None
        The entries of these rows sorted by column, where they are counted often enough for that to pay.
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any] | None
    n_columns: int
    missing: SparseBlock | None = None
    evidence: FloatArray | None = None
    words: WordIndex | None = None

    @property
    def has_missing(self) -> bool:
        """Whether any cell of the whole table's block is missing."""
        return self.missing is not None

    @property
    def n_rows(self) -> int:
        """Rows."""
        return int(self.indptr.shape[0]) - 1

    def rows(self, start: int, stop: int) -> SparseBlock:
        """The block of rows ``start`` to ``stop``; the entries are not copied."""
        missing = None if self.missing is None else self.missing.rows(start, stop)
        evidence = None if self.evidence is None else self.evidence[start:stop]
        indptr = self.indptr[start : stop + 1]
        return replace(self, indptr=indptr, missing=missing, evidence=evidence, words=None)

    def indexed(self) -> SparseBlock:
        """The block with its entries sorted by column as well, if they fit that form (small whole numbers)."""
        words = csr_word_index(self.indptr, self.indices, self.data, self.n_columns)
        return self if words is None else replace(self, words=words)


@dataclass(frozen=True)
class CodesBlock:
    """Categories as codes: column ``j`` holds 0 … ``offsets[j + 1] - offsets[j] - 1``, or -1 where missing.

    Attributes
    ----------
    codes : integer array of shape (n_rows, n_columns)
    offsets : array of shape (n_columns + 1,)
        Where each column's values start in the concatenated tables of shape ``(offsets[-1], n_classes)``.
    """

    codes: NDArray[Any]
    offsets: IntArray

    @property
    def n_rows(self) -> int:
        """Rows."""
        return int(self.codes.shape[0])

    @property
    def n_columns(self) -> int:
        """Columns."""
        return int(self.codes.shape[1])

    def rows(self, start: int, stop: int) -> CodesBlock:
        """The block of rows ``start`` to ``stop``."""
        return replace(self, codes=self.codes[start:stop])


Block: TypeAlias = DenseBlock | SparseBlock | CodesBlock
