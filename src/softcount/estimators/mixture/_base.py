"""Mixtures: what all of them share, whatever the distribution of a column."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import Rows, table_bytes
from softcount.core.classification import classify
from softcount.core.components import component_notes, order_by_column, order_by_size, reordered
from softcount.core.iterate import Stopping
from softcount.core.learn import Learned, Plan, learn, warn_about
from softcount.core.mixture import MixtureModel
from softcount.core.progress import note_printer, step_printer, stoppable
from softcount.core.start import VARIED
from softcount.estimators._fitting import journal_and_seed, one_fit
from softcount.estimators._generative import GenerativeEstimator
from softcount.estimators._grid import rows_for
from softcount.estimators._online import BatchesOfMixtures
from softcount.estimators._parameters import read_class_prior
from softcount.estimators.distant.sources import distant_blocks, lies_elsewhere
from softcount.estimators.mixture._answers import MixtureAnswers
from softcount.estimators.mixture._checks import check_search, data_notes
from softcount.estimators.mixture.description import (
    block_width,
)
from softcount.families.blocks import Block
from softcount.families.columns import ColumnFamily
from softcount.inputs.labels import Labels, read_labels
from softcount.inputs.weights import read_weights

__all__ = ["BaseMixture"]

#: The names users give to starts, and what they are called in the core, where they differ.
INITS = {None: VARIED, "random": "responsibilities"}
FEWEST_FINAL = 4


class BaseMixture(BatchesOfMixtures, MixtureAnswers):
    """A mixture of any families, fitted to rows with no, some or all labels."""

    #: Set by whoever runs several fits at a time, to end them all.
    _stopped: threading.Event | None = None

    # ---- what subclasses provide
    def _families(self) -> tuple[ColumnFamily, ...]:
        raise InputError(f"{type(self).__name__} has no family.")

    def _priors(self, n_components: int) -> tuple[Any, ...]:
        raise InputError(f"{type(self).__name__} has no prior.")

    # ---- fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit to rows, of which some may have a label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell, which is left out of the likelihood. Or rows that are not in memory: a
            Parquet file or folder, an Arrow dataset, a mapped array, batches, or a Dask collection.
        y : array-like of shape (n_samples,) or (n_samples, n_components), optional
            What is known about the rows' components: labels, some or all missing (NaN, None, ``missing_label``), sets
            of candidates, or rows of probabilities. Labels are never overwritten; each becomes a component.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a weight of k counts like k copies of the row.

        Returns
        -------
        self
        """
        with one_fit(self):
            self._check_parameters()
            blocks, labels, weight, names = self._read_training(X, y, sample_weight)
            learned = self._learn(blocks, labels, weight, names)
            self.component_names_ = names
            return self._keep(learned)

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Labels | None, Any, NDArray[Any]]:
        if lies_elsewhere(X):
            blocks, labels, names = distant_blocks(self, X, y, sample_weight)
            self._check_size(blocks.n_rows)
            return blocks, labels, None, names
        rows = self._read_blocks(X, reset=True)
        weight = read_weights(sample_weight, rows[0].n_rows)
        if weight is not None and not weight.any():
            raise InputError("All sample weights are zero, so there is nothing to learn from.")
        self._check_size(rows[0].n_rows)
        labels, names = self._read_labels(y, rows[0].n_rows)
        return rows, labels, weight, names

    def _check_size(self, n_rows: int) -> None:
        if n_rows < self.n_components:
            raise InputError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, n_samples = {n_rows}. "
                "Ask for fewer components, or give more rows."
            )

    def fit_predict(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, and the component of each row; that of a labeled row is its label's."""
        fitted = self.fit(X, y, sample_weight=sample_weight)
        return fitted.predict(X) if y is None else np.asarray(fitted.responsibilities(X, y).argmax(axis=1))

    def _check_parameters(self) -> None:
        """Refuse parameters no fit can use, before anything is read."""
        check_search(self)

    def _read_labels(self, y: Any, n_rows: int) -> tuple[Labels | None, NDArray[Any]]:
        """Labels with a component for each; without any, none and numbered components."""
        n_components = int(self.n_components)
        if y is None:
            return None, np.arange(n_components)
        try:
            labels, names = self._labels_of(y, n_rows, n_components)
            if labels.factors is None and labels.is_unlabeled().all():
                return None, np.arange(n_components)
            return labels, names
        except InputError:
            # Either more classes than components, or something that no labels can be, which is refused once more.
            known, names = self._labels_of(y, n_rows, None)
            if names.shape[0] <= n_components:
                raise
        warnings.warn(
            f"{type(self).__name__}: y names {names.shape[0]} classes, but n_components is {n_components}; "
            f"{names.shape[0]} components are fitted. Raise n_components, or leave y out.",
            UserWarning,
            stacklevel=3,
        )
        return known, names

    def _labels_of(self, y: Any, n_rows: int, n_classes: int | None) -> tuple[Labels, NDArray[Any]]:
        return read_labels(
            y,
            n_rows,
            missing_label=self.missing_label,
            n_classes=n_classes,
            soft_labels=self.soft_labels,
            estimator=type(self).__name__,
        )

    def _labels_for(self, y: Any, n_rows: int) -> Labels | None:
        return self._labels_in(self.component_names_, y, n_rows)

    def _plan(self) -> Plan:
        init = self.init
        many = isinstance(init, list) and any(isinstance(one, GenerativeEstimator) for one in init)
        if many or isinstance(init, GenerativeEstimator):
            given = [one.params_ if isinstance(one, GenerativeEstimator) else one for one in (init if many else [init])]
            init = given if many else given[0]
        elif init is None or isinstance(init, str):
            init = INITS.get(init, init)
        name, verbose = type(self).__name__, int(self.verbose)
        return Plan(
            init=init,
            n_init=self.n_init,
            stopping=Stopping(self.max_iter, self.tol),
            accelerate=bool(self.accelerate),
            annealing=tuple(self.annealing or ()),
            on_step=step_printer(name, verbose - 1),
            tell=note_printer(name, verbose),
            n_final=self._n_final(),
            confirm=self.n_final is None,
            merge_rows=self.merge_rows,
            **journal_and_seed(self),
        )

    def _plan_for(self, chunks: Rows) -> Plan:
        """How to search on these rows."""
        return self._plan()

    def _n_final(self) -> int:
        return max(FEWEST_FINAL, int(self.n_init) // 4) if self.n_final is None else int(self.n_final)

    def _learn(
        self,
        blocks: tuple[Block, ...],
        labels: Labels | None,
        weight: FloatArray | None,
        classes: NDArray[Any],
    ) -> Learned:
        model = self._make_model(blocks, classes)
        chunks = rows_for(model, blocks, labels, weight)
        plan = self._plan_for(chunks)
        plan = replace(plan, on_step=stoppable(plan.on_step, self._stopped))
        learned = learn(model, self._executor(), chunks, plan)
        if self._stopped is not None and self._stopped.is_set():
            raise KeyboardInterrupt
        learned = self._settled(learned, labels, classes)
        # Merged rows have the weight, and so the likelihood and the tables, of all.
        self._look_at(learned, chunks if learned.rows is None else learned.rows, list(classes.tolist()))
        notes = (*self._data_notes(), *data_notes(learned, blocks, self._block_feature_names(), self.log_likelihood_))
        learned = replace(learned, notes=(*learned.notes, *notes))
        count = model.n_components
        name = f"{type(self).__name__} with {count} component{'s' if count != 1 else ''}"
        warn_about(learned, name, plan.stopping)
        return learned

    def _look_at(self, learned: Learned, chunks: Rows, names: list[Any]) -> None:
        """What is worth keeping of the training rows, while they are at hand."""
        self.classification_, self.log_likelihood_ = classify(
            learned.model, learned.fit.params, self._executor(), chunks, names
        )
        self._n_rows = chunks.total_weight

    def _data_notes(self) -> list[str]:
        """What a subclass found out about the training rows."""
        return []

    def _settled(self, learned: Learned, labels: Labels | None, names: NDArray[Any]) -> Learned:
        """The fit with its components in order, and with notes about those that need one."""
        model, fit = learned.model, learned.fit
        if self.order is not None and (labels is None or not labels.class_support().any()):
            model, fit = reordered(model, fit, self._component_order(learned))
        notes = (*learned.notes, *component_notes(model, fit, names.tolist()))
        return replace(learned, model=model, fit=fit, notes=notes)

    def _component_order(self, learned: Learned) -> NDArray[Any]:
        if isinstance(self.order, str) and self.order == "size":
            return order_by_size(learned.fit)
        names = self._feature_names()
        column = names.index(self.order) if self.order in names else self.order
        if isinstance(column, bool) or not isinstance(column, (int, np.integer)) or not 0 <= column < len(names):
            raise InputError(
                f"order is {self.order!r}; use 'size', None, or one of the columns {', '.join(map(repr, names[:20]))}."
            )
        place = self._feature_order()
        position = int(column) if place is None else int(np.flatnonzero(place == column)[0])
        for block, family in enumerate(learned.model.families):
            width = block_width(family, learned.fit.params.blocks[block])
            if position < width:
                return order_by_column(learned.model, learned.fit.params, block, position)
            position -= width
        raise InputError(f"order is {self.order!r}, a column the model does not have.")

    def _make_model(self, blocks: tuple[Block, ...], classes: NDArray[Any]) -> MixtureModel:
        n_components = int(classes.shape[0])
        families = self._families()
        prior = self.class_prior
        return MixtureModel(
            families,
            self._priors(n_components),
            np.arange(n_components),
            n_components,
            None if prior is None else read_class_prior("class_prior", prior, n_components),
            float(self.class_alpha),
            float(self.unlabeled_weight),
            table_bytes=table_bytes(families, blocks, n_components),
        )

    def _keep(self, learned: Learned) -> Self:
        self.weights_ = np.exp(learned.fit.params.log_weights)
        self.n_patterns_ = learned.n_patterns
        self.n_finished_starts_ = len(learned.objectives)
        return super()._keep(learned)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # Not a classifier, but rows have posterior probabilities, as those of one have.
        tags.classifier_tags = ClassifierTags(poor_score=True)
        return tags
