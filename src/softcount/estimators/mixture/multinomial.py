"""Mixtures of documents."""

from __future__ import annotations

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

    def _publish(self, learned: Learned) -> None:
        self.probabilities_ = np.exp(learned.fit.params.blocks[0]["log_prob"].T)
