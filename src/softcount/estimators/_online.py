r"""Stepwise EM: learning from batches of a stream, labeled or not, that are seen once.

What is known of labeled rows adds up exactly: :math:`L_t = L_{t-1} + C_t`. What was guessed of the others was guessed
under the parameters of its time, and early guesses are bad ones. So guessed counts are averaged with a step that
forgets them (Cappé and Moulines 2009; Liang and Klein 2009). With :math:`\hat C_t` the expected counts of the rows of
batch t, of total weight :math:`w_t`, under the parameters so far, and :math:`n_t = n_{t-1} + w_t`,

.. math:: s_t = (1 - \eta_t)\, s_{t-1} + \eta_t \frac{\hat C_t}{w_t}, \qquad \eta_t = t^{-\kappa}, \qquad
          \tfrac12 < \kappa \le 1,

and the parameters solve :math:`L_t + n_t s_t`. With :math:`\kappa = 1` and batches of equal weight nothing is
forgotten: :math:`n_t s_t` is the sum. A stream that changes asks for a ``memory`` of m rows: then neither the labeled
nor the guessed counts ever weigh more than m, and :math:`\eta_t` is at least :math:`w_t / m`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from softcount._errors import InputError
from softcount.core.chunks import Chunks
from softcount.core.counts import Counts
from softcount.core.iterate import Fit
from softcount.core.learn import Learned
from softcount.core.mixture import CLASSES, MixtureModel
from softcount.core.patterns import select_rows
from softcount.estimators._grid import grid_for
from softcount.inputs.weights import read_weights

__all__ = ["BatchesOfMixtures", "Pace", "add_batch_online", "forget_batches", "keep_batches", "settled_rows"]

#: What of a stream has been seen; a fit of all rows at once begins anew.
STATE = ("labeled_counts_", "guessed_counts_", "guessed_weight_", "n_guessed_batches_")


@dataclass(frozen=True)
class Pace:
    """How fast guesses are forgotten.

    Attributes
    ----------
    forgetting : float
        The exponent of the step size.
    memory : float or None
        Most rows that are remembered.

    Examples
    --------
    >>> [round(Pace(0.5001).step(t, 10.0), 3) for t in (1, 4, 100)]
    [1.0, 0.5, 0.1]
    >>> Pace(1.0, memory=20.0).step(100, 10.0)
    0.5
    """

    forgetting: float
    memory: float | None = None

    @classmethod
    def read(cls, forgetting: Any, memory: Any) -> Pace:
        """What the user asked for, checked."""
        if isinstance(forgetting, bool) or not 0.5 < float(forgetting) <= 1.0:
            raise InputError(f"forgetting is {forgetting!r}; give a number above 0.5 (forgets most) up to 1 (nothing).")
        if memory is not None and not 0.0 < float(memory) < math.inf:
            raise InputError(f"memory is {memory!r}; give a number of rows above 0, or None for all of them.")
        return cls(float(forgetting), None if memory is None else float(memory))

    def step(self, batch: int, weight: float) -> float:
        """The step size of a batch, counted from 1."""
        size: float = float(batch) ** -self.forgetting
        return size if self.memory is None else min(1.0, max(size, weight / self.memory))

    def remembered(self, weight: float) -> float:
        """The weight that so many rows keep."""
        return weight if self.memory is None else min(weight, self.memory)


def weight_of(counts: Counts) -> float:
    """The rows behind some counts."""
    return float(counts.parts[CLASSES].arrays()["weight"].sum())


def add_guesses(estimator: Any, guessed: Counts | None, batch: Counts, pace: Pace) -> tuple[Counts | None, float, int]:
    """The guesses so far with those of a batch, the weight of all of them, and how many batches that makes."""
    weight = weight_of(batch)
    before, number = getattr(estimator, "guessed_weight_", 0.0), getattr(estimator, "n_guessed_batches_", 0)
    if not weight > 0.0:
        return guessed, before, number
    total = pace.remembered(before + weight)
    if guessed is None or not before > 0.0:
        return batch.scaled(total / weight), total, number + 1
    step = pace.step(number + 1, weight)
    blended = guessed.scaled((1.0 - step) * total / before) + batch.scaled(step * total / weight)
    return replace(blended, objective=0.0), total, number + 1


def forget_batches(estimator: Any) -> None:
    """Forget what of a stream has been seen."""
    for name in STATE:
        if hasattr(estimator, name):
            delattr(estimator, name)


def keep_batches(estimator: Any, labeled: Counts | None, guessed: Counts | None, weight: float, number: int) -> None:
    """Note what of a stream has been seen."""
    for name, value in zip(STATE, (labeled, guessed, weight, number), strict=True):
        setattr(estimator, name, value)


def settled_rows(labels: Any) -> Any:
    """Rows whose classes are known, or given as responsibilities."""
    settled = labels.codes >= 0
    if labels.fixed and labels.factor_row is not None:
        settled = settled | (labels.factor_row >= 0)
    return settled


class BatchesOfMixtures:
    """What mixtures add to learn from batches of a stream."""

    def partial_fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, forgetting: float = 0.7, memory: float | None = None
    ) -> Self:
        r"""Learn from a batch of rows after others, by stepwise EM; the first batch is fitted as by ``fit``.

        .. math:: s_t = (1 - \eta_t)\, s_{t-1} + \eta_t \hat C_t / w_t, \qquad \eta_t = t^{-\kappa}

        averages the expected counts of the batches, and the parameters solve :math:`n_t s_t` for the :math:`n_t` rows
        so far. What a fit says of its rows (``log_likelihood_`` and the like) is said of the last batch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; the first batch has to show every category there is.
        y : array-like of shape (n_samples,), optional
            Labels, as in ``fit``.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        forgetting : float, default=0.7
            The exponent :math:`\kappa` above 0.5 and up to 1: the smaller, the sooner early guesses are forgotten.
        memory : float, optional
            Most rows that are remembered, for streams that change.
        """
        this: Any = self
        pace = Pace.read(forgetting, memory)
        if not hasattr(this, "params_"):
            this.fit(X, y, sample_weight=sample_weight)
        elif getattr(this, "covariates", None) is not None:
            raise InputError("Covariates are learned from all rows at once; use fit.")
        else:
            self._add(X, y, sample_weight, pace)
            return self
        total = this.counts_
        keep_batches(self, None, total, weight_of(total), 1)
        return self

    def _add(self, X: Any, y: Any, sample_weight: Any, pace: Pace) -> None:
        this: Any = self
        if not hasattr(this, "n_guessed_batches_"):  # all that a fit has seen is one batch
            keep_batches(self, None, this.counts_, weight_of(this.counts_), 1)
        blocks = this._read_blocks(X, reset=False)
        n_rows = blocks[0].n_rows
        labels = None if y is None else this._labels_for(y, n_rows)
        model: MixtureModel = this.model_
        rows = Chunks(blocks, labels, read_weights(sample_weight, n_rows), **grid_for(model, blocks))
        params, size = this.params_, model.counts_bytes()
        batch = this._executor().reduce(lambda lane: model.tally(params, lane), rows, counts_bytes=size)
        total, weight, number = add_guesses(self, this.guessed_counts_, batch, pace)
        assert total is not None  # the first batch had rows
        found = model.solve(total, params)
        learned = Learned(model, Fit(found, total, np.nan, True, this.n_iter_), (), False)
        this._look_at(learned, rows, list(this.component_names_.tolist()))
        this._keep(learned)
        keep_batches(self, None, total, weight, number)


def add_batch_online(
    estimator: Any, model: MixtureModel, chunks: Chunks, pace: Pace
) -> tuple[Counts, Any, MixtureModel, tuple[Counts, Counts | None, float, int]]:
    """A batch of a classifier: labeled rows are added, the others guessed and averaged.

    Parameters
    ----------
    estimator : BaseNaiveBayes
    model : MixtureModel
    chunks : Chunks
        The batch.
    pace : Pace
    """
    # What a fit has seen, or batches that were added without forgetting, stays as it is.
    labeled = getattr(estimator, "labeled_counts_", getattr(estimator, "counts_", None))
    guessed = getattr(estimator, "guessed_counts_", None)
    settled = settled_rows(chunks.labels)
    weight = np.ones(chunks.n_rows) if chunks.weight is None else chunks.weight

    def rows(chosen: Any) -> Chunks:
        return select_rows(chunks, np.flatnonzero(chosen), weight[chosen])

    # There has to be room for what this batch is the first to show.
    guessed = None if guessed is None else estimator._widened(guessed)
    if settled.any() or labeled is None:
        labeled, params, model = estimator._add_batch(model, rows(settled), labeled)
    else:
        labeled = estimator._widened(labeled)
        model = estimator._anchored_by(model, chunks, labeled)
    assert labeled is not None
    share = pace.remembered(weight_of(labeled)) / max(weight_of(labeled), 1e-300)
    labeled = labeled if share == 1.0 else labeled.scaled(share)
    total = labeled if guessed is None else labeled + guessed
    number, seen = getattr(estimator, "n_guessed_batches_", 0), getattr(estimator, "guessed_weight_", 0.0)
    if not settled.all():
        model = estimator._refreshed(model, total)
        params = model.solve(total, None)
        soft = estimator._executor().reduce(
            lambda lane: model.tally(params, lane), rows(~settled), counts_bytes=model.counts_bytes()
        )
        guessed, seen, number = add_guesses(estimator, guessed, replace(soft, objective=0.0), pace)
        total = labeled if guessed is None else labeled + guessed
    model = estimator._refreshed(model, total)
    return total, model.solve(total, None), model, (labeled, guessed, seen, number)
