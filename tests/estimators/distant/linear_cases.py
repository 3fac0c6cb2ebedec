"""Linear models with rows for them, and how to compare what they learned."""

import numpy as np
from scipy.sparse import csr_array

import softcount as sc
from tests.estimators.distant.cases import numbers


def _with_weight(n_rows):
    return np.random.default_rng(77).integers(0, 3, n_rows).astype(float)


def two_classes(shift=0.0):
    X, z = numbers(3000, 11)
    return X + shift, np.where(z > 0, "yes", "no"), _with_weight(3000)


def three_classes():
    X, z = numbers(3000, 12)
    return X, np.array(["ann", "bob", "cleo"])[z], _with_weight(3000)


def words(n_columns=40):
    rng = np.random.default_rng(13)
    X = csr_array(rng.poisson(0.2, size=(3000, n_columns)).astype(float))
    return X, (X[:, [0]].toarray()[:, 0] + rng.normal(size=3000) > 0.5).astype(int), _with_weight(3000)


def collinear():
    X, y, weight = two_classes()
    return np.column_stack([X, X[:, 0] - X[:, 1]]), y, weight


def separated():
    X, y, weight = two_classes()
    X[:, 2] = np.where(y == "yes", 1.0, -1.0) * (1.0 + np.abs(X[:, 2]))
    return X, y, weight


def _means(X, shift):
    return np.exp(0.3 * (X[:, 0] - shift) - 0.2 * (X[:, 1] - shift))


def numbers_of(draw, shift=0.0):
    def make():
        rng = np.random.default_rng(14)
        X = rng.normal(size=(3000, 4)) + shift
        return X, np.asarray(draw(rng, _means(X, shift)), dtype=float), _with_weight(3000)

    return make


poisson = numbers_of(lambda rng, mean: rng.poisson(mean))
gamma = numbers_of(lambda rng, mean: rng.gamma(2.0, mean / 2.0))
normal = numbers_of(lambda rng, mean: mean + rng.normal(size=mean.size))
far = numbers_of(lambda rng, mean: mean + rng.normal(size=mean.size), shift=1e5)
often = numbers_of(lambda rng, mean: rng.negative_binomial(2, 2.0 / (2.0 + mean)))


def sparse_counts():
    X, _, weight = words()
    return X, np.random.default_rng(15).poisson(1.0 + X[:, [1]].toarray()[:, 0]).astype(float), weight


CLASSIFIERS = {
    "two classes": (sc.LogisticRegression(), two_classes),
    "far from zero": (sc.LogisticRegression(), lambda: two_classes(1e6)),
    "three classes": (sc.LogisticRegression(C=np.inf), three_classes),
    "absolute values": (sc.LogisticRegression(C=0.02, l1_ratio=1.0), three_classes),
    "balanced": (sc.LogisticRegression(class_weight="balanced", fit_intercept=False), three_classes),
    "words": (sc.LogisticRegression(), words),
    "conjugate gradients": (sc.LogisticRegression(solver="newton-cg"), words),
    "gradient": (sc.LogisticRegression(solver="gradient", tol=1e-9), two_classes),
    "collinear": (sc.LogisticRegression(C=np.inf), collinear),
    "separated": (sc.LogisticRegression(C=np.inf), separated),
}
REGRESSORS = {
    "GLM normal": (sc.GLM(), far),
    "GLM poisson": (sc.GLM("poisson", covariance="sandwich"), poisson),
    "GLM poisson sparse": (sc.GLM("poisson", alpha=0.01), sparse_counts),
    "GLM gamma": (sc.GLM("gamma", "log"), gamma),
    "GLM negative binomial": (sc.GLM("negative_binomial"), often),
    "GLM elastic net": (sc.GLM("poisson", alpha=0.05, l1_ratio=0.5), poisson),
    "GLM without a matrix": (sc.GLM("poisson", inference=False), poisson),
    "BayesianLinearRegression": (sc.BayesianLinearRegression(), normal),
    "BayesianLinearRegression sparse": (sc.BayesianLinearRegression(noise="conjugate"), sparse_counts),
}
NUMBERS = (
    "coef_",
    "intercept_",
    "standard_errors_",
    "log_likelihood_",
    "deviance_",
    "null_deviance_",
    "dispersion_",
    "aic_",
    "n_observations_",
    "covariance_",
    "log_evidence_",
    "noise_variance_",
    "theta_",
)


def assert_fitted_the_same(one, other, rtol=1e-8):
    compared = 0
    for name in NUMBERS:
        values = getattr(one, name, None)
        if values is None or np.isnan(values).all():
            continue
        scale = max(1.0, float(np.nanmax(np.abs(values), initial=0.0)))
        np.testing.assert_allclose(getattr(other, name), values, rtol=rtol, atol=rtol * scale, err_msg=name)
        compared += 1
    assert compared >= 4
    assert getattr(one, "aliased_", None) == getattr(other, "aliased_", None)
    assert getattr(one, "separation_", None) == getattr(other, "separation_", None)
