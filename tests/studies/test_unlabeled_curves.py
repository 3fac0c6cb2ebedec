"""The shape that the literature found: most is gained where labels are few, and EM can hurt where there are many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from softcount import MultinomialNB
from studies.unlabeled.data_sets import DataSet, newsgroups, newsgroups_odd
from studies.unlabeled.draws import draw_labels, with_nan
from tests.core.unlabeled_rows import text_like, with_few_labels

Scores = dict[str, float]


def scores(data: DataSet, y: NDArray[Any], **others: dict[str, Any]) -> Scores:
    """Accuracy on the test part: labeled rows alone, plain EM, the default, and what else is asked for."""
    ways = {"alone": {"unlabeled_weight": 0.0}, "plain": {"unlabeled_weight": 1.0}, "default": {}} | others
    fits = {name: MultinomialNB(**settings).fit(data.X, y) for name, settings in ways.items()}
    return {name: float(fit.score(data.X_test, data.y_test)) for name, fit in fits.items()}


# ---- generated texts
def halves(X: NDArray[Any], truth: NDArray[Any], per_class: int, seed: int) -> Scores:
    y = with_few_labels(truth[:1500], per_class, seed)
    return scores(DataSet(X[:1500], truth[:1500], X[1500:], truth[1500:], MultinomialNB), y)


def test_most_is_gained_where_labels_are_few_and_the_gap_closes() -> None:
    draws = [text_like(2200, 300, 4, seed, burst=60.0, share=0.15) for seed in range(4)]
    gains = []
    for per_class in (2, 10, 150):
        found = [halves(*rows, per_class, seed) for seed, rows in enumerate(draws)]
        gains.append(np.mean([s["default"] - s["alone"] for s in found]))
    assert gains[0] > gains[1] + 0.1
    assert gains[1] > gains[2] + 0.05
    assert gains[2] > 0.0


def test_where_rows_cluster_by_something_else_than_the_classes_plain_em_hurts_and_the_default_does_not() -> None:
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        truth, theme = rng.integers(2, size=(2, 2200))
        # Half of the words tell two themes apart, and tell it loudly; the others whisper the class.
        loud = rng.poisson(np.where(np.arange(40) % 2 == theme[:, None], 1.0, 0.2))
        quiet = rng.poisson(np.where(np.arange(40) % 2 == truth[:, None], 0.4, 0.2))
        found.append(halves(np.column_stack([loud, quiet]).astype(float), truth, 100, seed))
    alone, plain, default = (np.mean([s[way] for s in found]) for way in ("alone", "plain", "default"))
    assert plain < alone - 0.2
    assert default > alone - 0.01
    assert all(s["default"] > s["alone"] - 0.02 for s in found)


# ---- 20 Newsgroups, where it is at hand
@pytest.mark.slow
def test_twenty_newsgroups_have_the_curve_of_nigam_and_others(shared_data: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("SOFTCOUNT_DATA", str(shared_data))
    data = newsgroups()
    smoothed: dict[str, Any] = {"unlabeled_weight": 0.0, "alpha": 0.01}
    found = [scores(data, with_nan(data, draw_labels(data, n, 0)), tuned=smoothed) for n in (5, 50, 275)]
    # Against naive Bayes as it comes, and against naive Bayes whose alpha somebody has chosen well.
    for rival, at_least in (("alone", (0.3, 0.2, 0.05)), ("tuned", (0.2, 0.1, 0.02))):
        gains = [s["default"] - s[rival] for s in found]
        assert all(gain > least for gain, least in zip(gains, at_least, strict=True))
        assert gains[0] > gains[1] > gains[2]
    assert found[0]["default"] < found[1]["default"] < found[2]["default"]


@pytest.mark.slow
def test_odd_against_even_newsgroups_are_where_plain_em_hurts_and_the_default_gains(
    shared_data: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("SOFTCOUNT_DATA", str(shared_data))
    data = newsgroups_odd()
    found = scores(data, with_nan(data, draw_labels(data, 1000, 0)))
    assert found["plain"] < found["alone"] - 0.05
    assert found["default"] > found["alone"]
