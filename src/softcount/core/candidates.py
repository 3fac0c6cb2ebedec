"""The three ways to use rows without a label, as fits of one data set.

``"none"``
    the labeled rows alone, with the model as the user set it up;
``"marginals"``
    the labeled rows, with the prior centered on the columns' overall distributions and rows worth their evidence;
``"full"``
    EM over all rows, with the same prior and evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from softcount._types import BoolArray, CodesArray, FloatArray, IntArray
from softcount.core.chunks import Chunk, Chunks, DistantRows
from softcount.core.crossfit import finite_log_posterior, fit_cooling
from softcount.core.evidence import class_scores
from softcount.core.execute import Executor
from softcount.core.journal import NO_JOURNAL, Journal
from softcount.core.learn import Learned, Plan, learn
from softcount.core.mixture import MixtureModel, MixtureParams, pooled_counts
from softcount.core.patterns import take_rows
from softcount.core.repetition import row_totals, token_correlation, with_evidence
from softcount.families.blocks import Block, CodesBlock, SparseBlock
from softcount.families.columns import PseudoCounts
from softcount.inputs.labels import Labels

__all__ = ["CANDIDATES", "FULL", "GIVEN", "MARGINALS", "NONE", "Candidates", "row_lengths", "usable_rows"]

NONE, MARGINALS, FULL = "none", "marginals", "full"
#: From the lightest use of unlabeled rows to the heaviest.
CANDIDATES = (NONE, MARGINALS, FULL)
#: The model as the user set it up, on all rows, where only its calibration is asked for.
GIVEN = "given"

#: Most rows that a stand-in for labels is made up for.
MOST_ROWS_ANSWERED = 5000
#: Labeled rows are copied together where they are at most this share of all rows.
COPIED_SHARE = 0.25
ROWS_AT_ONCE = 1024

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Candidates:
    """The candidates on one data set.

    Attributes
    ----------
    plain, informed : MixtureModel
        The model for the labeled rows alone, and with its prior centered.
    executor : Executor
    rows : Chunks
        All rows, with their evidence.
    told_plain, told : Chunks
        The rows somebody said something about, without and with their evidence.
    labeled, place : array of shape (n_labeled,)
        The rows of known class, and where they are in ``told``.
    lengths : array of shape (n_labeled,)
        Their sizes.
    plan : Plan
    """

    plain: MixtureModel
    informed: MixtureModel
    executor: Executor
    rows: Chunks
    told_plain: Chunks
    told: Chunks
    labeled: IntArray
    place: IntArray
    lengths: FloatArray
    plan: Plan

    @classmethod
    def prepare(cls, model: MixtureModel, executor: Executor, chunks: Chunks, plan: Plan) -> Candidates:
        """Look at all rows once: their marginals, and how words repeat."""
        pooled = pooled_counts(replace(model, unlabeled_weight=1.0), executor, chunks)
        blocks: list[Block] = []
        for b, (family, block) in enumerate(zip(model.families, chunks.blocks, strict=True)):
            part: Any = pooled.parts[str(b)]
            if family.counts_repetitions:
                total, square = row_totals(block)
                rho = token_correlation(total, square, part["sum"][:, 0], chunks.weight)
                blocks.append(with_evidence(block, total, rho))
            else:
                blocks.append(block)
        informed = replace(model, priors=centered_priors(model, pooled), unlabeled_weight=1.0)
        rows = Chunks(tuple(blocks), chunks.labels, chunks.weight, rows_per_chunk=chunks.rows_per_chunk)
        return cls._of(replace(model, unlabeled_weight=0.0), informed, executor, rows, plan)

    @classmethod
    def as_given(cls, model: MixtureModel, executor: Executor, chunks: Chunks, plan: Plan) -> Candidates:
        """The model as it is, as the only candidate :data:`GIVEN`."""
        return cls._of(model, model, executor, chunks, plan)

    @classmethod
    def _of(
        cls, plain: MixtureModel, informed: MixtureModel, executor: Executor, rows: Chunks, plan: Plan
    ) -> Candidates:
        rows = rows.keep_indexed(plain.n_components)
        assert rows.labels is not None
        labeled = np.flatnonzero((rows.labels.codes >= 0) & usable_rows(rows))
        told, place = _told(rows, labeled)
        bare = Chunks(without_evidence(told.blocks), told.labels, told.weight, rows_per_chunk=told.rows_per_chunk)
        # A few rows at a time: they are copied for it.
        few = [labeled[start : start + ROWS_AT_ONCE] for start in range(0, max(labeled.size, 1), ROWS_AT_ONCE)]
        parts = [row_lengths(plain, tuple(take_rows(block, part) for block in rows.blocks)) for part in few]
        lengths = np.concatenate(parts)
        return cls(plain, informed, executor, rows, bare, told, labeled, place, lengths, plan)

    # ---- what there is
    @property
    def labels(self) -> Labels:
        """Labels of all rows."""
        assert self.rows.labels is not None
        return self.rows.labels

    @property
    def codes(self) -> CodesArray:
        """Classes of the labeled rows."""
        return self.labels.codes[self.labeled]

    @property
    def weight(self) -> FloatArray:
        """Weights of the labeled rows."""
        return np.ones(self.n_labeled) if self.rows.weight is None else self.rows.weight[self.labeled]

    @property
    def unlabeled(self) -> IntArray:
        """The rows nothing is known about."""
        return np.flatnonzero(self.labels.is_unlabeled() & usable_rows(self.rows))

    @property
    def n_labeled(self) -> int:
        """Rows of known class."""
        return int(self.labeled.size)

    @property
    def n_known(self) -> int:
        """Rows of known class, at hand or not."""
        return self.n_labeled

    @property
    def n_unlabeled(self) -> int:
        """Rows nothing is known about."""
        return int(self.unlabeled.size)

    @property
    def told_share(self) -> float:
        """Rows that are passed over to learn from labels alone, as a share of all."""
        return self.told.n_rows / self.rows.n_rows

    def some_codes(self, most: int, rng: np.random.Generator) -> CodesArray:
        """Classes of the labeled rows that may be held out, -1 for the others where there are more than that."""
        if self.n_labeled <= most:
            return self.codes
        considered = rng.choice(self.n_labeled, most, replace=False)
        codes = np.full(self.n_labeled, -1, dtype=np.int32)
        codes[considered] = self.codes[considered]
        return codes

    def held_blocks(self, held: IntArray) -> tuple[Block, ...]:
        """Some of the labeled rows, as they are."""
        return without_evidence(tuple(take_rows(block, self.labeled[held]) for block in self.rows.blocks))

    @property
    def every_class_twice(self) -> bool:
        """Whether every class has two labeled rows, so that each of them can be held out."""
        return bool((np.bincount(self.codes, minlength=self.plain.n_classes) >= 2).all())

    # ---- fits
    def setting(self, name: str) -> tuple[MixtureModel, Chunks]:
        """The model and the rows of a candidate that needs no EM over all rows."""
        return (self.plain, self.told_plain) if name == NONE else (self.informed, self.told)

    def fit(self, name: str, plan: Plan, left_out: IntArray | None = None) -> Learned:
        """Fit a candidate, without some of the labeled rows if asked."""
        if name in (FULL, GIVEN):
            rows = _without(self.rows, self.labeled, left_out)
            return learn(self.informed, self.executor, rows, replace(plan, journal=plan.journal.part(name)))
        init = plan.init if isinstance(plan.init, str) else None
        model, told = self.setting(name)
        plan = replace(plan, init=init, on_step=None, journal=plan.journal.part(name))
        return learn(model, self.executor, _without(told, self.place, left_out), plan)

    def few_passes(
        self, start: list[MixtureParams], n_passes: int, left_out: IntArray, journal: Journal = NO_JOURNAL
    ) -> MixtureParams:
        """EM over all rows but those left out, for some passes: a cold start that knows nothing of their labels.

        The start is taken out of the list, so that its tables need not be kept.
        """
        rows = _without(self.rows, self.labeled, left_out)
        return passes_of_em(self.informed, self.executor, rows, start, n_passes=n_passes, journal=journal)

    def log_posterior(self, params: MixtureParams, blocks: tuple[Block, ...]) -> FloatArray:
        """Log-posteriors of rows as they are: prediction does not discount them, calibration does."""
        chunk = Chunk(0, 0, blocks, None, None, blocks[0].n_rows)
        joint = class_scores(self.plain, self.plain.log_joint(params, chunk))
        log_prior = class_scores(self.plain, params.log_weights[None, :])[0]
        return finite_log_posterior(joint, log_prior)

    def cooling_without_labels(self, full: Learned) -> float:
        """A stand-in where no label can be held out: agree with the marginals' answers on unlabeled rows."""
        marginals = self.fit(MARGINALS, self.plan).fit.params
        blocks, weight = self._some_unlabeled()
        answers = self.log_posterior(marginals, blocks).argmax(axis=1).astype(np.int32)
        del marginals
        scores = self.log_posterior(full.fit.params, blocks)
        return fit_cooling(scores, row_lengths(self.plain, blocks), answers, weight)

    def _some_unlabeled(self) -> tuple[tuple[Block, ...], FloatArray | None]:
        """Evenly spaced rows without a label, and their weights."""
        unlabeled = self.unlabeled
        places = np.linspace(0, unlabeled.size - 1, min(unlabeled.size, MOST_ROWS_ANSWERED)).astype(np.int64)
        rows = unlabeled[places]
        blocks = without_evidence(tuple(take_rows(block, rows) for block in self.rows.blocks))
        return blocks, None if self.rows.weight is None else self.rows.weight[rows]


