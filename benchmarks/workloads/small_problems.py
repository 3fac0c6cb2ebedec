"""Problems of 1,000 rows, where what a call costs besides the arithmetic counts: defaults of both libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import softcount
from benchmarks.documents import word_counts
from benchmarks.measuring import OURS, Contest, Contestant, Goal, Setting, relative_distance

N_ROWS = 1000
GOAL = Goal(1.0)
SKLEARN = "scikit-learn"


def contests(setting: Setting) -> list[Contest]:
    """Fits, and probabilities of all rows."""
    from sklearn import discriminant_analysis, linear_model, mixture, naive_bayes

    rng = np.random.default_rng(0)
    words, classes = word_counts(N_ROWS, 5000, 4)
    y = rng.integers(3, size=N_ROWS)
    numbers = rng.normal(size=(N_ROWS, 10)) + rng.normal(size=(3, 10))[y]
    codes = rng.integers(0, 4, (N_ROWS, 10))
    means = numbers[:3]
    started = {"means_init": means, "weights_init": np.full(3, 1 / 3), "max_iter": 20, "tol": 0.0, "reg_covar": 0.0}
    started |= {"precisions_init": np.stack([np.eye(10)] * 3)}
    pairs: list[tuple[str, Any, Any, tuple[Any, ...]]] = [
        ("BernoulliNB, sparse", softcount.BernoulliNB(), naive_bayes.BernoulliNB(), (words, classes)),
        ("MultinomialNB, sparse", softcount.MultinomialNB(), naive_bayes.MultinomialNB(), (words, classes)),
        ("CategoricalNB", softcount.CategoricalNB(), naive_bayes.CategoricalNB(), (codes, y)),
        ("GaussianNB", softcount.GaussianNB(), naive_bayes.GaussianNB(), (numbers, y)),
        ("linear discriminant", softcount.GaussianDiscriminant(), discriminant_analysis.LinearDiscriminantAnalysis(),
         (numbers, y)),
        ("Gaussian mixture, 20 iterations", softcount.GaussianMixture(3, **started),
         mixture.GaussianMixture(3, **started), (numbers,)),
        ("logistic, 3 classes", softcount.LogisticRegression(tol=1e-6, inference=False),
         linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-6), (numbers, y)),
    ]  # fmt: skip
    del setting  # these problems are as small as they get
    return [contest for pair in pairs for contest in _fit_and_answer(*pair)]


def _fit_and_answer(name: str, ours: Any, theirs: Any, data: tuple[Any, ...]) -> list[Contest]:
    expected = theirs.fit(*data).predict_proba(data[0])
    ours.fit(*data)

    def learned(model: Any) -> float:
        return answered(model.predict_proba(data[0]))

    def answered(probabilities: NDArray[np.float64]) -> float:
        return relative_distance(probabilities, expected)

    return [
        Contest(
            f"1,000 rows: {name}, fit",
            Contestant(OURS, lambda: ours.fit(*data), learned, 1e-6),
            (Contestant(SKLEARN, lambda: theirs.fit(*data), learned, 1e-6, goal=GOAL),),
            calls=20,
        ),
        Contest(
            f"1,000 rows: {name}, predict_proba",
            Contestant(OURS, lambda: ours.predict_proba(data[0]), answered, 1e-6),
            (Contestant(SKLEARN, lambda: theirs.predict_proba(data[0]), answered, 1e-6, goal=GOAL),),
            calls=50,
        ),
    ]


WORKLOADS = {"small-problems": contests}
