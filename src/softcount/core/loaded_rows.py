"""Rows of a design, ready for products, and the running sum of one lane of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from softcount._types import FloatArray
from softcount.families.statistics import Sums

__all__ = ["DenseRows", "GramTally", "LoadedRows", "SparseRows", "UnshiftedRows"]


class LoadedRows(Protocol):
    """Some rows of a design, ready for products; :meth:`add_to` uses them up."""

    def predictor(self, coef: FloatArray) -> FloatArray:
        """``x_i' coef``, for a vector or for each column of a matrix of coefficients."""
        ...

    def add_to(self, tally: GramTally, root_weight: FloatArray, residual: FloatArray) -> None:
        """Add the outer products of ``(root_weight * x, residual)`` to ``tally``."""
        ...

    def weighted(self, root_weight: FloatArray, residual: FloatArray) -> FloatArray:
        """The dense block with rows ``(root_weight * x, residual)``; it uses the rows up as well."""
        ...

    def score(self, residual: FloatArray) -> FloatArray:
        """``sum_i x_i residual_i``."""
        ...

    def squares(self) -> FloatArray:
        """``sum_i x_i**2`` per column."""
        ...


@dataclass(frozen=True)
class DenseRows:
    """Rows in a dense scratch block whose last column is free for the residual."""

    block: FloatArray

    @property
    def design(self) -> FloatArray:
        """The block without the column for the residual, shape ``(n_rows, n_columns)``."""
        return self.block[:, :-1]

    def predictor(self, coef: FloatArray) -> FloatArray:
        """``x_i' coef``."""
        return self.design @ coef

    def add_to(self, tally: GramTally, root_weight: FloatArray, residual: FloatArray) -> None:
        """One symmetric product of the scratch block with itself."""
        self.weighted(root_weight, residual)
        self.absorb_into(tally)

    def absorb_into(self, tally: GramTally) -> None:
        """Add the product of the block with itself as it stands."""
        # NumPy hands a matrix times its own transpose to a symmetric rank-k update: half the work.
        np.matmul(self.block.T, self.block, out=tally.part)
        tally.total += tally.part

    def weighted(self, root_weight: FloatArray, residual: FloatArray) -> FloatArray:
        """The scratch block itself, scaled in place."""
        inner = self.design
        np.multiply(inner, root_weight[:, None], out=inner)
        self.block[:, -1] = residual
        return self.block

    def score(self, residual: FloatArray) -> FloatArray:
        """``sum_i x_i residual_i``."""
        return self.design.T @ residual

    def squares(self) -> FloatArray:
        """``sum_i x_i**2`` per column."""
        answer: FloatArray = np.einsum("ij,ij->j", self.design, self.design)
        return answer


@dataclass(frozen=True)
class UnshiftedRows:
    """Rows that are read where they lie, and copied to the scratch block only when they are scaled."""

    part: FloatArray
    block: FloatArray
    fit_intercept: bool

    def predictor(self, coef: FloatArray) -> FloatArray:
        """``x_i' coef``."""
        if not self.fit_intercept:
            return self.part @ coef
        answer: FloatArray = self.part @ coef[1:] + coef[0]
        return answer

    def add_to(self, tally: GramTally, root_weight: FloatArray, residual: FloatArray) -> None:
        """One symmetric product of the scratch block with itself."""
        DenseRows(self.weighted(root_weight, residual)).absorb_into(tally)

    def weighted(self, root_weight: FloatArray, residual: FloatArray) -> FloatArray:
        """The scratch block, filled."""
        inner = self.block[:, int(self.fit_intercept) : -1]
        np.multiply(self.part, root_weight[:, None], out=inner)
        if self.fit_intercept:
            self.block[:, 0] = root_weight
        self.block[:, -1] = residual
        return self.block

    def score(self, residual: FloatArray) -> FloatArray:
        """``sum_i x_i residual_i``."""
        return _with_intercept(self.part.T @ residual, residual, self.fit_intercept)

    def squares(self) -> FloatArray:
        """``sum_i x_i**2`` per column."""
        ones = np.ones(self.part.shape[0])
        return _with_intercept(np.einsum("ij,ij->j", self.part, self.part), ones, self.fit_intercept)


