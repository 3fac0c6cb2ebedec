"""Naive Bayes from batches of rows, one after the other: keep the counts and add."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount.core.calibration import Calibration
from softcount.core.chunks import Chunks
from softcount.core.counts import Counts
from softcount.core.iterate import Fit
from softcount.core.learn import Learned
from softcount.core.mixture import CLASSES, MixtureModel, pooled_counts
from softcount.core.start import labeled_resp
from softcount.core.verdict import Verdict
from softcount.estimators._grid import grid_for
from softcount.estimators._online import Pace, add_batch_online, keep_batches, settled_rows
from softcount.inputs.labels import read_classes
from softcount.inputs.weights import read_weights

__all__ = ["LearnsInTurn"]


class LearnsInTurn:
    """What a classifier adds to learn from batches of rows; the rest of it is in :class:`BaseNaiveBayes`."""

    classes_: NDArray[Any]
    counts_: Counts
    unlabeled_verdict_: Verdict | None
    calibration_: Calibration | None

    # ---- partial_fit: keep the counts and add
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        forgetting: float | None = None,
        memory: float | None = None,
    ) -> Self:
        r"""Add a batch of rows to what was learned so far.

        Rows with known classes are counted exactly, so batches add up to one fit. Rows without a label are counted by
        their expected classes under the parameters learned so far (after this batch's labeled rows); with
        ``forgetting`` by stepwise EM, which averages these guesses with the step :math:`t^{-\kappa}` and so forgets the
        early ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, some of which may be missing.
        classes : array-like of shape (n_classes,), optional
            All classes; needed in the first call, unless the constructor names them.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        forgetting : float, optional
            The exponent :math:`\kappa` above 0.5 and up to 1, usually 0.7; without it nothing is forgotten.
        memory : float, optional
            With ``forgetting``: most rows that are remembered, for streams that change.
        """
        this: Any = self
        pace = None if forgetting is None else Pace.read(forgetting, memory)
        first = not hasattr(self, "counts_")
        names = self._first_classes(classes) if first else self._same_classes(classes)
        this._check_parameters()
        blocks = this._read_blocks(X, reset=first)
        labels = this._labels_in(names, y, blocks[0].n_rows)
        weight = read_weights(sample_weight, blocks[0].n_rows)
        model = this._make_model(blocks, names)
        if not model.has_single_components:
            raise InputError("partial_fit needs one component per class; use fit for n_components_per_class above 1.")
        for family, block in zip(model.families, blocks, strict=True):
            guesses_later = family.counts_incomplete_rows and not family.closed_form_with_missing
            if guesses_later and getattr(block, "has_missing", False):
                raise InputError(
                    f"X has missing cells in {family.name} columns, which cannot be counted batch by batch: what is "
                    "missing is guessed from all rows together. Use fit, or leave those rows out."
                )
        chunks = Chunks(blocks, labels, weight, **grid_for(model, blocks))
        online = None
        if pace is None:
            total, params, model = self._add_batch(model, chunks, None if first else self.counts_)
        else:
            total, params, model, online = add_batch_online(self, model, chunks, pace)
        self.classes_ = names
        self.unlabeled_use_, self.unlabeled_weight_ = "full", 1.0
        self.unlabeled_verdict_, self.calibration_ = None, None
        this._keep(Learned(model, Fit(params, total, math.nan, True, 1), (), True))
        if online is not None:
            keep_batches(self, *online)
        return self

    def _anchored_by(self, model: MixtureModel, chunks: Chunks, before: Counts) -> MixtureModel:
        """The model with its priors where all rows so far have them, a batch without labels included."""
        this: Any = self
        return _anchored(model, pooled_counts(model, this._executor(), chunks), before)

    def _refreshed(self, model: MixtureModel, total: Counts) -> MixtureModel:
        """The model with priors that follow from the counts."""
        return model

    def _add_batch(
        self, model: MixtureModel, chunks: Chunks, before: Counts | None
    ) -> tuple[Counts, Any, MixtureModel]:
        this: Any = self
        executor, labels, size = this._executor(), chunks.labels, model.counts_bytes()
        assert labels is not None

        def tally_labeled(lane: Any) -> Counts:
            if labels.fixed:
                return model.tally_given(lane, lambda chunk: labeled_resp(model, chunk, spread=False))
            return model.tally_known(lane)

        batch = executor.reduce(tally_labeled, chunks, counts_bytes=size)
        wide = None if before is None else self._widened(before)
        total = batch if wide is None else wide + batch
        if not total.parts[CLASSES].arrays()["weight"].any():
            raise InputError(
                "partial_fit has not been given a labeled row of sample weight above zero yet. Give labeled rows first "
                "(or together with the others): only they say which class is which."
            )
        all_known = labels.all_known()
        model = _anchored(model, batch if all_known else pooled_counts(model, executor, chunks), wide)
        params = model.solve(total, None)
        if all_known:
            return total, params, model
        settled = settled_rows(labels)
        weight = np.ones(chunks.n_rows) if chunks.weight is None else chunks.weight.copy()
        weight[settled] = 0.0
        rest = chunks.with_weight(weight)
        soft = executor.reduce(lambda lane: model.tally(params, lane), rest, counts_bytes=size)
        total = total + replace(soft, objective=0.0)
        return total, model.solve(total, None), model

    def _widened(self, before: Counts) -> Counts:
        """Earlier counts in the shape of the new ones (new categories, first missing values)."""
        return before

    def _first_classes(self, classes: Any) -> NDArray[Any]:
        this: Any = self
        given = this.classes if classes is None else classes
        if given is None:
            raise InputError("classes must be passed on the first call to partial_fit.")
        return read_classes(given)

    def _same_classes(self, classes: Any) -> NDArray[Any]:
        if classes is not None and set(read_classes(classes).tolist()) != set(self.classes_.tolist()):
            raise InputError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
        return self.classes_


def _anchored(model: MixtureModel, batch: Counts, before: Counts | None) -> MixtureModel:
    """The model with the priors that take their place from the data put where all rows so far have it."""

    def seen(block: str) -> Any:
        part: Any = batch.parts[block]
        earlier: Any = None if before is None else before.parts[block]
        return part.pooled() if earlier is None else earlier.pooled() + part.pooled()

    priors = tuple(
        family.anchored(prior, seen(str(b)))
        for b, (family, prior) in enumerate(zip(model.families, model.priors, strict=True))
    )
    return replace(model, priors=priors)