def passes_of_em(
    model: MixtureModel,
    executor: Executor,
    rows: Any,
    start: list[MixtureParams],
    *,
    n_passes: int,
    journal: Journal = NO_JOURNAL,
) -> MixtureParams:
    """The parameters after some passes of EM.

    Parameters
    ----------
    model, executor, rows
        The model, who runs the passes, and the rows.
    start : list of MixtureParams
        Holds the start alone, which is taken from it, so that its tables need not be kept.
    n_passes : int
    journal : Journal
        Of these passes.
    """
    params, size, done = start.pop(), model.counts_bytes(), 0
    known = journal.recall()
    if known is not None:
        params, done = model.prepared(known["params"]), known["n_passes"]
    for number in range(done, n_passes):
        counts = executor.reduce(partial(model.tally, params), rows, counts_bytes=size)
        # No family asks for the parameters before those that are solved for.
        del params
        params = model.solve(counts)
        del counts
        journal.keep(partial(dict, params=params, n_passes=number + 1), finished=number + 1 == n_passes)
    return params


def centered_priors(model: MixtureModel, pooled: Any) -> tuple[Any, ...]:
    """The model's priors around the columns' overall distributions, but those that the user put somewhere."""
    pairs = enumerate(zip(model.families, model.priors, strict=True))
    return tuple(
        prior if _has_own_center(prior) else family.centered(prior, pooled.parts[str(b)])
        for b, (family, prior) in pairs
    )


