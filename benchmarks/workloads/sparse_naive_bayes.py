"""Supervised naive Bayes on sparse counts: fitting, probabilities of all rows, and the answer to one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.naive_bayes as sklearn_nb

import softcount
from benchmarks.documents import word_counts
from benchmarks.measuring import OURS, Contest, Contestant, Goal, Setting, relative_distance

N_ROWS, N_COLUMNS, N_CLASSES = 200_000, 50_000, 20
SKLEARN = "scikit-learn"
#: Fit, probabilities, one row.
GOALS = {
    "BernoulliNB": (Goal(3.5, 5.0), Goal(8.0, 14.0), Goal(4.0)),
    "MultinomialNB": (Goal(2.0, 3.0), Goal(4.0, 6.0), Goal(1.0)),
}


def contests(setting: Setting, kind: str) -> list[Contest]:
    """Three contests of one class of both libraries, defaults on both sides."""
    X, y = word_counts(setting.rows(N_ROWS), N_COLUMNS, N_CLASSES)
    names = [f"c{c:02d}" for c in range(N_CLASSES)]
    y = np.array(names)[y]
    ours, theirs = getattr(softcount, kind)(n_jobs=setting.threads), getattr(sklearn_nb, kind)()
    fitted_ours, fitted_theirs = ours.fit(X, y), theirs.fit(X, y)
    expected = theirs.predict_proba(X[:2000])
    row = X[7:8]
    fit_goal, proba_goal, row_goal = GOALS[kind]
    fresh = {OURS: type(ours)(n_jobs=setting.threads), SKLEARN: type(theirs)()}

    def learned(model: Any) -> float:
        return max(
            relative_distance(model.feature_log_prob_, fitted_theirs.feature_log_prob_),
            relative_distance(model.class_log_prior_, fitted_theirs.class_log_prior_),
        )

    def probabilities(answer: Any) -> float:
        return float(np.abs(answer[:2000] - expected).max())

    def class_of_row(answer: Any) -> float:
        return float((answer != fitted_theirs.predict(row)).sum())

    size = f"{X.shape[0]:,} x {N_COLUMNS:,}, K={N_CLASSES}"
    table_mb = N_COLUMNS * N_CLASSES * 8 / 2**20
    return [
        Contest(
            f"{kind} fit, sparse {size}",
            Contestant(OURS, lambda: fresh[OURS].fit(X, y), learned, 1e-10),
            (Contestant(SKLEARN, lambda: fresh[SKLEARN].fit(X, y), learned, 1e-10, goal=fit_goal),),
            memory_limit_mb=64 + table_mb * setting.threads,
        ),
        Contest(
            f"{kind} predict_proba, sparse {size}",
            Contestant(OURS, lambda: fitted_ours.predict_proba(X), probabilities, 1e-9),
            (Contestant(SKLEARN, lambda: fitted_theirs.predict_proba(X), probabilities, 1e-9, goal=proba_goal),),
        ),
        Contest(
            f"{kind} predict, one sparse row, K={N_CLASSES}",
            Contestant(OURS, lambda: fitted_ours.predict(row), class_of_row, 0.0),
            (Contestant(SKLEARN, lambda: fitted_theirs.predict(row), class_of_row, 0.0, goal=row_goal),),
            calls=100,
        ),
    ]


WORKLOADS = {
    "sparse-bernoulli-nb": lambda setting: contests(setting, "BernoulliNB"),
    "sparse-multinomial-nb": lambda setting: contests(setting, "MultinomialNB"),
}
