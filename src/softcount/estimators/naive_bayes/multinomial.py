"""Multinomial naive Bayes: how often each word occurs."""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount.core.learn import Learned
from softcount.estimators._parameters import documented
from softcount.estimators.naive_bayes._base import DiscreteNaiveBayes
from softcount.estimators.rows.words import WordRows

__all__ = ["MultinomialNB"]


@documented
class MultinomialNB(WordRows, DiscreteNaiveBayes):
    r"""Naive Bayes for word counts, learned from the labels there are.

    .. math:: \theta_{tk} = \frac{\lambda + \sum_i r_{ik} x_{it}}{\lambda V + \sum_i r_{ik} \sum_t x_{it}}, \qquad
       \log p(x_i, k) = \log\pi_k + \sum_t x_{it}\log\theta_{tk}

    with :math:`r_{ik}` one for a known label and the posterior for a missing one. X holds counts (or weights such as
    tf-idf), dense or sparse, or is a list with a list of word ids per document.

    Parameters
    ----------
    alpha : float or array-like, default=1.0
        Pseudo-count added to every count (Laplace smoothing): one number, one per feature, or an array that broadcasts
        to (n_classes, n_features). The estimate is the posterior mean under a conjugate prior with parameter ``alpha``.
    force_alpha : bool, default=True
        Keep ``alpha`` below 1e-10 as it is.
    fit_prior : bool, default=True
        Estimate the class probabilities; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), optional
        Given class probabilities; divided by their sum, with a warning, where that is not 1.
    {shared}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : array of shape (n_classes,)
        Expected weight and log-probability of each class.
    feature_count_ : array of shape (n_classes, n_features)
        Expected number of each word.
    feature_log_prob_ : array of shape (n_components, n_features)
        :math:`\log\theta`.
    {attributes}

    Examples
    --------
    >>> documents = [[0, 0, 1], [0, 2], [3, 3, 1, 3], [3]]
    >>> MultinomialNB().fit(documents, ["a", None, "b", None]).predict(documents).tolist()
    ['a', 'a', 'b', 'b']
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        class_alpha: float = 0.0,
        feature_prior: Any = None,
        estimate: str = "mode",
        missing_label: Any = np.nan,
        classes: Any = None,
        n_classes: int | None = None,
        soft_labels: str = "responsibility",
        unlabeled_weight: Any = "auto",
        calibrate: str = "auto",
        n_components_per_class: Any = 1,
        init: Any = None,
        n_init: int | None = None,
        max_iter: int = 200,
        tol: float = 1e-6,
        accelerate: bool = False,
        annealing: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.class_alpha = class_alpha
        self.feature_prior = feature_prior
        self.estimate = estimate
        self.missing_label = missing_label
        self.classes = classes
        self.n_classes = n_classes
        self.soft_labels = soft_labels
        self.unlabeled_weight = unlabeled_weight
        self.calibrate = calibrate
        self.n_components_per_class = n_components_per_class
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.annealing = annealing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _publish(self, learned: Learned) -> None:
        self._publish_classes(learned)
        words = learned.fit.counts.parts["0"].arrays()["sum"]
        self.feature_count_ = learned.model.by_class(words)
        self.feature_log_prob_ = learned.fit.params.blocks[0]["log_prob"].T.copy(order="C")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
