"""Classifiers that decide how to use unlabeled rows decide the same where the rows are not in memory."""

import numpy as np
import pytest
from sklearn.base import clone

import softcount as sc
from softcount.core import distant_candidates
from tests.estimators.distant.cases import assert_learned_the_same, batches_of, counts, labels_for, numbers, table

CASES = {
    "GaussianNB": (sc.GaussianNB(max_iter=20), numbers),
    "MultinomialNB sparse": (sc.MultinomialNB(max_iter=20), lambda: counts(sparse=True)),
    "NaiveBayes": (sc.NaiveBayes(max_iter=20), table),
    "GaussianDiscriminant": (sc.GaussianDiscriminant(max_iter=20), numbers),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("labels_fit", [True, False])
def test_the_same_use_is_chosen_with_the_same_evidence(name, labels_fit, monkeypatch):
    if not labels_fit:
        monkeypatch.setattr(distant_candidates, "MOST_NUMBERS", 0)
    estimator, make = CASES[name]
    X, z = make()
    rng = np.random.default_rng(3)
    y, weight = labels_for(z, rng, some=True), rng.integers(0, 3, z.shape[0]).astype(float)
    memory = clone(estimator).fit(X, y, weight)
    streamed = clone(estimator).fit(batches_of(X, y, weight))
    assert streamed.unlabeled_use_ == memory.unlabeled_use_
    assert_learned_the_same(memory, streamed)
    assert streamed.calibration_.correlation == pytest.approx(memory.calibration_.correlation, rel=1e-8)
    assert str(streamed.unlabeled_verdict_) == str(memory.unlabeled_verdict_)


def test_many_labeled_rows_are_held_out_as_in_memory(monkeypatch):
    monkeypatch.setattr(distant_candidates, "MOST_NUMBERS", 0)
    for module in ("softcount.core.distant_candidates", "softcount.core.fold_fits"):
        monkeypatch.setattr(f"{module}.MOST_HELD_OUT", 200)
    X, z = numbers()
    y = labels_for(z, np.random.default_rng(3), some=True)
    memory = sc.GaussianNB(max_iter=20).fit(X, y)
    streamed = sc.GaussianNB(max_iter=20).fit(batches_of(X, y))
    assert str(streamed.unlabeled_verdict_) == str(memory.unlabeled_verdict_)
    assert_learned_the_same(memory, streamed)


@pytest.mark.parametrize("calibrate", ["temperature", "isotonic"])
def test_probabilities_are_calibrated_alike(calibrate):
    X, z = counts()
    y = labels_for(z, np.random.default_rng(3), some=False)
    memory = sc.MultinomialNB(calibrate=calibrate).fit(X, y)
    streamed = sc.MultinomialNB(calibrate=calibrate).fit(batches_of(X, y))
    proba = np.concatenate(list(streamed.predict_proba([part for part, _, _ in batches_of(X)])))
    np.testing.assert_allclose(proba, memory.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_one_label_in_every_class_leaves_nothing_to_hold_out():
    X, z = numbers()
    y = np.full(z.shape[0], None, dtype=object)
    for k in range(3):
        y[np.flatnonzero(z == k)[5]] = "abc"[k]
    memory = sc.GaussianNB(max_iter=20).fit(X, y)
    streamed = sc.GaussianNB(max_iter=20).fit(batches_of(X, y))
    assert streamed.calibration_.correlation == memory.calibration_.correlation
    assert_learned_the_same(memory, streamed)
