"""Poisson naive Bayes: independent counts, each with a rate per class."""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount.core.learn import Learned
from softcount.estimators._parameters import documented
from softcount.estimators.naive_bayes._base import DiscreteNaiveBayes
from softcount.estimators.rows.events import EventRows

__all__ = ["PoissonNB"]


@documented
class PoissonNB(EventRows, DiscreteNaiveBayes):
    r"""Naive Bayes for counts of events, learned from the labels there are.

    .. math:: \lambda_{jk} = \frac{\sum_i r_{ik} x_{ij} + a\bar x_j}{\sum_i r_{ik} + a}, \qquad
       \log p(x_i, k) = \log\pi_k + \sum_j x_{ij}\log\lambda_{jk} - \lambda_{jk} - \log x_{ij}!

    with ``alpha`` = :math:`a` pseudo-rows at the overall mean :math:`\bar x_j`. X holds counts, dense or sparse; with
    fractions (rates, weights such as tf-idf) the same formulas hold, :math:`x!` meaning :math:`\Gamma(x + 1)`.

    Parameters
    ----------
    alpha : float or array-like, default=1.0
        Pseudo-rows at the overall mean: one number, one per feature, or an array that broadcasts to
        (n_classes, n_features).
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
        Expected total of each column.
    rate_ : array of shape (n_components, n_features)
        :math:`\lambda`.
    {attributes}

    Examples
    --------
    >>> X = [[5, 0], [6, 1], [0, 4], [1, 7]]
    >>> PoissonNB().fit(X, ["a", None, "b", None]).predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
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
        totals = learned.fit.counts.parts["0"].arrays()["sum"]
        self.feature_count_ = learned.model.by_class(totals)
        self.rate_ = np.ascontiguousarray(learned.fit.params.blocks[0]["rate"].T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
