"""Bernoulli naive Bayes: which words (or other yes/no features) a row has, and which it lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount.core.learn import Learned
from softcount.estimators._parameters import check_number, documented
from softcount.estimators._tables import (
    dense_block,
    is_sparse,
    read_numbers,
    sparse_block,
    without_duplicates,
)
from softcount.estimators.naive_bayes._base import DiscreteNaiveBayes
from softcount.families.bernoulli import Bernoulli
from softcount.families.blocks import Block
from softcount.families.columns import ColumnFamily

__all__ = ["BernoulliNB"]


@documented
class BernoulliNB(DiscreteNaiveBayes):
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
        Given class probabilities.
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
    n_parameters_, n_iter_, converged_, history_, n_starts_, n_best_starts_
        Free parameters, and what the fit went through.

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

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        X = read_numbers(self, X, reset=reset)
        if is_sparse(X):
            if self.binarize is not None and self.binarize < 0:
                raise InputError(
                    f"Cannot binarize a sparse matrix with threshold < 0 (binarize={self.binarize}): every empty cell "
                    "would become 1. Use a threshold of 0 or more, or a dense array."
                )
            return (sparse_block(_thresholded(without_duplicates(X), self.binarize), binary=True),)
        if self.binarize is None:
            self._check_between(X)
        return (dense_block(X, threshold=self.binarize),)

    def _check_between(self, X: NDArray[Any]) -> None:
        wrong = (X < 0) | (X > 1)
        if wrong.any():
            row, column = (int(i) for i in np.argwhere(wrong)[0])
            raise InputError(
                f"Row {row}, column {self._feature_names()[column]!r} holds {X[row, column]}; with binarize=None "
                "cells lie between 0 and 1. Set binarize to the threshold that makes them 0 or 1."
            )

    def _families(self) -> tuple[ColumnFamily, ...]:
        return (Bernoulli(),)

    def _publish(self, learned: Learned) -> None:
        self._publish_classes(learned)
        ones = learned.fit.counts.parts["0"].arrays()["sum"]
        by_class = [ones[:, learned.model.groups == k].sum(axis=1) for k in range(learned.model.n_classes)]
        self.feature_count_ = np.array(by_class)
        self.feature_log_prob_ = np.ascontiguousarray(learned.fit.params.blocks[0]["log_prob"].T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags


def _thresholded(X: Any, threshold: float | None) -> Any:
    """A sparse matrix of zeros and ones with the same pattern; missing cells stay missing."""
    if threshold is None:
        wrong = (X.data < 0) | (X.data > 1)
        if wrong.any():
            raise InputError(
                f"X holds {X.data[wrong][0]!r}; with binarize=None cells lie between 0 and 1. Set binarize to the "
                "threshold that makes them 0 or 1."
            )
        return X
    above = X.data > threshold
    if above.all():
        data = np.ones(X.data.shape, dtype=np.uint8)
    elif X.data.dtype.kind == "f" and np.isnan(X.data).any():
        data = np.where(np.isnan(X.data), np.nan, above.astype(np.float64))
    else:
        data = above.astype(np.uint8)
    return type(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)
