"""Logistic regression, dense and sparse, everybody to the same gap from the best objective.

All fit the same L2-penalized model (C=1). A contestant runs with the loosest tolerance of its ladder whose answer comes
within 1e-8 per row of the best objective, so that nobody wins by stopping early or loses by being thorough. softcount's
time includes its checks; standard errors are in the row that says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

import softcount
from benchmarks.documents import unit_tfidf, word_counts
from benchmarks.measuring import OURS, Absent, Contest, Contestant, Goal, Setting, TooSlow, rival

GAP = 1e-8
#: Seconds that the search for a contestant's tolerance may take.
PATIENCE = 60.0
CHOLESKY, GLUM = "scikit-learn newton-cholesky", "glum"
DENSE_GOALS = {2: {CHOLESKY: Goal(4.0, 6.0), GLUM: Goal(4.0)}, 5: {CHOLESKY: Goal(6.0, 12.0)}}
SPARSE_GOAL = Goal(1.5, 3.0)


@dataclass(frozen=True)
class Problem:
    """Rows, labels 0, 1, …, and what everybody minimizes."""

    X: Any
    y: NDArray[np.int64]
    threads: int

    def objective(self, model: Any) -> float:
        """Penalized negative log-likelihood per row, computed the same way for all."""
        coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
        penalty = 0.5 * float(np.sum(coef * coef))
        if len(coef) == 1:
            margin = np.where(self.y == 1, 1.0, -1.0) * (self.X @ coef[0] + intercept[0])
            return (float(np.logaddexp(0.0, -margin).sum()) + penalty) / len(self.y)
        scores = self.X @ coef.T + intercept
        chosen = scores[np.arange(len(self.y)), self.y]
        return (float((logsumexp(scores, axis=1) - chosen).sum()) + penalty) / len(self.y)

    @cached_property
    def best(self) -> float:
        """The objective of a fit far tighter than the gap; whoever comes below it would be found out, too."""
        fit = softcount.LogisticRegression(tol=1e-10, n_jobs=self.threads, inference=False).fit(self.X, self.y)
        return self.objective(fit)

    def softcount(self, inference: bool, tol: float) -> Any:
        """softcount's fit."""
        return softcount.LogisticRegression(tol=tol, n_jobs=self.threads, inference=inference).fit(self.X, self.y)

    def sklearn(self, solver: str, tol: float) -> Any:
        """scikit-learn's fit by one of its solvers."""
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(solver=solver, tol=tol, max_iter=5000, random_state=0).fit(self.X, self.y)

    def glum(self, tol: float) -> Any:
        """glum's fit; its penalty is per row."""
        from glum import GeneralizedLinearRegressor

        model = GeneralizedLinearRegressor(family="binomial", alpha=1.0 / len(self.y), l1_ratio=0, gradient_tol=tol)
        return model.fit(self.X, self.y.astype(np.float64))


@dataclass
class Tuned:
    """A fit with the loosest tolerance that is exact enough."""

    problem: Problem
    fit: Callable[[float], Any]
    ladder: tuple[float, ...]
    tol: float = field(init=False)

    def tune(self) -> None:
        """Go down the ladder until the answer is exact enough.

        Raises
        ------
        TooSlow
            Patience, or the ladder, was at its end before.
        """
        best = self.problem.best
        began = time.perf_counter()
        for tol in self.ladder:
            self.tol = tol
            gap = self.problem.objective(self.fit(tol)) - best
            if abs(gap) <= GAP:
                return
            if time.perf_counter() - began > PATIENCE:
                break
        took = time.perf_counter() - began
        raise TooSlow(f"{gap:.0e} from the best objective with tol={self.tol:g}, after {took:.0f} s in all")

    def contestant(self, name: str, goal: Goal | None = None) -> Contestant:
        """Take part under a name."""
        return Contestant(
            name,
            lambda: self.fit(self.tol),
            # Below the best by more than the gap would be a wrong objective, not a better answer.
            lambda model: abs(self.problem.objective(model) - self.problem.best),
            GAP,
            goal=goal,
            prepare=self.tune,
            remark=lambda: f"tol={self.tol:g}",
        )


