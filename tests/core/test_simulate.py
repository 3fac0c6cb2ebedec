"""Simulated rows look like the rows they stand for."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from softcount import CategoricalMixture, GaussianMixture, MultinomialMixture, PoissonMixture
from softcount.core.simulate import marginal_log_likelihood, simulated


def draw(model, X, weight=None, seed=0):
    chunks = model._rows(X).with_weight(weight)
    return simulated(model.model_, model.params_, chunks, np.random.default_rng(seed)), chunks


def test_cells_are_missing_where_they_were():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 4)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    drawn, _ = draw(CategoricalMixture(2, random_state=0).fit(X), X)
    assert_array_equal(drawn.blocks[0].codes < 0, np.isnan(X))
    numbers = rng.normal(size=(100, 3))
    numbers[5, 1] = np.nan
    drawn, _ = draw(GaussianMixture(2, random_state=0).fit(numbers), numbers)
    assert_array_equal(np.isnan(drawn.blocks[0].values), np.isnan(numbers))


def test_weights_say_how_many_rows_are_drawn():
    X = np.random.default_rng(0).poisson(3.0, (50, 2))
    drawn, _ = draw(PoissonMixture(1).fit(X), X, weight=np.full(50, 4.0))
    assert drawn.n_rows == 200
    assert drawn.weight is None


def test_documents_keep_their_lengths():
    X = np.random.default_rng(0).poisson(1.0, (80, 12))
    model = MultinomialMixture(2, random_state=0).fit(X)
    for table in (X, csr_array(X)):
        drawn, _ = draw(model, table)
        assert_array_equal(drawn.blocks[0].values.sum(axis=1), X.sum(axis=1))


def test_likelihoods_of_simulated_rows_are_like_that_of_the_rows():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.poisson(2.0, (400, 3)), rng.poisson(8.0, (200, 3))])
    model = PoissonMixture(2, random_state=0).fit(X)
    chunks = model._rows(X)
    own = marginal_log_likelihood(model.model_, model.params_, chunks)
    drawn = [marginal_log_likelihood(model.model_, model.params_, draw(model, X, seed=s)[0]) for s in range(10)]
    assert_allclose(np.mean(drawn), own, rtol=0.05)
