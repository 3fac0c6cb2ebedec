"""Mixtures: what all of them share, whatever the distribution of a column."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._optional import need
from softcount._types import FloatArray
from softcount.core.chunks import Chunks, Rows
from softcount.core.classification import Classification, classify, information_criteria
from softcount.core.components import component_notes, order_by_column, order_by_size, reordered
from softcount.core.information import uncertainty
from softcount.core.iterate import Stopping
from softcount.core.learn import VARIED, Learned, Plan, learn, warn_about
from softcount.core.mixture import MixtureModel, table_bytes
from softcount.core.progress import note_printer, step_printer, stoppable
from softcount.estimators._fitting import journal_and_seed, one_fit, seed_of
from softcount.estimators._generative import GenerativeEstimator
from softcount.estimators._grid import rows_for
from softcount.estimators._online import BatchesOfMixtures
from softcount.estimators._parameters import read_class_prior
from softcount.estimators.distant.sources import distant_blocks, lies_elsewhere
from softcount.estimators.mixture._checks import check_search, data_notes
from softcount.estimators.mixture.description import (
    ParameterRow,
    block_width,
    error_rows,
    head_lines,
    parameter_table,
    summary_text,
)
from softcount.estimators.mixture.standard_errors import StandardErrors, check_covariance
from softcount.families.blocks import Block
from softcount.families.columns import ColumnFamily
from softcount.inputs.labels import Labels, read_labels
from softcount.inputs.weights import read_weights

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BaseMixture"]

#: The names users give to starts, and what they are called in the core, where they differ.
INITS = {None: VARIED, "random": "responsibilities"}
FEWEST_FINAL = 4


class BaseMixture(BatchesOfMixtures, DensityMixin, GenerativeEstimator):
    """A mixture of any families, fitted to rows with no, some or all labels."""

    component_names_: NDArray[Any]
    classification_: Classification
    log_likelihood_: float
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
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, n_samples = {n_rows}"
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
            return self._labels_of(y, n_rows, n_components)
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
        notes = data_notes(learned, blocks, self._block_feature_names(), self.log_likelihood_)
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

    # ---- answers
    def predict(self, X: Any) -> NDArray[Any]:
        """Position of the most probable component of each row."""
        check_is_fitted(self, "params_")
        scores = self._class_scores(X)
        scores[np.isneginf(scores.max(axis=1, initial=-np.inf))] = self._log_class_prior()
        return np.asarray(np.argmax(scores, axis=1))

    def predict_proba(self, X: Any) -> FloatArray:
        """Posterior probability of every component, shape (n_samples, n_components).

        A row that is impossible under every component gets the components' weights.
        """
        check_is_fitted(self, "params_")
        return self._posterior(X)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Mean marginal log-likelihood of the rows; ``y`` is ignored."""
        log_likelihood, total = self._log_likelihood(X, sample_weight)
        return log_likelihood / total

    def sample(
        self, n_samples: int = 1, component: Any = None, *, random_state: Any = None
    ) -> tuple[Any, NDArray[Any]]:
        """Draw rows and their components.

        Parameters
        ----------
        n_samples : int
            Rows to draw.
        component : name or array-like of n_samples names, optional
            Draw rows of these components only.
        random_state : int, Generator, RandomState or None
            Seed; by default the estimator's own.
        """
        check_is_fitted(self, "params_")
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        components = self._sample_components(n_samples, component, rng)
        return self._draw(n_samples, components, rng), np.asarray(components, dtype=np.int64)

    def classification(self, X: Any, *, sample_weight: Any = None) -> Classification:
        """How well the components are told apart in these rows: tables, entropy, expected error."""
        return self._classified(X, sample_weight)[0]

    def _classified(self, X: Any, sample_weight: Any) -> tuple[Classification, float]:
        rows = self._rows(X)
        weight = read_weights(sample_weight, rows.n_rows)
        return classify(self.model_, self.params_, self._executor(), rows.with_weight(weight), self._class_labels())

    def criteria(self, X: Any = None, *, sample_weight: Any = None) -> dict[str, float]:
        """All information criteria: AIC, BIC, sample-size-adjusted BIC, CAIC and ICL (lower is better).

        Parameters
        ----------
        X : array-like, optional
            Rows; by default those the mixture was fitted to.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        """
        check_is_fitted(self, "params_")
        kept = (self.classification_, self.log_likelihood_)
        found, log_likelihood = kept if X is None else self._classified(X, sample_weight)
        return information_criteria(log_likelihood, self.n_parameters_, found.n_rows, found.entropy)

    def standard_errors(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, covariance: str = "observed"
    ) -> StandardErrors:
        r"""Standard errors of weights and parameters, from the curvature of the log-likelihood at its maximum.

        .. math:: \mathrm{Cov}(\hat\theta) \approx \Bigl(-\frac{\partial^2 \ell}{\partial\theta^2}\Bigr)^{-1}

        and the delta method. An estimate on the boundary (a probability of 0 or 1) has none and is marked; one that the
        rows do not determine has an infinite one.

        Parameters
        ----------
        X : array-like
            The rows of the fit.
        y : array-like, optional
            The labels of the fit.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a weight of k counts like k copies of the row (but see ``"survey"``).
        covariance : {"observed", "scores", "sandwich", "survey"}, default="observed"
            Inverse of the observed information; of the sum of products of the rows' scores (as poLCA does); both as a
            sandwich, which holds where the items are not independent within the classes; or the sandwich with weights
            that stand for rows nobody asked, as those of surveys do.
        """
        check_covariance(covariance)
        check_is_fitted(self, "params_")
        rows = self._rows(X)
        labels = None if y is None else self._labels_for(y, rows.n_rows)
        weight = read_weights(sample_weight, rows.n_rows)
        chunks = Chunks(rows.blocks, labels, weight, rows_per_chunk=rows.rows_per_chunk)
        found = uncertainty(self.model_, self.params_, self._executor(), chunks, covariance)
        errors = error_rows(self.model_, found.blocks, self._block_feature_names(), self._block_categories())
        pairs = tuple(zip(self._parameter_rows(), errors, strict=True))
        return StandardErrors(
            self._class_labels(), self.weights_, found.weights, pairs, covariance, is_maximum=found.is_maximum
        )

    def frame(self) -> pd.DataFrame:
        """The components' parameters, one row per component, column and quantity (needs pandas)."""
        need("pandas", "A data frame")
        import pandas as pd

        names = self._class_labels()
        rows = [
            (names[k], row.column, row.category, row.quantity, float(value))
            for row in self._parameter_rows()
            for k, value in enumerate(row.values)
        ]
        return pd.DataFrame(rows, columns=["component", "column", "category", "quantity", "value"])

    def summary(self) -> str:
        """The fit as text: search, criteria, sizes of the components and their parameters."""
        check_is_fitted(self, "params_")
        return summary_text(self, self._parameter_rows(), head_lines(self, len(self._feature_names())))

    def _parameter_rows(self) -> list[ParameterRow]:
        check_is_fitted(self, "params_")
        return parameter_table(self.model_, self.params_, self._block_feature_names(), self._block_categories())

    def _class_labels(self) -> list[Any]:
        return list(self.component_names_.tolist())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        # Not a classifier, but rows have posterior probabilities, as those of one have.
        tags.classifier_tags = ClassifierTags(poor_score=True)
        return tags
