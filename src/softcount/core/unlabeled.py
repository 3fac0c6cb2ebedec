"""How to use rows without a label, decided from the data: not at all, for the marginals, or by EM.

Plain EM from a few labels often goes wrong: the uniform prior of ``alpha`` drowns the labeled counts of a wide table,
and long documents make every posterior certain. Two closed-form pieces mend that, and a cross-validated choice guards it:

(a) the prior keeps its mass but is centered on each column's overall distribution, which unlabeled rows know as well;
(b) a row of words counts as the independent evidence it holds (:mod:`softcount.core.repetition`);
(c) three candidates are compared by the Brier score of cross-fitted, cooled posteriors of the labeled rows:
    ``"none"`` (the labeled rows alone), ``"marginals"`` (the labeled rows with (a) and (b)) and ``"full"`` (EM with (a)
    and (b)); a tie within a quarter of a standard error goes to the candidate that leans less on unlabeled rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softcount._types import CodesArray, FloatArray, IntArray
from softcount.core.chunks import Chunk, Chunks
from softcount.core.crossfit import brier, cool, finite_log_posterior, fit_cooling, folds
from softcount.core.evidence import class_scores
from softcount.core.execute import Executor
from softcount.core.iterate import Stopping
from softcount.core.learn import Learned, Plan, learn
from softcount.core.mixture import MixtureModel, MixtureParams, pooled_counts
from softcount.core.repetition import row_totals, token_correlation, with_evidence
from softcount.core.verdict import Verdict, no_evidence, weigh_up
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock

__all__ = ["CANDIDATES", "GIVEN", "Choice", "HeldOut", "can_choose", "choose", "held_out_as_given", "row_lengths"]

CANDIDATES = ("none", "marginals", "full")
#: The model as the user set it up, where only its calibration is asked for.
GIVEN = "given"
N_FOLDS = 5
N_REPEATS = 2
#: Iterations of EM in a fold, as a share of those of the whole fit.
FOLD_SHARE = 0.35
#: Standard errors by which a candidate has to be better than a lighter one.
MARGIN = 0.25
#: Most labeled rows that are held out: more add nothing to the comparison but cost.
MOST_HELD_OUT = 5000


@dataclass(frozen=True)
class Choice:
    """What was chosen, and how it compares.

    Attributes
    ----------
    use : {"none", "marginals", "full"}
    learned : Learned
        The chosen fit.
    cooling : float
        Correlation of a row's evidence that makes the cross-fitted posteriors best, for calibration.
    verdict : Verdict
    held_out : HeldOut
        Cross-fitted log-posteriors of labeled rows under the chosen candidate.
    """

    use: str
    learned: Learned
    cooling: float
    verdict: Verdict
    held_out: HeldOut


@dataclass(frozen=True)
class HeldOut:
    """Cross-fitted log-posteriors of labeled rows, candidate by candidate.

    Attributes
    ----------
    rows : array of shape (n_held,)
        Positions among the labeled rows, once per repeat.
    codes, length : array of shape (n_held,)
        Classes, and sizes of the rows (words, or observed cells).
    log_posterior : dict of candidate -> array of shape (n_held, n_classes)
    """

    rows: IntArray
    codes: CodesArray
    length: FloatArray
    log_posterior: dict[str, FloatArray]


def can_choose(model: MixtureModel, chunks: Chunks) -> bool:
    """Whether there is a choice: rows without a label, and labeled rows in every class."""
    labels = chunks.labels
    if labels is None or not labels.is_unlabeled().any():
        return False
    usable = labels.codes if chunks.weight is None else labels.codes[chunks.weight > 0.0]
    return bool((np.bincount(usable[usable >= 0], minlength=model.n_classes) > 0).all())


def row_lengths(model: MixtureModel, blocks: tuple[Block, ...]) -> FloatArray:
    """Size of each row: its words in blocks of words, its observed cells in others."""
    total = np.zeros(blocks[0].n_rows)
    for family, block in zip(model.families, blocks, strict=True):
        total += row_totals(block)[0] if family.counts_repetitions else _observed(block)
    return total


def _observed(block: Block) -> FloatArray:
    if isinstance(block, CodesBlock):
        return np.asarray((block.codes >= 0).sum(axis=1), dtype=np.float64)
    if isinstance(block, DenseBlock) and block.missing is not None:
        return np.asarray((~block.missing).sum(axis=1), dtype=np.float64)
    return np.full(block.n_rows, float(block.n_columns))


def choose(model: MixtureModel, executor: Executor, chunks: Chunks, plan: Plan) -> Choice:
    """Fit, and decide how the rows without a label are used.

    Parameters
    ----------
    model : MixtureModel
        The model as for the labeled rows alone.
    executor, chunks, plan
        Who runs passes, all rows, and how to search.
    """
    study = _Study.prepare(model, executor, chunks, plan)
    full = study.fit("full", None, plan)
    held_out = study.cross_fit(max(1, math.floor(FOLD_SHARE * full.fit.n_iter)))
    cooling = {
        name: fit_cooling(scores, held_out.length, held_out.codes) for name, scores in held_out.log_posterior.items()
    }
    use = _choose(study, held_out, cooling)
    learned = full if use == "full" else study.fit(use, None, plan)
    if held_out.codes.size:
        verdict = weigh_up(
            held_out,
            cooling,
            use,
            n_labeled=study.n_labeled,
            n_unlabeled=study.n_unlabeled,
            every_class_twice=study.every_class_twice,
        )
        rho = cooling[use]
    else:
        verdict = no_evidence(use, study.n_labeled, study.n_unlabeled)
        rho = study.cooling_without_labels(full)
    return Choice(use, learned, rho, verdict, held_out)


def held_out_as_given(model: MixtureModel, executor: Executor, chunks: Chunks, plan: Plan, n_iter: int) -> HeldOut:
    """Cross-fitted log-posteriors of the labeled rows under the model as it is, for calibration."""
    assert chunks.labels is not None
    labeled = _labeled_rows(chunks)
    lengths = row_lengths(model, take_rows(chunks.blocks, labeled))
    study = _Study(model, model, executor, chunks.keep_indexed(), labeled, lengths, plan)
    return study.cross_fit(max(1, n_iter), (GIVEN,))


def _choose(study: _Study, held_out: HeldOut, cooling: dict[str, float]) -> str:
    """The lightest candidate that no heavier one beats by more than the margin."""
    if held_out.codes.size == 0:
        return "full"
    score = {
        name: brier(cool(held_out.log_posterior[name], held_out.length, cooling[name]), held_out.codes)
        for name in CANDIDATES
    }
    order = CANDIDATES if study.every_class_twice else CANDIDATES[1:]
    current = order[0]
    for name in order[1:]:
        gain = _by_row(score[current] - score[name], held_out.rows)
        if gain.mean() > MARGIN * gain.std() / math.sqrt(gain.size):
            current = name
    return current


def _by_row(values: FloatArray, rows: IntArray) -> FloatArray:
    """Means over the repeats of each row."""
    _, place, count = np.unique(rows, return_inverse=True, return_counts=True)
    return np.asarray(np.bincount(place, values) / count)


@dataclass(frozen=True)
class _Study:
    """The three candidates on one data set."""

    plain: MixtureModel
    informed: MixtureModel
    executor: Executor
    chunks: Chunks
    labeled: IntArray
    lengths: FloatArray
    plan: Plan

    @classmethod
    def prepare(cls, model: MixtureModel, executor: Executor, chunks: Chunks, plan: Plan) -> _Study:
        """Look at all rows once: their marginals, and how words repeat."""
        plain = replace(model, unlabeled_weight=0.0)
        pooled = pooled_counts(replace(model, unlabeled_weight=1.0), executor, chunks)
        priors: list[Any] = []
        blocks: list[Block] = []
        for b, (family, prior, block) in enumerate(zip(model.families, model.priors, chunks.blocks, strict=True)):
            part: Any = pooled.parts[str(b)]
            priors.append(family.centered(prior, part))
            if family.counts_repetitions:
                total, square = row_totals(block)
                rho = token_correlation(total, square, part["sum"][:, 0], chunks.weight)
                blocks.append(with_evidence(block, total, rho))
            else:
                blocks.append(block)
        informed = replace(model, priors=tuple(priors), unlabeled_weight=1.0)
        discounted = Chunks(tuple(blocks), chunks.labels, chunks.weight, rows_per_chunk=chunks.rows_per_chunk)
        assert chunks.labels is not None
        labeled = _labeled_rows(chunks)
        lengths = row_lengths(model, take_rows(chunks.blocks, labeled))
        return cls(plain, informed, executor, discounted.keep_indexed(), labeled, lengths, plan)

    @property
    def codes(self) -> CodesArray:
        assert self.chunks.labels is not None
        return self.chunks.labels.codes[self.labeled]

    @property
    def n_labeled(self) -> int:
        return int(self.labeled.size)

    @property
    def n_unlabeled(self) -> int:
        assert self.chunks.labels is not None
        return int(self.chunks.labels.is_unlabeled().sum())

    @property
    def every_class_twice(self) -> bool:
        return bool((np.bincount(self.codes, minlength=self.plain.n_classes) >= 2).all())

    def fit(self, name: str, left_out: IntArray | None, plan: Plan) -> Learned:
        """Fit a candidate, without some of the labeled rows if asked."""
        if name in ("full", GIVEN):
            weight = self.chunks.weight
            if left_out is not None:
                weight = np.ones(self.chunks.n_rows) if weight is None else weight.copy()
                weight[self.labeled[left_out]] = 0.0
            return learn(self.informed, self.executor, self.chunks.with_weight(weight), plan)
        assert self.chunks.labels is not None
        spoken = ~self.chunks.labels.is_unlabeled()
        if left_out is not None:
            spoken[self.labeled[left_out]] = False
        rows = np.flatnonzero(spoken)
        blocks = take_rows(self.chunks.blocks, rows, keep_evidence=name == "marginals")
        weight = None if self.chunks.weight is None else self.chunks.weight[rows]
        part = Chunks(blocks, self.chunks.labels.take(rows), weight, rows_per_chunk=self.chunks.rows_per_chunk)
        return learn(self.plain if name == "none" else self.informed, self.executor, part, plan)

    def cross_fit(self, fold_iterations: int, names: tuple[str, ...] = CANDIDATES) -> HeldOut:
        """Log-posteriors of labeled rows under candidates fitted without them."""
        rng = np.random.default_rng(0 if self.plan.seed is None else self.plan.seed)
        considered = self._considered(rng)
        codes = np.full(self.n_labeled, -1, dtype=np.int32)
        codes[considered] = self.codes[considered]
        stopping = Stopping(fold_iterations, self.plan.stopping.tol)
        plan = replace(self.plan, stopping=stopping, on_step=None, n_init=1)
        rows: list[IntArray] = []
        scores: dict[str, list[FloatArray]] = {name: [] for name in names}
        for parts in folds(codes, N_FOLDS, N_REPEATS, rng):
            for held in parts:
                if held.size == 0:
                    continue
                blocks = take_rows(self.chunks.blocks, self.labeled[held])
                for name in names:
                    learned = self.fit(name, held, plan)
                    scores[name].append(self._log_posterior(learned.fit.params, blocks))
                rows.append(held)
        empty = np.empty((0, self.plain.n_classes))
        joined = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        return HeldOut(
            joined,
            self.codes[joined],
            self.lengths[joined],
            {name: np.concatenate(parts) if parts else empty for name, parts in scores.items()},
        )

    def _considered(self, rng: np.random.Generator) -> IntArray:
        if self.n_labeled <= MOST_HELD_OUT:
            return np.arange(self.n_labeled)
        return np.sort(rng.choice(self.n_labeled, MOST_HELD_OUT, replace=False))

    def _log_posterior(self, params: MixtureParams, blocks: tuple[Block, ...]) -> FloatArray:
        chunk = Chunk(0, 0, blocks, None, None, blocks[0].n_rows)
        joint = class_scores(self.plain, self.plain.log_joint(params, chunk))
        log_prior = class_scores(self.plain, params.log_weights[None, :])[0]
        return finite_log_posterior(joint, log_prior)

    def cooling_without_labels(self, full: Learned) -> float:
        """A stand-in where no label can be held out: agree with the marginals' answers on unlabeled rows."""
        assert self.chunks.labels is not None
        marginals = self.fit("marginals", None, self.plan)
        rows = np.flatnonzero(self.chunks.labels.is_unlabeled())[:MOST_HELD_OUT]
        blocks = take_rows(self.chunks.blocks, rows)
        answers = self._log_posterior(marginals.fit.params, blocks).argmax(axis=1).astype(np.int32)
        return fit_cooling(self._log_posterior(full.fit.params, blocks), row_lengths(self.plain, blocks), answers)


