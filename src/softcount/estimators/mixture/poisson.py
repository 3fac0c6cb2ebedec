"""Mixtures of counts of events."""

from __future__ import annotations

import numpy as np

from softcount.core.learn import Learned
from softcount.estimators.mixture._discrete import DiscreteMixture
from softcount.estimators.mixture._parameters import documented_mixture
from softcount.estimators.rows.events import EventRows

__all__ = ["PoissonMixture"]


@documented_mixture
class PoissonMixture(EventRows, DiscreteMixture):
    r"""Mixture of independent counts of events.

    .. math:: p(x_i) = \sum_k \pi_k \prod_j \frac{\lambda_{jk}^{x_{ij}} e^{-\lambda_{jk}}}{x_{ij}!}

    Fitted by EM from many starts, with as many labels as there are; ``alpha`` counts pseudo-rows at the overall mean.

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
    rates_ : array of shape (n_components, n_features)
        :math:`\lambda`.
    {attributes}

    Examples
    --------
    >>> X = [[9, 1], [11, 0], [8, 2], [1, 4], [0, 7]]
    >>> PoissonMixture(2, random_state=0).fit_predict(X).tolist()
    [0, 0, 0, 1, 1]
    """

    def _publish(self, learned: Learned) -> None:
        self.rates_ = np.ascontiguousarray(learned.fit.params.blocks[0]["rate"].T)
