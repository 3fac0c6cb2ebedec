"""Rows that come in batches teach what rows in memory teach."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import softcount
from tests.estimators.distant.cases import (
    MIXTURES,
    SUPERVISED,
    assert_learned_the_same,
    batches_of,
    labels_for,
)


def fitted(estimator, *args, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of EM that is cut short
        return clone(estimator).fit(*args, **settings)


@pytest.mark.parametrize("name", SUPERVISED)
@pytest.mark.parametrize("some", [False, True])
def test_batches_teach_a_classifier_what_rows_in_memory_do(name, some):
    estimator, make = SUPERVISED[name]
    X, z = make()
    rng = np.random.default_rng(9)
    y, weight = labels_for(z, rng, some=some), rng.integers(0, 3, z.shape[0]).astype(float)
    if some:
        estimator = clone(estimator).set_params(unlabeled_weight=1.0, max_iter=15, tol=0.0)
    memory = fitted(estimator, X, y, weight)
    batches = batches_of(X, y, weight)
    streamed = fitted(estimator, batches)
    assert_learned_the_same(memory, streamed)
    assert streamed.classes_.tolist() == memory.classes_.tolist()
    assert streamed.n_features_in_ == memory.n_features_in_
    rows = [part for part, _, _ in batches]
    proba = np.concatenate(list(streamed.predict_proba(rows)))
    np.testing.assert_allclose(proba, memory.predict_proba(X), rtol=1e-8, atol=1e-12)
    assert np.concatenate(list(streamed.predict(rows))).tolist() == memory.predict(X).tolist()


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("some", [False, True])
def test_batches_teach_a_mixture_what_rows_in_memory_do(name, some):
    estimator, make = MIXTURES[name]
    X, z = make()
    rng = np.random.default_rng(9)
    y = labels_for(z, rng, some=True) if some else None
    weight = rng.integers(0, 3, z.shape[0]).astype(float)
    memory = fitted(estimator, X, y, sample_weight=weight)
    batches = batches_of(X, y, weight)
    streamed = fitted(estimator, batches)
    assert_learned_the_same(memory, streamed)
    assert streamed.n_starts_ == memory.n_starts_
    assert streamed.log_likelihood_ == pytest.approx(memory.log_likelihood_, rel=1e-10)
    rows = [part for part, _, _ in batches]
    density = np.concatenate(list(streamed.score_samples(rows)))
    np.testing.assert_allclose(density, memory.score_samples(X), rtol=1e-8)
    assert streamed.score([(part, None, w) for part, _, w in batches]) == pytest.approx(
        memory.score(X, sample_weight=weight), rel=1e-10
    )


def test_batches_of_zeros_and_ones_may_come_before_batches_of_larger_numbers():
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 2, (300, 5)), rng.integers(0, 2, 300)
    X[200:] *= 3
    memory = softcount.BernoulliNB().fit(X, y)
    for order in ((slice(0, 200), slice(200, 300)), (slice(200, 300), slice(0, 200))):
        streamed = softcount.BernoulliNB().fit([(X[rows], y[rows]) for rows in order])
        np.testing.assert_allclose(streamed.feature_log_prob_, memory.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(memory.predict_proba(X), memory.predict_proba(X > 0), rtol=1e-12)
