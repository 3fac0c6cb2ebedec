"""Documents in which the counts of some words are missing: what is seen is scored among what could be seen."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from softcount import MultinomialNB

THETA = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.3, 0.3, 0.3]])


def documents(n_rows: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    X = np.array([rng.multinomial(10, THETA[k]) for k in y], dtype=np.float64)
    X[rng.random(n_rows) < 0.5, 0] = np.nan
    return X, y


def test_missing_counts_do_not_bias_the_words_probabilities():
    X, y = documents(6000)
    model = MultinomialNB(alpha=0.0, tol=1e-10).fit(X, y)
    assert_allclose(np.exp(model.feature_log_prob_), THETA, atol=0.02)


def test_the_posterior_of_a_row_with_holes_is_that_of_the_words_that_could_be_seen():
    X, y = documents(3000)
    model = MultinomialNB(tol=1e-10).fit(X, y)
    theta = np.exp(model.feature_log_prob_)
    row = np.array([np.nan, 5.0, 2.0, 1.0])
    seen = theta[:, 1:] / theta[:, 1:].sum(axis=1, keepdims=True)
    joint = np.exp(model.class_log_prior_) * np.prod(seen ** row[1:], axis=1)
    assert_allclose(model.predict_proba(row[None])[0], joint / joint.sum(), rtol=1e-10)


@pytest.mark.parametrize("n_labels", [3000, 60])
def test_the_objective_never_falls_with_hidden_words(n_labels):
    X, y = documents(3000)
    labels = y.astype(float)
    labels[n_labels:] = np.nan
    model = MultinomialNB(unlabeled_weight=1.0, max_iter=60, tol=0.0).fit(X, labels)
    objective = np.array([step.objective for step in model.history_])
    assert np.diff(objective).min() >= -1e-9 * abs(objective[-1])


def test_at_the_maximum_no_small_change_of_the_words_probabilities_is_better():
    X, y = documents(800)
    model = MultinomialNB(alpha=0.0, tol=0.0, max_iter=400).fit(X, y)
    best = np.exp(model.feature_log_prob_)

    def log_likelihood(theta):
        total = 0.0
        for k in (0, 1):
            rows = X[y == k]
            seen = (~np.isnan(rows)) @ theta[k]
            total += np.nansum(rows * np.log(theta[k])) - np.nansum(rows, axis=1) @ np.log(seen)
        return total

    rng = np.random.default_rng(1)
    for _ in range(20):
        other = best * np.exp(0.02 * rng.normal(size=best.shape))
        assert log_likelihood(other / other.sum(axis=1, keepdims=True)) < log_likelihood(best)


def test_sparse_rows_with_holes_are_dense_rows_with_holes():
    X, y = documents(500)
    dense, sparse = MultinomialNB().fit(X, y), MultinomialNB().fit(sp.csr_array(X), y)
    assert_allclose(dense.feature_log_prob_, sparse.feature_log_prob_, rtol=1e-10)
    assert_allclose(dense.predict_proba(X), sparse.predict_proba(sp.csr_array(X)), rtol=1e-10)


def test_the_evidence_of_a_row_with_holes_sums_to_its_log_odds():
    X, y = documents(400)
    model = MultinomialNB().fit(X, y)
    log_posterior = model.predict_log_proba(X)
    assert_allclose(model.contributions(X).total(), log_posterior[:, 1] - log_posterior[:, 0], atol=1e-10)


def test_a_document_with_nothing_to_see_gets_the_class_prior():
    X, y = documents(400)
    model = MultinomialNB().fit(X, y)
    assert_allclose(model.predict_proba(np.full((1, 4), np.nan))[0], np.exp(model.class_log_prior_), rtol=1e-12)
