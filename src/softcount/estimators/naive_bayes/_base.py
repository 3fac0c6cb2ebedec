"""Naive Bayes: what all event models share."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from softcount import kernels
from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.calibration import Calibration
from softcount.core.candidates import row_lengths
from softcount.core.chunks import Chunks, table_bytes
from softcount.core.learn import Learned, warn_about
from softcount.core.mixture import CLASSES, MixtureModel
from softcount.core.progress import note_printer
from softcount.estimators._annealing import check_annealing
from softcount.estimators._choosing import AUTO, Outcome, calibrated, check_choices, fit_with_choice
from softcount.estimators._fitting import one_fit, seed_of
from softcount.estimators._generative import GenerativeEstimator
from softcount.estimators._grid import rows_for
from softcount.estimators._parameters import check_number, read_alpha, read_class_prior
from softcount.estimators.distant.sources import distant_blocks, lies_elsewhere
from softcount.estimators.naive_bayes._in_turn import LearnsInTurn
from softcount.families.blocks import Block
from softcount.families.columns import ColumnFamily, PseudoCounts
from softcount.inputs.labels import Labels, read_labels
from softcount.inputs.weights import read_weights

__all__ = ["BaseNaiveBayes", "DiscreteNaiveBayes"]


class BaseNaiveBayes(LearnsInTurn, ClassifierMixin, GenerativeEstimator):
    """Naive Bayes over any family, learned from full, partial or no labels."""

    classes_: NDArray[Any]

    # ---- fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows with known, missing or partly known labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell, which is left out of the likelihood. Or rows that are not in memory: a
            Parquet file or folder, an Arrow dataset, a mapped array, batches, or a Dask collection.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), or the name of a column, optional
            Labels; NaN, None, ``pd.NA`` or ``missing_label`` mark missing ones, a set holds candidate classes, a matrix
            rows of class probabilities (see ``soft_labels``). Known labels are never overwritten.
        sample_weight : array-like of shape (n_samples,), or the name of a column, optional
            Weight of each row; a weight of k counts like k copies of the row.

        Returns
        -------
        self
        """
        with one_fit(self):
            self._check_parameters()
            blocks, labels, weight, classes = self._read_training(X, y, sample_weight)
            outcome = self._fit_with_choice(blocks, labels, weight, classes)
            self.classes_ = classes
            self.unlabeled_use_, self.unlabeled_weight_ = outcome.use, outcome.weight
            self.unlabeled_verdict_, self.calibration_ = outcome.verdict, outcome.calibration
            return self._keep(outcome.learned)

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Labels, FloatArray | None, Any]:
        """Blocks, labels, weights and classes; of rows that are not in memory, what stands for them."""
        if lies_elsewhere(X):
            elsewhere, seen, classes = distant_blocks(self, X, y, sample_weight)
            assert seen is not None
            return elsewhere, seen, None, classes
        blocks = self._read_training_rows(X)
        labels, classes = self._read_labels(y, blocks[0].n_rows)
        weight = read_weights(sample_weight, blocks[0].n_rows)
        if weight is not None and not weight.any():
            raise InputError("Sample weights are zero in all rows, so there is nothing to learn from.")
        return blocks, labels, weight, classes

    def _read_training_rows(self, X: Any) -> tuple[Block, ...]:
        """X for ``fit``; checks that counting makes anyway may be left to :meth:`_fit_with_choice`."""
        return self._read_blocks(X, reset=True)

    def _fit_with_choice(
        self, blocks: tuple[Block, ...], labels: Labels, weight: FloatArray | None, classes: NDArray[Any]
    ) -> Outcome:
        model = self._make_model(blocks, classes)
        chunks = rows_for(model, blocks, labels, weight)
        plan = self._plan()
        is_auto = self.unlabeled_weight == AUTO
        tell = note_printer(type(self).__name__, self.verbose)
        outcome = fit_with_choice(
            model, self._executor(), chunks, plan, is_auto=is_auto, calibrate=self.calibrate, tell=tell
        )
        learned = replace(outcome.learned, notes=outcome.learned.notes + self._further_notes(outcome.learned))
        warn_about(learned, type(self).__name__, plan.stopping)
        return replace(outcome, learned=learned)

    def _further_notes(self, learned: Learned) -> tuple[str, ...]:
        """What is worth knowing about a fit of this family."""
        return ()

    def _read_labels(self, y: Any, n_rows: int) -> tuple[Labels, NDArray[Any]]:
        return read_labels(
            y,
            n_rows,
            missing_label=self.missing_label,
            classes=self.classes,
            n_classes=self.n_classes,
            soft_labels=self.soft_labels,
            estimator=type(self).__name__,
        )

    def _labels_for(self, y: Any, n_rows: int) -> Labels | None:
        return self._labels_in(self.classes_, y, n_rows)

    def _check_parameters(self) -> None:
        """Refuse parameters no fit can use, before anything is read."""
        check_number("max_iter", self.max_iter, 0, whole=True)
        check_number("tol", self.tol, 0)
        check_number("class_alpha", self.class_alpha, 0)
        check_choices(self.unlabeled_weight, self.calibrate)
        check_annealing(self.annealing)
        if self.n_init is not None:
            check_number("n_init", self.n_init, 1, whole=True)

    # ---- the model
    def _families(self) -> tuple[ColumnFamily, ...]:
        raise InputError(f"{type(self).__name__} has no family.")

    def _priors(self, n_classes: int, groups: NDArray[Any]) -> tuple[Any, ...]:
        raise InputError(f"{type(self).__name__} has no prior.")

    def _class_prior(self, n_classes: int) -> FloatArray | None:
        """Fixed class probabilities, or None where they are estimated."""
        if self.class_prior is not None:
            return read_class_prior("class_prior", self.class_prior, n_classes)
        return None if self.fit_prior else np.full(n_classes, 1.0 / n_classes)

    def _make_model(self, blocks: tuple[Block, ...], classes: NDArray[Any]) -> MixtureModel:
        n_classes = classes.shape[0]
        groups = self._groups(classes)
        families = self._families()
        return MixtureModel(
            families,
            self._priors(n_classes, groups),
            groups,
            n_classes,
            self._class_prior(n_classes),
            float(self.class_alpha),
            1.0 if self.unlabeled_weight == AUTO else float(self.unlabeled_weight),
            table_bytes=table_bytes(families, blocks, groups.shape[0]),
        )

    def _groups(self, classes: NDArray[Any]) -> NDArray[Any]:
        """The class of each component, from ``n_components_per_class`` (a number, or one per class)."""
        n_classes = classes.shape[0]
        wanted = self.n_components_per_class
        if isinstance(wanted, dict):
            names = list(classes)
            unknown = [name for name in wanted if name not in names]
            if unknown:
                raise InputError(f"n_components_per_class names {unknown}, which are not among the classes {names}.")
            wanted = [wanted.get(name, 1) for name in names]
        sizes = np.broadcast_to(np.asarray(wanted), (n_classes,)) if np.ndim(wanted) == 0 else np.asarray(wanted)
        if sizes.shape != (n_classes,) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise InputError(
                f"n_components_per_class is {self.n_components_per_class!r}; give one whole number of 1 or more, or "
                f"one for each of the {n_classes} classes."
            )
        return np.repeat(np.arange(n_classes), sizes)

    # ---- predicting
    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        r""":math:`\log P(y) + \log p(x \mid y)` for every row and class, shape (n_samples, n_classes)."""
        return self._class_scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        check_is_fitted(self, "params_")
        scores = self._class_scores(X)
        # One number tells that no row is impossible, in less time than the largest score of every row.
        if scores.min(initial=0.0) == -np.inf:
            scores[np.isneginf(scores).all(axis=1)] = self._log_class_prior()
        return np.asarray(self.classes_[np.argmax(scores, axis=1)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Posterior probability of every class, shape (n_samples, n_classes).

        A row that is impossible under every class (with ``alpha=0``) gets the class prior.
        """
        check_is_fitted(self, "params_")
        return self._posterior(X) if self.calibration_ is None else self._calibrated(X, self.calibration_)

    def _calibrated(self, X: Any, calibration: Calibration, *, log: bool = False) -> FloatArray:
        chunks, prior = self._rows(X), self._log_class_prior()
        return calibrated(calibration, self.model_, self._score_classes(chunks), prior, chunks.blocks, log=log)

    def _cooling_of(self, chunks: Chunks) -> FloatArray | None:
        # An isotonic map is no sum over cells: there the evidence is that for the cooled posterior it starts from.
        if self.calibration_ is None:
            return None
        length = row_lengths(self.model_, chunks.blocks)
        return np.asarray(1.0 + np.maximum(length - 1.0, 0.0) * self.calibration_.correlation)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of the posterior probabilities."""
        check_is_fitted(self, "params_")
        if self.calibration_ is not None:
            return self._calibrated(X, self.calibration_, log=True)
        scores = self._class_scores(X)
        top = scores.max(axis=1, initial=-np.inf)
        scores[np.isneginf(top)] = self._log_class_prior()
        resp = scores.copy()
        log_norm = np.empty(scores.shape[0])
        kernels.normalize_rows(resp, None, self._log_class_prior(), log_norm)
        return scores - log_norm[:, None]

    def sample(self, n_samples: int = 1, y: Any = None, random_state: Any = None) -> tuple[Any, NDArray[Any]]:
        """Draw rows and their classes from the fitted joint distribution.

        Parameters
        ----------
        n_samples : int
            Rows to draw.
        y : label or array-like of n_samples labels, optional
            Draw rows of these classes only.
        random_state : int, Generator or None
            Seed; by default the estimator's own.
        """
        check_is_fitted(self, "params_")
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        components = self._sample_components(n_samples, y, rng)
        return self._draw(n_samples, components, rng), self.classes_[self.model_.groups[components]]

    def _class_labels(self) -> list[Any]:
        return list(self.classes_.tolist())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class DiscreteNaiveBayes(BaseNaiveBayes):
    """Naive Bayes with pseudo-counts ``alpha``: what the discrete event models share."""

    def _checked_alpha(self) -> FloatArray:
        """``alpha`` as an array that broadcasts to (n_features, n_classes)."""
        alpha = read_alpha(self.alpha, self.n_features_in_)
        if not getattr(self, "force_alpha", True) and alpha.size and alpha.min() < 1e-10:
            warnings.warn(
                "alpha too small will result in numeric errors, setting alpha = 1.0e-10. "
                "Use `force_alpha=True` to keep alpha unchanged.",
                UserWarning,
                stacklevel=5,
            )
            alpha = np.maximum(alpha, 1e-10)
        return alpha

    def _priors(self, n_classes: int, groups: NDArray[Any]) -> tuple[Any, ...]:
        alpha = self._checked_alpha()
        if alpha.ndim == 2 and alpha.shape[1] > 1:
            if alpha.shape[1] != n_classes:
                raise InputError(
                    f"alpha has {alpha.shape[1]} rows, but there are {n_classes} classes; a two-dimensional alpha has "
                    "the shape (n_classes, n_features) or (n_classes, 1)."
                )
            alpha = alpha[:, groups]
        if self.feature_prior is not None:
            return (self.feature_prior.pseudo_counts(self.estimate, self._families()[0]),)
        return (PseudoCounts(alpha),)

    # ---- what scikit-learn calls the fitted counts
    def _publish_classes(self, learned: Learned) -> None:
        weight = learned.fit.counts.parts[CLASSES].arrays()["weight"]
        groups = learned.model.groups
        self.class_count_ = np.bincount(groups, weight, minlength=learned.model.n_classes)
        self.class_log_prior_ = self._log_class_prior()
