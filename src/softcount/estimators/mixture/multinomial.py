"""Mixtures of documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount.core.learn import Learned
from softcount.estimators.mixture._discrete import DiscreteMixture
from softcount.estimators.mixture._parameters import documented_mixture
from softcount.estimators.rows.words import WordRows

__all__ = ["MultinomialMixture"]


@documented_mixture
class MultinomialMixture(WordRows, DiscreteMixture):
    r"""Mixture of documents as counts of words.

    .. math:: p(x_i) = \sum_k \pi_k \prod_t \theta_{tk}^{x_{it}}

    for the sequence of the document's words, fitted by EM from many starts, with as many labels as there are. X holds
    counts (or weights such as tf-idf), dense or sparse, or is a list with a list of word ids per document.

    Parameters
    ----------
    n_components : int, default=2
        Number of components; there are more where ``y`` names more classes.
    alpha : float or array-like, default=0.01
        Pseudo-count added to every count, so that no probability is zero and an empty component stays defined: one
        number, one per feature, or an array that broadcasts to (n_components, n_features); 0 is maximum likelihood.
    feature_prior : prior from :mod:`softcount.priors`, optional
        An explicit conjugate prior instead of ``alpha``.
    estimate : {"mode", "mean"}, default="mode"
        Whether ``feature_prior`` gives the mode (MAP) or the mean of the posterior.
    {shared}

    Attributes
    ----------
    probabilities_ : array of shape (n_components, n_features)
        :math:`\theta`.
    {attributes}

    Examples
    --------
    >>> X = [[5, 1, 0], [7, 0, 1], [0, 6, 2], [1, 8, 1]]
    >>> MultinomialMixture(2, random_state=0).fit_predict(X).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: Any = 0.01,
        class_prior: Any = None,
        class_alpha: float = 0.0,
        feature_prior: Any = None,
        estimate: str = "mode",
        init: Any = None,
        n_init: int = 20,
        n_final: int | None = None,
        max_iter: int = 2000,
        tol: float = 1e-10,
        accelerate: bool = True,
        annealing: Any = None,
        merge_rows: bool | None = None,
        order: Any = "size",
        missing_label: Any = np.nan,
        soft_labels: str = "responsibility",
        unlabeled_weight: float = 1.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.class_prior = class_prior
        self.class_alpha = class_alpha
        self.feature_prior = feature_prior
        self.estimate = estimate
        self.init = init
        self.n_init = n_init
        self.n_final = n_final
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.annealing = annealing
        self.merge_rows = merge_rows
        self.order = order
        self.missing_label = missing_label
        self.soft_labels = soft_labels
        self.unlabeled_weight = unlabeled_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _publish(self, learned: Learned) -> None:
        self.probabilities_ = np.exp(learned.fit.params.blocks[0]["log_prob"].T)
