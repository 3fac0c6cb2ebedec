"""Candidates fitted without some of the labeled rows, and what they say of those rows.

The work is counted in passes over the rows and not by a clock, so that the same data always gives the same answer. A
fold gets a share of the passes that EM over all rows needed, folds share a pass where that pays
(:mod:`softcount.core.side_by_side`), and folds are dealt out once more only where the first deal left the comparison
open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.core.candidates import CANDIDATES, FULL, Candidates, Tell
from softcount.core.crossfit import HeldOut, folds
from softcount.core.fold_groups import FoldGroup, FoldsTogether, OneFold
from softcount.core.journal import Journal, Record, once
from softcount.core.learn import has_closed_form
from softcount.core.mixture import MixtureParams
from softcount.core.side_by_side import UNNOTICED_BYTES, affordable_runs, run_bytes, runs_at_once

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
    """Some folds after the first look: the scores of all candidates, and where EM is, if that is kept."""

    scores: dict[str, FloatArray]
    params: MixtureParams | None


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
        # Where the labeled rows themselves have to be learned from by EM, in every fold, one deal costs as much as two.
        is_cheap = has_closed_form(candidates.informed, candidates.told)
        n_repeats = N_REPEATS if is_cheap and np.count_nonzero(codes >= 0) < ENOUGH_ROWS else 1
        self.deals = [parts for parts in folds(codes, N_FOLDS, n_repeats, rng) if parts]
        self.at_once = self._folds_at_once()
        self._look: HeldOut | None = None
        self._begun: dict[int, _Begun] = {}

    def first_look(self) -> HeldOut | None:
        """The first deal after a few passes; None where looking would cost more than it may save.

        What was fitted is kept, where it takes little room, and :meth:`run` goes on from there.
        """
        candidates = self.candidates
        if self.at_once == 1 or affordable_runs(candidates.informed, candidates.rows) < len(self.deals[0]):
            return None
        found = self._nothing()
        for first, group in self._groups(self.deals[0]):
            self._say("a first look at", first, group.held)
            journal = candidates.plan.journal.part(f"look {first}")
            record = once(journal, partial(self._looked, group, journal))
            self._begun[first] = _Begun(**record)
            found = self._with_scores(found, group.held, record["scores"])
        self._look = found
        return found

    def run(self, n_passes: int, is_enough: IsEnough | None = None) -> HeldOut:
        """All deals, or fewer where ``is_enough`` says of what was found that another one would tell nothing new.

        Parameters
        ----------
        n_passes : int
            Passes over all rows in each fold; at least those of the first look, if there was one.
        is_enough : callable or None
        """
        n_passes = n_passes if self._look is None else max(n_passes, FIRST_LOOK)
        found = self._nothing()
        for repeat, parts in enumerate(self.deals):
            if repeat > 0 and is_enough is not None and is_enough(found):
                break
            if repeat == 0 and self._look is not None and n_passes == FIRST_LOOK:
                found = self._look
            else:
                found = self._deal(found, repeat, parts, n_passes)
        return found

    # ---- groups of folds
    def _folds_at_once(self) -> int:
        candidates = self.candidates
        if not self.deals or FULL not in self.names or not has_closed_form(candidates.informed, candidates.told):
            return 1
        # The priors differ: what is told of the columns may take the place of one per class.
        return min(runs_at_once(model, candidates.rows, N_FOLDS) for model in (candidates.plain, candidates.informed))

    def _groups(self, parts: list[IntArray]) -> Iterator[tuple[int, FoldGroup]]:
        """The folds of a deal in groups, each with the number of its first fold."""
        for first in range(0, len(parts), self.at_once):
            held = parts[first : first + self.at_once]
            yield first, OneFold(self.candidates, *held) if len(held) == 1 else FoldsTogether(self.candidates, held)

    def _looked(self, group: FoldGroup, journal: Journal) -> Record:
        """The scores after the first passes, and where EM is then, unless that is too much to keep beside EM."""
        scores = group.begin(self.names, FIRST_LOOK, journal)
        group.go_on(FIRST_LOOK, journal)
        is_small = N_FOLDS * run_bytes(self.candidates.informed, self.candidates.rows) <= UNNOTICED_BYTES
        return {"scores": scores | {FULL: group.of_em()}, "params": group.params if is_small else None}

    def _deal(self, found: HeldOut, repeat: int, parts: list[IntArray], n_passes: int) -> HeldOut:
        """What was found, with the rows of one deal more."""
        for first, group in self._groups(parts):
            begun = self._begun.pop(first, None) if repeat == 0 else None
            self._say("", repeat * len(parts) + first, group.held)
            journal = self.candidates.plan.journal.part(f"fold {repeat}.{first}")
            scores = once(journal, partial(self._fold_scores, group, n_passes, journal, begun))
            found = self._with_scores(found, group.held, scores)
        return found

    def _fold_scores(
        self, group: FoldGroup, n_passes: int, journal: Journal, begun: _Begun | None
    ) -> dict[str, FloatArray]:
        """Log-posteriors of the rows held out, candidate by candidate."""
        if begun is not None and begun.params is not None:
            scores = begun.scores
            group.params = self.candidates.informed.prepared(begun.params)
            n_passes -= FIRST_LOOK
        else:
            scores = group.begin(self.names, n_passes, journal)
        if FULL not in self.names:
            return scores
        group.go_on(n_passes, journal)
        return scores | {FULL: group.of_em()}

    # ---- what was found
    def _nothing(self) -> HeldOut:
        candidates, none = self.candidates, np.empty(0, dtype=np.int64)
        empty = np.empty((0, candidates.plain.n_classes))
        scores = dict.fromkeys(self.names, empty)
        return HeldOut(none, candidates.codes[none], candidates.lengths[none], candidates.weight[none], scores)

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
