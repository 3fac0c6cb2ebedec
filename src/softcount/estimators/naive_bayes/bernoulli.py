"""Bernoulli naive Bayes: which words (or other yes/no features) a row has, and which it lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount.core.learn import Learned
from softcount.estimators._parameters import check_number, documented
from softcount.estimators.naive_bayes._base import DiscreteNaiveBayes
from softcount.estimators.rows.yes_no import YesNoRows

__all__ = ["BernoulliNB"]


@documented
class BernoulliNB(YesNoRows, DiscreteNaiveBayes):
    r"""Naive Bayes for yes/no features, learned from the labels there are.

    .. math:: \theta_{jk} = \frac{\lambda + \sum_i r_{ik} x_{ij}}{2\lambda + \sum_i r_{ik}}, \qquad
       \log p(x_i, k) = \log\pi_k + \sum_j x_{ij}\log\theta_{jk} + (1 - x_{ij})\log(1 - \theta_{jk})

    with :math:`r_{ik}` one for a known label and the posterior for a missing one. Sparse input is never made dense.

    Parameters
    ----------
    alpha : float or array-like, default=1.0
        Pseudo-count added to every count (Laplace smoothing): one number, one per feature, or an array that broadcasts
        to (n_classes, n_features). The estimate is the posterior mean under a conjugate prior with parameter ``alpha``.
    force_alpha : bool, default=True
        Keep ``alpha`` below 1e-10 as it is.
    binarize : float or None, default=0.0
        Cells above this count as 1; ``None`` takes cells between 0 and 1 as they are.
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
        Expected weight of ones.
    feature_log_prob_ : array of shape (n_components, n_features)
        :math:`\\log\\theta`.
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]])
    >>> BernoulliNB().fit(X, ["a", None, "b", None]).predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
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
        self.binarize = binarize
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.binarize is not None:
            check_number("binarize", self.binarize, -np.inf)

    def _publish(self, learned: Learned) -> None:
        self._publish_classes(learned)
        ones = learned.fit.counts.parts["0"].arrays()["sum"]
        self.feature_count_ = learned.model.by_class(ones)
        self.feature_log_prob_ = learned.fit.params.blocks[0]["log_prob"].T.copy(order="C")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
