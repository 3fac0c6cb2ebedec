"""The categorical family: one of several values, each column with its own number of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcount import kernels
from softcount._types import CodesArray, FloatArray, IntArray
from softcount.families._base import Params, inner, prepend_size
from softcount.families.blocks import Block, CodesBlock
from softcount.families.columns import ColumnFamily, PseudoCounts, opposed, others_mean
from softcount.families.statistics import Sums
from softcount.families.supports import is_count

__all__ = ["Categorical"]


@dataclass(frozen=True)
class Categorical(ColumnFamily):
    r"""Categorical: :math:`p(x = v) = \theta_v`, :math:`\eta_v = \log\theta_v`, :math:`u` indicators.

    As a single distribution the values run along the last axis of ``log_prob``. As the model of a block the
    columns' values are concatenated: ``log_prob`` has shape ``(sum of n_values, n_classes)``.

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
    inner_point = 0.0

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
        """Indicators of the values: as many as ``n_values``, as the family's one column has, or as occur."""
        x = np.asarray(x)
        if n_values is None and len(self.n_values) == 1:
            n_values = self.n_values[0]
        if n_values is None:
            n_values = int(x.max(initial=0, where=~self.missing(x))) + 1
        return np.asarray(x[..., None] == np.arange(n_values), dtype=np.float64)

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
        r""":math:`\log\theta_x`; minus infinity for a value outside the table, zero where missing."""
        table = params["log_prob"]
        x = np.asarray(x)
        missing = self.missing(x)
        inside = (x >= 0) & (x < table.shape[-1]) & self.in_support(x) & ~missing
        index = np.where(inside, x, 0).astype(np.int64)
        shape = np.broadcast_shapes(index.shape, table.shape[:-1])
        rows = np.broadcast_to(table, (*shape, table.shape[-1]))
        chosen = np.take_along_axis(rows, np.broadcast_to(index, shape)[..., None], axis=-1)[..., 0]
        return np.where(inside, chosen, np.where(missing, 0.0, -np.inf))

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
        return is_count(x) | self.missing(x)

    def missing(self, x: ArrayLike) -> NDArray[np.bool_]:
        """-1 and NaN."""
        return np.asarray(super().missing(x) | (np.asarray(x) == -1))

    def standard(self) -> Params:
        """Equal shares of the values of the family's columns, or of two."""
        return self.parameters(np.full(max(self.n_values, default=2), 1.0 / max(self.n_values, default=2)))

    def kl(self, params: Params, other: Params) -> FloatArray:
        r""":math:`\sum_v \theta_v \log(\theta_v / \theta'_v)`."""
        with np.errstate(invalid="ignore"):
            gap = params["log_prob"] - other["log_prob"]
        return np.maximum(inner(np.exp(params["log_prob"]), gap), 0.0)

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
        return np.repeat(self._per_column(table), np.diff(self.offsets), axis=0)

    def _per_column(self, table: FloatArray) -> FloatArray:
        """Sums over each column's values; zero for a column without any."""
        sizes = np.diff(self.offsets)
        sums = np.zeros((len(sizes), table.shape[1]))
        if sizes.any():
            sums[sizes > 0] = np.add.reduceat(table, self.offsets[:-1][sizes > 0], axis=0)
        return sums

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
        r""":math:`\theta_{jvk} = (s_{jvk} + a) / (w_{jk} + a v_j)`; without any count equal shares."""
        smoothed = statistics["count"] + prior.alpha
        seen = smoothed.copy()
        seen[self.unseen_rows] = 0.0
        total, of_column = self._per_column(seen), np.diff(self.offsets)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_prob = np.log(smoothed)
            log_prob -= np.repeat(np.log(total), of_column, axis=0)
        if not (total > 0.0).all():
            equal = -np.log(np.maximum(np.asarray(self.n_values, dtype=np.float64), 1.0))[:, None]
            seen_at_all, equal = (np.repeat(each, of_column, axis=0) for each in (total > 0.0, equal))
            log_prob = np.where(seen_at_all, log_prob, equal)
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
        if not np.any(prior.alpha):
            return 0.0
        alpha = np.broadcast_to(prior.alpha, params["log_prob"].shape)
        with np.errstate(invalid="ignore"):
            inside = np.where(alpha > 0.0, alpha * params["log_prob"], 0.0)
        inside[self.unseen_rows] = 0.0
        return float(inside.sum())

    def n_parameters(self, params: Params) -> int:
        """All but one value per column and class."""
        return sum(max(v - 1, 0) for v in self.n_values) * int(params["log_prob"].shape[-1])

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
            codes = block.codes[:, j].astype(np.int64)
            known = np.flatnonzero((codes >= 0) & (codes < self.offsets[j + 1] - self.offsets[j]))
            evidence = params["log_prob"][self.offsets[j] + codes[known]]
            for k in range(weights.shape[1]):
                more = inner(weights[known, k, None], evidence[:, k, None])
                cells[known, j] = opposed(cells[known, j], more)
        return cells, np.zeros(block.n_rows)

    def linear_form(self, params: Params) -> tuple[FloatArray, FloatArray] | None:
        """Of the indicators of the values: the table itself, and no intercepts."""
        return params["log_prob"], np.zeros(params["log_prob"].shape[1])

    def value_telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        r"""What each value adds to the divergence of the class from the others."""
        theta = np.exp(params["log_prob"])
        with np.errstate(divide="ignore", invalid="ignore"):
            log_rest = np.log(others_mean(theta, class_weight))
            gap = np.where(theta > 0.0, theta * (params["log_prob"] - log_rest), 0.0)
        gap[self.unseen_rows] = 0.0
        return np.asarray(gap)

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        """Divergence of each column's distribution in the class from that in the others."""
        return self._per_column(self.value_telling(params, class_weight))


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
