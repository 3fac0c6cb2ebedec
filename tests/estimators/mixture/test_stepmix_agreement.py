"""Mixtures give what StepMix gives from the same start."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount import BernoulliMixture, CategoricalMixture, GaussianMixture, LatentClass

stepmix = pytest.importorskip("stepmix", reason="StepMix is a test-only dependency")

N_ITER = 25


def random_responsibilities(n_rows, n_components, seed):
    """The start StepMix makes of a seed."""
    resp = np.random.RandomState(seed).uniform(size=(n_rows, n_components))
    return resp / resp.sum(axis=1, keepdims=True)


def rival(measurement, X, n_components, seed, weight=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = stepmix.StepMix(
            n_components=n_components,
            measurement=measurement,
            n_init=1,
            init_params="random",
            random_state=seed,
            max_iter=N_ITER,
            abs_tol=0.0,
            rel_tol=0.0,
            progress_bar=0,
        )
        return model.fit(X, sample_weight=weight)


def own(estimator, X, seed, weight=None):
    """Our fit from StepMix's start: parameters from the random responsibilities, and equal weights."""
    resp = random_responsibilities(len(X), estimator.n_components, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = estimator.set_params(init=resp, max_iter=0, order=None, accelerate=False, n_init=1).fit(X)
        equal = np.full(estimator.n_components, -np.log(estimator.n_components))
        begin = replace(start.params_, log_weights=equal)
        estimator.set_params(init=begin, max_iter=N_ITER, tol=0.0)
        return estimator.fit(X, sample_weight=weight)


def draw(n_rows, n_values, seed):
    rng = np.random.default_rng(seed)
    z = rng.integers(3, size=n_rows)
    peaks = rng.dirichlet(np.full(n_values, 0.5), size=(3, 6))
    return np.array([[rng.choice(n_values, p=peaks[k, j]) for j in range(6)] for k in z])


@pytest.mark.parametrize("seed", range(3))
def test_binary_measurements(seed):
    X = draw(200, 2, seed)
    theirs, ours = rival("bernoulli", X, 3, seed), own(BernoulliMixture(3, alpha=0.0), X, seed)
    assert_allclose(ours.log_likelihood_ / len(X), theirs.score(X), rtol=1e-9)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    assert_allclose(ours.weights_, theirs.weights_, rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [False, True])
def test_categorical_measurements(seed, missing):
    X = draw(250, 4, seed)
    table = X.astype(float)
    if missing:
        table[np.random.default_rng(seed).random(X.shape) < 0.15] = np.nan
    theirs = rival("categorical_nan" if missing else "categorical", table if missing else X, 3, seed)
    ours = own(CategoricalMixture(3, alpha=0.0, min_categories=4), table, seed)
    assert_allclose(ours.log_likelihood_ / len(X), theirs.score(table if missing else X), rtol=1e-8)
    assert_allclose(ours.weights_, theirs.weights_, rtol=1e-6)
    answers = own(LatentClass(3), table, seed)
    assert_allclose(answers.log_likelihood_, ours.log_likelihood_, rtol=1e-10)


def test_weighted_rows():
    X = draw(150, 3, 5)
    weight = np.random.default_rng(5).uniform(0.2, 3.0, len(X))
    start = random_responsibilities(len(X), 2, 5)
    assert start.shape == (150, 2)
    # Their start does not know the weights; neither does the one we give.
    theirs = rival("categorical", X, 2, 5, weight)
    ours = own(CategoricalMixture(2, alpha=0.0, min_categories=3), X, 5, weight)
    assert_allclose(ours.weights_, theirs.weights_, rtol=1e-6)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(("kind", "measurement"), [("diag", "gaussian_diag"), ("full", "gaussian_full")])
def test_gaussian_measurements(kind, measurement):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1.0, (90, 3)), rng.normal(2.5, 1.5, (60, 3))])
    theirs = rival(measurement, X, 2, 1)
    begin = random_responsibilities(len(X), 2, 1)
    weights = begin.sum(axis=0)
    means = begin.T @ X / weights[:, None]
    spread = [(begin[:, k, None] * (X - means[k])).T @ (X - means[k]) / weights[k] for k in range(2)]
    precisions = (
        np.array([np.linalg.inv(s) for s in spread]) if kind == "full" else 1.0 / np.array([np.diag(s) for s in spread])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = GaussianMixture(
            2,
            covariance_type=kind,
            reg_covar=0.0,
            weights_init=[0.5, 0.5],
            means_init=means,
            precisions_init=precisions,
            max_iter=N_ITER,
            tol=0.0,
        ).fit(X)
    # They add 1e-6 to variances or 1e-15, by measurement, so the agreement is to about that.
    assert_allclose(ours.score(X), theirs.score(X), rtol=1e-5)
    assert_allclose(ours.weights_, theirs.weights_, rtol=1e-4)