def usable_rows(chunks: Chunks) -> BoolArray:
    """Rows with a weight above zero: the others are as good as absent."""
    return np.ones(chunks.n_rows, dtype=bool) if chunks.weight is None else chunks.weight > 0.0


def _has_own_center(prior: Any) -> bool:
    """Whether the user gave pseudo-counts that differ from column to column: then their center is meant."""
    if not isinstance(prior, PseudoCounts):
        return False
    alpha = np.asarray(prior.alpha)
    return prior.other is not None or (alpha.ndim > 1 and bool(np.ptp(alpha, axis=0).any()))


def _told(rows: Chunks, labeled: IntArray) -> tuple[Chunks, IntArray]:
    """The rows somebody said something about, and where the labeled ones are among them.

    Few are copied together. Many stay where they are, beside rows of weight zero whose class then does not matter.
    """
    labels = rows.labels
    assert labels is not None
    is_told = ~labels.is_unlabeled() & usable_rows(rows)
    told = np.flatnonzero(is_told)
    if told.size <= COPIED_SHARE * rows.n_rows:
        blocks = tuple(take_rows(block, told) for block in rows.blocks)
        weight = None if rows.weight is None else rows.weight[told]
        part = Chunks(blocks, labels.take(told), weight, rows_per_chunk=rows.rows_per_chunk)
        return part, np.searchsorted(told, labeled)
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight.copy()
    weight[~is_told] = 0.0
    codes = np.where(labels.is_unlabeled(), np.int32(0), labels.codes)
    labels = Labels(codes, labels.n_classes, labels.factors, labels.factor_row, labels.fixed)
    return Chunks(rows.blocks, labels, weight, rows_per_chunk=rows.rows_per_chunk), labeled


def _without(chunks: Any, places: IntArray, left_out: IntArray | None) -> Any:
    """The rows, some of them with weight zero."""
    if left_out is None:
        return chunks
    if isinstance(chunks, DistantRows):
        return chunks.mapped(partial(_silenced, rows=np.sort(places[left_out])))
    weight = np.ones(chunks.n_rows) if chunks.weight is None else chunks.weight.copy()
    weight[places[left_out]] = 0.0
    return chunks.with_weight(weight)


def _silenced(chunk: Chunk, rows: IntArray) -> Chunk:
    """The chunk, some of whose rows have weight zero."""
    low, high = np.searchsorted(rows, [chunk.start, chunk.start + chunk.n_rows])
    if low == high:
        return chunk
    weight = np.ones(chunk.n_rows) if chunk.weight is None else chunk.weight.copy()
    weight[rows[low:high] - chunk.start] = 0.0
    return replace(chunk, weight=weight)


def without_evidence(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """The rows as they are, not discounted."""
    return tuple(b if isinstance(b, CodesBlock) else replace(b, evidence=None) for b in blocks)


def row_lengths(model: MixtureModel, blocks: tuple[Block, ...]) -> FloatArray:
    """Size of each row: its words in blocks of words, its observed cells in others."""
    total = np.zeros(blocks[0].n_rows)
    for family, block in zip(model.families, blocks, strict=True):
        total += row_totals(block)[0] if family.counts_repetitions else _observed(block)
    return total


def _observed(block: Block) -> FloatArray:
    """Observed cells of each row."""
    if isinstance(block, SparseBlock):
        missing = 0 if block.missing is None else np.diff(block.missing.indptr)
        return np.full(block.n_rows, float(block.n_columns)) - missing
    total = np.full(block.n_rows, float(block.n_columns))
    if isinstance(block, CodesBlock) or block.has_missing:
        for start in range(0, block.n_rows, ROWS_AT_ONCE):
            part = block.rows(start, min(start + ROWS_AT_ONCE, block.n_rows))
            lost = part.codes < 0 if isinstance(part, CodesBlock) else np.isnan(part.values)
            total[start : start + part.n_rows] -= lost.sum(axis=1)
    return total
