"""Fitted estimators and rows for the tests of ONNX files."""

import warnings

import numpy as np

import softcount

N_ROWS = 90
LABELS = {
    "texts": np.array(["ant", "bee", "cat"]),
    "numbers": np.array([3, -1, 2**40]),
    "truth": np.array([False, True]),
}


def numbers(rng, n_rows=N_ROWS):
    kind = rng.integers(0, 3, n_rows)
    return kind, rng.normal(size=(n_rows, 4)) + np.array([0.0, 0.8, -1.0])[kind][:, None]


def shares(rng):
    kind, X = numbers(rng)
    return kind, 1.0 / (1.0 + np.exp(-X))


def counts(rng, n_rows=N_ROWS):
    kind = rng.integers(0, 3, n_rows)
    rates = rng.gamma(1.0, 1.0, size=(3, 5))
    return kind, rng.poisson(rates[kind]).astype(float)


def codes(rng, n_rows=N_ROWS):
    kind = rng.integers(0, 3, n_rows)
    return kind, np.minimum(rng.poisson(kind[:, None], size=(n_rows, 4)), 3).astype(float)


def with_holes(X, rng, share=0.15):
    return np.where(rng.random(X.shape) < share, np.nan, X)


#: Name -> (estimator, its rows, whether its graph takes missing cells).
CLASSIFIERS = {
    "bernoulli": (softcount.BernoulliNB(), numbers, True),
    "bernoulli-fractions": (softcount.BernoulliNB(binarize=None), shares, True),
    "bernoulli-maximum": (softcount.BernoulliNB(alpha=0.0), numbers, True),
    "multinomial": (softcount.MultinomialNB(), counts, True),
    "multinomial-maximum": (softcount.MultinomialNB(alpha=0.0), counts, True),
    "complement": (softcount.ComplementNB(), counts, True),
    "complement-norm": (softcount.ComplementNB(norm=True), counts, True),
    "complement-maximum": (softcount.ComplementNB(alpha=0.0), counts, True),
    "categorical": (softcount.CategoricalNB(), codes, True),
    "categorical-smooth": (softcount.CategoricalNB(handle_unknown="smooth", alpha=0.3), codes, True),
    "categorical-maximum": (softcount.CategoricalNB(alpha=0.0), codes, True),
    "gaussian": (softcount.GaussianNB(), numbers, True),
    "gaussian-shared": (softcount.GaussianNB(shared_variance=True), numbers, True),
    "gaussian-groups": (
        softcount.GaussianNB(n_components_per_class=[2, 1, 3], n_init=1, random_state=0),
        numbers,
        True,
    ),
    "bernoulli-groups": (softcount.BernoulliNB(n_components_per_class=2, n_init=1, random_state=0), numbers, True),
    "poisson": (softcount.PoissonNB(), counts, True),
    "poisson-maximum": (softcount.PoissonNB(alpha=0.0), counts, True),
    "tied": (softcount.GaussianDiscriminant(), numbers, False),
    "full": (softcount.GaussianDiscriminant(covariance="full"), numbers, False),
    "diag": (softcount.GaussianDiscriminant(covariance="diag"), numbers, True),
    "spherical": (softcount.GaussianDiscriminant(covariance="spherical"), numbers, True),
    "shrunk": (softcount.GaussianDiscriminant(covariance="full", shrinkage="auto"), numbers, False),
    "tied-groups": (softcount.GaussianDiscriminant(n_components_per_class=2, n_init=1, random_state=0), numbers, False),
    "logistic": (softcount.LogisticRegression(), numbers, None),
    "logistic-l1": (softcount.LogisticRegression(l1_ratio=1.0, C=0.3, fit_intercept=False), numbers, None),
}
MIXTURES = {
    "bernoulli": (softcount.BernoulliMixture(3, random_state=0, n_init=3), numbers, True),
    "multinomial": (softcount.MultinomialMixture(3, random_state=0, n_init=3), counts, True),
    "categorical": (softcount.CategoricalMixture(3, random_state=0, n_init=3), codes, True),
    "poisson": (softcount.PoissonMixture(3, random_state=0, n_init=3), counts, True),
    **{
        kind: (
            softcount.GaussianMixture(3, covariance_type=kind, random_state=0),
            numbers,
            kind in ("diag", "spherical"),
        )
        for kind in ("full", "tied", "diag", "spherical")
    },
}


def fit(estimator, X, y=None):
    """The fitted estimator; what it has to say of small or hard samples is not the subject here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X) if y is None else estimator.fit(X, y)
