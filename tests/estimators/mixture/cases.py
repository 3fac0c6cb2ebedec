"""One case per mixture: an estimator, rows drawn for it, and its naive Bayes twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import softcount
from tests.estimators.naive_bayes.cases import draw_bits, draw_codes, draw_counts, draw_numbers


@dataclass(frozen=True)
class Case:
    """A mixture with rows drawn for it."""

    name: str
    draw: Callable[[np.random.Generator, NDArray[Any], int], NDArray[Any]]
    twin: str
    options: tuple[tuple[str, Any], ...] = ()
    twin_options: tuple[tuple[str, Any], ...] = ()
    reads_sparse: bool = False
    has_tied: bool = False

    def make(self, n_components: int = 2, **options: Any) -> Any:
        given = {"random_state": 0, **dict(self.options), **options}
        return getattr(softcount, self.name)(n_components, **given)

    def make_twin(self, **options: Any) -> Any:
        return getattr(softcount, self.twin)(**{**dict(self.twin_options), **options})

    def rows(
        self, n_rows: int = 120, n_columns: int = 6, n_classes: int = 3, seed: int = 0
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows and the components they were drawn from, every one of which occurs."""
        rng = np.random.default_rng(seed)
        y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)])
        return self.draw(rng, y, n_columns), y

    def __str__(self) -> str:
        return self.name


BERNOULLI = Case("BernoulliMixture", draw_bits, "BernoulliNB", reads_sparse=True)
MULTINOMIAL = Case("MultinomialMixture", draw_counts, "MultinomialNB", reads_sparse=True)
CATEGORICAL = Case("CategoricalMixture", draw_codes, "CategoricalNB")
POISSON = Case("PoissonMixture", draw_counts, "PoissonNB", reads_sparse=True)
MIXED = Case("Mixture", draw_numbers, "NaiveBayes")
LATENT_CLASS = Case("LatentClass", draw_codes, "NaiveBayes")
GAUSSIAN = Case(
    "GaussianMixture", draw_numbers, "GaussianNB", options=(("covariance_type", "diag"), ("n_init", 5), ("tol", 1e-8))
)

DISCRETE = [BERNOULLI, MULTINOMIAL, CATEGORICAL, POISSON]
ALL = [*DISCRETE, MIXED, LATENT_CLASS, GAUSSIAN]
