"""Every estimator that has threads gives the same bits with any number of them, many chunks being there to be dealt."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import softcount
from softcount.core import normal_equations
from softcount.estimators import _grid

N_ROWS = 400
WITH_THREADS = sorted(
    name
    for name in softcount.__all__
    if inspect.isclass(getattr(softcount, name)) and "n_jobs" in inspect.signature(getattr(softcount, name)).parameters
)


def problem() -> tuple[Any, Any]:
    """Small counts, and three classes, some of them not known."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, N_ROWS)
    X = rng.poisson(1.0 + truth[:, None] * rng.random(6), (N_ROWS, 6)).clip(0, 4)
    y = truth.astype(float)
    y[rng.random(N_ROWS) < 0.3] = np.nan
    return X, y


def fitted(name: str, n_jobs: int) -> Any:
    """The estimator, learned from the rows in the form it takes."""
    X, y = problem()
    make, known = getattr(softcount, name), ~np.isnan(y)
    parameters = inspect.signature(make).parameters
    settings = {"random_state": 0} if "random_state" in parameters else {}
    if "n_components" in parameters:
        return make(2, n_jobs=n_jobs, n_init=4, max_iter=20, **settings).fit(X), X
    if name in ("ComplementNB", "LogisticRegression"):
        return make(n_jobs=n_jobs, **settings).fit(X[known], y[known]), X
    if name in ("GLM", "BayesianLinearRegression"):
        return make(n_jobs=n_jobs, **settings).fit(X[:, 1:], X[:, 0]), X[:, 1:]
    return make(n_jobs=n_jobs, **settings).fit(X, y), X


def answers(model: Any, X: Any) -> list[Any]:
    """Everything learned that is an array of numbers, and what is answered."""
    learned = [
        value
        for name, value in sorted(vars(model).items())
        if name.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind in "fiu"
    ]
    return [*learned, *(getattr(model, ask)(X) for ask in ("predict", "predict_proba") if hasattr(model, ask))]


def test_every_kind_of_estimator_is_here() -> None:
    assert {"GaussianNB", "GaussianDiscriminant", "LatentClass", "GLM", "BayesianLinearRegression"} <= set(WITH_THREADS)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", WITH_THREADS)
def test_any_number_of_threads_gives_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_grid, "chunk_rows", lambda *_: 16)
    monkeypatch.setattr(normal_equations, "chunk_rows", lambda _: 32)
    alone, X = fitted(name, 1)
    expected = answers(alone, X)
    assert len(expected) >= 2
    for n_jobs in (2, 5):
        found = answers(*fitted(name, n_jobs))
        for one, other in zip(expected, found, strict=True):
            assert_array_equal(one, other)
