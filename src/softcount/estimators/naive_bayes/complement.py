"""Complement naive Bayes: a scoring rule from the counts of the other classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import Chunk
from softcount.core.learn import Learned
from softcount.estimators.naive_bayes.multinomial import MultinomialNB

__all__ = ["ComplementNB"]


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

    def _learn(self, blocks: Any, labels: Any, weight: Any, classes: Any) -> Learned:
        if not labels.all_known():
            row = int(np.flatnonzero(labels.codes < 0)[0])
            raise InputError(
                f"Input y contains NaN: row {row} has no label. ComplementNB is a scoring rule, not a likelihood, so "
                "it cannot learn from unlabeled rows. Use MultinomialNB, or leave those rows out."
            )
        return super()._learn(blocks, labels, weight, classes)

    def _publish(self, learned: Learned) -> None:
        super()._publish(learned)
        self.feature_all_ = self.feature_count_.sum(axis=0)
        alpha = self._checked_alpha()
        complement = self.feature_all_ + (alpha[:, 0] if alpha.ndim == 2 else alpha) - self.feature_count_
        with np.errstate(divide="ignore", invalid="ignore"):
            logged = np.log(complement / complement.sum(axis=1, keepdims=True))
            self.feature_log_prob_ = logged / logged.sum(axis=1, keepdims=True) if self.norm else -logged

    def _class_scores(self, X: Any) -> FloatArray:
        chunks = self._rows(X)
        out = np.zeros((chunks.n_rows, self.classes_.shape[0]))
        # log_joint of a multinomial with these weights is the rule's score.
        model, scorer = self.model_, self.model_.families[0].scorer({"log_prob": self.feature_log_prob_.T})

        def task(chunk: Chunk) -> None:
            scores = np.zeros((chunk.n_rows, model.n_components))
            scorer.add(chunk.blocks[0], scores)
            out[chunk.start : chunk.start + chunk.n_rows] = scores

        self._executor().each(task, chunks)
        if self.classes_.shape[0] == 1:
            out += self.class_log_prior_
        return out

    def _no_density(self, *_: Any, **__: Any) -> Any:
        raise InputError(
            "ComplementNB is a scoring rule, not a likelihood: it has no density, so this is not defined for it. "
            "Use MultinomialNB."
        )

    score_samples = _no_density
    responsibilities = _no_density
    sample = _no_density
    aic = _no_density
    bic = _no_density
    icl = _no_density
    contributions = _no_density
    to_linear = _no_density
