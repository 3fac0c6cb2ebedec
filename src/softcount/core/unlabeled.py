"""How to use rows without a label, decided from the data: not at all, for the marginals, or by EM.

Plain EM from a few labels often goes wrong: the uniform prior of ``alpha`` drowns the labeled counts of a wide table,
and long documents make every posterior certain. Two closed-form pieces mend that, and a cross-validated choice guards
it:

(a) the prior keeps its mass but is centered on each column's overall distribution, which unlabeled rows know as well;
(b) a row of words counts as the independent evidence it holds (:mod:`softcount.core.repetition`);
(c) three candidates (:mod:`softcount.core.candidates`) are compared by the Brier score of cross-fitted, cooled
    posteriors of the labeled rows; a tie within a quarter of a standard error goes to the candidate that leans less on
    unlabeled rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from softcount._types import FloatArray
from softcount.core.candidates import CANDIDATES, FULL, GIVEN, MARGINALS, Candidates, Tell, usable_rows
from softcount.core.chunks import Chunks, DistantRows, Rows
from softcount.core.crossfit import HeldOut, brier
from softcount.core.distant_candidates import DistantCandidates
from softcount.core.execute import Executor
from softcount.core.fold_fits import FIRST_LOOK, CrossFit, cross_fit, fold_passes
from softcount.core.journal import rows_digest
from softcount.core.learn import Learned, Plan
from softcount.core.mixture import MixtureModel
from softcount.core.verdict import Verdict, interrupted_verdict, no_evidence, weigh_up

__all__ = ["Choice", "can_choose", "choose", "has_lost", "held_out_as_given", "is_clear", "lightest_good_candidate"]

#: Standard errors by which a candidate has to be better than a lighter one.
MARGIN = 0.25
#: Standard errors beyond the margin, either way, that settle a comparison after one repeat of the folds.
CLEAR = 1.0
#: Standard errors by which EM has to be worse than a lighter candidate after a few passes to be given up.
LOST = 1.5
#: Gains of the Brier score below this are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Choice:
    """What was chosen, and how it compares.

    Attributes
    ----------
    use : {"none", "marginals", "full"}
    learned : Learned
        The chosen fit.
    cooling : float or None
        Correlation of a row's evidence that makes the cross-fitted posteriors best, for calibration; None where Ctrl-C
        ended the comparison.
    verdict : Verdict
    held_out : HeldOut or None
        Cross-fitted log-posteriors of labeled rows under the candidates.
    """

    use: str
    learned: Learned
    cooling: float | None
    verdict: Verdict
    held_out: HeldOut | None


def can_choose(model: MixtureModel, chunks: Rows) -> bool:
    """Whether there is a choice: rows without a label, at least two classes, and labels for each of them."""
    if isinstance(chunks, DistantRows):
        facts = chunks.facts
        some_open = facts.n_unlabeled > 0 and model.n_classes >= 2 and facts.support is not None
        return some_open and bool((chunks.class_support(model.n_classes) > 0.0).all())
    assert isinstance(chunks, Chunks)
    if chunks.labels is None or model.n_classes < 2 or chunks.all_known:
        return False
    labels, usable = chunks.labels, usable_rows(chunks)
    if not (labels.is_unlabeled() & usable).any():
        return False
    return bool((labels.take(np.flatnonzero(usable)).class_support() > 0.0).all())


def choose(model: MixtureModel, executor: Executor, chunks: Rows, plan: Plan, tell: Tell | None = None) -> Choice:
    """Fit, and decide how the rows without a label are used.

    All passes together cost at most about five times those of EM over all rows. Ctrl-C during EM keeps its last
    iteration, and during the comparison the finished EM.

    Parameters
    ----------
    model : MixtureModel
        The model as for the labeled rows alone.
    executor, chunks, plan
        Who runs passes, all rows, and how to search.
    tell : callable or None
        Is told how the comparison comes along.
    """
    # What the folds of an earlier fit came to is asked for before any loop over all rows is.
    plan.journal.bind(lambda: rows_digest(chunks))
    candidates = _candidates_on(chunks).prepare(model, executor, chunks, plan)
    n_labeled, n_unlabeled, twice = candidates.n_known, candidates.n_unlabeled, candidates.every_class_twice
    folds = CrossFit(candidates, tell=tell)
    best, full = MARGINALS, None
    try:
        look = folds.first_look()
        if look is None or not has_lost(look, every_class_twice=twice):
            best, full = FULL, candidates.fit(FULL, plan)
            if full.fit.interrupted:
                return Choice(FULL, full, None, interrupted_verdict(FULL, n_labeled, n_unlabeled), None)
        n_passes = FIRST_LOOK if full is None else fold_passes(candidates, full.fit.n_iter)
        held_out = folds.run(n_passes, partial(is_clear, every_class_twice=twice))
        if len(held_out) == 0:
            assert full is not None
            rho = candidates.cooling_without_labels(full)
            return Choice(FULL, full, rho, no_evidence(FULL, n_labeled, n_unlabeled), held_out)
        cooling = {name: held_out.cooling(name) for name in CANDIDATES}
        use = lightest_good_candidate(held_out, cooling, every_class_twice=twice)
        learned = full if use == FULL and full is not None else candidates.fit(use, plan)
    except KeyboardInterrupt:
        learned = candidates.fit(MARGINALS, plan) if full is None else full
        learned = replace(learned, fit=replace(learned.fit, interrupted=True))
        return Choice(best, learned, None, interrupted_verdict(best, n_labeled, n_unlabeled), None)
    verdict = weigh_up(
        held_out,
        cooling,
        use,
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        every_class_twice=twice,
    )
    return Choice(use, learned, cooling[use], verdict, held_out)


def held_out_as_given(
    model: MixtureModel, executor: Executor, chunks: Rows, plan: Plan, *, n_iter: int, tell: Tell | None = None
) -> HeldOut:
    """Cross-fitted log-posteriors of the labeled rows under the model as it is, for calibration."""
    plan.journal.bind(lambda: rows_digest(chunks))
    candidates = _candidates_on(chunks).as_given(model, executor, chunks, plan)
    return cross_fit(candidates, fold_passes(candidates, n_iter), (GIVEN,), tell)


def _candidates_on(rows: Rows) -> Any:
    """The class of candidates for rows in memory, or elsewhere."""
    return DistantCandidates if isinstance(rows, DistantRows) else Candidates


def lightest_good_candidate(held_out: HeldOut, cooling: dict[str, float], *, every_class_twice: bool) -> str:
    r"""The lightest candidate that no heavier one beats by more than the margin.

    From the lightest on, the current candidate gives way to a heavier one whose Brier score is lower by
    :math:`d_i` on labeled row i, if :math:`\bar d > \tfrac14 s_d/\sqrt n`. Leaving the unlabeled rows out is no
    candidate where some class has a single label: the rows held out then say nothing of that class.

    Parameters
    ----------
    held_out : HeldOut
    cooling : dict of candidate -> float
        What each candidate's posteriors are cooled by.
    every_class_twice : bool
    """
    return _compared(held_out, cooling, every_class_twice=every_class_twice)[0]


def is_clear(held_out: HeldOut, *, every_class_twice: bool) -> bool:
    """Whether no comparison that led to the choice was closer than a standard error: more folds would not change it."""
    return all(abs(gain - MARGIN) >= CLEAR for _, gain in _compared(held_out, every_class_twice=every_class_twice)[1])


def has_lost(held_out: HeldOut, *, every_class_twice: bool) -> bool:
    """Whether EM is so far behind a lighter candidate after a few passes that it need not be run to its end."""
    name, gain = _compared(held_out, every_class_twice=every_class_twice)[1][-1]
    return name == FULL and gain <= -LOST


def _compared(
    held_out: HeldOut, cooling: dict[str, float] | None = None, *, every_class_twice: bool
) -> tuple[str, list[tuple[str, float]]]:
    """The choice; and on the way to it, what each heavier candidate gained, in standard errors."""
    if cooling is None:
        cooling = {name: held_out.cooling(name) for name in CANDIDATES}
    score: dict[str, FloatArray] = {
        name: brier(held_out.cooled(name, cooling[name]), held_out.codes) for name in CANDIDATES
    }
    order = CANDIDATES if every_class_twice else CANDIDATES[1:]
    current, gains = order[0], []
    for name in order[1:]:
        gain, weight = held_out.by_row(score[current] - score[name])
        total = float(weight.sum())
        mean = float(weight @ gain) / total
        error = math.sqrt(float(weight @ (gain - mean) ** 2)) / total
        gains.append((name, mean / error if error > 0.0 else MARGIN))
        if mean > max(MARGIN * error, ROUNDING):
            current = name
    return current, gains
