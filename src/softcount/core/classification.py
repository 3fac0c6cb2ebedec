r"""How well a mixture tells its components apart: posterior membership, put into tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softcount import kernels
from softcount._optional import need
from softcount._types import FloatArray
from softcount.core.chunks import Chunk, Rows
from softcount.core.evidence import entropy_of
from softcount.core.execute import Executor
from softcount.core.mixture import MixtureModel, MixtureParams

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Classification", "classify", "information_criteria"]


@dataclass(frozen=True)
class Classification:
    r"""Posterior against assigned membership of some rows.

    With responsibilities :math:`r_{ik}`, weights :math:`w_i` and assignments :math:`\hat k_i = \arg\max_k r_{ik}`:

    .. math:: T_{k\ell} = \sum_{i: \hat k_i = \ell} w_i r_{ik}, \qquad
       H = -\sum_{ik} w_i r_{ik}\log r_{ik}, \qquad E = 1 - \frac{H}{N \log K} .

    Attributes
    ----------
    table : array of shape (n_components, n_components)
        :math:`T`: the expected weight of rows of component k (row) that are assigned to component l (column).
    names : list
        Names of the components.
    entropy : float
        :math:`H`.
    """

    table: FloatArray
    names: Sequence[Any]
    entropy: float

    @property
    def n_rows(self) -> float:
        """Total weight of the rows."""
        return float(self.table.sum())

    @property
    def relative_entropy(self) -> float:
        """:math:`E`: one where every row is certain, zero where every row could be of any component."""
        n_components = len(self.names)
        return 1.0 - self.entropy / (self.n_rows * math.log(n_components)) if n_components > 1 else 1.0

    @property
    def error(self) -> float:
        """Expected share of rows that are assigned to a component they do not belong to."""
        return 1.0 - float(np.trace(self.table)) / self.n_rows

    @property
    def sizes(self) -> FloatArray:
        """Share of the rows expected in each component."""
        return np.asarray(self.table.sum(axis=1) / self.n_rows)

    @property
    def assigned_sizes(self) -> FloatArray:
        """Share of the rows assigned to each component."""
        return np.asarray(self.table.sum(axis=0) / self.n_rows)

    @property
    def average_posteriors(self) -> FloatArray:
        """Mean posterior (columns) of the rows assigned to each component (rows); NaN where there are none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((self.table / self.table.sum(axis=0)).T)

    def frame(self) -> pd.DataFrame:
        """The table as a data frame: expected component by row, assigned component by column (needs pandas)."""
        need("pandas", "A data frame")
        import pandas as pd

        index = pd.Index(list(self.names), name="component")
        return pd.DataFrame(self.table, index=index, columns=pd.Index(list(self.names), name="assigned"))

    def __str__(self) -> str:
        names = [str(name) for name in self.names]
        lines = ["Expected component (rows) by assigned component (columns)"]
        lines += _table_lines(names, self.table, "{:.2f}")
        lines += ["", "Average posterior (columns) of the rows assigned to each component"]
        lines += _table_lines(names, self.average_posteriors, "{:.4f}")
        lines += [
            "",
            f"classification error {self.error:.4f}, entropy {self.entropy:.4f}, relative entropy "
            f"{self.relative_entropy:.4f}",
        ]
        return "\n".join(lines)


def _table_lines(names: list[str], table: FloatArray, form: str) -> list[str]:
    cells = [[form.format(value) for value in row] for row in table]
    width = max(8, *(len(cell) for row in cells for cell in row), *map(len, names))
    first = max(map(len, names))
    head = " " * first + "".join("  " + name.rjust(width) for name in names)
    body = [
        name.ljust(first) + "".join("  " + cell.rjust(width) for cell in row)
        for name, row in zip(names, cells, strict=True)
    ]
    return [head, *body]


@dataclass(frozen=True)
class _Part:
    """What some rows add to a classification."""

    table: FloatArray
    entropy: float
    log_likelihood: float

    def __add__(self, other: _Part) -> _Part:
        return _Part(self.table + other.table, self.entropy + other.entropy, self.log_likelihood + other.log_likelihood)


def classify(
    model: MixtureModel, params: MixtureParams, executor: Executor, chunks: Rows, names: Sequence[Any]
) -> tuple[Classification, float]:
    """The classification of the rows and their weighted marginal log-likelihood, in one pass."""
    n = model.n_components

    def tally(lane: Sequence[Chunk]) -> _Part:
        total = _Part(np.zeros((n, n)), 0.0, 0.0)
        for chunk in lane:
            resp = model.log_joint(params, chunk)
            log_norm = np.empty(chunk.n_rows)
            kernels.normalize_rows(resp, None, params.log_weights, log_norm)
            for family, block in zip(model.families, chunk.blocks, strict=True):
                base = family.row_base(block)
                if base is not None:
                    log_norm += base
            weight = np.ones(chunk.n_rows) if chunk.weight is None else chunk.weight
            counted = weight > 0.0
            assigned = np.zeros_like(resp)
            assigned[np.arange(chunk.n_rows), resp.argmax(axis=1)] = weight
            total += _Part(
                resp.T @ assigned,
                float(weight @ entropy_of(resp)),
                float(weight[counted] @ log_norm[counted]),
            )
        return total

    found = executor.reduce(tally, chunks, counts_bytes=8 * n * n)
    return Classification(found.table, list(names), found.entropy), found.log_likelihood


def information_criteria(
    log_likelihood: float, n_parameters: int, n_rows: float, entropy: float | None = None
) -> dict[str, float]:
    r"""Criteria that weigh fit against size; lower is better for all of them.

    .. math:: \mathrm{AIC} = -2\ell + 2p, \quad \mathrm{BIC} = -2\ell + p\log N, \quad
       \mathrm{SABIC} = -2\ell + p\log\tfrac{N + 2}{24}, \quad \mathrm{CAIC} = -2\ell + p(\log N + 1), \quad
       \mathrm{ICL} = \mathrm{BIC} + 2H .

    Parameters
    ----------
    log_likelihood : float
    n_parameters : int
    n_rows : float
        Total weight of the rows.
    entropy : float or None
        Of the responsibilities; without it there is no ICL.

    Examples
    --------
    >>> {name: round(value, 2) for name, value in information_criteria(-293.705, 23, 118).items()}
    {'aic': 633.41, 'bic': 697.14, 'sabic': 624.43, 'caic': 720.14}
    """
    deviance, log_n = -2.0 * log_likelihood, math.log(n_rows) if n_rows > 0.0 else -math.inf
    found = {
        "aic": deviance + 2.0 * n_parameters,
        "bic": deviance + n_parameters * log_n,
        "sabic": deviance + n_parameters * math.log((n_rows + 2.0) / 24.0),
        "caic": deviance + n_parameters * (log_n + 1.0),
    }
    if entropy is not None:
        found["icl"] = found["bic"] + 2.0 * entropy
    return found
