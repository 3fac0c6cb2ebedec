"""Candidates fitted without some of the labeled rows, and what they say of those rows.

The work is counted in passes over the rows and not by a clock, so that the same data always gives the same answer. A
fold gets a share of the passes that EM over all rows needed, folds share a pass where that pays
(:mod:`softcount.core.side_by_side`), and folds are dealt out once more only where the first deal left the comparison
open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.core.candidates import CANDIDATES, FULL, MARGINALS, Candidates, Tell
from softcount.core.crossfit import HeldOut, folds
from softcount.core.iterate import Stopping
from softcount.core.journal import Journal, Record, once
from softcount.core.learn import Plan, has_closed_form
from softcount.core.mixture import MixtureParams
from softcount.core.side_by_side import affordable_runs, passes_side_by_side, runs_at_once

__all__ = ["FIRST_LOOK", "MOST_HELD_OUT", "N_FOLDS", "CrossFit", "cross_fit", "fold_passes"]

N_FOLDS = 5
N_REPEATS = 2
#: With this many labeled rows one repeat tells as much.
ENOUGH_ROWS = 1500
#: Most labeled rows that are held out: more add nothing to the comparison but cost.
MOST_HELD_OUT = 5000
#: Passes over all rows in each fold, as a share of those of the whole fit.
FOLD_SHARE = 0.25
#: Passes after which EM is looked at for the first time.
FIRST_LOOK = 3

IsEnough = Callable[[HeldOut], bool]


@dataclass(frozen=True)
class _Begun:
    """A fold after the first look: the scores of the candidates without EM, and where EM is."""

    scores: dict[str, FloatArray]
    params: MixtureParams


def fold_passes(candidates: Candidates, n_iter: int) -> int:
    """Passes over all rows that a fold may cost, given the iterations of the whole fit."""
    if has_closed_form(candidates.informed, candidates.told):
        return max(1, math.floor(FOLD_SHARE * (n_iter + 1)))
    # Labels that leave a choice are learned from by EM as well, twice in every fold.
    return max(1, math.floor(FOLD_SHARE * (n_iter + 1) / (1.0 + 2.0 * candidates.told_share)))


def cross_fit(
    candidates: Candidates, n_passes: int, names: tuple[str, ...] = CANDIDATES, tell: Tell | None = None
) -> HeldOut:
    """Log-posteriors of labeled rows under candidates fitted without them, with so many passes in each fold."""
    return CrossFit(candidates, names, tell).run(n_passes)


class CrossFit:
    """The labeled rows dealt out to folds.

    Parameters
    ----------
    candidates : Candidates
    names : tuple of str
        The candidates to be fitted.
    tell : callable or None
        Is told how it comes along.
    """

    def __init__(self, candidates: Candidates, names: tuple[str, ...] = CANDIDATES, tell: Tell | None = None) -> None:
        self.candidates = candidates
        self.names = names
        self._tell = tell
        rng = np.random.default_rng(0 if candidates.plan.seed is None else candidates.plan.seed)
        codes = candidates.some_codes(MOST_HELD_OUT, rng)
        n_repeats = N_REPEATS if np.count_nonzero(codes >= 0) < ENOUGH_ROWS else 1
        self.deals = [parts for parts in folds(codes, N_FOLDS, n_repeats, rng) if parts]
        self.at_once = self._folds_at_once()
        self._begun: list[_Begun] = []

    def first_look(self) -> HeldOut | None:
        """The first deal after a few passes; None where looking would cost more than it may save.

        What was fitted is kept, and :meth:`run` goes on from there.
        """
        candidates = self.candidates
        if self.at_once == 1 or affordable_runs(candidates.informed, candidates.rows) < len(self.deals[0]):
            return None
        parts = self.deals[0]
        for first in range(0, len(parts), self.at_once):
            held = parts[first : first + self.at_once]
            self._say("a first look at", first, held)
            journal = candidates.plan.journal.part(f"look {first}")
            found = once(journal, partial(self._looked, held, journal))
            self._begun += [_Begun(one["scores"], candidates.informed.prepared(one["params"])) for one in found]
        pairs = zip(self._begun, parts, strict=True)
        scores = self._joined([begun.scores | self._of_em(begun.params, part) for begun, part in pairs])
        return self._with_scores(self._nothing(), parts, scores)

    def run(self, n_passes: int, is_enough: IsEnough | None = None) -> HeldOut:
        """All deals, or fewer where ``is_enough`` says of what was found that another one would tell nothing new.

        Parameters
        ----------
        n_passes : int
            Passes over all rows in each fold; at least those of the first look, if there was one.
        is_enough : callable or None
        """
        n_passes = max(n_passes, FIRST_LOOK) if self._begun else n_passes
        found = self._nothing()
        for repeat, parts in enumerate(self.deals):
            for first in range(0, len(parts), self.at_once):
                held = parts[first : first + self.at_once]
                begun, self._begun = self._begun[: len(held)], self._begun[len(held) :]
                self._say("", repeat * len(parts) + first, held)
                journal = self.candidates.plan.journal.part(f"fold {repeat}.{first}")
                found = self._with_scores(
                    found, held, once(journal, partial(self._fold_scores, held, n_passes, journal, begun))
                )
            if repeat + 1 < len(self.deals) and is_enough is not None and is_enough(found):
                break
        return found

    # ---- one group of folds
    def _folds_at_once(self) -> int:
        candidates = self.candidates
        if not self.deals or FULL not in self.names or not has_closed_form(candidates.informed, candidates.told):
            return 1
        return runs_at_once(candidates.informed, candidates.rows, N_FOLDS)

    def _looked(self, held: list[IntArray], journal: Journal) -> list[Record]:
        """Per fold, where its EM is after the first passes, and the scores of the other candidates."""
        closed, starts = self._closed_forms(held, FIRST_LOOK, journal)
        ends = self._passes(held, starts, FIRST_LOOK, journal)
        return [{"scores": scores, "params": params} for scores, params in zip(closed, ends, strict=True)]

    def _fold_scores(
        self, held: list[IntArray], n_passes: int, journal: Journal, begun: list[_Begun]
    ) -> dict[str, FloatArray]:
        """Log-posteriors of the rows held out, candidate by candidate."""
        if begun:
            closed, starts = [fold.scores for fold in begun], [fold.params for fold in begun]
            n_passes -= FIRST_LOOK
            begun.clear()
        else:
            closed, starts = self._closed_forms(held, n_passes, journal)
        if FULL not in self.names:
            return self._joined(closed)
        ends = self._passes(held, starts, n_passes, journal)
        return self._joined(
            [scores | self._of_em(params, part) for scores, params, part in zip(closed, ends, held, strict=True)]
        )

    def _closed_forms(
        self, held: list[IntArray], n_passes: int, journal: Journal
    ) -> tuple[list[dict[str, FloatArray]], list[MixtureParams]]:
        """Per fold, the scores of the candidates that need no EM over all rows, and what EM starts from.

        They are scored as soon as they are fitted, so that their tables need not be kept. Where labels leave a choice
        they take some passes over the labeled rows.
        """
        candidates = self.candidates
        scores: list[dict[str, FloatArray]] = []
        starts: list[MixtureParams] = []
        for i, part in enumerate(held):
            blocks, plan = candidates.held_blocks(part), self._fold_plan(n_passes, journal.part(f"{i}"))
            scores.append({})
            for name in self.names:
                if name == FULL:
                    continue
                fit = candidates.fit(name, plan, part).fit
                if fit.interrupted:
                    raise KeyboardInterrupt
                scores[-1][name] = candidates.log_posterior(fit.params, blocks)
                if name == MARGINALS:
                    starts.append(fit.params)
                del fit
        return scores, starts

    def _passes(
        self, held: list[IntArray], starts: list[MixtureParams], n_passes: int, journal: Journal
    ) -> list[MixtureParams]:
        """Where the EM of each fold is after some passes; the starts are used up."""
        candidates = self.candidates
        if n_passes == 0:
            return starts
        if len(held) == 1:
            return [candidates.few_passes(starts, n_passes, held[0], journal.part(FULL))]
        return passes_side_by_side(
            candidates.informed,
            candidates.executor,
            candidates.rows,
            starts,
            left_out=[candidates.labeled[part] for part in held],
            n_passes=n_passes,
        )

    def _fold_plan(self, n_passes: int, journal: Journal) -> Plan:
        plan = self.candidates.plan
        init = plan.init if isinstance(plan.init, str) else None
        stopping = Stopping(n_passes, plan.stopping.tol)
        return replace(plan, init=init, stopping=stopping, on_step=None, n_init=1, annealing=(), journal=journal)

    # ---- what was found
    def _nothing(self) -> HeldOut:
        candidates, none = self.candidates, np.empty(0, dtype=np.int64)
        empty = np.empty((0, candidates.plain.n_classes))
        scores = dict.fromkeys(self.names, empty)
        return HeldOut(none, candidates.codes[none], candidates.lengths[none], candidates.weight[none], scores)

    def _of_em(self, params: MixtureParams, held: IntArray) -> dict[str, FloatArray]:
        """The scores of EM on the rows held out."""
        return {FULL: self.candidates.log_posterior(params, self.candidates.held_blocks(held))}

    def _joined(self, folds_scores: list[dict[str, FloatArray]]) -> dict[str, FloatArray]:
        """Scores fold after fold."""
        return {name: np.concatenate([scores[name] for scores in folds_scores]) for name in self.names}

    def _with_scores(self, found: HeldOut, held: list[IntArray], scores: dict[str, FloatArray]) -> HeldOut:
        """What was found, with the rows of some more folds."""
        candidates = self.candidates
        joined = {name: np.concatenate([found.log_posterior[name], scores[name]]) for name in self.names}
        rows = np.concatenate([found.rows, *held])
        return HeldOut(rows, candidates.codes[rows], candidates.lengths[rows], candidates.weight[rows], joined)

    def _say(self, what: str, n_done: int, held: list[IntArray]) -> None:
        if self._tell is None:
            return
        which = f"fold {n_done + 1}" if len(held) == 1 else f"folds {n_done + 1} to {n_done + len(held)}"
        of = sum(len(parts) for parts in self.deals)
        n_rows = sum(part.size for part in held)
        self._tell(f"cross-validation, {what}{' ' if what else ''}{which} of {of} ({n_rows} labeled rows held out)")
