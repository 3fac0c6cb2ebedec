"""One case per event model: an estimator, rows that suit it, and scikit-learn's class of the same name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import naive_bayes as scikit_learn

from softcount.estimators.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
)

Draw = Callable[[np.random.Generator, NDArray[Any], int], NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """An event model with rows drawn for it."""

    name: str
    make: Callable[..., Any]
    draw: Draw
    rival: Any = None
    reads_sparse: bool = False

    def rows(
        self, n_rows: int = 60, n_columns: int = 5, n_classes: int = 3, seed: int = 0
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows and their classes; every class occurs, and the classes differ."""
        rng = np.random.default_rng(seed)
        y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)])
        return self.draw(rng, y, n_columns), y

    def missing_cells(self, X: NDArray[Any], share: float = 0.2, seed: int = 1) -> NDArray[Any]:
        """The rows with some cells missing."""
        holes = np.random.default_rng(seed).random(X.shape) < share
        return np.where(holes, np.nan, X.astype(np.float64))


def _profile(y: NDArray[Any], n_columns: int) -> NDArray[Any]:
    """A number between 0 and 1 for every row and column that depends on the row's class."""
    return 0.5 + 0.4 * np.sin(1.7 * y[:, None] + 2.3 * np.arange(n_columns) + 0.5)


def draw_bits(rng: np.random.Generator, y: NDArray[Any], n_columns: int) -> NDArray[Any]:
    return (rng.random((y.size, n_columns)) < _profile(y, n_columns)).astype(np.int64)


def draw_counts(rng: np.random.Generator, y: NDArray[Any], n_columns: int) -> NDArray[Any]:
    return rng.poisson(4.0 * _profile(y, n_columns))


def draw_codes(rng: np.random.Generator, y: NDArray[Any], n_columns: int) -> NDArray[Any]:
    return rng.binomial(2 + np.arange(n_columns) % 3, _profile(y, n_columns))


def draw_numbers(rng: np.random.Generator, y: NDArray[Any], n_columns: int) -> NDArray[Any]:
    return rng.normal(5.0 * _profile(y, n_columns), 1.0 + 0.3 * y[:, None])


BERNOULLI = Case("BernoulliNB", BernoulliNB, draw_bits, scikit_learn.BernoulliNB, reads_sparse=True)
MULTINOMIAL = Case("MultinomialNB", MultinomialNB, draw_counts, scikit_learn.MultinomialNB, reads_sparse=True)
COMPLEMENT = Case("ComplementNB", ComplementNB, draw_counts, scikit_learn.ComplementNB, reads_sparse=True)
CATEGORICAL = Case("CategoricalNB", CategoricalNB, draw_codes, scikit_learn.CategoricalNB)
GAUSSIAN = Case("GaussianNB", GaussianNB, draw_numbers, scikit_learn.GaussianNB)
POISSON = Case("PoissonNB", PoissonNB, draw_counts, reads_sparse=True)

#: The event models with a likelihood, which EM can learn.
GENERATIVE = [BERNOULLI, MULTINOMIAL, CATEGORICAL, GAUSSIAN, POISSON]
ALL = [*GENERATIVE, COMPLEMENT]
WITH_RIVAL = [case for case in ALL if case.rival is not None]
SPARSE = [case for case in ALL if case.reads_sparse]
