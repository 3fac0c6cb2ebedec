"""Every estimator with rows for it, in memory and in batches of unequal size."""

import dask
import dask.array as da
import numpy as np
import pandas as pd
from scipy.sparse import csr_array, csr_matrix

import softcount as sc

SIZES = (700, 1, 0, 333, 1200, 90)


def batches_of(X, y=None, weight=None, sizes=SIZES):
    """The rows as a list of tuples of unequal size, over and over the same sizes."""
    found, start, turn = [], 0, 0
    n_rows = X.shape[0]
    while start < n_rows:
        stop = min(start + sizes[turn % len(sizes)], n_rows)
        rows = slice(start, stop)
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        found.append((part, None if y is None else y[rows], None if weight is None else weight[rows]))
        start, turn = stop, turn + 1
    return found


def sparse_parts(X, sizes):
    """Sparse rows as a Dask array whose parts have these sizes; Dask before 2025.7 joins matrices alone."""
    X = X if tuple(map(int, dask.__version__.split(".")[:2])) >= (2025, 7) else csr_matrix(X)
    ends = np.cumsum(sizes)
    parts = [
        da.from_delayed(dask.delayed(X[end - size : end]), (size, X.shape[1]), meta=X[:0])
        for end, size in zip(ends, sizes, strict=True)
        if size
    ]
    return da.concatenate(parts)


def groups(n_rows, rng, n_classes=3):
    return rng.integers(0, n_classes, n_rows)


def labels_for(z, rng, *, some):
    """Names of the classes; with ``some``, most are missing."""
    y = np.array(["ann", "bob", "cleo"], dtype=object)[z]
    if some:
        y[rng.random(z.shape[0]) > 0.2] = None
    return y


def numbers(n_rows=3000, seed=0, *, holes=False):
    rng = np.random.default_rng(seed)
    z = groups(n_rows, rng)
    X = rng.normal(size=(n_rows, 4)) + 1.5 * z[:, None] * np.array([1.0, -1.0, 0.5, 0.0])
    if holes:
        X[rng.random(X.shape) < 0.05] = np.nan
    return X, z


def counts(n_rows=3000, seed=1, *, sparse=False):
    rng = np.random.default_rng(seed)
    z = groups(n_rows, rng)
    rates = rng.gamma(0.6, 1.0, size=(3, 25))
    X = rng.poisson(rates[z])
    return (csr_array(X) if sparse else X), z


def codes(n_rows=3000, seed=2, *, holes=False):
    rng = np.random.default_rng(seed)
    z = groups(n_rows, rng)
    X = (rng.integers(0, 4, size=(n_rows, 5)) + z[:, None]) % 5
    # The largest value of a column comes late.
    X[:1500][X[:1500] == 4] = 0
    if holes:
        X = X.astype(float)
        X[rng.random(X.shape) < 0.05] = np.nan
    return X, z


def table(n_rows=3000, seed=3):
    rng = np.random.default_rng(seed)
    z = groups(n_rows, rng)
    color = np.array(["red", "green", "blue", "late"], dtype=object)[(z + rng.integers(0, 2, n_rows)) % 4]
    color[:1400][color[:1400] == "late"] = "red"
    color[rng.random(n_rows) < 0.05] = None
    height = rng.normal(size=n_rows) + z
    height[rng.random(n_rows) < 0.05] = np.nan
    frame = pd.DataFrame(
        {
            "color": color,
            "height": height,
            "rooms": rng.integers(1, 5, n_rows) + z,
            "has_garden": rng.random(n_rows) < 0.2 + 0.3 * z,
            "visits": rng.integers(0, 400, n_rows),
        }
    )
    return frame, z


#: Estimator, rows, and which attributes hold what was learned.
SUPERVISED = {
    "GaussianNB": (sc.GaussianNB(), numbers),
    "GaussianNB with holes": (sc.GaussianNB(), lambda: numbers(holes=True)),
    "BernoulliNB": (sc.BernoulliNB(binarize=0.5), numbers),
    "BernoulliNB sparse": (sc.BernoulliNB(), lambda: counts(sparse=True)),
    "MultinomialNB": (sc.MultinomialNB(), counts),
    "MultinomialNB sparse": (sc.MultinomialNB(), lambda: counts(sparse=True)),
    "PoissonNB": (sc.PoissonNB(), counts),
    "CategoricalNB": (sc.CategoricalNB(), codes),
    "CategoricalNB with holes": (sc.CategoricalNB(), lambda: codes(holes=True)),
    "NaiveBayes": (sc.NaiveBayes(), table),
    "NaiveBayes sparse": (sc.NaiveBayes(), lambda: counts(sparse=True)),
    "GaussianDiscriminant": (sc.GaussianDiscriminant(), numbers),
    "GaussianDiscriminant full": (sc.GaussianDiscriminant(covariance="full", shrinkage="auto"), numbers),
    "GaussianDiscriminant with holes": (sc.GaussianDiscriminant(), lambda: numbers(holes=True)),
}

FEW = {"n_init": 4, "max_iter": 60, "random_state": 0}
MIXTURES = {
    "BernoulliMixture": (sc.BernoulliMixture(3, **FEW), lambda: ((counts()[0] > 0).astype(int), counts()[1])),
    "MultinomialMixture": (sc.MultinomialMixture(3, **FEW), counts),
    "MultinomialMixture sparse": (sc.MultinomialMixture(3, **FEW), lambda: counts(sparse=True)),
    "PoissonMixture": (sc.PoissonMixture(3, **FEW), counts),
    "CategoricalMixture": (sc.CategoricalMixture(3, **FEW), codes),
    "Mixture": (sc.Mixture(3, **FEW), table),
    "LatentClass": (sc.LatentClass(3, alpha=0.01, **FEW), table),
    "GaussianMixture": (sc.GaussianMixture(3, random_state=0, max_iter=40, tol=0.0), numbers),
    "GaussianMixture diag": (
        sc.GaussianMixture(3, covariance_type="diag", random_state=0, max_iter=40, tol=0.0),
        lambda: numbers(holes=True),
    ),
}


def learned(estimator):
    """What EM found: log-weights and every table of parameters."""
    arrays = {"log_weights": estimator.params_.log_weights}
    for b, block in enumerate(estimator.params_.blocks):
        arrays.update({f"{b}.{name}": np.asarray(values) for name, values in block.items()})
    return arrays


def assert_learned_the_same(one, other, rtol=1e-8):
    first, second = learned(one), learned(other)
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_allclose(second[name], values, rtol=rtol, atol=1e-10, err_msg=name)
