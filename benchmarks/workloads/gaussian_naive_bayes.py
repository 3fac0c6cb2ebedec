"""Gaussian naive Bayes on dense rows: fitting, and probabilities of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.naive_bayes as sklearn_nb
from numpy.typing import NDArray

import softcount
from benchmarks.measuring import OURS, Contest, Contestant, Goal, Setting, relative_distance

N_ROWS, N_COLUMNS, N_CLASSES = 1_000_000, 32, 5
SKLEARN = "scikit-learn"


def _table(setting: Setting) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(4)
    n_rows = setting.rows(N_ROWS)
    y = rng.integers(N_CLASSES, size=n_rows)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    X += rng.normal(0.0, 0.3, (N_CLASSES, N_COLUMNS))[y]
    return X, y


def contests(setting: Setting) -> list[Contest]:
    """Fit and probabilities."""
    X, y = _table(setting)
    n_rows = X.shape[0]
    ours, theirs = softcount.GaussianNB(n_jobs=setting.threads).fit(X, y), sklearn_nb.GaussianNB().fit(X, y)
    expected = theirs.predict_proba(X[:5000])

    def learned(model: Any) -> float:
        return max(relative_distance(model.theta_, theirs.theta_), relative_distance(model.var_, theirs.var_))

    def probabilities(answer: Any) -> float:
        return float(np.abs(answer[:5000] - expected).max())

    fresh, fresh_theirs = softcount.GaussianNB(n_jobs=setting.threads), sklearn_nb.GaussianNB()
    size = f"{n_rows:,} x {N_COLUMNS}, K={N_CLASSES}"
    return [
        Contest(
            f"GaussianNB fit, {size}",
            Contestant(OURS, lambda: fresh.fit(X, y), learned, 1e-10),
            (Contestant(SKLEARN, lambda: fresh_theirs.fit(X, y), learned, 1e-10, goal=Goal(20.0, 35.0)),),
            memory_limit_mb=64,
        ),
        Contest(
            f"GaussianNB predict_proba, {size}",
            Contestant(OURS, lambda: ours.predict_proba(X), probabilities, 1e-9),
            (Contestant(SKLEARN, lambda: theirs.predict_proba(X), probabilities, 1e-9, goal=Goal(10.0, 25.0)),),
        ),
    ]


def float32_contests(setting: Setting) -> list[Contest]:
    """Rows stored as float32 against the same numbers as float64; the answers have the digits of float64."""
    X, y = _table(setting)
    short = X.astype(np.float32)
    X = short.astype(np.float64)
    reference = sklearn_nb.GaussianNB().fit(X, y)
    model = softcount.GaussianNB(n_jobs=setting.threads).fit(X, y)
    expected = reference.predict_proba(X[:5000])
    fresh = softcount.GaussianNB(n_jobs=setting.threads)

    def learned(model: Any) -> float:
        return max(relative_distance(model.theta_, reference.theta_), relative_distance(model.var_, reference.var_))

    def probabilities(answer: Any) -> float:
        return float(np.abs(answer[:5000] - expected).max())

    size = f"{X.shape[0]:,} x {N_COLUMNS} of float32, K={N_CLASSES}"
    return [
        Contest(
            f"GaussianNB fit, {size}",
            Contestant(OURS, lambda: fresh.fit(short, y), learned, 1e-10),
            (Contestant("softcount, float64", lambda: fresh.fit(X, y), learned, 1e-10),),
        ),
        Contest(
            f"GaussianNB predict_proba, {size}",
            Contestant(OURS, lambda: model.predict_proba(short), probabilities, 1e-9),
            (Contestant("softcount, float64", lambda: model.predict_proba(X), probabilities, 1e-9),),
        ),
    ]


WORKLOADS = {"gaussian-nb": contests, "float32-gaussian-nb": float32_contests}
