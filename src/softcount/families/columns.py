"""How a family models a block of columns, one distribution per column and class.

:class:`ColumnFamily` does it for any one-dimensional family through its density and its sufficient
statistic; families whose score is linear in the data (:mod:`softcount.families.linear`), the Gaussian and
the categorical family replace the slow parts by kernels. Four objects take part in a pass over the rows:

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
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import CodesArray, FloatArray, IntArray
from softcount.families._base import Family, Params, inner
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.families.statistics import Statistics, Sums

__all__ = ["BlockTally", "ColumnFamily", "PseudoCounts", "Scorer", "one_hot", "weighted_sum"]


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

    Solving with it gives the mean of the conjugate posterior whose prior counts are ``alpha``, which is
    also the mode under prior counts one larger; :mod:`softcount.families.priors` states both and converts.

    Attributes
    ----------
    alpha : array broadcastable to (n_features, n_classes)
        For a Bernoulli column the pseudo-observations of 1, for a categorical or multinomial one those of
        each value or word, for other families pseudo-rows whose statistics are the column's overall mean.
    other : array or None
        For a Bernoulli column the pseudo-observations of 0; ``None`` means as many as of 1.
    center : array of shape (n_features, n_stats) or None
        The statistics of a pseudo-row, where the family needs them (see :meth:`ColumnFamily.anchored`); may
        have one row for all columns.
    """

    alpha: FloatArray
    other: FloatArray | None = None
    center: FloatArray | None = None

    def take(self, classes: IntArray) -> PseudoCounts:
        """The prior of the given classes, in that order."""

        def pick(array: FloatArray | None) -> FloatArray | None:
            return array if array is None or array.ndim < 2 or array.shape[-1] == 1 else array[..., classes]

        alpha = pick(np.asarray(self.alpha))
        assert alpha is not None
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
    #: Whether incomplete rows can be counted before there are parameters to guess the missing cells by.
    counts_incomplete_rows = True
    #: Whether the family reads sparse blocks.
    reads_sparse = False
    #: Whether a row is a bag of repeatable events, whose repetitions are worth less than as many different rows.
    counts_repetitions = False
    #: The class of prior that :meth:`solve` takes.
    prior_class: ClassVar[type[Any]] = PseudoCounts

    @abstractmethod
    def standard(self) -> Params:
        """A plain member of the family: what a column without a single observed value gets."""

    # ---- the density of rows ------------------------------------------------------------------------------
    def scorer(self, params: Params) -> Scorer:
        """Tables prepared for scoring blocks under ``params``."""
        return _DensityScorer(self, params)

    def scorer_alone(self, scorer: Any, statistics: Any) -> Scorer | None:
        """What rows are scored by while the parameters, several tables that ``statistics`` determine, are left out.

        None where parameters are small, have no source but themselves, or are needed for counting.
        """
        return None

    def row_base(self, block: Block) -> FloatArray | None:
        r"""Class-independent :math:`\sum_j \log h(x_{ij})` that the scorer leaves out, or None."""
        return None

    # ---- counting -----------------------------------------------------------------------------------------
    def tally(self, block: Block, n_classes: int, params: Params | None = None) -> BlockTally:
        """An empty tally for blocks like ``block``; ``params`` gave the responsibilities, if anything did."""
        return _StatsTally(self, block, n_classes)

    # ---- solving ------------------------------------------------------------------------------------------
    def solve(self, statistics: Any, prior: Any, previous: Params | None = None) -> Params:
        r"""Parameters that maximize the expected log-likelihood plus log-prior of ``statistics``.

        .. math:: E_{jk}[u] = \frac{\sum_i r_{ik} u(x_{ij}) + \alpha \bar u_j}{w_{jk} + \alpha}

        with :class:`PseudoCounts`: the averaged statistics are those of the data and of ``alpha``
        pseudo-rows. A class without any weight in a column takes the overall mean (the limit of ever
        smaller ``alpha``).
        """
        prior = self.anchored(prior, statistics.pooled())
        total, weight = _stats_and_weight(statistics)
        center = prior.center[:, None, :]
        alpha = np.broadcast_to(prior.alpha, weight.shape)[..., None]
        mass = weight[..., None] + alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(mass > 0.0, (total + alpha * center) / mass, center)
        return self.from_mean_stats(self.inside(mean, center))

    def inside(self, mean: FloatArray, center: FloatArray) -> FloatArray:
        """``mean`` moved to where the family has a member, where only the overall mean can tell how far."""
        return mean

    def anchored(self, prior: Any, pooled: Any) -> Any:
        """The prior with its pseudo-rows at the overall mean of the statistics, if it has no place yet.

        A column without any observed value is given the mean of the :meth:`standard` member.
        """
        if prior.center is not None:
            return prior
        total, weight = (array[:, 0] for array in _stats_and_weight(pooled))
        observed = weight[:, None] > 0.0
        mean = total / np.where(observed, weight[:, None], 1.0)
        return replace(prior, center=np.where(observed, mean, self.mean_stats(self.standard())))

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
        inside = inner(prior.center[:, None, :], natural) - self.log_normalizer(natural)
        alpha = np.broadcast_to(prior.alpha, inside.shape)
        return float(np.sum(np.where(alpha > 0.0, alpha * inside, 0.0)))

    def penalty(self, params: Params, prior: Any) -> FloatArray | None:
        """What fitting adds to the log-density of each row (or cell) in a class, or None: never positive.

        Shape (n_classes,) for rows or (n_columns, n_classes) for observed cells. Variance floors are such
        penalties.
        """
        return None

    # ---- bookkeeping --------------------------------------------------------------------------------------
    def n_parameters(self, params: Params) -> int:
        """Free parameters: all of them, unless a family says otherwise."""
        return sum(array.size for array in params.values())

    def take(self, params: Params, classes: IntArray) -> Params:
        """Parameters of the given classes, in that order."""
        return {name: array[..., classes] for name, array in params.items()}

    def draw(self, params: Params, codes: CodesArray, rng: np.random.Generator) -> NDArray[Any]:
        """Rows drawn from the classes ``codes``, shape (n_rows, n_columns)."""
        per_row = {name: np.moveaxis(array[..., codes], -1, 0) for name, array in params.items()}
        return self.sample(per_row, rng)

    def column_scores(self, params: Params, block: Any, weights: FloatArray) -> tuple[Any, FloatArray]:
        r"""Evidence per cell, :math:`\sum_k a_{ik} \log p(x_{ij} \mid k)`, and per row what has no cell.

        A cell that is impossible under two classes with opposite :math:`a_{ik}` says nothing about them:
        zero.

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
            cells[chosen] = opposed(cells[chosen], weights[chosen, k, None] * scores)
        if block.missing is not None:
            cells[block.missing] = 0.0
        return cells, np.zeros(values.shape[0])

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        r"""How much each column speaks for each class: signed divergence from the other classes.

        The value is the divergence :math:`\mathrm{KL}(p_{jk} \,\|\, \bar p_{j,-k})` from the member of the
        family that has the other classes' average statistics, negative where the column's first statistic
        is lower than theirs.
        """
        mean = self.mean_stats(params)
        rest = np.moveaxis(others_mean(np.moveaxis(mean, -1, 0), class_weight), 0, -1)
        divergence = self.kl(params, self.from_mean_stats(self.inside(rest, mean)))
        return np.asarray(np.where(mean[..., 0] >= rest[..., 0], divergence, -divergence))

    def linear_form(self, params: Params) -> tuple[FloatArray, FloatArray] | None:
        """Coefficients (n_columns, n_classes) and intercepts if the score is affine in x, else None."""
        return None

    def check_values(self, values: NDArray[Any], names: list[str], first_row: int = 0) -> None:
        """Refuse values outside the support, naming the first row and column."""
        wrong = ~self.in_support(values)
        if wrong.any():
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            raise InputError(
                f"Row {row + first_row}, column {names[column]!r} holds {values[row, column].item()!r}, but a "
                f"{self.name} column holds {self.support}. Correct the value, or give the column another "
                "family."
            )


def weighted_sum(weight: FloatArray, logs: FloatArray) -> float:
    """The sum of ``weight * logs``, zero times minus infinity being zero."""
    weight = np.asarray(weight)
    if weight.min(initial=1.0) > 0.0:
        return float(weight.item() * logs.sum() if weight.size == 1 else np.sum(weight * logs))
    weight = np.broadcast_to(weight, logs.shape)
    with np.errstate(invalid="ignore"):
        return float(np.where(weight > 0.0, weight * logs, 0.0).sum())


def others_mean(table: FloatArray, class_weight: FloatArray) -> FloatArray:
    """For each class the weighted mean of the other classes' columns of ``table``; its own if it is alone.

    Sums over the others, instead of taking the class's own share from a total, keep exact zeros and every
    digit.
    """
    share = np.repeat(np.asarray(class_weight, dtype=np.float64)[:, None], len(class_weight), axis=1)
    np.fill_diagonal(share, 0.0)
    total = share.sum(axis=0)
    alone = total <= 0.0
    share[:, alone] = np.eye(len(class_weight))[:, alone]
    return np.asarray(table @ (share / np.where(alone, 1.0, total)))


def opposed(evidence: FloatArray, more: FloatArray) -> FloatArray:
    """The sum of two pieces of evidence, zero where they are infinite and opposed."""
    with np.errstate(invalid="ignore"):
        total = evidence + more
    return np.where(np.isnan(total), 0.0, total)


def _stats_and_weight(statistics: Any) -> tuple[FloatArray, FloatArray]:
    """Summed statistics (n_columns, n_classes, n_stats) and their weight (n_columns, n_classes)."""
    return np.moveaxis(statistics["stats"], 0, -1), statistics["weight"]


class _DensityScorer:
    r"""Scores by the density: any one-dimensional family.

    :math:`\sum_j \eta_{jk}^\top u(x_{ij}) - A_{jk}` is one matrix product for all classes. Where its terms are so large
    that they would cancel (very narrow distributions), the class is scored by the family's own ``log_prob``.
    """

    #: Terms up to this size keep ten digits after the point.
    LARGEST_TERM = 1e5

    def __init__(self, family: ColumnFamily, params: Params) -> None:
        self.family = family
        self.params = params
        natural = family.natural(params)
        normalizer = family.log_normalizer(natural)
        with np.errstate(invalid="ignore"):
            size = np.abs(natural * family.mean_stats(params)).sum(axis=-1) + np.abs(normalizer)
        steady = (size <= self.LARGEST_TERM).all(axis=0)
        self.steady, self.narrow = np.flatnonzero(steady), np.flatnonzero(~steady)
        self.slopes = np.ascontiguousarray(np.moveaxis(natural[:, self.steady], -1, 0))
        self.constants = -normalizer[:, self.steady]

    def add(self, block: DenseBlock, out: FloatArray) -> None:
        values = np.asarray(block.numbers, dtype=np.float64)
        if self.steady.size:
            out[:, self.steady] += self._products(values, block)
        for k in self.narrow:
            scores = self.family.log_prob(values, self.family.take(self.params, np.array(k)))
            if block.missing is not None:
                scores = np.where(block.missing, 0.0, scores)
            out[:, k] += scores.sum(axis=1)

    def _products(self, values: FloatArray, block: DenseBlock) -> FloatArray:
        known = self.family.in_support(values)
        if block.missing is not None:
            known = known & ~block.missing
        is_whole = bool(known.all())
        safe = values if is_whole else np.where(known, values, self.family.inner_point)
        stats, base = self.family.stats(safe), self.family.log_base(safe)
        if is_whole:
            total = np.repeat(self.constants.sum(axis=0)[None, :], len(values), axis=0)
        else:
            stats = np.where(known[..., None], stats, 0.0)
            impossible = -np.inf if block.missing is None else np.where(block.missing, 0.0, -np.inf)
            base = np.where(known, base, impossible)
            total = known.astype(np.float64) @ self.constants
        for component, slopes in enumerate(self.slopes):
            total += stats[..., component] @ slopes
        total += base.sum(axis=1)[:, None]
        return np.asarray(total)


class _StatsTally:
    """Collects the weighted sums of u(x): any one-dimensional family."""

    def __init__(self, family: ColumnFamily, block: Block, n_classes: int) -> None:
        if isinstance(block, SparseBlock):
            raise InputError(
                f"The {family.name} family reads dense columns; this block is sparse. Use X.toarray() or "
                "give these columns a family that reads sparse ones (bernoulli, multinomial, poisson)."
            )
        self.family = family
        n_stats = family.stats(np.full((1, 1), family.inner_point)).shape[-1]
        self.stats = np.zeros((n_stats, block.n_columns, n_classes))
        self.weight = np.zeros((block.n_columns, n_classes))

    def add(self, block: DenseBlock, resp: FloatArray) -> None:
        values = np.asarray(block.numbers, dtype=np.float64)
        if block.missing is None:
            self.weight += resp.sum(axis=0)
            stats = self.family.stats(values)
        else:
            self.weight += (~block.missing).T.astype(np.float64) @ resp
            stats = self.family.stats(np.where(block.missing, self.family.inner_point, values))
            stats = np.where(block.missing[..., None], 0.0, stats)
        for component in range(stats.shape[-1]):
            self.stats[component] += stats[..., component].T @ resp

    def add_known(self, block: DenseBlock, codes: CodesArray, weight: FloatArray | None) -> None:
        self.add(block, one_hot(codes, weight, self.weight.shape[1]))

    def statistics(self) -> Sums:
        return Sums({"stats": self.stats, "weight": self.weight}, signed=frozenset({"stats"}))
