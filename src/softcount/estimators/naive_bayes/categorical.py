"""Categorical naive Bayes: columns with a few values each, as codes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount.core.counts import Counts
from softcount.core.learn import Learned
from softcount.estimators._parameters import documented
from softcount.estimators.naive_bayes._base import DiscreteNaiveBayes
from softcount.estimators.rows.codes import CodeRows
from softcount.families.categorical import Categorical
from softcount.families.columns import PseudoCounts
from softcount.families.statistics import Sums

__all__ = ["CategoricalNB"]


@documented
class CategoricalNB(CodeRows, DiscreteNaiveBayes):
    r"""Naive Bayes for categories, learned from the labels there are.

    .. math:: \theta_{jvk} = \frac{\lambda + \sum_i r_{ik} 1[x_{ij} = v]}{\lambda v_j + \sum_i r_{ik}}

    for column j with :math:`v_j` values, coded 0, 1, 2, ...; NaN is a missing value. For categories as they are
    (strings, pandas categories) use :class:`~softcount.NaiveBayes`.

    Parameters
    ----------
    alpha : float or array-like, default=1.0
        Pseudo-count of every value: one number, one per column, or an array that broadcasts to (n_classes, n_features).
    force_alpha : bool, default=True
        Keep ``alpha`` below 1e-10 as it is.
    fit_prior : bool, default=True
        Estimate the class probabilities; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), optional
        Given class probabilities; divided by their sum, with a warning, where that is not 1.
    min_categories : int or array-like of shape (n_features,), optional
        Fewest values of each column.
    handle_unknown : {"ignore", "error", "smooth"}, default="ignore"
        What a value that was not seen in training means when predicting: the cell is left out like a missing one, an
        error, or probability :math:`\lambda / (N_k + \lambda v_j)`.
    {shared}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : array of shape (n_classes,)
        Expected weight and log-probability of each class.
    category_count_ : list of arrays of shape (n_classes, n_values)
        Expected count of each value.
    feature_log_prob_ : list of arrays of shape (n_components, n_values)
        :math:`\log\theta`.
    n_categories_ : array of shape (n_features,)
        Number of values of each column.
    {attributes}

    Examples
    --------
    >>> X = [[0, 2], [0, 1], [1, 0], [1, 0]]
    >>> CategoricalNB().fit(X, ["a", None, "b", None]).predict([[0, 7]]).tolist()
    ['a']
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
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
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
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

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, **forgetting: Any) -> Any:
        """Add a batch of rows to what was learned so far; new values of a column are learned as they come.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, some of which may be missing.
        classes : array-like of shape (n_classes,), optional
            All classes; needed in the first call, unless the constructor names them.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        **forgetting
            ``forgetting`` and ``memory``, as for the other naive Bayes classifiers.
        """
        self._is_counting = True
        try:
            return super().partial_fit(X, y, classes, sample_weight, **forgetting)
        finally:
            self._is_counting = False

    def _priors(self, n_classes: int, groups: NDArray[Any]) -> tuple[Any, ...]:
        (prior,) = super()._priors(n_classes, groups)
        if isinstance(prior, PseudoCounts) and prior.alpha.ndim == 2 and prior.alpha.shape[0] > 1:
            # One pseudo-count per column becomes one per value of the column.
            alpha = np.repeat(prior.alpha, np.diff(self._counted_family.offsets), axis=0)
            return (replace(prior, alpha=alpha),)
        return (prior,)

    def _widened(self, before: Counts) -> Counts:
        """Earlier counts with room for values first seen in this batch."""
        wide = self._counted_family.room_for(self._fitted_family(), before.parts["0"].arrays()["count"])
        return Counts({**before.parts, "0": Sums({"count": wide})}, before.objective)

    def _publish(self, learned: Learned) -> None:
        self._publish_classes(learned)
        family = learned.model.families[0]
        assert isinstance(family, Categorical)
        counts = learned.fit.counts.parts["0"].arrays()["count"]
        table = learned.fit.params.blocks[0]["log_prob"]
        groups = learned.model.groups
        self.n_categories_ = np.array(family.n_values, dtype=np.int64)
        self.category_count_, self.feature_log_prob_ = [], []
        for j, n_values in enumerate(family.n_values):
            rows = slice(int(family.offsets[j]), int(family.offsets[j]) + n_values)
            by_class = [counts[rows, groups == k].sum(axis=1) for k in range(learned.model.n_classes)]
            self.category_count_.append(np.array(by_class))
            self.feature_log_prob_.append(np.ascontiguousarray(table[rows].T))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
