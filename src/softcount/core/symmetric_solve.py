r"""Solving normal equations: Cholesky on the Jacobi-scaled system, with a rule for collinear columns.

The system :math:`(G + P)\,\delta = g` is solved as :math:`(D (G + P) D)\,(D^{-1}\delta) = D g` with
:math:`D = \operatorname{diag}(G + P)^{-1/2}`, which makes the answer independent of the units of the columns.

**Collinear columns.** In the scaled system the ``j``-th pivot of a Cholesky factorization without pivoting is
:math:`1 - R_j^2`, where :math:`R_j^2` is how well the columns *before* ``j`` explain column ``j``. A column
whose pivot is below ``tolerance`` is a linear combination of the columns before it: it is *aliased*, gets the
coefficient 0 (R prints ``NA``), and leaves the system. The intercept comes first and is dropped last. With a
penalty on the column the pivot is large and nothing is aliased.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular

from softcount._types import BoolArray, FloatArray

__all__ = ["Factor", "factorize", "kept_part"]

#: Below this, a pivot of a Gram matrix in double precision says nothing about its column any more.
PIVOT_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Factor:
    """A factored symmetric system; aliased columns are answered with zeros.

    Attributes
    ----------
    matrix : array of shape (n_columns, n_columns)
        What was factored.
    lower : array of shape (n_kept, n_kept)
        Cholesky factor of the scaled matrix of the kept columns.
    scale : array of shape (n_kept,)
        The Jacobi scale of the kept columns.
    aliased : bool array of shape (n_columns,)
        Columns that the columns before them explain.
    smallest_pivot : float
        Smallest ``1 - R_j^2`` over all columns, the aliased included.
    """

    matrix: FloatArray
    lower: FloatArray
    scale: FloatArray
    aliased: BoolArray
    smallest_pivot: float

    def solve(self, right: FloatArray) -> FloatArray:
        """The solution for a vector or for each column of a matrix, with one step of iterative refinement."""
        kept = ~self.aliased
        system = kept_part(self.matrix, kept)
        target = right[kept]
        found = self._back_substitute(target)
        found = found + self._back_substitute(target - system @ found)
        answer = np.zeros(right.shape)
        answer[kept] = found
        return answer

    def inverse(self) -> FloatArray:
        """The inverse, with zero rows and columns for the aliased columns."""
        kept = ~self.aliased
        root = solve_triangular(self.lower, np.diag(self.scale), lower=True)
        full = np.zeros(self.matrix.shape)
        full[np.ix_(kept, kept)] = root.T @ root
        return full

    def _back_substitute(self, right: FloatArray) -> FloatArray:
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        if right.size == 0:
            return np.zeros(right.shape)
        # LAPACK itself, and of the upper triangle, which is how it reads rows of the lower one: every Newton step comes
        # here four times, and what scipy.linalg checks around it takes longer than small systems do.
        upper = self.lower.T
        half = lapack.dtrtrs(upper, scale * right, lower=0, trans=1)[0]
        answer: FloatArray = scale * lapack.dtrtrs(upper, half, lower=0)[0]
        return answer


def kept_part(matrix: FloatArray, kept: BoolArray) -> FloatArray:
    """Rows and columns of those kept; the matrix itself where all are, for picking takes longer than a small solve."""
    part: FloatArray = matrix if kept.all() else matrix[np.ix_(kept, kept)]
    return part


def factorize(matrix: FloatArray, *, tolerance: float = PIVOT_TOLERANCE) -> Factor:
    """Factor a symmetric positive semidefinite matrix, leaving out aliased columns.

    Parameters
    ----------
    matrix : array of shape (n_columns, n_columns)
        X'WX, with the prior precision already added.
    tolerance : float
        Pivots of the scaled matrix at or below it mean that a column is aliased.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 2.0, 4.0], [1.0, 3.0, 6.0], [1.0, 5.0, 10.0]])
    >>> factor = factorize(x.T @ x)
    >>> factor.aliased
    array([False, False,  True])
    >>> bool(np.allclose(factor.solve(x.T @ np.array([5.0, 7.0, 11.0])), [1.0, 2.0, 0.0]))
    True
    """
    diagonal = np.diag(matrix)
    positive = diagonal > 0.0
    scale = np.zeros(diagonal.shape)
    np.divide(1.0, np.sqrt(diagonal, where=positive, out=np.ones_like(diagonal)), out=scale, where=positive)
    scaled = scale[:, None] * matrix * scale
    if np.all(positive):
        try:
            lower: FloatArray = np.linalg.cholesky(scaled).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            pass
        else:
            smallest = float(np.min(np.diag(lower), initial=1.0) ** 2)
            if smallest > tolerance:
                return Factor(matrix, lower, scale, ~positive, smallest)
    lower, kept, smallest = _cholesky_in_order(scaled, tolerance)
    return Factor(matrix, lower, scale[kept], ~kept, smallest)


def _cholesky_in_order(scaled: FloatArray, tolerance: float) -> tuple[FloatArray, BoolArray, float]:
    """Cholesky factor of the columns that are not explained by those before them, and which ones they are."""
    n_columns = scaled.shape[0]
    lower = np.zeros((n_columns, n_columns))
    kept: list[int] = []
    smallest = 1.0
    for j in range(n_columns):
        rank = len(kept)
        row = np.zeros(0)
        if rank:
            row = solve_triangular(lower[:rank, :rank], scaled[j, kept], lower=True)
        pivot = float(scaled[j, j] - row @ row)
        smallest = min(smallest, pivot)
        if not pivot > tolerance:
            continue
        lower[rank, :rank] = row
        lower[rank, rank] = np.sqrt(pivot)
        kept.append(j)
    mask = np.zeros(n_columns, dtype=np.bool_)
    mask[kept] = True
    return lower[: len(kept), : len(kept)], mask, smallest
