"""Tables for the tests of LogisticRegression."""

import numpy as np


def make_classification(n_rows=400, n_columns=5, n_classes=2, *, seed=0):
    """Correlated columns of different scale and mean, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 1:] += 0.5 * X[:, :-1]
    X = X * np.exp(rng.uniform(-1, 1, n_columns)) + 2.0 * rng.normal(size=n_columns)
    slopes = rng.normal(size=(n_columns, n_classes)) / X.std(axis=0)[:, None] / np.sqrt(n_columns)
    y = ((X - X.mean(axis=0)) @ slopes + rng.gumbel(size=(n_rows, n_classes))).argmax(axis=1)
    return X, y


def names_of(y, names=("ant", "bee", "cat", "dog")):
    """The same labels as words."""
    return np.array(names)[y]
