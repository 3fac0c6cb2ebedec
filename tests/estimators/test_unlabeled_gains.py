"""What the default gains from rows without a label, on data that comes with the libraries and on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import CountVectorizer

from softcount import BernoulliNB, GaussianNB, MultinomialNB
from softcount.demo import load_messages
from tests.core.unlabeled_rows import text_like, with_few_labels

TEXT = {"burst": 60.0, "share": 0.15}


def spread(X: Any, truth: Any, X_test: Any, y_test: Any, *, make: Any, n_labels: int, n_draws: int) -> NDArray[Any]:
    """Accuracy of the labeled rows alone, plain EM and the default, draw by draw."""
    rows = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        kept = rng.permutation(truth.size)[:n_labels]
        while np.unique(truth[kept]).size < np.unique(truth).size:
            kept = rng.permutation(truth.size)[:n_labels]
        y = np.full(truth.size, np.nan)
        y[kept] = truth[kept]
        rows.append([make(unlabeled_weight=w).fit(X, y).score(X_test, y_test) for w in (0.0, 1.0, "auto")])
    return np.array(rows)


def halves(X: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    order = np.random.default_rng(99).permutation(y.size)
    train, test = order[: 7 * y.size // 10], order[7 * y.size // 10 :]
    return X[train], y[train], X[test], y[test]


@pytest.mark.parametrize("n_labels", [10, 20, 40])
def test_the_demo_s_messages_gain_from_the_unlabeled_ones(n_labels: int) -> None:
    texts, labels = load_messages()
    X = csr_array(CountVectorizer(min_df=2).fit_transform(texts))
    truth = np.unique(labels, return_inverse=True)[1]
    alone, _, default = spread(*halves(X, truth), make=MultinomialNB, n_labels=n_labels, n_draws=5).mean(axis=0)
    assert default >= alone + 0.03


@pytest.mark.parametrize(
    ("load", "gain"),
    [(load_breast_cancer, 0.005), (load_wine, 0.08)],
    ids=["breast cancer", "wine"],
)
def test_few_measurements_with_labels_gain_from_the_others(load: Any, gain: float) -> None:
    alone, _, default = spread(*halves(*load(return_X_y=True)), make=GaussianNB, n_labels=10, n_draws=8).mean(axis=0)
    assert default >= alone + gain


def test_where_plain_em_hurts_the_default_does_not() -> None:
    X, y = load_digits(return_X_y=True)
    found = spread(*halves((X > 7).astype(np.uint8), y), make=BernoulliNB, n_labels=150, n_draws=5)
    alone, plain, default = found.mean(axis=0)
    assert plain < alone - 0.03
    assert default > alone - 0.01
    assert (found[:, 2] > found[:, 0] - 0.03).all()


@pytest.mark.parametrize("seed", range(3))
def test_calibration_at_least_halves_the_error_of_naive_bayes_on_texts(seed: int) -> None:
    X, truth = text_like(1500, 300, 4, seed, **TEXT)
    y = with_few_labels(truth[:800], 10, seed)

    def gap(weight: Any) -> float:
        probability = MultinomialNB(unlabeled_weight=weight).fit(X[:800], y).predict_proba(X[800:])
        confidence, hit = probability.max(axis=1), probability.argmax(axis=1) == truth[800:]
        place = np.minimum((confidence * 15).astype(int), 14)
        return float(np.abs(np.bincount(place, confidence - hit, minlength=15)).sum() / hit.size)

    assert gap("auto") <= 0.5 * gap(0.0)


def test_the_verdict_has_the_direction_of_the_difference_on_other_rows() -> None:
    right, large = 0, 0
    for seed in range(8):
        X, truth = text_like(1000, 200, 3, seed, **TEXT)
        y = with_few_labels(truth[:600], 8, seed)
        alone, model = (MultinomialNB(unlabeled_weight=w).fit(X[:600], y) for w in (0.0, "auto"))
        difference = model.score(X[600:], truth[600:]) - alone.score(X[600:], truth[600:])
        if abs(difference) > 0.03:
            large += 1
            right += model.unlabeled_verdict_.direction * difference > 0.0
    assert large >= 5
    assert right >= 0.9 * large


# ---- real data, where it is at hand
def test_sms_gain_from_few_labels(shared_data: Path) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.read_parquet(shared_data / "sms_spam" / "sms_spam.parquet").drop_duplicates("text")
    X = csr_array(CountVectorizer(min_df=2).fit_transform(table["text"]))
    truth = (table["label"] == "spam").to_numpy().astype(int)
    alone, _, default = spread(*halves(X, truth), make=MultinomialNB, n_labels=20, n_draws=4).mean(axis=0)
    assert default > 0.95
    assert default > alone


def test_votes_lose_no_more_than_a_point(shared_data: Path) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(shared_data / "house_votes_84" / "house_votes_84.csv")
    X = np.column_stack([(table[c] == "y").where(table[c].notna()).astype(float) for c in table.columns[1:]])
    truth = (table["party"] == "republican").to_numpy().astype(int)
    alone, _, default = spread(*halves(X, truth), make=BernoulliNB, n_labels=20, n_draws=10).mean(axis=0)
    assert default > alone - 0.01


@pytest.mark.slow
def test_twenty_newsgroups_gain_ten_points_at_fifteen_labels_per_class(shared_data: Path) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.read_parquet(shared_data / "newsgroups" / "20news-bydate.parquet")
    bodies = table["text"].str.replace("\r\n", "\n").str.partition("\n\n")[2].to_numpy()
    train, test = (np.flatnonzero(table["split"] == part) for part in ("train", "test"))
    test = test[::5]
    vectorizer = CountVectorizer(min_df=2)
    X, X_test = vectorizer.fit_transform(bodies[train]), vectorizer.transform(bodies[test])
    truth = table["newsgroup"].astype("category").cat.codes.to_numpy()
    y = with_few_labels(truth[train], 15, 0)
    alone, model = (MultinomialNB(unlabeled_weight=w).fit(X, y) for w in (0.0, "auto"))
    assert model.score(X_test, truth[test]) > alone.score(X_test, truth[test]) + 0.10
    assert model.unlabeled_verdict_.conclusive
    assert str(model.unlabeled_verdict_).startswith("Using the 11,014 unlabeled rows raised accuracy")
