"""Counting parameters, and the criteria that weigh them against the likelihood."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount.estimators.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB
from tests.estimators.naive_bayes.cases import (
    BERNOULLI,
    CATEGORICAL,
    GAUSSIAN,
    GENERATIVE,
    MULTINOMIAL,
    POISSON,
    Case,
)


def by_name(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("settings", [{}, {"n_components_per_class": 2}], ids=["one component", "two components"])
def test_parameters_are_counted(settings: dict[str, Any]) -> None:
    X, y = BERNOULLI.rows()
    codes, _ = CATEGORICAL.rows()
    numbers, _ = GAUSSIAN.rows()
    m = 3 * settings.get("n_components_per_class", 1)
    settings = {**settings, "max_iter": 2, "n_init": 1, "tol": 0.0, "random_state": 0}
    assert BernoulliNB(**settings).fit(X, y).n_parameters_ == m * 5 + m - 1
    assert MultinomialNB(**settings).fit(X, y).n_parameters_ == m * 4 + m - 1
    assert PoissonNB(**settings).fit(X, y).n_parameters_ == m * 5 + m - 1
    assert GaussianNB(**settings).fit(numbers, y).n_parameters_ == m * 10 + m - 1
    assert GaussianNB(shared_variance=True, **settings).fit(numbers, y).n_parameters_ == m * 5 + 5 + m - 1
    assert CategoricalNB(**settings).fit(codes, y).n_parameters_ == m * int(codes.max(axis=0).sum()) + m - 1


@pytest.mark.parametrize("case", [BERNOULLI, MULTINOMIAL, CATEGORICAL, POISSON], ids=by_name)
def test_class_probabilities_that_are_given_are_not_counted_as_parameters(case: Case) -> None:
    X, y = case.rows()
    free = case.make().fit(X, y).n_parameters_
    assert case.make(class_prior=[0.2, 0.3, 0.5]).fit(X, y).n_parameters_ == free - 2
    assert case.make(fit_prior=False).fit(X, y).n_parameters_ == free - 2


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_information_criteria_are_their_formulas(case: Case) -> None:
    X, y = case.rows()
    model = case.make().fit(X, y)
    weight = np.random.default_rng(2).integers(0, 3, size=y.size).astype(float)
    for w in (None, weight):
        share = np.ones(y.size) if w is None else w
        log_likelihood, p = float(share @ model.score_samples(X)), model.n_parameters_
        bic = -2 * log_likelihood + p * math.log(share.sum())
        resp = model.predict_proba(X)
        entropy = -np.where(resp > 0, resp * np.log(np.where(resp > 0, resp, 1.0)), 0.0).sum(axis=1)
        assert_allclose(model.aic(X, sample_weight=w), -2 * log_likelihood + 2 * p, rtol=1e-12)
        assert_allclose(model.bic(X, sample_weight=w), bic, rtol=1e-12)
        assert_allclose(model.icl(X, sample_weight=w), bic + 2 * float(share @ entropy), rtol=1e-12)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_a_weight_of_k_counts_k_times_in_every_criterion(case: Case) -> None:
    X, y = case.rows()
    model = case.make().fit(X, y)
    weight = np.random.default_rng(2).integers(0, 4, size=y.size)
    copies = np.repeat(X, weight, axis=0)
    for criterion in (model.aic, model.bic, model.icl):
        assert_allclose(criterion(X, sample_weight=weight), criterion(copies), rtol=1e-12)
