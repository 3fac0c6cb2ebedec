"""Folds side by side say what each says alone, and cost as little memory as EM."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from softcount import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes, PoissonNB
from softcount.core import fold_fits, fold_groups
from softcount.core.candidates import CANDIDATES
from softcount.core.fold_fits import CrossFit
from softcount.core.fold_groups import FoldsTogether, OneFold
from softcount.core.journal import NO_JOURNAL
from tests.core.unlabeled_rows import text_like, with_few_labels

N_ROWS = 160
RNG = np.random.default_rng(0)
COUNTS, TRUTH = text_like(N_ROWS, 40, 3, seed=0)
NUMBERS = RNG.normal(TRUTH[:, None], 1.0, (N_ROWS, 4)) * np.array([1.0, 10.0, 0.1, 1.0])
VALUES = np.clip(TRUTH[:, None] + RNG.integers(-1, 2, (N_ROWS, 5)), 0, 2).astype(float)
WEIGHT = RNG.integers(0, 3, N_ROWS).astype(float)

CASES: dict[str, tuple[Any, Any]] = {
    "words": (MultinomialNB(), COUNTS),
    "sparse words": (MultinomialNB(), csr_array(COUNTS)),
    "words without a prior": (MultinomialNB(alpha=0.0), COUNTS),
    "yes and no": (BernoulliNB(), (COUNTS > 1).astype(float)),
    "counts": (PoissonNB(), COUNTS[:, :8]),
    "values": (CategoricalNB(), np.where(RNG.random(VALUES.shape) < 0.1, np.nan, VALUES)),
    "numbers": (GaussianNB(), NUMBERS),
    "numbers with gaps": (GaussianNB(), np.where(RNG.random(NUMBERS.shape) < 0.1, np.nan, NUMBERS)),
    "numbers and values": (NaiveBayes(families=["gaussian"] * 4 + ["categorical"] * 5), np.hstack([NUMBERS, VALUES])),
}


def folds_of(estimator: Any, X: Any, y: Any, weight: Any = None) -> CrossFit:
    """The folds that a fit goes through."""
    found: list[CrossFit] = []
    run: Callable[..., Any] = fold_fits.CrossFit.run

    class Seen(CrossFit):
        def run(self, *args: Any, **settings: Any) -> Any:
            found.append(self)
            return run(self, *args, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("softcount.core.unlabeled.CrossFit", Seen)
        estimator.fit(X, y, sample_weight=weight)
    return found[0]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["whole rows", "weighted rows"])
@pytest.mark.parametrize("per_class", [8, 30], ids=["few labels", "many labels"])
@pytest.mark.parametrize("case", CASES)
def test_folds_together_say_what_each_says_alone(
    case: str, per_class: int, weight: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold_groups, "ROWS_AT_ONCE", 7)
    estimator, X = CASES[case]
    folds = folds_of(estimator, X, with_few_labels(TRUTH, per_class, 0), weight)
    candidates, parts = folds.candidates, folds.deals[0]
    # Labeled rows that are few are copied together, and many stay among the others.
    assert (candidates.told.n_rows < N_ROWS) == (per_class == 8)
    assert folds.at_once == len(parts) == 5
    together = FoldsTogether(candidates, parts)
    scores = together.begin(CANDIDATES, 3, NO_JOURNAL)
    together.go_on(3, NO_JOURNAL)
    scores["full"] = together.of_em()
    first = 0
    for part in parts:
        alone = OneFold(candidates, part)
        own = alone.begin(CANDIDATES, 3, NO_JOURNAL)
        alone.go_on(3, NO_JOURNAL)
        own["full"] = alone.of_em()
        for name in CANDIDATES:
            found = scores[name][first : first + part.size]
            np.testing.assert_allclose(found, own[name], rtol=1e-7, atol=1e-9)
        first += part.size


# ---- memory
def peak_of(fit: Callable[[], Any]) -> int:
    """Most bytes that were asked for at a time."""
    fit()
    tracemalloc.start()
    fit()
    top = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return top


SPARE = 5e6


@pytest.mark.parametrize(
    ("n_words", "n_classes"), [(2_000, 2), (45_000, 2), (200_000, 2), (30_000, 20)], ids=lambda size: f"{size:,}"
)
def test_the_default_takes_the_memory_of_em_and_a_few_megabytes(n_words: int, n_classes: int) -> None:
    rng = np.random.default_rng(1)
    X = csr_array(random_array((15_000, n_words), density=60.0 / n_words, rng=rng, format="csr"))
    X.data = np.ceil(3.0 * X.data)
    y = np.where(np.arange(15_000) < 30 * n_classes, np.arange(15_000) % n_classes, np.nan)

    def fit(weight: Any) -> Callable[[], Any]:
        return lambda: MultinomialNB(unlabeled_weight=weight, max_iter=4, tol=0.0, n_jobs=1).fit(X, y)

    em, default = peak_of(fit(1.0)), peak_of(fit("auto"))
    assert default <= 1.1 * em + SPARE
