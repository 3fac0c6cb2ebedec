"""Gaussian naive Bayes: numbers around a class mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._types import FloatArray
from softcount.core.learn import Learned
from softcount.core.mixture import CLASSES
from softcount.estimators._choosing import Outcome
from softcount.estimators._parameters import check_number, documented, read_class_prior
from softcount.estimators._tables import check_finite, check_magnitude, dense_block, in_range, range_of, read_numbers
from softcount.estimators.distant.training import DistantBlocks
from softcount.estimators.naive_bayes._base import BaseNaiveBayes
from softcount.families.blocks import Block, DenseBlock
from softcount.families.columns import ColumnFamily
from softcount.families.gaussian import Gaussian, MomentPrior
from softcount.families.normal_priors import table_counts
from softcount.inputs.labels import Labels

__all__ = ["GaussianNB"]

MOST_NAMED = 5


@documented
class GaussianNB(BaseNaiveBayes):
    r"""Naive Bayes for numbers, learned from the labels there are.

    .. math:: \mu_{jk} = \frac{\sum_i r_{ik} x_{ij}}{\sum_i r_{ik}}, \qquad
       v_{jk} = \frac{\sum_i r_{ik} (x_{ij} - \mu_{jk})^2}{\sum_i r_{ik}} + \varepsilon

    with :math:`r_{ik}` one for a known label and the posterior for a missing one, and the floor
    :math:`\varepsilon` = ``var_smoothing`` times the largest variance of any column. What EM monitors holds the floor's
    share, :math:`-\varepsilon/(2v)` per cell, so that it never falls.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), optional
        Given class probabilities, which have to sum to 1.
    var_smoothing : float, default=1e-9
        The variance floor, as a share of the largest variance of any column.
    shared_variance : bool, default=False
        One variance per column for all classes; the boundary is then linear.
    {shared}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_prior_ : array of shape (n_classes,)
        Expected weight and probability of each class.
    theta_, var_ : array of shape (n_components, n_features)
        Means and variances.
    epsilon_ : float
        The variance floor.
    {attributes}

    Examples
    --------
    >>> X = [[-1.0], [-2.0], [np.nan], [1.0], [3.0]]
    >>> GaussianNB().fit(X, ["a", "a", None, "b", "b"]).predict([[-1.5], [2.5]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        *,
        priors: Any = None,
        var_smoothing: float = 1e-9,
        shared_variance: bool = False,
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
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.shared_variance = shared_variance
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
        check_number("var_smoothing", self.var_smoothing, 0)

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        X = read_numbers(self, X, reset=reset, accept_sparse=False, check_finite=False)
        seen = range_of(X, self.n_jobs)
        if not (seen.least > -np.inf and seen.greatest < np.inf):
            check_finite(self, X)
        if reset:
            check_magnitude(X, self._feature_names())
        return (dense_block(X, has_missing=seen.has_missing),)

    def _read_training_rows(self, X: Any) -> tuple[Block, ...]:
        X = read_numbers(self, X, reset=True, accept_sparse=False, check_finite=False)
        # Whether cells are missing, infinite or huge shows when they are counted.
        return (DenseBlock(X, has_missing=X.dtype.kind == "f"),)

    def _fit_with_choice(
        self, blocks: tuple[Block, ...], labels: Labels, weight: FloatArray | None, classes: NDArray[Any]
    ) -> Outcome:
        if isinstance(blocks, DistantBlocks):
            return super()._fit_with_choice(blocks, labels, weight, classes)
        block: Any = blocks[0]
        X = block.values
        if not labels.all_known() or self.calibrate not in ("auto", "none"):
            self._check_cells(X)
            return super()._fit_with_choice((dense_block(X),), labels, weight, classes)
        # One look at the rows is enough where all labels are known: what cannot be counted shows in the moments.
        with np.errstate(over="ignore", invalid="ignore"):
            outcome = super()._fit_with_choice(blocks, labels, weight, classes)
        if not in_range(outcome.learned.fit.counts.parts["0"].arrays()):
            self._check_cells(X)
        return outcome

    def _check_cells(self, X: NDArray[Any]) -> None:
        """Refuse infinite cells, and columns whose squares leave the range of floating point."""
        check_finite(self, X)
        check_magnitude(X, self._feature_names())

    def _families(self) -> tuple[ColumnFamily, ...]:
        return (Gaussian(shared=self.shared_variance),)

    def _priors(self, n_classes: int, groups: NDArray[Any]) -> tuple[Any, ...]:
        if self.feature_prior is not None:
            family = self._families()[0]
            prior = table_counts(self.feature_prior, self.estimate, family, self.n_features_in_, groups.size)
            return (replace(prior, smoothing=self.var_smoothing),)
        return (MomentPrior(smoothing=self.var_smoothing),)

    def _class_prior(self, n_classes: int) -> FloatArray | None:
        return None if self.priors is None else read_class_prior("priors", self.priors, n_classes, must_sum=True)

    def _further_notes(self, learned: Learned) -> tuple[str, ...]:
        """Columns whose variances are small beside what the column of the largest adds to them."""
        moments: Any = learned.fit.counts.parts["0"]
        weight, floor = moments.weight.sum(axis=1), float(learned.model.priors[0].floor or 0.0)
        within = moments.scatter.sum(axis=1) / np.where(weight > 0.0, weight, 1.0)
        drowned = np.flatnonzero((within > 0.0) & (within < floor))
        if not drowned.size:
            return ()
        names = self._feature_names()
        shown = ", ".join(repr(names[j]) for j in drowned[:MOST_NAMED]) + (", ..." if drowned.size > MOST_NAMED else "")
        return (
            f"var_smoothing adds {floor:.3g}, a share of the largest variance of any column, to all variances, and "
            f"those of {shown} are smaller than that, so what these columns say is lost. Bring the columns to like "
            "units (scikit-learn's StandardScaler), lower var_smoothing, or use NaiveBayes, where the units of one "
            "column do not matter to another",
        )

    def _publish(self, learned: Learned) -> None:
        weight = learned.fit.counts.parts[CLASSES].arrays()["weight"]
        self.class_count_ = np.bincount(learned.model.groups, weight, minlength=learned.model.n_classes)
        self.class_prior_ = np.exp(self._log_class_prior())
        block = learned.fit.params.blocks[0]
        self.theta_ = np.ascontiguousarray(block["mean"].T)
        self.var_ = np.ascontiguousarray(block["var"].T)
        self.epsilon_ = float(learned.model.priors[0].floor)
