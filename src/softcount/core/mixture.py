r"""The generative model: classes, their components, and a family per block of columns.

A row with blocks :math:`x_{i1}, x_{i2}, \dots` has the joint log-density

.. math:: s_{im} = \log\pi_m + \sum_b \log f_{bm}(x_{ib})

under component ``m``; each component belongs to one class. Naive Bayes has one component per class and all labels,
a mixture has no labels, and everything between is the same tally: a known label forbids the components of the other
classes, a set of candidates forbids all classes but those, a row of prior probabilities adds its logarithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softcount import kernels
from softcount._types import FloatArray, IntArray
from softcount.core.chunks import Chunk, Rows
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.membership import Membership, covariates
from softcount.core.one_pass import counted_at_once
from softcount.core.parameters import MixtureParams
from softcount.core.scratch import row_room
from softcount.families._base import Params
from softcount.families.columns import ColumnFamily
from softcount.families.gaussian import Gaussian
from softcount.families.rowwise import fill_rows, sum_of_rows
from softcount.families.statistics import Statistics, Sums
from softcount.inputs.labels import Labels

__all__ = ["MixtureModel", "MixtureParams", "pooled_counts"]

CLASSES = "classes"
#: Counts this large have parameters whose scorers are worth making twice.
BARE_BYTES = 2**20


@dataclass(frozen=True)
class MixtureModel:
    r"""A mixture of products of families, with classes that group the components.

    Attributes
    ----------
    families : tuple of ColumnFamily
        One per block; a block of covariates has a :class:`~softcount.core.membership.Membership`.
    priors : tuple
        One per block, of the class the family asks for.
    groups : integer array of shape (n_components,)
        The class each component belongs to.
    n_classes : int
    class_prior : array of shape (n_classes,) or None
        Fixed class probabilities; ``None`` estimates them.
    class_alpha : float
        Pseudo-rows added to every class when its probability is estimated.
    unlabeled_weight : float
        Factor on the weight of rows about whose class nothing is known.
    temperature : float
        Unlabeled rows enter with the log-density divided by this, as
        :math:`T \log \sum_m e^{s_{im}/T}`: above one their responsibilities are softer.
    """

    families: tuple[ColumnFamily | Membership, ...]
    priors: tuple[Any, ...]
    groups: IntArray
    n_classes: int
    class_prior: FloatArray | None = None
    class_alpha: float = 0.0
    unlabeled_weight: float = 1.0
    temperature: float = 1.0
    table_bytes: int = 0

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.groups.shape[0])

    @property
    def has_single_components(self) -> bool:
        """Whether every class is one component."""
        return self.n_components == self.n_classes

    def by_class(self, table: FloatArray) -> FloatArray:
        """A table with a column per component as one with a row per class: shape (n_classes, n_columns), a copy."""
        if self.has_single_components:
            return table.T.copy(order="C")
        return np.array([table[:, self.groups == k].sum(axis=1) for k in range(self.n_classes)])

    def counts_bytes(self) -> int:
        """Size of one set of counts."""
        return self.table_bytes

    def retreat(self, previous: MixtureParams, proposal: MixtureParams) -> MixtureParams | None:
        """A shorter step of the coefficients of covariates; None without them, for EM never needs one."""
        place = covariates(self)
        if place is None:
            return None
        blocks = list(proposal.blocks)
        blocks[place] = Membership().between(previous.blocks[place], proposal.blocks[place])
        return self.make_params(proposal.log_weights, tuple(blocks))

    def prepared(self, params: MixtureParams) -> MixtureParams:
        """The parameters with their scorers, and solved for again where they were left out."""
        if params.source is not None:
            return self.solve(params.source)
        return params if params.scorers else self.make_params(params.log_weights, params.blocks)

    def lean(self, params: MixtureParams, counts: Counts) -> MixtureParams:
        """The parameters' scorers and their source, where they are several tables that follow from it alone."""
        if self.table_bytes < BARE_BYTES:
            return params
        scorers = []
        for b, (family, scorer) in enumerate(zip(self.families, params.scorers, strict=True)):
            alone = family.scorer_alone(scorer, counts.parts[str(b)])
            if alone is None:
                return params
            scorers.append(alone)
        return MixtureParams(params.log_weights, tuple({} for _ in scorers), tuple(scorers), counts)

    def bare(self, params: MixtureParams) -> MixtureParams:
        """The parameters without their scorers, where these are large: a scorer may hold a table of its own."""
        return params if self.table_bytes < BARE_BYTES else replace(params, scorers=())

    # ---- one pass over some rows
    def tally(self, params: MixtureParams, chunks: Iterable[Chunk]) -> Counts:
        """Expected counts of the rows under ``params``, and their log-likelihood."""
        at_once, chunks = counted_at_once(self.families, params, chunks)
        if at_once is not None:
            return self._counts(at_once.class_weight, [at_once.statistics], float(at_once.log_likelihood[0]))
        n = self.n_components
        collected = None
        class_weight = np.zeros(n)
        objective: Any = 0.0
        for chunk in chunks:
            if collected is None:
                triples = zip(self.families, chunk.blocks, params.blocks, strict=True)
                collected = [family.tally(block, n, p or None) for family, block, p in triples]
            scores = self.log_joint(params, chunk, fitting=True, out=row_room("scores", chunk.n_rows, n))
            objective += self.assign(scores, chunk, params.log_weights)
            class_weight += sum_of_rows(scores)
            for tally, block in zip(collected, chunk.blocks, strict=True):
                tally.add(block, scores)
        assert collected is not None
        return self._counts(class_weight, [t.statistics() for t in collected], objective)

    def tally_given(self, chunks: Sequence[Chunk], resp_of: Any, params: MixtureParams | None = None) -> Counts:
        """Counts under responsibilities that ``resp_of(chunk)`` gives (row weights not yet included)."""
        n = self.n_components
        collected = None
        class_weight = np.zeros(n)
        for chunk in chunks:
            if collected is None:
                # Families that were given no parameters (an empty dictionary) need none.
                before = [None] * len(self.families) if params is None else [p or None for p in params.blocks]
                triples = zip(self.families, chunk.blocks, before, strict=True)
                collected = [family.tally(block, n, p) for family, block, p in triples]
            resp = np.ascontiguousarray(resp_of(chunk))
            weight = self.row_weight(chunk)
            if weight is not None:
                resp = resp * weight[:, None]
            class_weight += sum_of_rows(resp)
            for tally, block in zip(collected, chunk.blocks, strict=True):
                tally.add(block, resp)
        assert collected is not None
        return self._counts(class_weight, [t.statistics() for t in collected], 0.0)

    def tally_known(self, chunks: Sequence[Chunk]) -> Counts:
        """Counts of the rows whose class is known, one component per class: no parameters needed."""
        n = self.n_components
        collected = None
        class_weight = np.zeros(n)
        for chunk in chunks:
            if collected is None:
                collected = [f.tally(b, n) for f, b in zip(self.families, chunk.blocks, strict=True)]
            assert chunk.labels is not None
            class_weight += chunk.labels.class_totals(chunk.weight)
            for tally, block in zip(collected, chunk.blocks, strict=True):
                tally.add_known(block, chunk.labels.codes, chunk.weight)
        assert collected is not None
        return self._counts(class_weight, [t.statistics() for t in collected], 0.0)

    def _counts(self, class_weight: FloatArray, statistics: list[Statistics], objective: float) -> Counts:
        parts: dict[str, Statistics] = {str(b): s for b, s in enumerate(statistics)}
        return Counts({CLASSES: Sums({"weight": class_weight})} | parts, objective)

    # ---- scores and responsibilities of one chunk
    def log_joint(
        self, params: MixtureParams, chunk: Chunk, *, fitting: bool = False, out: FloatArray | None = None
    ) -> FloatArray:
        """``log pi_m + log f_m(x_i)``, into ``out`` where it is given; with the variance floors' share when fitting."""
        scores = np.empty((chunk.n_rows, self.n_components)) if out is None else out
        fill_rows(scores, params.log_weights)
        for b, block in enumerate(chunk.blocks):
            params.scorers[b].add(block, scores)
            if fitting:
                penalty = self.families[b].penalty(params.blocks[b], self.priors[b])
                if penalty is not None:
                    scores += _penalty_rows(penalty, block)
        return scores

    def row_weight(self, chunk: Chunk) -> FloatArray | None:
        """Weights of the rows, those of unlabeled rows multiplied by ``unlabeled_weight``."""
        if self.unlabeled_weight == 1.0 or chunk.labels is None:
            return chunk.weight
        weight = np.ones(chunk.n_rows) if chunk.weight is None else chunk.weight.copy()
        weight[chunk.labels.is_unlabeled()] *= self.unlabeled_weight
        return weight

    def assign(self, scores: FloatArray, chunk: Chunk, log_weights: FloatArray) -> Any:
        """Turn scores into weighted responsibilities in place, and return the rows' log-likelihood, a number."""
        labels = chunk.labels
        weight = self.row_weight(chunk)
        if labels is None:
            return kernels.normalize_rows(scores, weight, log_weights, None)
        known = np.flatnonzero(labels.codes >= 0)
        if known.size:
            scores[known] += self._forbidden()[labels.codes[known]]
        fixed_rows, fixed_share = None, 0.0
        if labels.factors is not None and labels.factor_row is not None:
            rows = np.flatnonzero(labels.factor_row >= 0)
            factors = labels.factors[labels.factor_row[rows]][:, self.groups]
            if labels.fixed:
                fixed_rows, fixed_share = rows, self._keep_responsibilities(scores, rows, factors, weight)
            else:
                with np.errstate(divide="ignore"):
                    scores[rows] += np.log(factors)
        hot = self.temperature != 1.0
        unlabeled = np.flatnonzero(labels.is_unlabeled()) if hot else None
        if hot:
            scores[unlabeled] /= self.temperature
        log_norm = row_room("log_norm", chunk.n_rows, 1)[:, 0]
        kept = None if fixed_rows is None else scores[fixed_rows].copy()
        objective = kernels.normalize_rows(scores, weight, log_weights, log_norm)
        if fixed_rows is not None and kept is not None:
            scores[fixed_rows] = kept
        if hot or fixed_rows is not None or not np.isfinite(objective):
            objective = self._objective(log_norm, weight, unlabeled, fixed_rows) + fixed_share
            self._mend_labeled(scores, log_norm, labels, weight, log_weights)
        return objective

    def _forbidden(self) -> FloatArray:
        """(n_classes, n_components): zero for the class's own components, minus infinity for the others."""
        return np.where(np.arange(self.n_classes)[:, None] == self.groups, 0.0, -np.inf)

    def _keep_responsibilities(
        self, scores: FloatArray, rows: IntArray, factors: FloatArray, weight: FloatArray | None
    ) -> float:
        """Overwrite the rows' scores by their given responsibilities; return their share of the objective."""
        w = np.ones(rows.shape[0]) if weight is None else weight[rows]
        total = 0.0
        for k in range(self.n_classes):
            members = np.flatnonzero(self.groups == k)
            share = factors[:, members[0]]
            log_class = np.logaddexp.reduce(scores[np.ix_(rows, members)], axis=1)
            with np.errstate(invalid="ignore"):
                within = np.exp(scores[np.ix_(rows, members)] - log_class[:, None])
            within = np.where(np.isfinite(log_class)[:, None], within, 1.0 / members.size)
            used = (share > 0.0) & (w > 0.0)
            total += float(np.sum((w * share * log_class)[used])) if used.any() else 0.0
            scores[np.ix_(rows, members)] = (w * share)[:, None] * within
        return total

    def _objective(self, log_norm: FloatArray, weight: FloatArray | None, hot_rows: Any, fixed_rows: Any) -> float:
        log_norm = log_norm.copy()
        if hot_rows is not None:
            log_norm[hot_rows] *= self.temperature
        if fixed_rows is not None:
            log_norm[fixed_rows] = 0.0
        if weight is None:
            return float(log_norm.sum())
        counted = weight > 0.0
        return float(weight[counted] @ log_norm[counted])

    def _mend_labeled(
        self,
        resp: FloatArray,
        log_norm: FloatArray,
        labels: Labels,
        weight: FloatArray | None,
        log_weights: FloatArray,
    ) -> None:
        """A row that every class its label allows calls impossible still belongs to those classes."""
        rows = np.flatnonzero(np.isneginf(log_norm) & ~labels.is_unlabeled())
        if labels.fixed and labels.factor_row is not None:
            rows = rows[labels.factor_row[rows] < 0]
        if rows.size == 0:
            return
        allowed = (labels.codes[rows, None] == self.groups).astype(np.float64)
        if labels.factors is not None and labels.factor_row is not None:
            partly = np.flatnonzero(labels.factor_row[rows] >= 0)
            allowed[partly] = labels.factors[labels.factor_row[rows[partly]]][:, self.groups]
        share = allowed * np.exp(log_weights)
        total = share.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            share = np.where(total > 0.0, share / total, allowed / allowed.sum(axis=1, keepdims=True))
        resp[rows] = share if weight is None else share * weight[rows, None]

    # ---- parameters
    def make_params(self, log_weights: FloatArray, blocks: tuple[Params, ...]) -> MixtureParams:
        """Parameters with their scorers prepared."""
        scorers = tuple(f.scorer(p) for f, p in zip(self.families, blocks, strict=True))
        return MixtureParams(log_weights, blocks, scorers)

    def solve(self, counts: Counts, previous: MixtureParams | None = None) -> MixtureParams:
        """The parameters that maximize the expected log-likelihood plus log-prior."""
        before = [None] * len(self.families) if previous is None else [block or None for block in previous.blocks]
        blocks = tuple(
            family.solve(counts.parts[str(b)], prior, before[b])
            for b, (family, prior) in enumerate(zip(self.families, self.priors, strict=True))
        )
        class_part: Any = counts.parts[CLASSES]
        return self.make_params(self.solve_weights(class_part["weight"]), blocks)

    def solve_weights(self, weight: FloatArray) -> FloatArray:
        """Log-weights of the components: class probabilities times the components' shares within their class."""
        per_class = np.bincount(self.groups, weight, minlength=self.n_classes)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.class_prior is not None:
                log_class = np.log(self.class_prior)
            else:
                smoothed = per_class + self.class_alpha
                total = smoothed.sum()
                # Without any weight the class probabilities are equal.
                log_class = (
                    np.log(smoothed) - np.log(total)
                    if total > 0.0
                    else np.log(np.full(self.n_classes, 1.0 / self.n_classes))
                )
            if self.has_single_components:
                return log_class[self.groups]
            size = np.bincount(self.groups, minlength=self.n_classes)[self.groups]
            parent = per_class[self.groups]
            within = np.where(parent > 0.0, weight / np.where(parent > 0.0, parent, 1.0), 1.0 / size)
            return np.asarray(log_class[self.groups] + np.log(within))

    def log_prior(self, params: MixtureParams) -> float:
        """Log-prior of the parameters, up to a constant."""
        total = 0.0
        for family, prior, block in zip(self.families, self.priors, params.blocks, strict=True):
            total += family.log_prior(block, prior)
        if self.class_prior is None and self.class_alpha > 0.0:
            of_class = (params.log_weights[self.groups == k] for k in range(self.n_classes))
            total += self.class_alpha * float(sum(map(np.logaddexp.reduce, of_class)))
        return total

    def n_parameters(self, params: MixtureParams) -> int:
        """Free parameters: the families', and the component weights'."""
        free = sum(f.n_parameters(p) for f, p in zip(self.families, params.blocks, strict=True))
        weights = self.n_components - (self.n_classes if self.class_prior is not None else 1)
        return free + weights

    def anchored(self, executor: Executor, chunks: Rows) -> MixtureModel:
        """The model with every prior that takes its place from the data put in place, by one pass over all rows."""
        waiting = [f.needs_anchor(p) for f, p in zip(self.families, self.priors, strict=True)]
        if not any(waiting):
            return self
        counts = pooled_counts(self, executor, chunks)
        priors = tuple(
            family.anchored(prior, counts.parts[str(b)]) if wait else prior
            for b, (family, prior, wait) in enumerate(zip(self.families, self.priors, waiting, strict=True))
        )
        return replace(self, priors=priors)


def pooled_counts(model: MixtureModel, executor: Executor, chunks: Rows) -> Counts:
    """Counts of all rows taken as one class; full Gaussians are counted as diagonal ones."""
    lookers = tuple(_looker(family) for family in model.families)
    pooled = replace(model, families=lookers, groups=np.zeros(1, dtype=np.int64), n_classes=1, class_prior=None)
    return executor.reduce(lambda lane: pooled.tally_given(lane, lambda chunk: np.ones((chunk.n_rows, 1))), chunks)


def _looker(family: ColumnFamily | Membership) -> ColumnFamily | Membership:
    """The family to look at the data with before anything is known: full Gaussians start with the diagonal."""
    return family if family.counts_incomplete_rows else Gaussian()


def _penalty_rows(penalty: FloatArray, block: Any) -> FloatArray:
    """The penalty of every row: per class, or per observed cell and class."""
    if penalty.ndim == 1:
        return penalty
    if not block.has_missing:
        return np.asarray(penalty.sum(axis=0))
    return np.asarray((~block.missing).astype(np.float64) @ penalty)
