"""Naive Bayes for tables whose columns are of different kinds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount.core.counts import Counts
from softcount.core.learn import Learned
from softcount.core.mixture import CLASSES
from softcount.estimators._columns import SAYS_NOTHING
from softcount.estimators._parameters import check_number, documented
from softcount.estimators.naive_bayes._base import DiscreteNaiveBayes
from softcount.estimators.rows.table import TableRows
from softcount.families.categorical import Categorical
from softcount.families.gaussian import MomentPrior
from softcount.families.statistics import Sums

__all__ = ["NaiveBayes"]


@documented
class NaiveBayes(TableRows, DiscreteNaiveBayes):
    r"""Naive Bayes for tables with columns of different kinds, learned from the labels there are.

    .. math:: \log p(x_i, k) = \log\pi_k + \sum_j \log p_{jk}(x_{ij})

    with any one-dimensional family :math:`p_{jk}` per column. X is a pandas, polars or Arrow table, an array or a list
    of rows; texts and categories are taken as they are, and missing cells are left out. :meth:`column_report` says
    which family each column got, and why.

    Parameters
    ----------
    families : None, str, family, sequence or dict, optional
        Family of all columns, of each column, or of columns by name (``"bernoulli"``, ``"categorical"``,
        ``"gaussian"``, ``"poisson"``, ...). Columns without one are inferred: booleans and 0/1 are Bernoulli, texts and
        whole numbers with at most ten different values categorical, other numbers Gaussian.
    alpha : float, default=1.0
        Pseudo-count of the discrete families; pseudo-rows at the overall mean for others but the Gaussian.
    var_smoothing : float, default=1e-3
        Smallest variance of a Gaussian column in any class, as a share of the column's own variance.
    shared_variance : bool, default=False
        One variance per Gaussian column for all classes.
    fit_prior : bool, default=True
        Estimate the class probabilities; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), optional
        Given class probabilities; divided by their sum, with a warning, where that is not 1.
    handle_unknown : {"ignore", "error", "smooth"}, default="ignore"
        What a category that was not seen in training means when predicting: the cell is left out like a missing one,
        an error, or probability :math:`\alpha / (N_k + \alpha v_j)`.
    {shared}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : array of shape (n_classes,)
        Expected weight and log-probability of each class.
    families_ : dict of str to str
        The family of each column.
    {attributes}

    Examples
    --------
    >>> rows = [["red", 1.2], ["red", 0.9], ["blue", 5.1], [None, 4.8]]
    >>> model = NaiveBayes().fit(rows, ["a", None, "b", None])
    >>> model.predict(rows).tolist()
    ['a', 'a', 'b', 'b']
    >>> model.families_
    {'x0': 'categorical', 'x1': 'gaussian'}
    """

    def __init__(
        self,
        *,
        families: Any = None,
        alpha: Any = 1.0,
        var_smoothing: float = 1e-3,
        shared_variance: bool = False,
        fit_prior: bool = True,
        class_prior: Any = None,
        handle_unknown: str = "ignore",
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
        self.families = families
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.shared_variance = shared_variance
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.handle_unknown = handle_unknown
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
        self._check_unknown()
        check_number("var_smoothing", self.var_smoothing, 0)
        if np.ndim(self.alpha) or not self.alpha >= 0.0:
            raise InputError(f"alpha is {self.alpha!r}; use one number of 0 or more.")

    # ---- the model
    def _priors(self, n_classes: int, groups: NDArray[Any]) -> tuple[Any, ...]:
        return self._table_priors(MomentPrior.column_by_column(float(self.var_smoothing)), groups.size)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, **forgetting: Any) -> Any:
        """Add a batch of rows to what was learned so far; new categories are learned as they come.

        The first batch decides on the families of columns that ``families`` does not name.
        """
        is_first = not hasattr(self, "params_")
        self._is_counting = True
        try:
            fitted = super().partial_fit(X, y, classes, sample_weight, **forgetting)
        finally:
            self._is_counting = False
        empty = [plan.name for plan in self._plan_table.columns if plan.reason == SAYS_NOTHING] if is_first else []
        if empty:
            warnings.warn(
                f"NaiveBayes: {', '.join(map(repr, empty))} had no value in the first batch, and so was taken for "
                "numbers. Say by families= what it is, or begin with a batch that shows it.",
                UserWarning,
                stacklevel=2,
            )
        return fitted

    def _widened(self, before: Counts) -> Counts:
        """Earlier counts with room for categories first seen in this batch."""
        parts = dict(before.parts)
        for b, (old, new) in enumerate(zip(self.model_.families, self._families(), strict=True)):
            if isinstance(old, Categorical) and isinstance(new, Categorical) and old != new:
                parts[str(b)] = Sums({"count": new.room_for(old, parts[str(b)].arrays()["count"])})
        return Counts(parts, before.objective)

    def _publish(self, learned: Learned) -> None:
        weight = learned.fit.counts.parts[CLASSES].arrays()["weight"]
        self.class_count_ = np.bincount(learned.model.groups, weight, minlength=learned.model.n_classes)
        self.class_log_prior_ = self._log_class_prior()
        self.families_ = self._family_names()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
