r"""How well a latent class model fits a table of categories: cell counts, chi-squared statistics, pairs of columns.

With :math:`n_c` rows of the pattern c, N rows in all and the model's expectation :math:`E_c = N p(c)`,

.. math:: G^2 = 2\sum_c n_c \log\frac{n_c}{E_c}, \qquad X^2 = \sum_c \frac{(n_c - E_c)^2}{E_c},
   \qquad \mathrm{df} = \prod_j v_j - 1 - p .

Cells that no row is in add nothing to :math:`G^2` and :math:`N - \sum_{n_c > 0} E_c` to :math:`X^2`. Both are
chi-squared with df degrees of freedom only where the expected counts are large enough; elsewhere a p-value is refused,
with reasons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from softcount._types import FloatArray, IntArray
from softcount.core.chunks import Chunks
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.families.blocks import CodesBlock
from softcount.families.categorical import Categorical

__all__ = [
    "MOST_CELLS",
    "CategoryTable",
    "Goodness",
    "Residual",
    "bivariate_residuals",
    "category_table",
    "goodness_of_fit",
]

#: Tables with at most this many cells are worked out cell by cell.
MOST_CELLS = 2**18
#: Patterns of tables with fewer cells have a number each.
LARGEST_NUMBER = 2**62
#: Cochran's rule: no expected count below the first, at most this share below the second.
SMALLEST_EXPECTED = 1.0
COMFORTABLE_EXPECTED = 5.0
SMALL_SHARE = 0.2


@dataclass(frozen=True)
class CategoryTable:
    """The categorical columns of some rows, with the model's probabilities.

    Attributes
    ----------
    codes : integer array of shape (n_rows, n_columns)
        -1 where missing.
    weight : array of shape (n_rows,)
    tables : list of arrays of shape (n_values, n_components)
        The probabilities of each column's values.
    sizes : array of shape (n_components,)
    columns : list of int
        Positions of these columns among the model's.
    """

    codes: IntArray
    weight: FloatArray
    tables: list[FloatArray]
    sizes: FloatArray
    columns: list[int]

    @property
    def n_cells(self) -> int:
        """Number of patterns there could be."""
        return math.prod(table.shape[0] for table in self.tables)

    def patterns(self) -> tuple[IntArray, FloatArray]:
        """The distinct complete rows, in order, and the weight of each."""
        complete = (self.codes >= 0).all(axis=1) & (self.weight > 0.0)
        codes, weight = self.codes[complete], self.weight[complete]
        shape = [table.shape[0] for table in self.tables]
        if self.n_cells < LARGEST_NUMBER:
            # One number per pattern sorts faster than a row of codes.
            cells, inverse = np.unique(np.ravel_multi_index(tuple(codes.T), shape), return_inverse=True)
            found = np.stack(np.unravel_index(cells, shape), axis=1)
        else:
            found, inverse = np.unique(codes, axis=0, return_inverse=True)
        count = np.bincount(inverse.reshape(-1), weight, minlength=found.shape[0])
        return found.astype(np.int64), count.astype(np.float64)

    def probabilities(self, patterns: IntArray) -> FloatArray:
        """Probability of each pattern."""
        joint = np.tile(self.sizes, (patterns.shape[0], 1))
        for j, table in enumerate(self.tables):
            joint *= table[patterns[:, j]]
        return np.asarray(joint.sum(axis=1))

    def all_cells(self) -> IntArray:
        """Every pattern there could be, the last column varying fastest."""
        ranges = [np.arange(table.shape[0]) for table in self.tables]
        grid = np.meshgrid(*ranges, indexing="ij")
        return np.stack([axis.reshape(-1) for axis in grid], axis=1)


@dataclass(frozen=True)
class Goodness:
    """Chi-squared statistics of a fitted table.

    Attributes
    ----------
    g2, x2 : float
        Likelihood-ratio and Pearson statistic.
    df : int
        Degrees of freedom.
    n_cells, n_parameters : int
    n_rows, n_complete : float
        Weight of all rows, and of those without missing cells, which the statistics are of.
    p_g2, p_x2 : float or None
        p-values; ``None`` where they would not be valid.
    reasons : tuple of str
        Why there are no p-values.
    p_bootstrap : float or None
        Share of tables drawn from the model whose :math:`G^2` after refitting is at least as large.
    n_bootstrap : int
        How many tables were drawn.
    """

    g2: float
    x2: float
    df: int
    n_cells: int
    n_parameters: int
    n_rows: float
    n_complete: float
    p_g2: float | None
    p_x2: float | None
    reasons: tuple[str, ...] = ()
    p_bootstrap: float | None = None
    n_bootstrap: int = 0

    def __str__(self) -> str:
        p_g2 = "" if self.p_g2 is None else f" (p = {self.p_g2:.4f})"
        p_x2 = "" if self.p_x2 is None else f" (p = {self.p_x2:.4f})"
        lines = [
            f"G^2 = {self.g2:.4f}{p_g2}, X^2 = {self.x2:.4f}{p_x2}, {self.df} degrees of freedom "
            f"({self.n_cells} cells, {self.n_parameters} parameters)"
        ]
        lines += [f"No p-value: {reason}." for reason in self.reasons]
        if self.p_bootstrap is not None:
            lines.append(f"Bootstrap p-value of G^2 from {self.n_bootstrap} tables: {self.p_bootstrap:.4f}")
        elif self.reasons:
            lines.append("A bootstrap needs none of this: goodness_of_fit(X, n_bootstrap=200).")
        return "\n".join(lines)


def category_table(model: MixtureModel, params: MixtureParams, chunks: Chunks) -> CategoryTable:
    """The categorical columns of the rows."""
    codes: list[NDArray[np.int64]] = []
    tables, columns, start = [], [], 0
    for family, block, values in zip(model.families, chunks.blocks, params.blocks, strict=True):
        if isinstance(family, Categorical) and isinstance(block, CodesBlock):
            wide = block.codes.astype(np.int64)
            n_values = np.asarray(family.n_values)
            # Where there is one value only, a missing cell holds it: such a column leaves the table as it is.
            codes.append(np.where(n_values == 1, 0, np.where(wide < n_values, wide, -1)))
            prob = np.exp(values["log_prob"])
            tables += [prob[s : s + v] for s, v in zip(family.offsets[:-1], family.n_values, strict=True)]
            columns += list(range(start, start + block.n_columns))
        start += block.n_columns
    weight = np.ones(chunks.n_rows) if chunks.weight is None else chunks.weight
    joined = np.concatenate(codes, axis=1) if codes else np.empty((chunks.n_rows, 0), dtype=np.int64)
    return CategoryTable(joined, weight, tables, np.exp(params.log_weights), columns)


def goodness_of_fit(table: CategoryTable, n_parameters: int) -> Goodness:
    """The chi-squared statistics of a table."""
    patterns, count = table.patterns()
    n_complete, n_rows = float(count.sum()), float(table.weight.sum())
    expected = n_complete * table.probabilities(patterns)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A perfect fit is zero, whatever the rounding.
        g2 = max(2.0 * float(np.sum(count * np.log(count / expected))), 0.0)
        observed_part = float(np.sum((count - expected) ** 2 / expected))
    x2 = observed_part + max(n_complete - float(expected.sum()), 0.0)
    df = table.n_cells - 1 - n_parameters
    reasons = _reasons(table, df, n_rows=n_rows, n_complete=n_complete)
    p_g2 = None if reasons else float(chi2.sf(g2, df))
    p_x2 = None if reasons else float(chi2.sf(x2, df))
    return Goodness(g2, x2, df, table.n_cells, n_parameters, n_rows, n_complete, p_g2, p_x2, reasons=tuple(reasons))


def _reasons(table: CategoryTable, df: int, *, n_rows: float, n_complete: float) -> list[str]:
    """Why the chi-squared distribution would not hold."""
    reasons = []
    if df == 0:
        reasons.append("the model has as many parameters as the table has free cells (df = 0), so it cannot be tested")
    if df < 0:
        reasons.append(
            f"the model has more parameters than the table has free cells (df = {df}), so it is not identified and "
            "cannot be tested"
        )
    if n_complete < n_rows:
        reasons.append(
            f"{n_rows - n_complete:g} of {n_rows:g} rows have missing cells, and the statistics are of the others alone"
        )
    used = table.weight[table.weight > 0.0]
    if (used != np.floor(used)).any():
        reasons.append("the weights are not whole numbers, so they do not count rows")
    if table.n_cells > MOST_CELLS:
        reasons.append(
            f"the table is too sparse: {n_complete:g} rows in {table.n_cells:.4g} cells are "
            f"{n_complete / table.n_cells:.2g} per cell"
        )
        return reasons
    expected = n_complete * table.probabilities(table.all_cells())
    small = float(np.mean(expected < COMFORTABLE_EXPECTED))
    if small > SMALL_SHARE or expected.min() < SMALLEST_EXPECTED:
        reasons.append(
            f"the table is too sparse: {100.0 * small:.0f} % of the expected counts are below {COMFORTABLE_EXPECTED:g} "
            f"(at most {100.0 * SMALL_SHARE:.0f} % may be) and the smallest is {expected.min():.2g} (at least "
            f"{SMALLEST_EXPECTED:g})"
        )
    return reasons


@dataclass(frozen=True)
class Residual:
    """What the model leaves unexplained between two columns.

    Attributes
    ----------
    first, second : int
        Positions of the columns.
    chi_squared : float
        Pearson's statistic of the two-way table against the model's.
    df : int
        :math:`(v_1 - 1)(v_2 - 1)`.
    n_rows : float
        Weight of the rows with both values.
    """

    first: int
    second: int
    chi_squared: float
    df: int
    n_rows: float

    @property
    def per_df(self) -> float:
        """The bivariate residual: the statistic per degree of freedom; above about 4 a dependence is left."""
        return self.chi_squared / self.df if self.df else 0.0


def bivariate_residuals(table: CategoryTable) -> list[Residual]:
    """The residuals of all pairs of categorical columns, the largest first."""
    found = []
    n_columns = len(table.tables)
    for j in range(n_columns):
        for other in range(j + 1, n_columns):
            found.append(_residual(table, j, other))
    return sorted(found, key=lambda residual: -residual.per_df)


def _residual(table: CategoryTable, j: int, other: int) -> Residual:
    first, second = table.tables[j], table.tables[other]
    both = (table.codes[:, j] >= 0) & (table.codes[:, other] >= 0)
    shape = (first.shape[0], second.shape[0])
    flat = table.codes[both, j] * shape[1] + table.codes[both, other]
    observed = np.bincount(flat, table.weight[both], minlength=shape[0] * shape[1]).reshape(shape)
    total = float(observed.sum())
    expected = total * ((first * table.sizes) @ second.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(expected > 0.0, (observed - expected) ** 2 / expected, np.where(observed > 0.0, np.inf, 0.0))
    df = (shape[0] - 1) * (shape[1] - 1)
    return Residual(table.columns[j], table.columns[other], float(terms.sum()), df, total)
