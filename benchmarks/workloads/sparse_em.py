"""EM of naive Bayes on sparse counts, one row in a hundred labeled, per iteration in float64.

The rival is what a careful user of SciPy writes: two products a pass and everything else in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import softcount
from benchmarks.documents import binary, few_labels, word_counts
from benchmarks.measuring import OURS, Contest, Contestant, Goal, Setting, relative_distance

N_ROWS, N_COLUMNS = 200_000, 50_000
GOALS = {2: Goal(4.0, 6.0), 5: Goal(4.0, 5.0), 20: Goal(4.0, 6.0), 100: Goal(6.0, 9.0)}
FEW, MANY = 1, 5
#: Tables of columns by classes that a thread works with: those of the parameters, and one of counts.
TABLES = {"BernoulliNB": 2 + 1, "MultinomialNB": 1 + 1}


@dataclass
class ScipyEM:
    """EM with two matrix products an iteration; ``X`` holds ones where ``kind`` is Bernoulli."""

    kind: str
    X: csr_array
    y: NDArray[np.float64]
    n_classes: int
    alpha: float = 1.0

    def run(self, n_iter: int) -> dict[str, NDArray[np.float64]]:
        """Parameters after the start from labeled rows and ``n_iter`` iterations."""
        known = np.flatnonzero(~np.isnan(self.y))
        resp = np.zeros((self.X.shape[0], self.n_classes))
        resp[known, self.y[known].astype(int)] = 1.0
        labeled = resp[known]
        transposed = self.X.T
        for step in range(n_iter + 1):
            log_prob = transposed @ resp
            weight = resp.sum(axis=0)
            table = self.solve(log_prob, weight)
            log_prior = np.log(weight / weight.sum())
            if step == n_iter:
                break
            resp = self.X @ table
            resp += log_prior + self.constant
            resp -= resp.max(axis=1, keepdims=True)
            np.exp(resp, out=resp)
            resp /= resp.sum(axis=1, keepdims=True)
            resp[known] = labeled
        return {"feature_log_prob_": log_prob.T, "class_log_prior_": log_prior}

    def solve(self, counts: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn counts into log-probabilities in place; return the table that a row is multiplied with."""
        counts += self.alpha
        if self.kind == "MultinomialNB":
            counts /= counts.sum(axis=0)
            self.constant: Any = 0.0
            return np.log(counts, out=counts)
        counts /= weight + 2.0 * self.alpha
        absent = np.log1p(-counts)
        np.log(counts, out=counts)
        self.constant = absent.sum(axis=0)
        np.subtract(counts, absent, out=absent)
        return absent


def contests(setting: Setting, kind: str, n_classes: int) -> list[Contest]:
    """EM of one class with one number of classes."""
    X, truth = word_counts(setting.rows(N_ROWS, 20 * n_classes), N_COLUMNS, n_classes)
    y = few_labels(truth, n_classes, 0.01)
    rival = ScipyEM(kind, binary(X) if kind == "BernoulliNB" else X, y, n_classes)
    estimator = getattr(softcount, kind)

    def ours(max_iter: int) -> Any:
        model = estimator(max_iter=max_iter, tol=0.0, unlabeled_weight=1.0, calibrate="none", n_jobs=setting.threads)
        return model.fit(X, y)

    def distance(answer: Any) -> float:
        found = answer if isinstance(answer, dict) else vars(answer)
        return max(relative_distance(found[name], value) for name, value in expected().items())

    cache: dict[str, Any] = {}

    def expected() -> dict[str, NDArray[np.float64]]:
        if not cache:
            cache.update(rival.run(5))
        return cache

    table_mb = N_COLUMNS * n_classes * 8 / 2**20
    contest = Contest(
        f"{kind} EM, sparse {X.shape[0]:,} x {N_COLUMNS:,}, 1 % labels, K={n_classes}",
        Contestant(OURS, ours, distance, 1e-9, (FEW, MANY)),
        (Contestant("SciPy, two products", rival.run, distance, 1e-9, (FEW, MANY), GOALS[n_classes]),),
        # The chunk-sorted index may cost 3 bytes a cell.
        memory_limit_mb=64 + TABLES[kind] * table_mb * setting.threads + 3 * X.nnz / 2**20,
    )
    return [contest]


WORKLOADS = {
    f"sparse-em-{kind.removesuffix('NB').lower()}-{k}": partial(contests, kind=kind, n_classes=k)
    for kind, k in [
        ("BernoulliNB", 20),
        ("MultinomialNB", 20),
        ("BernoulliNB", 2),
        ("BernoulliNB", 5),
        ("BernoulliNB", 100),
    ]
}
