"""The categorical family: one of several values, each column with its own number of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcount import kernels
from softcount._types import CodesArray, FloatArray, IntArray
from softcount.families._base import Params, prepend_size
from softcount.families.blocks import Block, CodesBlock
from softcount.families.columns import ColumnFamily, PseudoCounts
from softcount.families.statistics import Sums

__all__ = ["Categorical"]


@dataclass(frozen=True)
class Categorical(ColumnFamily):
    r"""Categorical: :math:`p(x = v) = \theta_v`, :math:`\eta_v = \log\theta_v`, :math:`u(x)` the indicator vector.

    As a single distribution the values run along the last axis of ``log_prob``. As the model of a block the columns'
    values are concatenated: ``log_prob`` has shape ``(sum of n_values, n_classes)``.

    Parameters
    ----------
    n_values : tuple of int
        Number of values of each column of a block.
    with_unseen : bool
        Keep one more row per column for values not seen in training, with probability
        :math:`\alpha / (N_k + \alpha v_j)`.

    Examples
    --------
    >>> family = Categorical()
    >>> float(family.log_prob(1, family.parameters([0.2, 0.8])).round(4))
    -0.2231
    """

    n_values: tuple[int, ...] = ()
    with_unseen: bool = False

    name = "categorical"
    support = "codes 0, 1, 2, ... of its values"

    def parameters(self, prob: ArrayLike) -> Params:
        """Parameters from the probabilities of the values, along the last axis."""
        with np.errstate(divide="ignore"):
            return {"log_prob": np.log(np.asarray(prob, dtype=np.float64))}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`\eta_v = \log\theta_v`."""
        return np.asarray(params["log_prob"])

    def from_natural(self, natural: ArrayLike) -> Params:
        """Probabilities proportional to the exponentials."""
        eta = np.asarray(natural, dtype=np.float64)
        return {"log_prob": eta - np.logaddexp.reduce(eta, axis=-1, keepdims=True)}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = \log\sum_v e^{\eta_v}`."""
        return np.asarray(np.logaddexp.reduce(np.asarray(natural, dtype=np.float64), axis=-1))

    def stats(self, x: ArrayLike, n_values: int | None = None) -> FloatArray:
        """Indicators of the values."""
        x = np.asarray(x)
        size = int(np.nanmax(x)) + 1 if n_values is None else n_values
        return np.asarray(x[..., None] == np.arange(size), dtype=np.float64)

    def log_base(self, x: ArrayLike) -> FloatArray:
        """Zero on the values."""
        return np.where(self.in_support(x), 0.0, -np.inf)

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`\theta`."""
        return np.exp(params["log_prob"])

    def cov_stats(self, params: Params) -> FloatArray:
        r""":math:`\mathrm{diag}(\theta) - \theta\theta^\top`."""
        theta = np.exp(params["log_prob"])
        return np.asarray(theta[..., :, None] * (np.eye(theta.shape[-1]) - theta[..., None, :]))

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r""":math:`\theta` is the mean of the indicators."""
        return self.parameters(mean)

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`\log\theta_x`; minus infinity for a value outside the table."""
        table = params["log_prob"]
        x = np.asarray(x)
        inside = (x >= 0) & (x < table.shape[-1])
        index = np.where(inside, x, 0).astype(np.int64)
        shape = np.broadcast_shapes(index.shape, table.shape[:-1])
        rows = np.broadcast_to(table, (*shape, table.shape[-1]))
        chosen = np.take_along_axis(rows, np.broadcast_to(index, shape)[..., None], axis=-1)[..., 0]
        return np.where(np.broadcast_to(inside, shape), chosen, -np.inf)

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw codes."""
        cumulative = np.cumsum(np.exp(params["log_prob"]), axis=-1)
        draws = rng.random(prepend_size(size, cumulative.shape[:-1])) * cumulative[..., -1]
        codes = (draws[..., None] >= cumulative).sum(axis=-1)
        return np.asarray(np.minimum(codes, cumulative.shape[-1] - 1), dtype=np.int64)

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Whole numbers of zero or more; -1 and NaN mean missing."""
        x = np.asarray(x)
        return np.asarray(((x >= -1) & (x == np.floor(x))) | np.isnan(x) if x.dtype.kind == "f" else x >= -1)

    # ---- columns of a block
    @cached_property
    def offsets(self) -> IntArray:
        """Where each column's values start in the concatenated tables."""
        sizes = np.asarray(self.n_values, dtype=np.int64) + int(self.with_unseen)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def unseen_rows(self) -> IntArray:
        """The rows kept for unseen values, one per column (empty without them)."""
        return self.offsets[1:] - 1 if self.with_unseen else np.empty(0, dtype=np.int64)

    def column_sums(self, table: FloatArray) -> FloatArray:
        """Sums over each column's values, repeated for every value."""
        sums = np.add.reduceat(table, self.offsets[:-1], axis=0)
        return np.repeat(sums, np.diff(self.offsets), axis=0)

    def room_for(self, old: Categorical, counts: FloatArray) -> FloatArray:
        """Counts under the ``old`` numbers of values, laid out for this family's larger ones."""
        wide = np.zeros((int(self.offsets[-1]), counts.shape[1]))
        for start, n_values, old_start in zip(self.offsets, old.n_values, old.offsets, strict=False):
            wide[start : start + n_values] = counts[old_start : old_start + n_values]
        return wide

    def scorer(self, params: Params) -> CategoricalScorer:
        """Looks the codes up in the table."""
        return CategoricalScorer(np.ascontiguousarray(params["log_prob"]), self.offsets)

    def tally(self, block: Block, n_classes: int, params: Params | None = None) -> CategoricalTally:
        """Weighted counts of the values."""
        return CategoricalTally(self.offsets, n_classes)

    def solve(self, statistics: Any, prior: PseudoCounts, previous: Params | None = None) -> Params:
        r""":math:`\theta_{jvk} = (s_{jvk} + a) / (w_{jk} + a v_j)`; a column without any count gets equal shares."""
        smoothed = statistics["count"] + prior.alpha
        seen = smoothed.copy()
        seen[self.unseen_rows] = 0.0
        total = self.column_sums(seen)
        sizes = np.repeat(np.asarray(self.n_values, dtype=np.float64), np.diff(self.offsets))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_prob = np.where(total > 0.0, np.log(smoothed) - np.log(total), -np.log(sizes))
        return {"log_prob": log_prob}

    def anchored(self, prior: PseudoCounts, pooled: Any) -> PseudoCounts:
        """The prior itself: its pseudo-observations are one of each value."""
        return prior

    def needs_anchor(self, prior: Any) -> bool:
        """Never."""
        return False

    def centered(self, prior: PseudoCounts, pooled: Any) -> PseudoCounts:
        r"""Pseudo-observations :math:`a v_j q_{jv}` in proportion to how often each value occurs overall."""
        smoothed = pooled["count"] + prior.alpha
        alpha = np.array(np.broadcast_to(prior.alpha, smoothed.shape))
        unseen = alpha[self.unseen_rows].copy()
        smoothed[self.unseen_rows] = 0.0
        alpha[self.unseen_rows] = 0.0
        total = self.column_sums(smoothed)
        centered = self.column_sums(alpha) * smoothed / np.where(total > 0.0, total, 1.0)
        centered[self.unseen_rows] = unseen
        return PseudoCounts(centered)

    def log_prior(self, params: Params, prior: PseudoCounts) -> float:
        r""":math:`\sum a \log\theta`, a Dirichlet(a + 1) density up to its constant."""
        alpha = np.broadcast_to(prior.alpha, params["log_prob"].shape)
        with np.errstate(invalid="ignore"):
            inside = np.where(alpha > 0.0, alpha * params["log_prob"], 0.0)
        inside[self.unseen_rows] = 0.0
        return float(inside.sum())

    def n_parameters(self, params: Params) -> int:
        """All but one value per column and class."""
        return int(sum(v - 1 for v in self.n_values) * params["log_prob"].shape[-1])

    def draw(self, params: Params, codes: CodesArray, rng: np.random.Generator) -> NDArray[Any]:
        """Rows of codes."""
        rows = np.empty((codes.shape[0], len(self.n_values)), dtype=np.int64)
        for j, n_values in enumerate(self.n_values):
            start = self.offsets[j]
            table = params["log_prob"][start : start + n_values, :]
            rows[:, j] = self.sample({"log_prob": table.T[codes]}, rng)
        return rows

    def column_scores(self, params: Params, block: Any, weights: FloatArray) -> tuple[Any, FloatArray]:
        """Evidence per cell."""
        cells = np.zeros(block.codes.shape)
        for j in range(block.n_columns):
            known = np.flatnonzero((block.codes[:, j] >= 0) & (block.codes[:, j] < np.diff(self.offsets)[j]))
            rows = params["log_prob"][self.offsets[j] + block.codes[known, j].astype(np.int64)]
            share = weights[known]
            with np.errstate(invalid="ignore"):
                cells[known, j] = np.where(share == 0.0, 0.0, share * rows).sum(axis=1)
        return cells, np.zeros(block.n_rows)

    def value_telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        r"""What each value adds to the divergence of the class from the others, shape (sum of n_values, K)."""
        theta = np.exp(params["log_prob"])
        share = class_weight / class_weight.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(share < 1.0, ((theta @ share)[:, None] - share * theta) / (1.0 - share), theta)
            gap = np.where(theta > 0.0, theta * (params["log_prob"] - np.log(np.maximum(rest, 0.0))), 0.0)
        gap[self.unseen_rows] = 0.0
        return np.asarray(gap)

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        """Divergence of each column's distribution in the class from that in the others."""
        return np.asarray(np.add.reduceat(self.value_telling(params, class_weight), self.offsets[:-1], axis=0))


class CategoricalScorer:
    """Adds the table's entry for every observed code."""

    def __init__(self, table: FloatArray, offsets: IntArray) -> None:
        self.table = table
        self.offsets = offsets

    def add(self, block: CodesBlock, out: FloatArray) -> None:
        """Add the scores of the block's rows to ``out``."""
        kernels.codes_scores(block.codes, self.offsets, self.table, out)


class CategoricalTally:
    """Counts the values per class."""

    def __init__(self, offsets: IntArray, n_classes: int) -> None:
        self.offsets = offsets
        self.count = np.zeros((int(offsets[-1]), n_classes))

    def add(self, block: CodesBlock, resp: FloatArray) -> None:
        """Count rows with responsibilities."""
        kernels.codes_accumulate(block.codes, self.offsets, resp, self.count)

    def add_known(self, block: CodesBlock, codes: CodesArray, weight: FloatArray | None) -> None:
        """Count rows of known class."""
        kernels.codes_class_counts(block.codes, self.offsets, codes, weight, self.count)

    def statistics(self) -> Sums:
        """The counts."""
        return Sums({"count": self.count})
