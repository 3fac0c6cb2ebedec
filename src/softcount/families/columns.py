"""How a family models a block of columns, one distribution per column and class.

:class:`ColumnFamily` does it for any one-dimensional family through its density and its sufficient statistic; families
whose score is linear in the data (:mod:`softcount.families.linear`), the Gaussian and the categorical family replace the
slow parts by kernels. Four objects take part in a pass over the rows:

``family.scorer(params)``
    prepared tables; ``scorer.add(block, out)`` adds the log-density of every row under every class.
``family.tally(block, n_classes)``
    the statistics being collected; ``add`` takes responsibilities, ``add_known`` known classes.
``family.solve(statistics, prior)``
    parameters from statistics.
``prior``
    pseudo-counts, or whatever the family's own prior class holds.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import CodesArray, FloatArray, IntArray
from softcount.families._base import Family, Params
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.families.statistics import Statistics, Sums

__all__ = ["BlockTally", "ColumnFamily", "PseudoCounts", "Scorer", "one_hot"]


class Scorer(Protocol):
    """Log-densities of a block's rows under fixed parameters."""

    def add(self, block: Any, out: FloatArray) -> None:
        """Add ``log f_k(x_i)`` to ``out`` of shape (n_rows, n_classes)."""
        ...


class BlockTally(Protocol):
    """Statistics of a block being collected, chunk after chunk."""

    def add(self, block: Any, resp: FloatArray) -> None:
        """Count rows with responsibilities of shape (n_rows, n_classes), row weights included."""
        ...

    def add_known(self, block: Any, codes: CodesArray, weight: FloatArray | None) -> None:
        """Count rows whose class is known; rows with code -1 are skipped."""
        ...

    def statistics(self) -> Statistics:
        """What was counted."""
        ...


@dataclass(frozen=True)
class PseudoCounts:
    """Conjugate prior as ``alpha`` pseudo-observations per column and class.

    Attributes
    ----------
    alpha : array broadcastable to (n_features, n_classes)
        For a Bernoulli column the pseudo-observations of 1, for a categorical or multinomial one those of each value or
        word, for other families pseudo-rows whose statistics are the column's overall mean.
    other : array or None
        For a Bernoulli column the pseudo-observations of 0; ``None`` means as many as of 1.
    center : array of shape (n_features, n_stats) or None
        The statistics of a pseudo-row, where the family needs them (see :meth:`ColumnFamily.anchored`).
    """

    alpha: FloatArray
    other: FloatArray | None = None
    center: FloatArray | None = None

    def take(self, classes: IntArray) -> PseudoCounts:
        """The prior of the given classes, in that order."""

        def pick(array: FloatArray | None) -> FloatArray | None:
            return array if array is None or array.ndim < 2 or array.shape[-1] == 1 else array[..., classes]

        alpha = pick(self.alpha)
        assert alpha is not None  # noqa: S101
        return replace(self, alpha=alpha, other=pick(self.other))


def one_hot(codes: CodesArray, weight: FloatArray | None, n_classes: int) -> FloatArray:
    """Known classes as responsibilities; a row with code -1 has none."""
    resp = np.zeros((codes.shape[0], n_classes))
    known = np.flatnonzero(codes >= 0)
    resp[known, codes[known]] = 1.0 if weight is None else weight[known]
    return resp


