"""What every generative estimator has: reading rows, fitting by the one loop, and answering questions afterwards."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from softcount import kernels
from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import Chunk, Chunks
from softcount.core.evidence import (
    Contributions,
    LinearForm,
    class_scores,
    contributions,
    draw_components,
    entropy_of,
    linear_form,
    side_by_side,
    stacked,
    strongest_features,
    telling_features,
)
from softcount.core.execute import Executor, ThreadExecutor
from softcount.core.iterate import Stopping
from softcount.core.learn import Learned, Plan, learn, warn_about
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.progress import step_printer
from softcount.estimators._fitting import journal_and_seed
from softcount.estimators._given_start import params_of
from softcount.estimators._grid import grid_for, rows_for
from softcount.estimators._online import forget_batches
from softcount.estimators._tables import names_of_columns
from softcount.estimators.distant.face import AnswersInBatches
from softcount.estimators.distant.sources import is_distant
from softcount.estimators.distant.training import LearnsFromBatches
from softcount.families.blocks import Block
from softcount.inputs.labels import Labels
from softcount.inputs.weights import read_weights

__all__ = ["ChunkScorer", "GenerativeEstimator"]

#: Writes the scores of a chunk, a column for each class, into an array.
ChunkScorer: TypeAlias = Callable[[Chunk, FloatArray], None]


class GenerativeEstimator(LearnsFromBatches, AnswersInBatches, BaseEstimator):
    """A model of the rows and their classes, fitted by counting.

    Subclasses say how X becomes blocks (:meth:`_read_blocks`), which model to fit (:meth:`_make_model`) and which
    attributes to publish (:meth:`_publish`).
    """

    model_: MixtureModel
    params_: MixtureParams
    n_features_in_: int

    # ---- what subclasses provide
    @abstractmethod
    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        """Check X and lay it out in blocks; with ``reset`` learn its columns."""

    @abstractmethod
    def _make_model(self, blocks: tuple[Block, ...], classes: NDArray[Any]) -> MixtureModel:
        """The model for these blocks and classes."""

    @abstractmethod
    def _publish(self, learned: Learned) -> None:
        """Set the fitted attributes."""

    # ---- fitting
    def _executor(self) -> Executor:
        return ThreadExecutor(self.n_jobs)

    def _plan(self) -> Plan:
        init = self.init
        if isinstance(init, GenerativeEstimator):
            init = params_of(init, self)
        return Plan(
            init=init,
            n_init=self.n_init,
            stopping=Stopping(self.max_iter, self.tol),
            accelerate=bool(self.accelerate),
            annealing=tuple(self.annealing or ()),
            on_step=step_printer(type(self).__name__, self.verbose),
            **journal_and_seed(self),
        )

    def _learn(
        self, blocks: tuple[Block, ...], labels: Labels | None, weight: FloatArray | None, classes: NDArray[Any]
    ) -> Learned:
        model = self._make_model(blocks, classes)
        chunks = rows_for(model, blocks, labels, weight)
        plan = self._plan()
        learned = learn(model, self._executor(), chunks, plan)
        warn_about(learned, type(self).__name__, plan.stopping)
        return learned

    def _keep(self, learned: Learned) -> Self:
        """Write everything fitting gives, once, at the end."""
        forget_batches(self)
        self.model_ = learned.model
        self.params_ = learned.fit.params
        self.counts_ = learned.fit.counts
        self.n_iter_ = learned.fit.n_iter
        self.converged_ = learned.fit.converged
        self.history_ = list(learned.fit.history)
        self.n_starts_, self.n_best_starts_ = learned.n_starts, learned.n_best
        self.n_parameters_ = learned.model.n_parameters(learned.fit.params)
        self.notes_ = list(learned.notes)
        self._publish(learned)
        return self

    # ---- passes over rows after fitting
    def _rows(self, X: Any, labels: Labels | None = None, weight: FloatArray | None = None) -> Chunks:
        check_is_fitted(self, "params_")
        if is_distant(X):
            raise InputError("This question is answered for rows in memory alone. Ask it of a part of the rows.")
        blocks = self._read_blocks(X, reset=False)
        return Chunks(blocks, labels, weight, **grid_for(self.model_, blocks))

    def _class_scores(self, X: Any) -> FloatArray:
        """``log P(class) + log p(x | class)``, or what a rule scores in its place, shape (n_rows, n_classes)."""
        return self._scored(self._rows(X), self._chunk_scorer())

    def _chunk_scorer(self) -> ChunkScorer:
        """Writes the class scores of a chunk into an array."""
        return self._score_chunk

    def _score_chunk(self, chunk: Chunk, out: FloatArray) -> None:
        if self.model_.has_single_components:
            self.model_.log_joint(self.params_, chunk, out=out)
        else:
            out[:] = class_scores(self.model_, self.model_.log_joint(self.params_, chunk))

    def _scored(self, chunks: Chunks, scorer: ChunkScorer, log_prior: FloatArray | None = None) -> FloatArray:
        """The scores of all rows; as probabilities where the classes' log-prior is given."""
        out = np.empty((chunks.n_rows, self.model_.n_classes))

        def task(chunk: Chunk) -> None:
            rows = out[chunk.start : chunk.start + chunk.n_rows]
            scorer(chunk, rows)
            if log_prior is not None:
                # Here, because the rows are still in the cache, and other threads have theirs.
                kernels.normalize_rows(rows, None, log_prior, None)

        self._executor().each(task, chunks)
        return out

    def _score_classes(self, chunks: Chunks) -> FloatArray:
        return self._scored(chunks, self._score_chunk)

    def _posterior(self, X: Any) -> FloatArray:
        """``P(class | x)``; a row that is impossible under every class gets the class prior."""
        return self._scored(self._rows(X), self._chunk_scorer(), self._log_class_prior())

    def _log_class_prior(self) -> FloatArray:
        return np.asarray(class_scores(self.model_, self.params_.log_weights[None, :])[0])

    def score_samples(self, X: Any) -> FloatArray:
        r"""Marginal log-density of each row, :math:`\log\sum_k \pi_k p(x \mid k)`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; missing cells are left out of the density.

        Returns
        -------
        log_density : array of shape (n_samples,)
        """
        return self._log_densities(self._rows(X), self.model_, self.params_)

    def _log_densities(self, chunks: Chunks, model: MixtureModel, params: MixtureParams) -> FloatArray:
        out = np.empty(chunks.n_rows)

        def task(chunk: Chunk) -> None:
            scores = model.log_joint(params, chunk)
            log_norm = np.empty(chunk.n_rows)
            kernels.normalize_rows(scores, None, params.log_weights, log_norm)
            for family, block in zip(model.families, chunk.blocks, strict=True):
                base = family.row_base(block)
                if base is not None:
                    log_norm += base
            out[chunk.start : chunk.start + chunk.n_rows] = log_norm

        self._executor().each(task, chunks)
        return out

    def _labels_for(self, y: Any, n_rows: int) -> Labels | None:
        """Labels given after fitting, in the fitted classes."""
        raise InputError(f"{type(self).__name__} has no labels.")

    def responsibilities(self, X: Any, y: Any = None, *, by_component: bool = False) -> FloatArray:
        """Probability of each class for each row, given the row and whatever ``y`` says about it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like, optional
            Labels as in ``fit``; a known label is certain.
        by_component : bool
            One column per component instead of one per class.
        """
        blocks = self._rows(X)
        labels = None if y is None else self._labels_for(y, blocks.n_rows)
        chunks = blocks.like(blocks.blocks, labels, None)
        out = np.empty((chunks.n_rows, self.model_.n_components))
        # Weights and temperatures belong to fitting; afterwards every row counts as it is.
        model = replace(self.model_, unlabeled_weight=1.0, temperature=1.0)

        def task(chunk: Chunk) -> None:
            scores = model.log_joint(self.params_, chunk)
            model.assign(scores, chunk, self.params_.log_weights)
            out[chunk.start : chunk.start + chunk.n_rows] = scores

        self._executor().each(task, chunks)
        if by_component or model.has_single_components:
            return out
        return np.stack([out[:, model.groups == k].sum(axis=1) for k in range(model.n_classes)], axis=1)

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one file, without pickle; :func:`softcount.load` reads it.

        Parameters
        ----------
        path : str or path
            Where to; an existing file is replaced, and only by a whole one.
        """
        import softcount

        check_is_fitted(self)
        softcount.save(self, path)

    # ---- criteria
    def _log_likelihood(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """Weighted marginal log-likelihood of the rows, and their total weight."""
        log_density = self.score_samples(X)
        weight = read_weights(sample_weight, log_density.shape[0])
        if weight is not None and not weight.any():
            raise InputError("Sample weights are zero in all rows, so there is nothing to judge the model by.")
        if weight is None:
            return float(log_density.sum()), float(log_density.shape[0])
        counted = weight > 0.0
        return float(weight[counted] @ log_density[counted]), float(weight.sum())

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        r"""Akaike's criterion, :math:`-2\ell + 2p` (lower is better)."""
        log_likelihood, _ = self._log_likelihood(X, sample_weight)
        return -2.0 * log_likelihood + 2.0 * self.n_parameters_

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        r"""Schwarz's criterion, :math:`-2\ell + p\log N` with the total weight as :math:`N` (lower is better)."""
        log_likelihood, total = self._log_likelihood(X, sample_weight)
        return -2.0 * log_likelihood + self.n_parameters_ * math.log(total)

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        r"""Integrated completed likelihood: BIC plus twice the entropy of the responsibilities (lower is better)."""
        resp = self.responsibilities(X, by_component=True)
        weight = read_weights(sample_weight, resp.shape[0])
        entropy = entropy_of(resp)
        total = float(entropy.sum() if weight is None else weight @ entropy)
        return self.bic(X, sample_weight) + 2.0 * total

    # ---- explaining
    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(n) for n in names]

    def _feature_order(self) -> NDArray[Any] | None:
        """Position in X of each block column, or None where the blocks hold the columns in order."""
        return None

    def _class_labels(self) -> list[Any]:
        return list(range(self.model_.n_classes))

    def top_features(self, k: int = 10, *, feature_names: Any = None) -> dict[Any, list[tuple[str, float]]]:
        """The features that speak most for each class.

        Parameters
        ----------
        k : int
            How many per class.
        feature_names : sequence of str, optional
            Names of the columns of X; by default those it came with, else x0, x1, ...

        Returns
        -------
        top : dict of class -> list of (feature, score)
            The score is the feature's share of the divergence of the class from the other classes; it is negative
            where absence or low values of the feature speak for the class. Positive scores come first.
        """
        check_is_fitted(self, "params_")
        scores = telling_features(self.model_, self.params_)
        return self._best_of(scores, self._block_feature_names(feature_names), k)

    def _best_of(self, scores: FloatArray, names: list[str], k: Any) -> dict[Any, list[tuple[str, float]]]:
        return strongest_features(scores, names, self._class_labels(), k)

    def _block_feature_names(self, given: Any = None) -> list[str]:
        names, order = names_of_columns(given, self._feature_names()), self._feature_order()
        return names if order is None else [names[j] for j in order]

    def _block_categories(self) -> list[list[Any] | None]:
        """The values of every block column, or None where they are not a list."""
        return [None] * self.n_features_in_

    def contributions(
        self, X: Any, positive: Any = None, negative: Any = None, *, feature_names: Any = None
    ) -> Contributions:
        """Evidence of every cell for one class against another; it sums exactly to the difference of log-posteriors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        positive, negative : label, optional
            The classes compared; by default the second against the first.
        feature_names : sequence of str, optional
            Names of the columns of X; by default those it came with, else x0, x1, ...
        """
        names = names_of_columns(feature_names, self._feature_names())
        chunks = self._rows(X)
        labels = self._class_labels()
        if len(labels) < 2:
            raise InputError("There is one class only, so there is nothing to compare it with.")
        chosen = [labels[1] if positive is None else positive, labels[0] if negative is None else negative]
        for label in chosen:
            if label not in labels:
                raise InputError(f"{label!r} is not one of the classes {labels}.")
        codes = [labels.index(label) for label in chosen]
        baselines, cells = [], []
        for chunk in chunks:
            baseline, parts = contributions(self.model_, self.params_, chunk, codes[0], codes[1])
            baselines.append(baseline)
            cells.append(side_by_side(parts, self._feature_order()))
        values = stacked(cells)
        log_prior = self._log_class_prior()
        with np.errstate(invalid="ignore"):
            prior = float(np.nan_to_num(log_prior[codes[0]] - log_prior[codes[1]], posinf=np.inf, neginf=-np.inf))
        found = Contributions(np.concatenate(baselines), values, names, chosen[0], chosen[1], prior)
        divisor = self._cooling_of(chunks)
        return found if divisor is None else found.divided(divisor)

    def _cooling_of(self, chunks: Chunks) -> FloatArray | None:
        """What calibration divides the log-odds of every row by."""
        return None

    def to_linear(self) -> LinearForm:
        """The exact weights of the linear boundary, where it is linear.

        Returns
        -------
        form : LinearForm
            ``coef`` of shape (1, n_features) for two classes, else (n_classes, n_features), ``intercept``, and
            ``features``, their names; a categorical column has one weight per value.
        """
        check_is_fitted(self, "params_")
        names = self._block_feature_names()
        return linear_form(self.model_, self.params_, names, self._block_categories(), self._feature_order())

    # ---- generating
    def _draw(self, n_samples: int, components: NDArray[Any], rng: np.random.Generator) -> Any:
        """Rows from the given components, laid out as X was."""
        blocks = [
            family.draw(p, components, rng) for family, p in zip(self.model_.families, self.params_.blocks, strict=True)
        ]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)

    def _sample_components(self, n_samples: Any, y: Any, rng: np.random.Generator) -> NDArray[Any]:
        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
            raise InputError(f"n_samples is {n_samples!r}; ask for a whole number of rows, at least one.")
        weights = self.params_.log_weights
        if y is None:
            return draw_components(weights, int(n_samples), rng)
        labels = self._class_labels()
        wanted = [y] * n_samples if np.ndim(y) == 0 else list(y)
        if len(wanted) != n_samples:
            raise InputError(f"y names {len(wanted)} classes, but n_samples is {n_samples}.")
        components = np.empty(n_samples, dtype=np.int32)
        # In the order in which they are asked for: that of a set of strings differs from process to process.
        for label in dict.fromkeys(wanted):
            if label not in labels:
                raise InputError(f"{label!r} is not one of the classes {labels}.")
            rows = np.flatnonzero([value == label for value in wanted])
            members = np.flatnonzero(self.model_.groups == labels.index(label))
            components[rows] = members[draw_components(weights[members], rows.size, rng)]
        return components
