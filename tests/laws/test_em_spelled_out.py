"""The EM of naive Bayes, iteration by iteration, against an EM spelled out with closed forms."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import softmax

from softcount._types import FloatArray
from tests.estimators.naive_bayes.cases import GAUSSIAN, GENERATIVE, MULTINOMIAL, Case
from tests.laws.naive_bayes_problems import Problem, make_problem
from tests.laws.test_naive_bayes_em import assert_same_params, known_share

CASES = st.sampled_from(GENERATIVE)
SEEDS = st.integers(0, 10**6)


def reference_em(problem: Problem, start: Any, n_iter: int, **settings: Any) -> Any:
    """EM spelled out: the closed form of soft rows, then posteriors, with the labels put back in."""
    make = problem.case.make
    model = make(**settings).fit(problem.X, start, sample_weight=problem.weight)
    share = known_share(problem, model) if problem.y is not None else np.full(start.shape, np.nan)
    fixed = ~np.isnan(share).any(axis=1)
    for _ in range(n_iter):
        resp = model.predict_proba(problem.X)
        resp[fixed] = share[fixed]
        resp /= resp.sum(axis=1, keepdims=True)
        model = make(**settings).fit(problem.X, resp, sample_weight=problem.weight)
    return model


def hidden_words_em(problem: Problem, start: Any, n_iter: int) -> list[Any]:
    """The same for words whose counts are hidden: every seen word stands for the draws it took to see it."""
    seen, words = ~np.isnan(problem.X), np.nan_to_num(problem.X)
    weight = np.ones(len(words)) if problem.weight is None else problem.weight
    fixed = np.zeros(len(words), dtype=bool) if problem.y is None else ~np.isnan(problem.y)
    resp, hidden = start, 0.0
    for iteration in range(n_iter + 1):
        counted = weight[:, None] * resp
        theta = 1.0 + words.T @ counted + hidden
        theta /= theta.sum(axis=0)
        share = counted.sum(axis=0) / counted.sum()
        if iteration == n_iter:
            break
        could_be_seen = seen @ theta
        scores = words @ np.log(theta) - words.sum(axis=1)[:, None] * np.log(could_be_seen) + np.log(share)
        resp = np.where(fixed[:, None], start, softmax(scores, axis=1))
        draws = weight[:, None] * resp * words.sum(axis=1)[:, None] / could_be_seen
        hidden = theta * ((~seen).T @ draws)
    return [np.log(share), np.log(theta)]


def start_of(problem: Problem, seed: int, *, labeled: bool) -> FloatArray:
    """Responsibilities to start from; without labels those of the problem are taken away."""
    start: FloatArray = np.random.default_rng(seed).dirichlet(np.ones(3), size=len(problem.X))
    if labeled:
        known = ~np.isnan(problem.y)
        start[known] = np.eye(3)[problem.truth[known]]
    else:
        problem.y = None
    return start


@pytest.mark.parametrize("labeled", [False, True])
@given(seed=SEEDS, weighted=st.booleans())
def test_iterations_with_hidden_words_are_those_of_em_spelled_out(seed: int, weighted: bool, labeled: bool) -> None:
    problem = make_problem(MULTINOMIAL, seed, missing=True, weighted=weighted)
    # A document without a word that could be seen tells nothing, and has no draws to share out.
    problem.X[np.isnan(problem.X).all(axis=1), 0] = 1.0
    start = start_of(problem, seed, labeled=labeled)
    model = problem.fit(init=start, n_classes=3, max_iter=4)
    log_share, log_theta = hidden_words_em(problem, start, 4)
    assert_allclose(model.class_log_prior_, log_share, rtol=1e-7, atol=1e-9)
    assert_allclose(model.feature_log_prob_, log_theta.T, rtol=1e-7, atol=1e-9)


@given(case=CASES, seed=SEEDS, missing=st.booleans(), weighted=st.booleans(), labeled=st.booleans())
def test_iterations_are_those_of_em_spelled_out(
    case: Case, seed: int, missing: bool, weighted: bool, labeled: bool
) -> None:
    # Hidden words are no matter of a closed form; the test above has them.
    problem = make_problem(case, seed, missing=missing and case is not MULTINOMIAL, weighted=weighted)
    settings_ = {"var_smoothing": 0.0} if case is GAUSSIAN else {}
    start = start_of(problem, seed, labeled=labeled)
    model = problem.fit(init=start, n_classes=3, max_iter=4, **settings_)
    assert_same_params(model, reference_em(problem, start, 4, **settings_), rtol=1e-7, atol=1e-9)