class ColumnFamily(Family):
    """A one-dimensional family as the model of each column of a block, given the class."""

    #: Whether a pass can start from known classes alone: the maximum needs no iterating.
    closed_form_with_missing = True
    #: Whether the family reads sparse blocks.
    reads_sparse = False
    #: Whether a row is a bag of repeatable events, whose repetitions are worth less than as many different rows.
    counts_repetitions = False

    # ---- the density of rows ------------------------------------------------------------------------------------
    def scorer(self, params: Params) -> Scorer:
        """Tables prepared for scoring blocks under ``params``."""
        return _DensityScorer(self, params)

    def row_base(self, block: Block) -> FloatArray | None:
        r"""Class-independent :math:`\sum_j \log h(x_{ij})` that the scorer leaves out, or None if it leaves out none."""
        return None

    # ---- counting -----------------------------------------------------------------------------------------------
    def tally(self, block: Block, n_classes: int, params: Params | None = None) -> BlockTally:
        """An empty tally for blocks like ``block``; ``params`` are those the responsibilities come from, if any."""
        return _StatsTally(self, block, n_classes)

    # ---- solving ------------------------------------------------------------------------------------------------
    def solve(self, statistics: Any, prior: Any, previous: Params | None = None) -> Params:
        """Parameters that maximize the expected log-likelihood plus log-prior of ``statistics``.

        With :class:`PseudoCounts` the averaged statistics are those of the data and ``alpha`` pseudo-rows; a column
        without any weight takes the overall mean (the limit of ever smaller ``alpha``).
        """
        prior = self.anchored(prior, statistics.pooled())
        total = np.moveaxis(statistics["stats"], 0, -1)
        weight = statistics["weight"][..., None]
        center = prior.center[:, None, :]
        alpha = np.asarray(prior.alpha, dtype=np.float64)
        alpha = np.broadcast_to(alpha, weight.shape[:-1])[..., None]
        mass = weight + alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(mass > 0.0, (total + alpha * center) / mass, center)
        return self.from_mean_stats(self.inside(mean, center))

    def inside(self, mean: FloatArray, center: FloatArray) -> FloatArray:
        """``mean`` moved off the boundary of the mean parameters where a family's density is not defined there."""
        return mean

    def anchored(self, prior: PseudoCounts, pooled: Any) -> PseudoCounts:
        """The prior with its pseudo-rows placed at the overall mean of the statistics, if it has no place yet."""
        if prior.center is not None:
            return prior
        total = np.moveaxis(pooled["stats"], 0, -1)[:, 0, :]
        weight = pooled["weight"][:, :1]
        return replace(prior, center=total / np.where(weight > 0.0, weight, 1.0))

    def centered(self, prior: Any, pooled: Any) -> Any:
        """The prior with its mass kept and its center moved to the overall distribution ``pooled`` of the columns.

        Rows without labels know that distribution as well as labeled ones do. Here the pseudo-rows lie there anyway.
        """
        return self.anchored(prior, pooled)

    def needs_anchor(self, prior: Any) -> bool:
        """Whether the prior takes its place from the data, so that EM has to look at all rows first."""
        return prior.center is None

    def log_prior(self, params: Params, prior: Any) -> float:
        r""":math:`\sum \alpha\,(\eta^\top \bar u - A(\eta))`: the log-density of the pseudo-rows."""
        if prior.center is None or not np.any(prior.alpha):
            return 0.0
        natural = self.natural(params)
        inside = np.sum(natural * prior.center[:, None, :], axis=-1) - self.log_normalizer(natural)
        alpha = np.broadcast_to(prior.alpha, inside.shape)
        return float(np.sum(np.where(alpha > 0.0, alpha * inside, 0.0)))

    def penalty(self, params: Params, prior: Any) -> FloatArray | None:
        """What fitting subtracts from each row's log-density per class (variance floors), or None."""
        return None

    # ---- bookkeeping --------------------------------------------------------------------------------------------
    @abstractmethod
    def n_parameters(self, params: Params) -> int:
        """Free parameters."""

    def take(self, params: Params, classes: IntArray) -> Params:
        """Parameters of the given classes, in that order."""
        return {name: array[..., classes] for name, array in params.items()}

    def draw(self, params: Params, codes: CodesArray, rng: np.random.Generator) -> NDArray[Any]:
        """Rows drawn from the classes ``codes``, shape (n_rows, n_columns)."""
        per_row = {name: np.moveaxis(array[..., codes], -1, 0) for name, array in params.items()}
        return self.sample(per_row, rng)

    def column_scores(
        self, params: Params, block: Any, weights: FloatArray
    ) -> tuple[Any, FloatArray]:
        r"""Evidence per cell, :math:`\sum_k a_{ik} \log p(x_{ij} \mid k)`, and per row what belongs to no cell.

        Parameters
        ----------
        params, block
            Parameters and rows.
        weights : array of shape (n_rows, n_classes)
            The :math:`a_{ik}`: for a comparison of two classes +1 and -1.

        Returns
        -------
        cells : array of shape (n_rows, n_columns), or a sparse one for a sparse block
        rest : array of shape (n_rows,)
        """
        values = np.asarray(block.numbers, dtype=np.float64)
        cells = np.zeros(values.shape)
        for k in range(weights.shape[1]):
            chosen = np.flatnonzero(weights[:, k])
            scores = self.log_prob(values[chosen], self.take(params, np.array(k)))
            cells[chosen] += weights[chosen, k, None] * scores
        if block.missing is not None:
            cells[block.missing] = 0.0
        return cells, np.zeros(values.shape[0])

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        r"""How much each column speaks for each class: signed divergence from the other classes, shape (d, K).

        The value is the divergence :math:`\mathrm{KL}(p_{jk} \,\|\, \bar p_{j,-k})` to the member of the family that
        has the other classes' average statistics, negative where the column's first statistic is lower than theirs.
        """
        mean = self.mean_stats(params)
        rest = _others_mean(mean, class_weight)
        natural, natural_rest = self.natural(params), self.natural(self.from_mean_stats(self.inside(rest, mean)))
        with np.errstate(invalid="ignore"):
            gap = np.where(mean == 0.0, 0.0, (natural - natural_rest) * mean).sum(axis=-1)
            divergence = gap - self.log_normalizer(natural) + self.log_normalizer(natural_rest)
        return np.asarray(np.where(mean[..., 0] >= rest[..., 0], divergence, -divergence))

    def linear_form(self, params: Params) -> tuple[FloatArray, FloatArray] | None:
        """``(coef (n_columns, n_classes), intercept (n_classes,))`` if the score is affine in x, else None."""
        return None

    def check_values(self, values: NDArray[Any], names: list[str], first_row: int = 0) -> None:
        """Refuse values outside the support, naming the first row and column."""
        wrong = ~self.in_support(values)
        if wrong.any():
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            raise InputError(
                f"Row {row + first_row}, column {names[column]!r} holds {values[row, column]!r}, but a {self.name} "
                f"column holds {self.support}. Correct the value, or give the column another family."
            )


