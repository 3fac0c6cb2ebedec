"""Laws of explanations and of generated rows: evidence adds up, boundaries are exact, samples teach what made them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse

from softcount.estimators.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB, PoissonNB
from tests.estimators.naive_bayes.cases import BERNOULLI, GAUSSIAN, GENERATIVE, MULTINOMIAL, POISSON, Case
from tests.laws.naive_bayes_problems import Problem, problems

LINEAR = [BERNOULLI, MULTINOMIAL, POISSON]


def by_name(case: Case) -> str:
    return case.name


def log_odds(model: Any, X: Any, positive: int, negative: int) -> Any:
    joint = model.predict_joint_log_proba(X)
    return joint[:, positive] - joint[:, negative]


# ---- contributions
@given(problem=problems(), pair=st.permutations(range(2)))
def test_evidence_of_the_cells_adds_up_to_the_log_odds(problem: Problem, pair: list[int]) -> None:
    model = problem.fit()
    names = model.classes_.tolist()
    evidence = model.contributions(problem.X, names[pair[0]], names[pair[1]])
    expected = log_odds(model, problem.X, *pair)
    assert evidence.values.shape == problem.X.shape
    assert_allclose(evidence.baseline + evidence.values.sum(axis=1), expected, rtol=1e-9, atol=1e-9)
    assert_allclose(evidence.total(), expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(evidence.values[np.isnan(problem.X)], 0.0)


@given(problem=problems(cases=LINEAR))
def test_evidence_of_sparse_rows_stays_sparse_and_adds_up(problem: Problem) -> None:
    model = problem.fit()
    rows = csr_array(problem.X)
    evidence = model.contributions(rows)
    assert issparse(evidence.values)
    assert evidence.values.nnz <= rows.nnz
    assert_allclose(evidence.total(), log_odds(model, problem.X, 1, 0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("make", [BernoulliNB, PoissonNB, MultinomialNB])
def test_evidence_of_fractions_adds_up(make: Any, as_sparse: bool) -> None:
    X, y = MULTINOMIAL.rows(n_classes=2)
    X = X / X.max()
    settings = {"binarize": None} if make is BernoulliNB else {}
    model = make(**settings).fit(X, y)
    evidence = model.contributions(csr_array(X) if as_sparse else X)
    assert_allclose(evidence.total(), log_odds(model, X, 1, 0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("make", [BernoulliNB, MultinomialNB, PoissonNB])
def test_evidence_against_the_possible_is_infinite_and_never_nan(make: Any, as_sparse: bool) -> None:
    X = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [0, 1, 0, 1], [0, 1, 0, 0]])
    model = make(alpha=0.0, class_prior=[0.25, 0.75]).fit(X, ["a", "a", "b", "b"])
    rows = np.array([[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]])
    evidence = model.contributions(csr_array(rows) if as_sparse else rows, "b", "a")
    cells = evidence.values.toarray() if as_sparse else evidence.values
    assert not np.isnan(cells).any()
    assert not np.isnan(evidence.baseline).any()
    posterior = model.predict_log_proba(rows)
    both = np.isneginf(model.predict_joint_log_proba(rows)).all(axis=1)
    expected = np.where(
        both, np.log(3.0), posterior[:, 1] - np.where(np.isinf(posterior[:, 0]), -np.inf, posterior[:, 0])
    )
    assert_allclose(evidence.total(), expected, rtol=1e-9)


def test_the_loudest_cells_of_a_row_are_named() -> None:
    X = csr_array([[1, 0, 5], [0, 2, 0]])
    model = MultinomialNB().fit(X, ["a", "b"])
    evidence = model.contributions(X)
    assert (evidence.positive, evidence.negative) == ("b", "a")
    loudest = evidence.top(0, k=2)
    assert [name for name, _ in loudest] == ["x2", "x0"]
    assert loudest[0][1] < loudest[1][1] < 0.0


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_evidence_needs_two_classes_of_the_model(case: Case) -> None:
    X, y = case.rows()
    with pytest.raises(ValueError, match="one class only"):
        case.make().fit(X, np.zeros(len(y))).contributions(X)
    with pytest.raises(ValueError, match=r"'ham' is not one of the classes \[0, 1, 2\]"):
        case.make().fit(X, y).contributions(X, positive="ham")


# ---- boundaries
@given(problem=problems(cases=[*LINEAR, GAUSSIAN]))
def test_linear_weights_give_the_posterior(problem: Problem) -> None:
    shared = {"shared_variance": True} if problem.case is GAUSSIAN else {}
    model = problem.fit(n_components_per_class=1, **shared)
    X, _ = problem.case.rows(30, problem.X.shape[1], seed=99)
    form = model.to_linear()
    scores = X @ form.coef.T + form.intercept
    joint = model.predict_joint_log_proba(X)
    if model.classes_.size == 2:
        assert form.coef.shape == (1, X.shape[1])
        assert_allclose(scores[:, 0], joint[:, 1] - joint[:, 0], rtol=1e-8, atol=1e-8)
        probability = 1 / (1 + np.exp(-scores[:, 0]))
        assert_allclose(probability, model.predict_proba(X)[:, 1], rtol=1e-7, atol=1e-12)
    else:
        difference = model.predict_log_proba(X)[:, 1:] - model.predict_log_proba(X)[:, :1]
        assert_allclose(scores[:, 1:] - scores[:, :1], difference, rtol=1e-8, atol=1e-8)


def test_shared_variances_give_the_textbook_weights() -> None:
    X, y = GAUSSIAN.rows(n_classes=2)
    model = GaussianNB(shared_variance=True).fit(X, y)
    form = model.to_linear()
    mean, var, prior = model.theta_, model.var_[0], model.class_prior_
    assert_allclose(form.coef[0], (mean[1] - mean[0]) / var, rtol=1e-12)
    bias = np.log(prior[1] / prior[0]) + ((mean[0] ** 2 - mean[1] ** 2) / (2 * var)).sum()
    assert_allclose(form.intercept, [bias], rtol=1e-11)


def test_boundaries_that_are_not_linear_are_refused() -> None:
    X, y = GAUSSIAN.rows()
    with pytest.raises(ValueError, match="quadratic"):
        GaussianNB().fit(X, y).to_linear()
    bits, y = BERNOULLI.rows()
    with pytest.raises(ValueError, match="several components"):
        BernoulliNB(n_components_per_class=2, random_state=0).fit(bits, y).to_linear()
    with pytest.raises(ValueError, match="probability zero"):
        BernoulliNB(alpha=0.0).fit([[1, 0], [0, 1]], ["a", "b"]).to_linear()


@pytest.mark.filterwarnings("ignore:.* stopped after max_iter")
# ---- telling features
@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
@pytest.mark.parametrize("n_components", [1, 2])
def test_the_feature_that_differs_is_the_telling_one(case: Case, n_components: int) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    same = case.draw(rng, np.zeros(400, dtype=int), 4)
    X = same.copy()
    X[:, 2] = np.where(y == 1, X[:, 2].max() - (rng.random(400) < 0.1), 0)
    model = case.make(n_components_per_class=n_components, random_state=0, unlabeled_weight=1.0).fit(X, y)
    top = model.top_features(2)
    assert set(top) == {0, 1}
    assert top[1][0][0] == "x2"
    assert top[1][0][1] > 0.0
    assert all(len(words) <= 2 for words in top.values())


# ---- samples
@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_a_model_fitted_to_a_sample_is_the_model_that_made_it(case: Case) -> None:
    X, y = case.rows(400, 4, 2, seed=3)
    # Samples are as long as the training documents were, on average.
    truth = (
        case.make(class_prior=[0.3, 0.7]).fit(X, y) if case is not GAUSSIAN else case.make(priors=[0.3, 0.7]).fit(X, y)
    )
    rows, labels = truth.sample(20_000, random_state=1)
    assert rows.shape == (20_000, 4)
    again = case.make().fit(rows, labels)
    assert_allclose(np.exp(again._log_class_prior()), [0.3, 0.7], atol=0.02)
    for name, table in truth.params_.blocks[0].items():
        wanted, found = table, again.params_.blocks[0][name]
        if name.startswith("log"):
            wanted, found = np.exp(wanted), np.exp(found)
        assert_allclose(found, wanted, atol=0.06, rtol=0.06, err_msg=name)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_samples_of_a_class_are_that_class_and_seeds_repeat(case: Case) -> None:
    X, y = case.rows(200, 4, 3, seed=3)
    model = case.make(random_state=5).fit(X, np.array(["a", "b", "c"])[y])
    rows, labels = model.sample(50, y="b")
    assert set(labels) == {"b"}
    assert rows.shape == (50, 4)
    wanted = ["c", "a", "a", "b"]
    assert model.sample(4, y=wanted)[1].tolist() == wanted
    one, other = model.sample(10, random_state=9), model.sample(10, random_state=9)
    assert_array_equal(one[0], other[0])
    assert_array_equal(one[1], other[1])
    assert_array_equal(model.sample(10)[0], model.sample(10)[0])
    for bad in ({"n_samples": 0}, {"n_samples": 2.5}, {"n_samples": 2, "y": "d"}, {"n_samples": 2, "y": ["a"]}):
        with pytest.raises(ValueError, match=r"n_samples|not one of the classes|names 1 classes"):
            model.sample(**bad)


@pytest.mark.filterwarnings("ignore:.* stopped after max_iter")
@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_classes_of_two_components_are_sampled_from_both(case: Case) -> None:
    X, y = case.rows(300, 4, 2, seed=3)
    model = case.make(n_components_per_class=2, random_state=0, max_iter=100, unlabeled_weight=1.0, tol=1e-4).fit(X, y)
    rows, labels = model.sample(20_000, random_state=0)
    shares = np.exp(model._log_class_prior())
    assert_allclose(np.bincount(labels) / 20_000, shares, atol=0.02)
    for k in range(2):
        assert_allclose(rows[labels == k].mean(axis=0), X[y == k].mean(axis=0), atol=0.35)