@dataclass(frozen=True)
class SparseRows:
    """Rows that stay in compressed sparse form."""

    part: Any
    fit_intercept: bool

    def predictor(self, coef: FloatArray) -> FloatArray:
        """``x_i' coef``."""
        if not self.fit_intercept:
            return np.asarray(self.part @ coef)
        return np.asarray(self.part @ coef[1:] + coef[0])

    def add_to(self, tally: GramTally, root_weight: FloatArray, residual: FloatArray) -> None:
        """Sparse products for the columns, dense sums for the intercept and the residual."""
        first = int(self.fit_intercept)
        part = self.part
        scaled = sp.csr_array(
            (part.data * np.repeat(root_weight, np.diff(part.indptr)), part.indices, part.indptr),
            shape=part.shape,
        )
        product = (scaled.T @ scaled).tocoo()
        total = tally.total
        total[product.coords[0] + first, product.coords[1] + first] += product.data
        edge = scaled.T @ residual
        total[first:-1, -1] += edge
        total[-1, first:-1] += edge
        total[-1, -1] += residual @ residual
        if self.fit_intercept:
            edge = scaled.T @ root_weight
            total[first:-1, 0] += edge
            total[0, first:-1] += edge
            total[0, -1] += root_weight @ residual
            total[-1, 0] = total[0, -1]
            total[0, 0] += root_weight @ root_weight

    def weighted(self, root_weight: FloatArray, residual: FloatArray) -> FloatArray:
        """The chunk unpacked."""
        ones = [np.ones((self.part.shape[0], 1))] if self.fit_intercept else []
        columns = np.hstack([*ones, self.part.toarray()]) * root_weight[:, None]
        return np.column_stack([columns, residual])

    def score(self, residual: FloatArray) -> FloatArray:
        """``sum_i x_i residual_i``."""
        return _with_intercept(np.asarray(self.part.T @ residual), residual, self.fit_intercept)

    def squares(self) -> FloatArray:
        """``sum_i x_i**2`` per column."""
        n_rows, n_columns = self.part.shape
        inner = np.bincount(self.part.indices, weights=self.part.data**2, minlength=n_columns)
        return _with_intercept(inner.astype(np.float64, copy=False), np.ones(n_rows), self.fit_intercept)


@dataclass
class GramTally:
    """One lane's running sum. :meth:`counts` freezes it.

    Examples
    --------
    >>> import numpy as np
    >>> from softcount.core.normal_equations import Design
    >>> design = Design(np.array([[1.0], [3.0]]))
    >>> tally = GramTally(design.n_columns)
    >>> design.load(slice(0, 2), design.scratch()).add_to(tally, np.ones(2), np.array([1.0, 2.0]))
    >>> tally.counts()["gram"]
    array([[ 2.,  4.],
           [ 4., 10.]])
    >>> tally.counts()["score"]
    array([3., 7.])
    """

    n_columns: int
    total: FloatArray = field(init=False)
    part: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        size = self.n_columns + 1
        self.total = np.zeros((size, size))
        self.part = np.empty((size, size))

    def counts(self) -> Sums:
        """``gram`` = X'WX, ``score`` = X'W^(1/2)p and ``pearson`` = p'p (shape ``(1,)``)."""
        d = self.n_columns
        return Sums(
            {
                "gram": self.total[:d, :d].copy(),
                "score": self.total[:d, d].copy(),
                "pearson": self.total[d, d:].copy(),
            }
        )

    @staticmethod
    def nbytes(n_columns: int) -> int:
        """Size of one lane's sums."""
        return 2 * 8 * (n_columns + 1) ** 2


def _with_intercept(columns: FloatArray, residual: FloatArray, fit_intercept: bool) -> FloatArray:
    """The sums of the columns, preceded by that of the intercept."""
    if not fit_intercept:
        return columns
    return np.concatenate([np.asarray(residual.sum(axis=0))[None], columns])