def _others_mean(mean: FloatArray, class_weight: FloatArray) -> FloatArray:
    """For each class the weighted mean of the other classes' statistics; its own where it is alone."""
    share = class_weight / class_weight.sum()
    total = np.einsum("jks,k->js", mean, share)[:, None, :]
    rest = 1.0 - share
    with np.errstate(divide="ignore", invalid="ignore"):
        others = (total - share[:, None] * mean) / rest[:, None]
    return np.where(rest[:, None] > 0.0, others, mean)


class _DensityScorer:
    """Scores by the density, class by class: any one-dimensional family."""

    def __init__(self, family: ColumnFamily, params: Params) -> None:
        self.family = family
        self.params = params

    def add(self, block: DenseBlock, out: FloatArray) -> None:
        values = np.asarray(block.numbers, dtype=np.float64)
        for k in range(out.shape[1]):
            scores = self.family.log_prob(values, self.family.take(self.params, np.array(k)))
            if block.missing is not None:
                scores = np.where(block.missing, 0.0, scores)
            out[:, k] += scores.sum(axis=1)


class _StatsTally:
    """Collects the weighted sums of u(x): any one-dimensional family."""

    def __init__(self, family: ColumnFamily, block: Block, n_classes: int) -> None:
        if isinstance(block, SparseBlock):
            raise InputError(f"The {family.name} family reads dense columns; this block is sparse.")
        self.family = family
        self.stats: FloatArray | None = None
        self.weight = np.zeros((block.n_columns, n_classes))

    def add(self, block: DenseBlock, resp: FloatArray) -> None:
        stats = self.family.stats(np.asarray(block.numbers, dtype=np.float64))
        if self.stats is None:
            self.stats = np.zeros((stats.shape[-1], *self.weight.shape))
        if block.missing is None:
            self.weight += resp.sum(axis=0)
        else:
            stats = np.where(block.missing[..., None], 0.0, stats)
            self.weight += (~block.missing).T.astype(np.float64) @ resp
        for component in range(stats.shape[-1]):
            self.stats[component] += stats[..., component].T @ resp

    def add_known(self, block: DenseBlock, codes: CodesArray, weight: FloatArray | None) -> None:
        self.add(block, one_hot(codes, weight, self.weight.shape[1]))

    def statistics(self) -> Sums:
        assert self.stats is not None  # noqa: S101  (every lane has a chunk)
        return Sums({"stats": self.stats, "weight": self.weight})
