"""Mixtures for tables whose columns are of different kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount.core.learn import Learned
from softcount.estimators._parameters import check_number
from softcount.estimators.mixture._base import BaseMixture
from softcount.estimators.mixture._parameters import documented_mixture
from softcount.estimators.rows.table import TableRows
from softcount.families.moment_prior import MomentPrior

__all__ = ["Mixture"]


@documented_mixture
class Mixture(TableRows, BaseMixture):
    r"""Mixture for tables with columns of different kinds.

    .. math:: p(x_i) = \sum_k \pi_k \prod_j p_{jk}(x_{ij})

    with any family :math:`p_{jk}` per column, fitted by EM from many starts, with as many labels as there are. X is a
    pandas, polars or Arrow table, an array or a list of rows; texts and categories are taken as they are, and missing
    cells are left out. :meth:`column_report` says which family each column got, and why.

    Parameters
    ----------
    n_components : int, default=2
        Number of components; there are more where ``y`` names more classes.
    families : None, str, family, sequence or dict, optional
        Family of all columns, of each column, or of columns by name (``"bernoulli"``, ``"categorical"``,
        ``"gaussian"``, ``"multivariate_gaussian"``, ``"poisson"``, ...). Columns without one are inferred: booleans and
        0/1 are Bernoulli, texts and whole numbers with at most ten different values categorical, other numbers
        Gaussian.
    alpha : float, default=0.01
        Pseudo-count of the discrete families; pseudo-rows at the overall mean for others but the Gaussian. It keeps
        probabilities off zero and empty components defined; 0 is maximum likelihood.
    var_smoothing : float, default=1e-6
        Smallest variance of a Gaussian column in any component, as a share of the column's own variance.
    shared_variance : bool, default=False
        One variance per Gaussian column for all components.
    handle_unknown : {"ignore", "error", "smooth"}, default="ignore"
        What a category that was not seen in training means when predicting: the cell is left out like a missing one,
        an error, or a probability from ``alpha``.
    feature_prior : dict, optional
        From the name of a family to an explicit prior from :mod:`softcount.priors`.
    estimate : {"mode", "mean"}, default="mode"
        Whether ``feature_prior`` gives the mode (MAP) or the mean of the posterior.
    {shared}

    Attributes
    ----------
    families_ : dict of str to str
        The family of each column.
    {attributes}

    Examples
    --------
    >>> rows = [["red", 1.2], ["red", 0.9], ["red", 1.1], ["blue", 5.1], [None, 4.8]]
    >>> Mixture(2, random_state=0).fit_predict(rows).tolist()
    [0, 0, 0, 1, 1]
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        families: Any = None,
        alpha: Any = 0.01,
        var_smoothing: float = 1e-6,
        shared_variance: bool = False,
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
        self.families = families
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.shared_variance = shared_variance
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
        check_number("alpha", self.alpha, 0.0)
        check_number("var_smoothing", self.var_smoothing, 0.0)

    def _priors(self, n_components: int) -> tuple[Any, ...]:
        gaussian = MomentPrior.column_by_column(float(self.var_smoothing))
        return self._table_priors(gaussian, n_components)

    def _publish(self, learned: Learned) -> None:
        self.families_ = self._family_names()
