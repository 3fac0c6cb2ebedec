"""Mixtures of categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount._types import FloatArray
from softcount.core.learn import Learned
from softcount.estimators.mixture._discrete import DiscreteMixture
from softcount.estimators.mixture._parameters import documented_mixture
from softcount.estimators.rows.codes import CodeRows
from softcount.families.categorical import Categorical

__all__ = ["CategoricalMixture"]


@documented_mixture
class CategoricalMixture(CodeRows, DiscreteMixture):
    r"""Mixture of independent categories, as codes 0, 1, 2, ...; NaN is a missing value.

    .. math:: p(x_i) = \sum_k \pi_k \prod_j \theta_{j x_{ij} k}

    Fitted by EM from many starts, with as many labels as there are. :class:`~softcount.LatentClass` is the same model
    for tables with categories as they are, with the statistics of latent class analysis.

    Parameters
    ----------
    n_components : int, default=2
        Number of components; there are more where ``y`` names more classes.
    alpha : float or array-like, default=0.01
        Pseudo-count added to every count, so that no probability is zero and an empty component stays defined: one
        number, one per feature, or an array that broadcasts to (n_components, n_features); 0 is maximum likelihood.
    min_categories : int or array-like of shape (n_features,), optional
        Fewest values of each column.
    handle_unknown : {"ignore", "error", "smooth"}, default="ignore"
        What a value that was not seen in training means when predicting: the cell is left out like a missing one, an
        error, or a probability from ``alpha``.
    feature_prior : prior from :mod:`softcount.priors`, optional
        An explicit conjugate prior instead of ``alpha``.
    estimate : {"mode", "mean"}, default="mode"
        Whether ``feature_prior`` gives the mode (MAP) or the mean of the posterior.
    {shared}

    Attributes
    ----------
    probabilities_ : list of arrays of shape (n_components, n_values)
        :math:`\theta`, one array per column.
    n_categories_ : array of shape (n_features,)
        Number of values of each column.
    {attributes}

    Examples
    --------
    >>> X = [[0, 2, 1], [0, 2, 1], [1, 0, 0], [1, 0, 2], [0, 2, 1]]
    >>> CategoricalMixture(2, random_state=0).fit_predict(X).tolist()
    [0, 0, 1, 1, 0]
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: Any = 0.01,
        min_categories: Any = None,
        handle_unknown: str = "ignore",
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
        self.min_categories = min_categories
        self.handle_unknown = handle_unknown
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_unknown()

    def _alpha_table(self, n_components: int) -> FloatArray:
        alpha = super()._alpha_table(n_components)
        if alpha.ndim == 2 and alpha.shape[0] > 1:
            # One pseudo-count per column becomes one per value of the column.
            return np.repeat(alpha, np.diff(self._counted_family.offsets), axis=0)
        return alpha

    def _publish(self, learned: Learned) -> None:
        family = learned.model.families[0]
        assert isinstance(family, Categorical)
        table = np.exp(learned.fit.params.blocks[0]["log_prob"])
        self.n_categories_ = np.array(family.n_values, dtype=np.int64)
        starts = family.offsets[:-1]
        self.probabilities_ = [table[s : s + v].T.copy() for s, v in zip(starts, family.n_values, strict=True)]
