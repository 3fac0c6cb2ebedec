"""Mixtures of one discrete family: pseudo-counts as the prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.estimators._parameters import read_alpha
from softcount.estimators.mixture._base import BaseMixture
from softcount.families.columns import PseudoCounts

__all__ = ["DiscreteMixture"]


class DiscreteMixture(BaseMixture):
    """A mixture whose prior is ``alpha`` pseudo-observations."""

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

    def _alpha_table(self, n_components: int) -> FloatArray:
        """``alpha`` as an array that broadcasts to (n_features, n_components)."""
        alpha = read_alpha(self.alpha, self.n_features_in_)
        if alpha.ndim == 2 and alpha.shape[1] not in (1, n_components):
            raise InputError(
                f"alpha has {alpha.shape[1]} rows, but there are {n_components} components; a two-dimensional alpha "
                "has the shape (n_components, n_features) or (n_components, 1)."
            )
        return alpha

    def _priors(self, n_components: int) -> tuple[Any, ...]:
        if self.feature_prior is not None:
            return (self.feature_prior.pseudo_counts(self.estimate, self._families()[0]),)
        return (PseudoCounts(self._alpha_table(n_components)),)
