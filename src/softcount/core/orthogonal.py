r"""Least squares by orthogonal factorization, chunk by chunk: for designs that a Gram matrix would ruin.

The rows :math:`(s_i x_i, p_i)` of a lane are folded into one triangle at a time,

.. math:: \begin{pmatrix} R \\ Z \end{pmatrix} = Q R', \qquad R'^\top R' = R^\top R + Z^\top Z ,

so :math:`R` says what the Gram matrix :math:`R^\top R` says, with twice the digits: a condition number
:math:`\kappa` costs :math:`\log_{10}\kappa` digits instead of :math:`2 \log_{10}\kappa`. Merging two
triangles is the same step (Demmel, Grigori, Hoemmen and Langou, 2012), so :class:`TriangularFactor` is a
statistic like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from softcount._types import BoolArray, FloatArray
from softcount.core.normal_equations import LoadedRows

__all__ = ["FactorTally", "OrthogonalSystem", "TriangularFactor", "independent_columns"]

#: A column is aliased when what is left of it after the columns before it is this small a share of its length
RELATIVE_TOLERANCE = 1e-11
#: or within rounding of the numbers it was computed from.
ROUNDING_TOLERANCE = 1e-14


@dataclass(frozen=True)
class TriangularFactor:
    """The upper triangle of ``(columns, residual)``; merging factors the two triangles together.

    Examples
    --------
    >>> import numpy as np
    >>> one = TriangularFactor.of(np.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> both = one + one
    >>> bool(np.allclose(both.gram, 2.0 * one.gram))
    True
    """

    triangle: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> TriangularFactor:
        """The factor of some rows."""
        return cls(_triangle(rows))

    @property
    def gram(self) -> FloatArray:
        """``R'R``, the Gram matrix of the rows, the residual's column included."""
        return self.triangle.T @ self.triangle

    def __add__(self, other: TriangularFactor) -> TriangularFactor:
        return TriangularFactor.of(np.vstack([self.triangle, other.triangle]))

    def absorb(self, other: TriangularFactor) -> TriangularFactor:
        """Both together."""
        return self + other

    def scaled(self, factor: float) -> TriangularFactor:
        """Every row's weight multiplied by ``factor``."""
        return TriangularFactor(np.sqrt(factor) * self.triangle)

    def arrays(self) -> dict[str, FloatArray]:
        """The triangle by name."""
        return {"triangle": self.triangle}

    def clipped(self) -> TriangularFactor:
        """Itself: every triangle is the factor of some rows."""
        return self


@dataclass
class FactorTally:
    """One lane's running triangle."""

    n_columns: int
    triangle: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.triangle = np.zeros((self.n_columns + 1, self.n_columns + 1))

    def add(self, rows: LoadedRows, root_weight: FloatArray, residual: FloatArray) -> None:
        """Fold the rows ``(root_weight * x, residual)`` in."""
        self.triangle = _triangle(np.vstack([self.triangle, rows.weighted(root_weight, residual)]))

    def counts(self) -> TriangularFactor:
        """The triangle."""
        return TriangularFactor(self.triangle)


@dataclass(frozen=True)
class OrthogonalSystem:
    """A triangular least-squares problem; the counterpart of :class:`softcount.core.symmetric_solve.Factor`.

    Attributes
    ----------
    triangle : array of shape (n_kept, n_kept)
        Upper triangle of the kept columns.
    right : array of shape (n_kept,)
        The rotated residual.
    kept : bool array of shape (n_columns,)
        The columns that take part; the others are answered with zeros.
    """

    triangle: FloatArray
    right: FloatArray
    kept: BoolArray

    @classmethod
    def of(cls, factor: TriangularFactor, kept: BoolArray, prior_rows: FloatArray | None = None) -> OrthogonalSystem:
        """The problem of the kept columns, with the rows ``(root precision, residual)`` of a prior below."""
        columns = np.append(np.flatnonzero(kept), kept.size)
        rows = factor.triangle if prior_rows is None else np.vstack([factor.triangle, prior_rows])
        triangle = _triangle(rows[:, columns])
        return cls(triangle[:-1, :-1], triangle[:-1, -1], kept)

    def solve(self) -> FloatArray:
        """The least-squares solution."""
        answer = np.zeros(self.kept.size)
        answer[self.kept] = solve_triangular(self.triangle, self.right)
        return answer

    def inverse(self) -> FloatArray:
        """The inverse of the Gram matrix, with zero rows and columns for the columns left out."""
        root = solve_triangular(self.triangle, np.eye(self.right.size))
        full = np.zeros((self.kept.size, self.kept.size))
        full[np.ix_(self.kept, self.kept)] = root @ root.T
        return full


def independent_columns(factor: TriangularFactor, raw_norm: FloatArray) -> BoolArray:
    """Which columns are no linear combination of the columns before them.

    ``raw_norm`` holds the weighted lengths of the columns *before* they were shifted: a column that varies by
    less than rounding around a large constant is constant.
    """
    triangle = factor.triangle[:-1, :-1]
    length = np.linalg.norm(triangle, axis=0)
    threshold = np.maximum(RELATIVE_TOLERANCE * length, ROUNDING_TOLERANCE * raw_norm)
    kept = np.zeros(length.size, dtype=np.bool_)
    # What a dependent column leaves on the diagonal is rounding error and no direction to measure later
    # columns against, so the basis is built again, of kept columns only.
    basis = np.zeros(triangle.shape)
    rank = 0
    for j in range(length.size):
        found = basis[:, :rank]
        rest = triangle[:, j].copy()
        for _ in range(2):  # the second pass takes back the rounding errors of the first
            rest -= found @ (found.T @ rest)
        left = float(np.linalg.norm(rest))
        if left > threshold[j]:
            kept[j] = True
            basis[:, rank] = rest / left
            rank += 1
    return kept


def _triangle(rows: FloatArray) -> FloatArray:
    """The square upper triangle of a QR factorization, padded with zero rows where there are few rows."""
    triangle = np.asarray(np.linalg.qr(rows, mode="r"), dtype=np.float64)
    missing = rows.shape[1] - triangle.shape[0]
    return triangle if missing <= 0 else np.vstack([triangle, np.zeros((missing, rows.shape[1]))])