def _labeled_rows(chunks: Chunks) -> IntArray:
    assert chunks.labels is not None
    known = chunks.labels.codes >= 0
    return np.flatnonzero(known if chunks.weight is None else known & (chunks.weight > 0.0))


def take_rows(blocks: tuple[Block, ...], rows: IntArray, *, keep_evidence: bool = False) -> tuple[Block, ...]:
    """Copies of some rows; their discount only where asked, for scoring uses rows as they are."""
    taken = tuple(_take(block, rows) for block in blocks)
    if not keep_evidence:
        return tuple(b if isinstance(b, CodesBlock) else replace(b, evidence=None) for b in taken)
    return taken


def _take(block: Block, rows: IntArray) -> Block:
    if isinstance(block, CodesBlock):
        return replace(block, codes=block.codes[rows])
    evidence = None if block.evidence is None else block.evidence[rows]
    if isinstance(block, DenseBlock):
        return replace(block, values=block.values[rows], evidence=evidence)
    lengths = np.diff(block.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    entries = np.repeat(block.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
    missing = None
    if block.missing is not None:
        part = _take(block.missing, rows)
        assert isinstance(part, SparseBlock)
        missing = part
    data = None if block.data is None else block.data[entries]
    return SparseBlock(indptr, block.indices[entries], data, block.n_columns, missing, evidence)
