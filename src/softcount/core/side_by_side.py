"""Several runs of EM in one pass over the rows, each without some of the labeled rows.

The folds of a cross-validation visit the same rows again and again. Their models are components of one wide model here,
so a pass reads every row once for all of them; responsibilities are normalized run by run, and a row that a run leaves
out has weight zero in it. Each run gives what it would give alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from softcount import kernels
from softcount._types import FloatArray, IntArray
from softcount.core.chunks import Chunk, Chunks, Rows, table_bytes
from softcount.core.counts import Counts
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.families.blocks import Block, CodesBlock, SparseBlock
from softcount.families.categorical import Categorical
from softcount.families.gaussian import Gaussian
from softcount.families.linear import LinearFamily
from softcount.families.rowwise import sum_of_rows
from softcount.families.statistics import Moments, Statistics, Sums

__all__ = [
    "UNNOTICED_BYTES",
    "LeftOut",
    "SideBySide",
    "affordable_runs",
    "can_go_together",
    "counts_of",
    "joined_counts",
    "run_bytes",
    "runs_at_once",
]

#: Scores of one chunk under all runs take at most so many bytes, for they should stay in the cache.
SCORE_BYTES = 2**21
#: Tables of all runs but one take at most so many bytes; a run has its parameters, and counts that are being merged.
SPARE_BYTES = 2**22
TABLES_OF_A_RUN = 3
#: Tables of runs that are kept take at most this share of the rows' own bytes, or as many bytes as nobody notices.
TABLE_SHARE = 1.0 / 3.0
UNNOTICED_BYTES = 2**20


@dataclass(frozen=True)
class LeftOut:
    """Which run leaves which rows out, by the rows that some run leaves out alone: they are few.

    Attributes
    ----------
    rows : integer array of shape (n_left_out,)
        Ascending.
    runs : integer array of shape (n_left_out,)
    """

    rows: IntArray
    runs: IntArray

    @classmethod
    def of(cls, left_out: Sequence[IntArray]) -> LeftOut:
        """From the rows that each run leaves out; no row twice."""
        rows = np.concatenate([np.empty(0, dtype=np.int64), *left_out])
        runs = np.repeat(np.arange(len(left_out)), [part.size for part in left_out])
        order = np.argsort(rows)
        return cls(rows[order], runs[order])

    def __getitem__(self, rows: slice) -> IntArray:
        """The run that leaves each of these rows out, or -1."""
        answer = np.full(rows.stop - rows.start, -1, dtype=np.int64)
        low, high = np.searchsorted(self.rows, [rows.start, rows.stop])
        answer[self.rows[low:high] - rows.start] = self.runs[low:high]
        return answer


@dataclass(frozen=True)
class SideBySide(MixtureModel):
    """A model whose components are the classes of several runs, run after run.

    Attributes
    ----------
    n_runs : int
    left_out_of : LeftOut
        The run that leaves a labeled row out, or -1, by rows.
    """

    n_runs: int = 1
    left_out_of: LeftOut = field(default_factory=lambda: LeftOut.of(()), compare=False, repr=False)

    @classmethod
    def of(cls, model: MixtureModel, n_runs: int, left_out_of: LeftOut) -> Self:
        """So many runs of ``model``."""
        classes = np.tile(np.arange(model.n_classes), n_runs)
        return cls(
            model.families,
            tuple(prior.take(classes) for prior in model.priors),
            classes,
            model.n_classes,
            model.class_prior,
            model.class_alpha,
            model.unlabeled_weight,
            table_bytes=model.table_bytes * n_runs,
            n_runs=n_runs,
            left_out_of=left_out_of,
        )

    def joined(self, runs: Sequence[MixtureParams]) -> MixtureParams:
        """The parameters of all runs as those of one model."""
        log_weights = np.concatenate([run.log_weights for run in runs])
        blocks = tuple(
            {name: _beside([run.blocks[b][name] for run in runs]) for name in runs[0].blocks[b]}
            for b in range(len(self.families))
        )
        return self.make_params(log_weights, blocks)

    def assign(self, scores: FloatArray, chunk: Chunk, log_weights: FloatArray) -> FloatArray:
        """Turn scores into weighted responsibilities run by run, in place, and return each run's log-likelihood."""
        n, shape = chunk.n_rows, (chunk.n_rows, self.n_runs, self.n_classes)
        codes = np.full(n, -1) if chunk.labels is None else chunk.labels.codes
        known = np.flatnonzero(codes >= 0)
        if known.size:
            allowed = codes[known, None] == np.arange(self.n_classes)
            scores.reshape(shape)[known] += np.where(allowed, 0.0, -np.inf)[:, None, :]
        weight = self._weight_in_runs(chunk)
        flat, log_norm = scores.reshape(n * self.n_runs, self.n_classes), np.empty(n * self.n_runs)
        kernels.normalize_rows(flat, weight, log_weights[: self.n_classes].copy(), log_norm)
        lost = np.flatnonzero(np.isneginf(log_norm))
        if lost.size:
            # Rows that no class can have produced belong to their own class, or to the classes as these are.
            row, own = lost // self.n_runs, lost % self.n_runs
            share = np.exp(log_weights.reshape(self.n_runs, self.n_classes)[own])
            labeled = codes[row] >= 0
            share[labeled] = codes[row[labeled], None] == np.arange(self.n_classes)
            flat[lost] = share if weight is None else share * weight[lost, None]
        if weight is not None:
            # A row of weight zero adds nothing, impossible or not.
            np.multiply(log_norm, weight, out=log_norm, where=weight > 0.0)
            log_norm[weight == 0.0] = 0.0
        return sum_of_rows(log_norm.reshape(n, self.n_runs))

    def _weight_in_runs(self, chunk: Chunk) -> FloatArray | None:
        """The weight of each row in each run, run by run within the row; None where all are one."""
        own = self.row_weight(chunk)
        weight = None if own is None else np.repeat(own, self.n_runs)
        if self.left_out_of.rows.size:
            run = self.left_out_of[chunk.start : chunk.start + chunk.n_rows]
            absent = np.flatnonzero(run >= 0)
            weight = np.ones(chunk.n_rows * self.n_runs) if weight is None else weight
            weight[absent * self.n_runs + run[absent]] = 0.0
        return weight

    def solve_weights(self, weight: FloatArray) -> FloatArray:
        """Log-weights of the classes, run by run; without any weight all classes of a run are equal."""
        own = weight.reshape(self.n_runs, self.n_classes)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.class_prior is not None:
                return np.tile(np.log(self.class_prior), self.n_runs)
            smoothed = own + self.class_alpha
            total = smoothed.sum(axis=1, keepdims=True)
            log_class = np.where(total > 0.0, np.log(smoothed) - np.log(total), -np.log(self.n_classes))
        return np.asarray(log_class.ravel())


