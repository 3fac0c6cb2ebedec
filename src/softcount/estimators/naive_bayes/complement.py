"""Complement naive Bayes: a scoring rule from the counts of the other classes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import Chunk
from softcount.core.learn import Learned
from softcount.estimators._choosing import Outcome
from softcount.estimators._generative import ChunkScorer
from softcount.estimators.naive_bayes.multinomial import MultinomialNB
from softcount.families.blocks import DenseBlock, SparseBlock
from softcount.families.columns import ColumnFamily
from softcount.families.linear import LinearScorer
from softcount.families.multinomial import SeenWords

__all__ = ["ComplementNB"]


class _NoDensity:
    """A method of other estimators that needs a density: ``hasattr`` is False, and asking for it says why."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise AttributeError(
            f"ComplementNB has no {self.name}: it is a scoring rule, not a likelihood, so there is no density this "
            "could be computed from. Use MultinomialNB."
        )


class ComplementNB(MultinomialNB):
    r"""The complement scoring rule of Rennie et al. (2003).

    .. math:: w_{tk} = -\log\frac{\lambda + \sum_{c \ne k} N_{tc}}{\sum_t (\lambda + \sum_{c \ne k} N_{tc})}, \qquad
       \hat y_i = \arg\max_k \sum_t x_{it} w_{tk}

    It is a rule for scoring, not a likelihood: there is no density that EM could raise or that rows could be drawn
    from. All labels have to be known; use :class:`~softcount.MultinomialNB` to learn from missing ones.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Pseudo-count added to every count.
    force_alpha : bool, default=True
        Keep ``alpha`` below 1e-10 as it is.
    fit_prior : bool, default=True
        Only used where there is a single class.
    class_prior : array-like of shape (n_classes,), optional
        Not used.
    norm : bool, default=False
        Divide the weights of each class by their sum.
    n_jobs : int, optional
        Threads; all usable cores by default.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : array of shape (n_classes,)
    feature_count_ : array of shape (n_classes, n_features)
    feature_all_ : array of shape (n_features,)
        Total of each word.
    feature_log_prob_ : array of shape (n_classes, n_features)
        The weights :math:`w`.
    n_features_in_ : int
        Number of words.
    n_parameters_, n_iter_, converged_, history_, n_starts_, n_best_starts_
        As in every classifier; fitting is one pass.
    unlabeled_use_, unlabeled_weight_, unlabeled_verdict_, calibration_, notes_, model_, params_, counts_
        As in every classifier; no row lacks a label here.

    Examples
    --------
    >>> ComplementNB().fit([[2, 0], [1, 0], [0, 3]], ["a", "a", "b"]).predict([[1, 0]]).tolist()
    ['a']
    """

    # Fitting is counting: nothing of EM applies.
    class_alpha = 0.0
    feature_prior = None
    estimate = "mode"
    missing_label = np.nan
    classes = None
    n_classes = None
    soft_labels = "responsibility"
    unlabeled_weight = 1.0
    calibrate = "none"
    n_components_per_class = 1
    init = None
    n_init = None
    max_iter = 0
    tol = 0.0
    accelerate = False
    annealing = None
    random_state = None
    verbose = 0

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.n_jobs = n_jobs

    def _fit_with_choice(self, blocks: Any, labels: Any, weight: Any, classes: Any) -> Outcome:
        if not labels.all_known():
            row = int(np.flatnonzero(labels.codes < 0)[0])
            raise InputError(
                f"Input y contains NaN: row {row} has no label. ComplementNB is a scoring rule, not a likelihood, so "
                "it cannot learn from unlabeled rows. Use MultinomialNB, or leave those rows out."
            )
        return super()._fit_with_choice(blocks, labels, weight, classes)

    def _publish(self, learned: Learned) -> None:
        super()._publish(learned)
        self.feature_all_ = self.feature_count_.sum(axis=0)
        alpha = np.asarray(learned.model.priors[0].alpha).T
        complement = self.feature_all_ + alpha - self.feature_count_
        total = complement.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Without any count, and without pseudo-counts, all words are equally likely.
            logged = np.where(total > 0.0, np.log(complement / total), -np.log(complement.shape[1]))
        if not self.norm:
            self.feature_log_prob_ = -logged
        elif np.isfinite(logged).all():
            size = logged.sum(axis=1, keepdims=True)
            # With a single word every weight is zero, and its share of the sum is all of it.
            self.feature_log_prob_ = np.where(size == 0.0, 1.0, logged / np.where(size == 0.0, 1.0, size))
        else:
            row, column = (int(i) for i in np.argwhere(~np.isfinite(logged))[0])
            raise InputError(
                f"Column {self._feature_names()[column]!r} is not 0 in class {self._class_labels()[row]!r} alone, so "
                "with alpha=0 its weight is infinite and norm=True cannot divide by the sum. Use alpha above 0."
            )

    def _families(self) -> tuple[ColumnFamily, ...]:
        return (SeenWords(),)

    def _chunk_scorer(self) -> ChunkScorer:
        weights = self.feature_log_prob_.T
        # With alpha=0 a word that only one class has speaks for it with infinite weight: it decides alone.
        decisive = np.isposinf(weights)
        scorer = LinearScorer(np.where(decisive, 0.0, weights), None, None)
        decider = LinearScorer(decisive.astype(np.float64), None, None) if decisive.any() else None

        def score(chunk: Chunk, out: FloatArray) -> None:
            # What a multinomial with these weights would score is the rule's score.
            out.fill(0.0)
            block = cast("DenseBlock | SparseBlock", chunk.blocks[0])
            scorer.add(block, out)
            if decider is not None:
                hits = np.zeros_like(out)
                decider.add(block, hits)
                out[(hits == 0.0) & (hits > 0.0).any(axis=1, keepdims=True)] = -np.inf
            if self.classes_.shape[0] == 1:
                out += self.class_log_prior_

        return score

    def top_features(self, k: int = 10, *, feature_names: Any = None) -> dict[Any, list[tuple[str, float]]]:
        """The words whose weight for a class is largest compared with the mean of their weights for all classes.

        Parameters
        ----------
        k : int
            How many per class.
        feature_names : sequence of str, optional
            Names of the columns of X; by default those it came with, else x0, x1, ...
        """
        check_is_fitted(self, "params_")
        weights = np.nan_to_num(self.feature_log_prob_.T, posinf=1e300)
        scores = weights - weights.mean(axis=1, keepdims=True)
        return self._best_of(scores, self._block_feature_names(feature_names), k)

    score_samples: Any = _NoDensity()
    responsibilities: Any = _NoDensity()
    sample: Any = _NoDensity()
    aic: Any = _NoDensity()
    bic: Any = _NoDensity()
    icl: Any = _NoDensity()
    contributions: Any = _NoDensity()
    to_linear: Any = _NoDensity()
