"""Rows and targets of every family."""

import numpy as np

from softcount.estimators.glm import GLM

FAMILIES = ["gaussian", "binomial", "poisson", "gamma", "inverse_gaussian", "negative_binomial", "tweedie"]


def rows(n_rows=120, n_features=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def target(family, x):
    rng = np.random.default_rng(1)
    mean = np.exp(0.3 * x[:, 0])
    if family == "gaussian":
        return np.log(mean) + rng.normal(size=len(x))
    if family == "binomial":
        return (rng.uniform(size=len(x)) < mean / (1 + mean)).astype(float)
    if family in {"poisson", "negative_binomial"}:
        return rng.poisson(mean * rng.gamma(2.0, 0.5, len(x))).astype(float)
    return rng.gamma(3.0, mean / 3.0)


def glm(family, **parameters):
    link = {"gaussian": "identity", "binomial": "logit"}.get(family, "log")
    return GLM(family, link, theta=2.0, **parameters)
