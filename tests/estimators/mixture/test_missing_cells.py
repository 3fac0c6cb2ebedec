"""Missing cells are left out of the likelihood, and cells missing at random do not bias what is found."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount import BernoulliMixture, CategoricalMixture, GaussianMixture, LatentClass, Mixture, PoissonMixture


def match(found, true):
    """The order of the found components that is closest to the true ones."""
    order = [int(np.abs(found - row).sum(axis=tuple(range(1, found.ndim))).argmin()) for row in true]
    assert sorted(order) == list(range(len(true)))
    return order


def holes_at_random(X, rng, share=0.3):
    """Cells missing completely at random, except that whether the last column is missing depends on the first."""
    lost = rng.random(X.shape) < share
    lost[:, 0] = False
    high = X[:, 0] > np.median(X[:, 0])
    lost[:, -1] = rng.random(len(X)) < np.where(high, 0.6, 0.05)
    return np.where(lost, np.nan, X.astype(float))


def test_gaussian_components_are_recovered_with_full_covariances():
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0, 0.0], [4.0, 3.0, -3.0]])
    covs = np.array(
        [[[1.0, 0.6, 0.2], [0.6, 1.0, 0.3], [0.2, 0.3, 1.0]], [[1.5, -0.5, 0.0], [-0.5, 1.0, 0.4], [0.0, 0.4, 1.0]]]
    )
    z = (rng.random(3000) < 0.4).astype(int)
    X = np.stack([rng.multivariate_normal(means[k], covs[k]) for k in z])
    model = GaussianMixture(2, random_state=0, tol=1e-7, max_iter=500).fit(holes_at_random(X, rng))
    order = match(model.means_, means)
    assert_allclose(model.means_[order], means, atol=0.2)
    assert_allclose(model.covariances_[order], covs, atol=0.25)
    assert_allclose(model.weights_[order], [0.6, 0.4], atol=0.03)
    # Rows left complete alone would be biased: the last column is missing where the first is high.
    table = holes_at_random(X, np.random.default_rng(1))
    complete = table[~np.isnan(table).any(axis=1)]
    assert abs(complete[:, 0].mean() - X[:, 0].mean()) > 0.3


@pytest.mark.parametrize("covariance_type", ["tied", "diag", "spherical"])
def test_other_covariances_take_missing_cells_as_well(covariance_type):
    rng = np.random.default_rng(1)
    means = np.array([[0.0, 0.0], [5.0, -4.0]])
    X = means[rng.integers(2, size=1500)] + rng.normal(size=(1500, 2))
    table = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = GaussianMixture(2, covariance_type=covariance_type, random_state=0, tol=1e-6, max_iter=500).fit(table)
    assert_allclose(model.means_[match(model.means_, means)], means, atol=0.2)
    assert np.isfinite(model.score_samples(table)).all()


def test_latent_classes_are_recovered():
    rng = np.random.default_rng(2)
    sizes, n_items = np.array([0.5, 0.3, 0.2]), 8
    theta = rng.uniform(0.05, 0.95, (3, n_items))
    z = rng.choice(3, size=6000, p=sizes)
    X = (rng.random((6000, n_items)) < theta[z]).astype(int)
    table = holes_at_random(X, rng, 0.25)
    model = LatentClass(3, random_state=0).fit(table)
    found = np.stack([model.item_probabilities_[f"x{j}"][:, 1] for j in range(n_items)], axis=1)
    order = match(found, theta)
    assert_allclose(found[order], theta, atol=0.09)
    assert_allclose(model.class_sizes_[order], sizes, atol=0.05)
    binary = BernoulliMixture(3, alpha=0.0, random_state=0).fit(table)
    assert_allclose(binary.log_likelihood_, model.log_likelihood_, rtol=1e-7)


def test_rates_are_recovered():
    rng = np.random.default_rng(3)
    rates = np.array([[2.0, 8.0, 4.0, 1.0], [7.0, 2.0, 4.0, 5.0]])
    X = rng.poisson(rates[rng.integers(2, size=2000)])
    table = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    model = PoissonMixture(2, random_state=0).fit(table)
    assert_allclose(model.rates_[match(model.rates_, rates)], rates, rtol=0.08)


def test_mixed_columns_are_recovered():
    rng = np.random.default_rng(4)
    z = rng.integers(2, size=2000)
    color = np.where(rng.random(2000) < np.where(z == 1, 0.8, 0.2), "red", "blue").astype(object)
    size = rng.normal(np.where(z == 1, 3.0, 0.0), 1.0)
    color[rng.random(2000) < 0.2] = None
    size[rng.random(2000) < 0.2] = np.nan
    rows = np.empty((2000, 2), dtype=object)
    rows[:, 0], rows[:, 1] = color, size
    model = Mixture(2, random_state=0).fit(rows)
    assert model.families_ == {"x0": "categorical", "x1": "gaussian"}
    means = model.frame().query("quantity == 'mean'").value.to_numpy()
    assert_allclose(np.sort(means), [0.0, 3.0], atol=0.25)


def test_a_row_without_any_cell_says_nothing():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [np.nan, np.nan]])
    model = CategoricalMixture(2, random_state=0).fit(X)
    assert_allclose(model.predict_proba(X[-1:]), model.weights_[None, :])
    assert model.score_samples(X[-1:]) == pytest.approx(0.0, abs=1e-12)
    without = CategoricalMixture(2, random_state=0).fit(X[:-1])
    assert_allclose(model.log_likelihood_, without.log_likelihood_, rtol=1e-6)
