"""Which event model and how much smoothing, by cross-validation on the labeled rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from softcount._types import IntArray
from softcount.core.candidates import GIVEN
from softcount.core.chunks import Chunks
from softcount.core.crossfit import brier
from softcount.core.execute import Executor
from softcount.core.learn import Plan
from softcount.core.mixture import MixtureModel
from softcount.core.patterns import take_rows
from softcount.core.unlabeled import held_out_as_given
from softcount.families.blocks import Block

__all__ = ["Setting", "choose_setting"]

#: Most labeled rows that the settings are compared on.
MOST_ROWS = 5_000
#: With fewer rows per class than this the comparison says nothing, and the first setting is taken.
FEWEST_PER_CLASS = 10
#: Standard errors by which another setting has to be better than the first.
MARGIN = 1.0


@dataclass(frozen=True)
class Setting:
    """One way to set the model up.

    Attributes
    ----------
    event_model : {"multinomial", "bernoulli"}
        Whether words are counted, or only whether they occur.
    alpha : float
        Pseudo-count.
    """

    event_model: str
    alpha: float


def choose_setting(
    settings: Sequence[Setting],
    make_model: Callable[[Setting], MixtureModel],
    make_blocks: Callable[[tuple[Block, ...], Setting], tuple[Block, ...]],
    *,
    executor: Executor,
    chunks: Chunks,
    plan: Plan,
) -> tuple[Setting, dict[Setting, float]]:
    """The setting whose cross-fitted, cooled posteriors have the best Brier score, and all the scores.

    The first setting stays unless another is better by a standard error of the paired difference.

    Parameters
    ----------
    settings : sequence of Setting
        To choose from, the usual one first.
    make_model, make_blocks : callable
        The model of a setting, and the blocks as it wants them.
    executor, chunks, plan
        Who runs passes, all rows, and how to search.
    """
    rows = _compared_rows(chunks)
    if len(settings) == 1 or rows is None:
        return settings[0], {}
    labels = chunks.labels
    assert labels is not None
    blocks = tuple(take_rows(block, rows) for block in chunks.blocks)
    weight = None if chunks.weight is None else chunks.weight[rows]
    scores = {}
    for number, setting in enumerate(settings):
        own = replace(plan, journal=plan.journal.part(f"setting {number}"))
        part = Chunks(make_blocks(blocks, setting), labels.take(rows), weight, rows_per_chunk=chunks.rows_per_chunk)
        held = held_out_as_given(make_model(setting), executor, part, own, n_iter=1)
        if len(held) == 0:
            return settings[0], {}
        scores[setting] = held.by_row(brier(held.cooled(GIVEN, held.cooling(GIVEN)), held.codes))
    best = settings[0]
    means = {setting: float(np.average(score, weights=w)) for setting, (score, w) in scores.items()}
    challenger = min(settings, key=lambda setting: means[setting])
    gain = scores[best][0] - scores[challenger][0]
    if gain.mean() > MARGIN * gain.std() / math.sqrt(gain.size):
        best = challenger
    return best, means


def _compared_rows(chunks: Chunks) -> IntArray | None:
    """The labeled rows to compare settings on, or None where there are too few of some class."""
    labels = chunks.labels
    if labels is None:
        return None
    known = labels.codes >= 0 if chunks.weight is None else (labels.codes >= 0) & (chunks.weight > 0.0)
    rows = np.flatnonzero(known)
    counts = np.bincount(labels.codes[rows], minlength=labels.n_classes)
    if labels.n_classes < 2 or counts.min() < FEWEST_PER_CLASS:
        return None
    if rows.size > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    return rows