def joined_counts(runs: Sequence[Counts]) -> Counts:
    """The counts of several runs as those of one model, without an objective."""
    return Counts({name: _joined_part([counts.parts[name] for counts in runs]) for name in runs[0].parts})


def counts_of(counts: Counts, classes: IntArray) -> Counts:
    """The counts of some of the classes, copied, without an objective."""
    parts: Any = counts.parts
    return Counts({name: part.take(classes) for name, part in parts.items()})


def _joined_part(parts: Sequence[Statistics]) -> Statistics:
    arrays = [part.arrays() for part in parts]
    joined = {name: _beside([each[name] for each in arrays]) for name in arrays[0]}
    first = parts[0]
    if isinstance(first, Moments):
        return Moments(**joined)
    assert isinstance(first, Sums)
    return Sums(joined, first.signed)


def _beside(arrays: Sequence[FloatArray]) -> FloatArray:
    """Arrays joined along their last axis, which is then the fastest in memory: kernels read it as it is."""
    shape = (*arrays[0].shape[:-1], sum(array.shape[-1] for array in arrays))
    joined: FloatArray = np.concatenate(arrays, axis=-1, out=np.empty(shape))
    return joined


def runs_at_once(model: MixtureModel, rows: Rows, n_runs: int) -> int:
    """How many runs go side by side: one where the model or the labels do not allow it, few where tables are large."""
    if not rows.has_labels or not can_go_together(model, rows):
        return 1
    tables = TABLES_OF_A_RUN * run_bytes(model, rows)
    score_bytes = 8 * min(rows.rows_per_chunk, rows.n_rows) * model.n_classes
    return max(1, min(n_runs, SCORE_BYTES // score_bytes, 1 + SPARE_BYTES // max(tables, 1)))


def can_go_together(model: MixtureModel, rows: Rows) -> bool:
    """Whether nothing in the model or the labels needs a run to be alone."""
    if (rows.has_labels and rows.facts.n_partly > 0) or rows.has_fixed_labels:
        return False
    if not model.has_single_components or model.temperature != 1.0:
        return False
    return all(_is_free(family, prior) for family, prior in zip(model.families, model.priors, strict=True))


def run_bytes(model: MixtureModel, rows: Rows) -> int:
    """How many bytes a table of one run takes."""
    return table_bytes(model.families, rows.layout, model.n_classes)


def affordable_runs(model: MixtureModel, rows: Rows) -> int:
    """How many runs may keep their tables at a time, beside the rows."""
    if isinstance(rows, Chunks):
        n_bytes = float(sum(_bytes(block) for block in rows.blocks))
    else:
        # Rows that are not here are judged by the first of them.
        first = rows[0]
        n_bytes = sum(_bytes(block) for block in first.blocks) * rows.n_rows / max(first.n_rows, 1)
    allowed = max(UNNOTICED_BYTES, int(TABLE_SHARE * n_bytes))
    return allowed // max(run_bytes(model, rows), 1)


def _is_free(family: object, prior: Any) -> bool:
    """Whether the classes of a family have nothing in common that more of them would change."""

    def same_for_all(array: Any) -> bool:
        return np.ndim(array) < 2 or np.shape(array)[-1] == 1

    if isinstance(family, Gaussian):
        own = (prior.weight, prior.mean, prior.scatter, prior.dof)
        return not family.shared and prior.relative is None and all(same_for_all(array) for array in own)
    return isinstance(family, LinearFamily | Categorical) and np.ndim(prior.alpha) != 1


def _bytes(block: Block) -> int:
    if isinstance(block, SparseBlock):
        # Counts as the eight bytes they come with, however short they are kept.
        return int(block.indices.nbytes + (0 if block.data is None else 8 * block.data.size))
    return int(block.codes.nbytes if isinstance(block, CodesBlock) else block.values.nbytes)