LADDER = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def dense_problem(n_rows: int, n_columns: int, n_classes: int, threads: int, seed: int = 0) -> Problem:
    """Columns in different units and off zero; labels from a softmax of all of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    scale = np.exp(rng.uniform(-2.0, 2.0, n_columns))
    slopes = rng.standard_normal((n_columns, n_classes)) * 1.5 / np.sqrt(n_columns)
    scores = X @ slopes
    scores += rng.gumbel(size=scores.shape)
    X *= scale
    X += rng.standard_normal(n_columns)
    return Problem(X, scores.argmax(axis=1), threads)


def sparse_problem(n_rows: int, n_columns: int, kind: str, threads: int, seed: int = 0) -> Problem:
    """Documents as counts or tf-idf; labels from a fifth of the words."""
    X, _ = word_counts(n_rows, n_columns, 1, seed=seed)
    if kind == "tfidf":
        X = unit_tfidf(X)
    rng = np.random.default_rng(seed + 1)
    predictor = X @ (rng.standard_normal(n_columns) * (rng.random(n_columns) < 0.2))
    predictor = 2.0 * (predictor - predictor.mean()) / predictor.std()
    y = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-predictor))).astype(np.int64)
    return Problem(X, y, threads)


def dense(setting: Setting, n_classes: int) -> list[Contest]:
    """500,000 x 50."""
    problem = dense_problem(setting.rows(500_000, 2000), 50, n_classes, setting.threads)
    goals = DENSE_GOALS[n_classes]
    rivals: list[Any] = [
        Tuned(problem, partial(problem.softcount, True), LADDER).contestant("softcount, with standard errors"),
    ]
    if setting.with_rivals:
        rivals.append(
            Tuned(problem, partial(problem.sklearn, "newton-cholesky"), LADDER).contestant(CHOLESKY, goals[CHOLESKY])
        )
        if n_classes == 2:
            rivals.append(rival(GLUM, "glum", partial(_glum, problem, goals[GLUM]), goals[GLUM]))
    name = f"logistic, dense {len(problem.y):,} x 50, {n_classes} classes, to 1e-8"
    ours = Tuned(problem, partial(problem.softcount, False), LADDER).contestant(OURS)
    return [Contest(name, ours, tuple(rivals), memory_limit_mb=64)]


def sparse(setting: Setting, kind: str) -> list[Contest]:
    """200,000 x 50,000; every solver that forms no matrix of all pairs of columns."""
    problem = sparse_problem(
        setting.rows(200_000, 2000), int(50_000 * min(1.0, 10 * setting.scale)), kind, setting.threads
    )
    # liblinear is no contestant: it penalizes the intercept, which is another objective.
    solvers = ("lbfgs", "newton-cg", "saga") if setting.with_rivals else ()
    rivals: list[Any] = [
        Tuned(problem, partial(problem.sklearn, solver), LADDER).contestant(f"scikit-learn {solver}", SPARSE_GOAL)
        for solver in solvers
    ]
    n_columns = problem.X.shape[1]
    rivals.append(Absent(GLUM, f"forms a matrix of all pairs of columns, {n_columns**2 * 8e-9:.0f} GB", SPARSE_GOAL))
    size = "{:,} x {:,}".format(*problem.X.shape)
    ours = Tuned(problem, partial(problem.softcount, False), LADDER).contestant(OURS)
    limit = 64 + 3 * problem.X.nnz / 2**20
    return [Contest(f"logistic, sparse {size} {kind}, to 1e-8", ours, tuple(rivals), memory_limit_mb=limit)]


def _glum(problem: Problem, goal: Goal) -> Contestant:
    import glum  # noqa: F401  (only to see whether it is there)

    return Tuned(problem, problem.glum, LADDER).contestant(GLUM, goal)


WORKLOADS = {
    "logistic-dense-2": partial(dense, n_classes=2),
    "logistic-dense-5": partial(dense, n_classes=5),
    "logistic-sparse-tfidf": partial(sparse, kind="tfidf"),
    "logistic-sparse-counts": partial(sparse, kind="counts"),
}
