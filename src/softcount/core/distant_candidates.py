"""The candidates of :mod:`softcount.core.candidates` on rows that are not in memory.

Only rows with a label are ever fetched, and of many of those only the ones that are held out: their answers are
compared. Everything else is passes over the rows where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from softcount._types import BoolArray, CodesArray, FloatArray, IntArray
from softcount.core.candidates import (
    COPIED_SHARE,
    MOST_ROWS_ANSWERED,
    Candidates,
    centered_priors,
    row_lengths,
    without_evidence,
)
from softcount.core.chunks import Chunk, Chunks, DistantRows, row_width
from softcount.core.execute import Executor
from softcount.core.facts import Facts
from softcount.core.fold_fits import MOST_HELD_OUT
from softcount.core.joining import take_rows
from softcount.core.learn import Plan
from softcount.core.mixture import MixtureModel, pooled_counts
from softcount.core.repetition import correlation_from_sums, repetition_sums, row_totals, with_evidence
from softcount.core.sampling import gather
from softcount.families.blocks import Block
from softcount.families.statistics import Sums

__all__ = ["DistantCandidates"]

#: Rows with labels are fetched where all of them hold at most so many numbers.
MOST_NUMBERS = 2**24

Test = Callable[[Chunk], BoolArray]


@dataclass(frozen=True)
class DistantCandidates(Candidates):
    """The candidates, with the labeled rows that may be held out at hand.

    Attributes
    ----------
    hand : Chunks
        These rows.
    n_known : int
        Rows of known class, at hand or not.
    n_told : int
        Rows that somebody said something about.
    """

    hand: Any = None
    n_known: int = 0
    n_told: int = 0

    @classmethod
    def prepare(cls, model: MixtureModel, executor: Executor, chunks: Any, plan: Plan) -> DistantCandidates:
        """Look at all rows once: their marginals, and how words repeat."""
        pooled = pooled_counts(replace(model, unlabeled_weight=1.0), executor, chunks)
        rhos: list[float] = []
        for b, family in enumerate(model.families):
            part: Any = pooled.parts[str(b)]
            rhos.append(_correlation(executor, chunks, b, part["sum"][:, 0]) if family.counts_repetitions else 0.0)
        informed = replace(model, priors=centered_priors(model, pooled), unlabeled_weight=1.0)
        rows = chunks.mapped(partial(_discounted, rhos=tuple(rhos))) if any(rho > 0.0 for rho in rhos) else chunks
        return cls._of(replace(model, unlabeled_weight=0.0), informed, executor, rows, plan)

    @classmethod
    def _of(
        cls, plain: MixtureModel, informed: MixtureModel, executor: Executor, rows: Any, plan: Plan
    ) -> DistantCandidates:
        facts: Facts = rows.facts
        assert facts.labeled is not None
        n_known = int(facts.labeled.sum())
        n_told = sum(_numbers(executor, rows, _is_told).values())
        if n_told * max(row_width(rows.layout), _stored_per_row(rows, executor)) <= MOST_NUMBERS:
            places = _places(executor, rows, _is_told)
            near = gather(executor, rows, places.row, places.weight)
            assert near.labels is not None
            place = np.flatnonzero(near.labels.codes >= 0)
            labeled = places.row[place]
            hand = near.like(
                tuple(take_rows(block, place) for block in near.blocks), near.labels.take(place), places.weight[place]
            )
            told: Any = near
            bare: Any = Chunks(
                without_evidence(near.blocks), near.labels, near.weight, rows_per_chunk=near.rows_per_chunk
            )
        else:
            ranks = np.sort(_chooser(plan).choice(n_known, min(n_known, MOST_HELD_OUT), replace=False))
            labeled, weight = _ranked(executor, rows, _is_known, ranks)
            hand = gather(executor, rows, labeled, weight)
            told, place = _quiet(rows), labeled
            bare = _quiet(rows.mapped(_undiscounted))
        lengths = row_lengths(plain, hand.blocks)
        return cls(plain, informed, executor, rows, bare, told, labeled, place, lengths, plan, hand, n_known, n_told)

    # ---- what there is
    @property
    def codes(self) -> CodesArray:
        """Classes of the rows at hand."""
        codes: CodesArray = self.hand.labels.codes
        return codes

    @property
    def weight(self) -> FloatArray:
        """Weights of the rows at hand."""
        weight: FloatArray = self.hand.weight
        return weight

    @property
    def n_unlabeled(self) -> int:
        """Rows nothing is known about."""
        return self.rows.facts.n_unlabeled

    @property
    def every_class_twice(self) -> bool:
        """Whether every class has two labeled rows, so that each of them can be held out."""
        labeled = self.rows.facts.labeled
        return labeled is not None and bool((labeled >= 2).all())

    @property
    def told_share(self) -> float:
        """As it is for rows in memory: few are copied together."""
        share = self.n_told / self.rows.n_rows
        return share if share <= COPIED_SHARE else 1.0

    def some_codes(self, most: int, rng: np.random.Generator) -> CodesArray:
        """Classes of the rows at hand, of which there are as many as may be held out; or all, as in memory."""
        if self.labeled.size == self.n_known:
            return super().some_codes(most, rng)
        rng.choice(self.n_known, self.labeled.size, replace=False)
        return self.codes

    def held_blocks(self, held: IntArray) -> tuple[Block, ...]:
        """Some of the rows at hand, as they are."""
        return without_evidence(tuple(take_rows(block, held) for block in self.hand.blocks))

    def _some_unlabeled(self) -> tuple[tuple[Block, ...], FloatArray | None]:
        size = self.n_unlabeled
        ranks = np.linspace(0, size - 1, min(size, MOST_ROWS_ANSWERED)).astype(np.int64)
        distant: Any = self.rows
        rows, weight = _ranked(self.executor, distant, _is_unlabeled, ranks)
        return without_evidence(gather(self.executor, distant, rows, None).blocks), weight


def _chooser(plan: Plan) -> np.random.Generator:
    """Draws what :meth:`Candidates._considered` draws."""
    seed = plan.seed
    return np.random.default_rng(0 if seed is None or isinstance(seed, np.random.Generator) else seed)


# ---- which rows
def _usable(chunk: Chunk) -> BoolArray:
    return np.ones(chunk.n_rows, dtype=bool) if chunk.weight is None else chunk.weight > 0.0


def _is_known(chunk: Chunk) -> BoolArray:
    assert chunk.labels is not None
    return np.asarray((chunk.labels.codes >= 0) & _usable(chunk))


def _is_told(chunk: Chunk) -> BoolArray:
    assert chunk.labels is not None
    return np.asarray(~chunk.labels.is_unlabeled() & _usable(chunk))


def _is_unlabeled(chunk: Chunk) -> BoolArray:
    assert chunk.labels is not None
    return np.asarray(chunk.labels.is_unlabeled() & _usable(chunk))


@dataclass(frozen=True)
class _Places:
    """Positions and weights of some rows, in any order."""

    row: IntArray
    weight: FloatArray

    def __add__(self, other: _Places) -> _Places:
        return _Places(np.concatenate([self.row, other.row]), np.concatenate([self.weight, other.weight]))


def _places(executor: Executor, rows: DistantRows, test: Test, wanted: dict[int, IntArray] | None = None) -> _Places:
    """Positions and weights of the rows that pass a test, ascending; of every chunk all, or those of given ranks."""

    def tally(lane: Sequence[Chunk]) -> _Places:
        found = _Places(np.empty(0, dtype=np.int64), np.empty(0))
        for chunk in lane:
            local = np.flatnonzero(test(chunk))
            if wanted is not None:
                local = local[wanted.get(chunk.index, np.empty(0, dtype=np.int64))]
            weight = np.ones(local.size) if chunk.weight is None else chunk.weight[local]
            found += _Places(local + chunk.start, weight)
        return found

    found = executor.reduce(tally, rows)
    order = np.argsort(found.row)
    return _Places(found.row[order], found.weight[order])


@dataclass(frozen=True)
class _Numbers:
    """How many rows of each chunk pass a test."""

    by_chunk: dict[int, int]

    def __add__(self, other: _Numbers) -> _Numbers:
        return _Numbers({**self.by_chunk, **other.by_chunk})


def _numbers(executor: Executor, rows: DistantRows, test: Test) -> dict[int, int]:
    """How many rows of each chunk pass a test."""

    def count(lane: Sequence[Chunk]) -> _Numbers:
        return _Numbers({chunk.index: int(np.count_nonzero(test(chunk))) for chunk in lane})

    return executor.reduce(count, rows).by_chunk


def _ranked(executor: Executor, rows: DistantRows, test: Test, ranks: IntArray) -> tuple[IntArray, FloatArray]:
    """Positions and weights of the rows of given ranks (ascending) among those that pass a test."""
    numbers = _numbers(executor, rows, test)
    sizes = np.array([numbers.get(i, 0) for i in range(len(rows))])
    ends = np.cumsum(sizes)
    chunk_of = np.searchsorted(ends, ranks, side="right")
    wanted = {int(i): ranks[chunk_of == i] - (ends[i] - sizes[i]) for i in np.unique(chunk_of)}
    found = _places(executor, rows, test, wanted)
    return found.row, found.weight


# ---- what is done to chunks when they are counted
def _discounted(chunk: Chunk, rhos: tuple[float, ...]) -> Chunk:
    blocks = tuple(
        with_evidence(block, row_totals(block)[0], rho) if rho > 0.0 else block
        for block, rho in zip(chunk.blocks, rhos, strict=True)
    )
    return replace(chunk, blocks=blocks)


def _undiscounted(chunk: Chunk) -> Chunk:
    return replace(chunk, blocks=without_evidence(chunk.blocks))


def _quiet(rows: DistantRows) -> DistantRows:
    """The rows somebody said something about; the others have no weight, and then their class does not matter."""
    n_open = 0 if rows.facts.fixed else rows.facts.n_partly
    return rows.mapped(_quiet_chunk).with_facts(replace(rows.facts, n_open=n_open, n_unlabeled=0))


def _quiet_chunk(chunk: Chunk) -> Chunk:
    labels = chunk.labels
    assert labels is not None
    lost = ~_is_told(chunk)
    weight = np.ones(chunk.n_rows) if chunk.weight is None else chunk.weight.copy()
    weight[lost] = 0.0
    codes = np.where(labels.is_unlabeled(), np.int32(0), labels.codes)
    return replace(chunk, labels=replace(labels, codes=codes), weight=weight)


# ---- how words repeat
def _correlation(executor: Executor, rows: DistantRows, block: int, words: FloatArray) -> float:
    def tally(lane: Sequence[Chunk]) -> Sums:
        total = np.zeros(5)
        for chunk in lane:
            total += repetition_sums(*row_totals(chunk.blocks[block]), chunk.weight)
        return Sums({"sums": total})

    return correlation_from_sums(executor.reduce(tally, rows)["sums"], words)


def _stored_per_row(rows: DistantRows, executor: Executor) -> float:
    """Numbers per row of sparse blocks, whose layout does not say; judged by the first chunk."""
    return row_width(rows[0].blocks)
