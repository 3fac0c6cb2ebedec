"""Small logistic regressions for the tests of the core."""

import numpy as np
import scipy.sparse as sp

from softcount.core.logistic.data import LogisticData
from softcount.core.logistic.penalty import LogisticPenalty
from softcount.core.normal_equations import Design


def make_rows(n_rows=60, n_columns=4, n_classes=2, *, seed=0):
    """Correlated columns off zero, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 1:] += 0.6 * X[:, :-1]
    X = X * np.exp(rng.uniform(-1, 1, n_columns)) + rng.normal(size=n_columns)
    slopes = rng.normal(size=(n_columns, n_classes)) / X.std(axis=0)[:, None] / np.sqrt(n_columns)
    y = ((X - X.mean(axis=0)) @ slopes + rng.gumbel(size=(n_rows, n_classes))).argmax(axis=1)
    return X, y.astype(np.int32)


def make_data(X, y, n_classes=2, *, soft=False, reference=True, center=None, **rest):
    """Rows for the core, hard or soft, dense or sparse."""
    rng = np.random.default_rng(1)
    if soft:
        shares = rng.dirichlet(np.ones(n_classes), len(y))
        target = shares[:, 1].copy() if n_classes == 2 else shares
    else:
        target = y.astype(np.float64) if n_classes == 2 else y
    return LogisticData(Design(X, True, center), target, n_classes, reference=reference, **rest)


def make_penalty(data, l1=0.0, l2=0.0):
    """The same strength for all columns but the intercept."""
    n_features = data.n_columns - 1
    return LogisticPenalty.of(
        np.full(n_features, l1),
        np.full(n_features, l2),
        fit_intercept=True,
        n_outputs=data.n_outputs,
        reference=data.reference and data.n_classes > 2,
    )


def as_sparse(X):
    """The same table in compressed rows, a third of its cells emptied."""
    X = np.where(np.random.default_rng(2).random(X.shape) < 1 / 3, 0.0, X)
    return X, sp.csr_array(X)
