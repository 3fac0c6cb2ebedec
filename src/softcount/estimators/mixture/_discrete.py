"""Mixtures of one discrete family: pseudo-counts as the prior."""

from __future__ import annotations

from typing import Any

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.estimators._parameters import read_alpha
from softcount.estimators.mixture._base import BaseMixture
from softcount.families.columns import PseudoCounts

__all__ = ["DiscreteMixture"]


class DiscreteMixture(BaseMixture):
    """A mixture whose prior is ``alpha`` pseudo-observations."""

    alpha: Any
    feature_prior: Any
    estimate: str

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
