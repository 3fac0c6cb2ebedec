"""Laws of EM for naive Bayes: what it raises, what it keeps, and where it ends."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln

from tests.estimators.naive_bayes.cases import BERNOULLI, GAUSSIAN, GENERATIVE, POISSON, Case
from tests.laws.naive_bayes_problems import Problem, log_prior, make_problem, objective, problems

CASES = st.sampled_from(GENERATIVE)
SEEDS = st.integers(0, 10**6)


def by_name(case: Case) -> str:
    return case.name


def fitted_tables(model: Any) -> list[Any]:
    return [model.params_.log_weights, *model.params_.blocks[0].values()]


def assert_same_params(one: Any, other: Any, rtol: float = 1e-9, atol: float = 1e-11) -> None:
    for a, b in zip(fitted_tables(one), fitted_tables(other), strict=True):
        assert_allclose(a, b, rtol=rtol, atol=atol)


def assert_never_falls(history: Any) -> None:
    values = np.array([step.objective for step in history])
    assert np.isfinite(values).all()
    assert (np.diff(values) >= -1e-9 * np.abs(values[:-1])).all(), np.diff(values)


def known_share(problem: Problem, model: Any) -> Any:
    """Responsibilities that the labels fix, NaN in rows that they leave open."""
    names = model.classes_.tolist()
    share = np.full((len(problem.X), len(names)), np.nan)
    for i, label in enumerate(problem.y):
        if isinstance(label, np.ndarray):
            certain = label.max() >= 1.0
            if certain or (model.soft_labels == "responsibility" and not np.isnan(label).all()):
                share[i] = label
        elif not isinstance(label, set) and label is not None and not np.isnan(label):
            share[i] = np.eye(len(names))[names.index(label)]
    return share


# ---- the objective
@given(problem=problems(), accelerate=st.booleans(), class_alpha=st.sampled_from([0.0, 1.0]))
def test_the_objective_never_falls_and_is_the_mixed_log_likelihood_plus_log_prior(
    problem: Problem, accelerate: bool, class_alpha: float
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = problem.fit(accelerate=accelerate, class_alpha=class_alpha)
    assert_never_falls(model.history_)
    assert len(model.history_) == model.n_iter_ + 1 == 13
    assert_allclose(model.history_[-1].objective, objective(problem, model), rtol=1e-9)


@given(problem=problems(labels=("some", "sets", "soft")), weight=st.sampled_from([0.0, 0.3, 2.5]))
def test_the_objective_never_falls_with_weighted_unlabeled_rows(problem: Problem, weight: float) -> None:
    model = problem.fit(unlabeled_weight=weight)
    assert_never_falls(model.history_)
    assert_allclose(model.history_[-1].objective, objective(problem, model), rtol=1e-9)


@given(case=CASES, seed=SEEDS, missing=st.booleans())
def test_the_marginal_log_likelihood_of_rows_without_labels_is_that_of_score_samples(
    case: Case, seed: int, missing: bool
) -> None:
    problem = make_problem(case, seed, missing=missing)
    problem.y = None
    model = problem.fit(n_classes=2, **({"var_smoothing": 0.0} if case is GAUSSIAN else {"alpha": 0.1}))
    marginal = float(model.score_samples(problem.X).sum())
    if case is POISSON:
        # The factorials contain no parameter: EM leaves them out.
        marginal += float(np.nansum(gammaln(problem.X + 1.0)))
    assert_allclose(model.history_[-1].objective, marginal + log_prior(model), rtol=1e-9)


@given(case=CASES, seed=SEEDS, temperature=st.floats(1.0, 20.0))
def test_the_tempered_objective_never_falls(case: Case, seed: int, temperature: float) -> None:
    from dataclasses import replace

    from softcount.core.chunks import Chunks
    from softcount.core.execute import ThreadExecutor
    from softcount.core.iterate import Stopping, iterate
    from softcount.inputs.labels import read_labels

    problem = make_problem(case, seed, weighted=True)
    model = problem.fit(max_iter=0)
    blocks = model._read_blocks(problem.X, reset=False)
    labels, _ = read_labels(problem.y, len(problem.X))
    chunks = Chunks(blocks, labels, problem.weight, rows_per_chunk=16)
    hot = replace(model.model_, temperature=temperature)
    run = iterate(hot, ThreadExecutor(1), chunks, model.params_, Stopping(15, 0.0))
    assert_never_falls(run.history)
    assert run.n_iter == 15


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_annealing_ends_at_the_objective_itself(case: Case) -> None:
    problem = make_problem(case, 3, labels="few")
    model = problem.fit(annealing=(8.0, 2.0), max_iter=30)
    assert_never_falls(model.history_)
    assert_allclose(model.history_[-1].objective, objective(problem, model), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.* stopped after max_iter")
@given(problem=problems(labels=("some", "few", "sets")))
def test_acceleration_ends_where_plain_iterations_stay(problem: Problem) -> None:
    fast = problem.fit(max_iter=600, tol=1e-9, accelerate=True)
    assert_never_falls(fast.history_)
    end = fast.history_[-1].objective
    assert_allclose(end, objective(problem, fast), rtol=1e-9)
    on = problem.fit(init=fast, max_iter=3)
    assert_never_falls(on.history_)
    assert not fast.converged_ or on.history_[-1].objective - end <= 1e-6 * abs(end)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_acceleration_usually_climbs_as_high_as_plain_iterations(case: Case) -> None:
    pairs = []
    for seed in range(12):
        problem = make_problem(case, seed, labels="few")
        plain, fast = problem.fit(max_iter=1500, tol=1e-9), problem.fit(max_iter=1500, tol=1e-9, accelerate=True)
        pairs.append((plain.history_[-1].objective, fast.history_[-1].objective))
    # The likelihood may have several maxima, and a leap may pass over one.
    assert sum(fast >= plain - 1e-5 * abs(plain) for plain, fast in pairs) >= 11


def test_acceleration_saves_iterations_where_plain_ones_crawl() -> None:
    problem = make_problem(BERNOULLI, 5, n_rows=200, n_classes=3, labels="few")
    plain = problem.fit(max_iter=5000, tol=1e-11)
    fast = problem.fit(max_iter=5000, tol=1e-11, accelerate=True)
    assert plain.converged_
    assert fast.converged_
    assert fast.n_iter_ < 0.7 * plain.n_iter_
    assert_allclose(fast.history_[-1].objective, plain.history_[-1].objective, rtol=1e-6)


# ---- labels
@given(problem=problems())
def test_known_labels_are_never_overwritten(problem: Problem) -> None:
    model = problem.fit()
    resp = model.responsibilities(problem.X, problem.y)
    share = known_share(problem, model)
    fixed = ~np.isnan(share).any(axis=1)
    assert_allclose(resp[fixed], share[fixed], atol=1e-12)
    assert_allclose(resp.sum(axis=1), 1.0, rtol=1e-12)
    for i, label in enumerate(problem.y):
        if isinstance(label, set):
            outside = [k for k, name in enumerate(model.classes_.tolist()) if name not in label]
            assert_array_equal(resp[i, outside], 0.0)
    counted = np.ones(len(resp)) if problem.weight is None else problem.weight
    assert_allclose(model.class_count_.sum(), counted.sum(), rtol=1e-9)


@given(problem=problems(labels=("some", "soft")))
def test_rows_without_labels_have_their_posterior_for_responsibility(problem: Problem) -> None:
    model = problem.fit()
    open_rows = np.isnan(known_share(problem, model)).any(axis=1)
    resp = model.responsibilities(problem.X, problem.y)
    assert_allclose(resp[open_rows], model.predict_proba(problem.X)[open_rows], atol=1e-12)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
@pytest.mark.parametrize("missing", [False, True])
def test_all_labels_known_is_the_closed_form_exactly(case: Case, missing: bool) -> None:
    problem = make_problem(case, 11, missing=missing, weighted=True)
    problem.y = problem.truth
    if missing and case.name == "MultinomialNB":
        # What hidden words leave to the others is no closed form: EM it is, also with all labels.
        assert len(problem.fit().history_) > 1
        return
    closed = problem.fit()
    assert closed.n_iter_ == 1
    assert closed.history_ == []
    assert closed.converged_
    # Half a vote for the right class and none for the others says as much, but takes the way of EM.
    problem.y = 0.5 * np.eye(3)[problem.truth]
    iterated = problem.fit(soft_labels="prior")
    assert len(iterated.history_) > 1
    assert_same_params(closed, iterated, rtol=1e-12)


@given(case=CASES, seed=SEEDS, missing=st.booleans())
def test_unlabeled_rows_of_weight_zero_change_nothing(case: Case, seed: int, missing: bool) -> None:
    problem = make_problem(case, seed, missing=missing)
    without = problem.y.copy()
    with_them = problem.fit(unlabeled_weight=0.0)
    problem.weight = np.where(np.isnan(without), 0.0, 1.0)
    problem.y = problem.truth
    assert_same_params(with_them, problem.fit())
    # Where no value of a category and no hole is in the other rows alone, they can be left away as well.
    if case.name != "CategoricalNB" and not missing:
        known = ~np.isnan(without)
        alone = case.make().fit(problem.X[known], without[known])
        assert_same_params(with_them, alone)


@given(problem=problems(labels=("some", "few")), share=st.floats(0.05, 3.0))
def test_the_weight_of_unlabeled_rows_is_a_row_weight(problem: Problem, share: float) -> None:
    factor = problem.fit(unlabeled_weight=share)
    weight = np.ones(len(problem.X)) if problem.weight is None else problem.weight
    problem.weight = np.where(np.isnan(problem.y), share, 1.0) * weight
    assert_same_params(factor, problem.fit(unlabeled_weight=1.0), rtol=1e-9)


# ---- starts
@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_the_uniform_start_without_labels_is_a_saddle_that_is_noticed_and_left(case: Case) -> None:
    X, _ = case.rows(300, 8, 2, seed=4)
    with pytest.warns(UserWarning, match="saddle"):
        model = case.make(n_classes=2, init="uniform", random_state=0, unlabeled_weight=1.0).fit(X)
    resp = model.predict_proba(X)
    assert np.ptp(resp[:, 0]) > 0.5
    one = case.make(n_classes=1, unlabeled_weight=1.0, max_iter=3, tol=0.0).fit(X)
    assert model.history_[-1].objective > one.history_[-1].objective


def test_a_third_in_each_class_and_even_odds_is_the_saddle_of_the_uniform_start() -> None:
    from softcount.core.chunks import Chunks
    from softcount.core.execute import ThreadExecutor
    from softcount.core.iterate import Stopping, iterate
    from softcount.estimators.naive_bayes import BernoulliNB

    X = np.array([[0, 1], [1, 0], [1, 0], [0, 1]])
    model = BernoulliNB(alpha=0.0).fit(X, [0, 0, 1, 1])
    half = {"log_prob": np.log(np.full((2, 2), 0.5)), "log_not": np.log(np.full((2, 2), 0.5))}
    start = model.model_.make_params(np.log([0.5, 0.5]), (half,))
    chunks = Chunks(model._read_blocks(X, reset=False), rows_per_chunk=8)
    run = iterate(model.model_, ThreadExecutor(1), chunks, start, Stopping(20, 0.0))
    assert_allclose(np.exp(run.params.blocks[0]["log_prob"]), 0.5, rtol=1e-12)
    assert run.history[-1].objective == pytest.approx(run.history[0].objective)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_the_uniform_start_with_labels_shares_every_open_row_evenly(case: Case) -> None:
    problem = make_problem(case, 9)
    known = ~np.isnan(problem.y)
    start = np.full((len(problem.X), 3), 1 / 3)
    start[known] = np.eye(3)[problem.truth[known]]
    assert_same_params(problem.fit(init="uniform"), problem.fit(init=start), rtol=1e-12)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_a_fitted_estimator_is_a_start(case: Case) -> None:
    problem = make_problem(case, 9)
    first = problem.fit(max_iter=5)
    both = problem.fit(init=first, max_iter=7)
    assert_same_params(both, problem.fit(max_iter=12), rtol=1e-12)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_starts_that_do_not_fit_are_refused(case: Case) -> None:
    problem = make_problem(case, 9)
    for start, message in (
        ("nowhere", "init is 'nowhere'; choose one of"),
        (np.ones((3, 3)), r"of shape \(40, 3\)"),
        (np.full((40, 3), np.nan), "finite, 0 or more"),
        (make_problem(case, 9, n_classes=2).fit(), "2 components, but 3"),
    ):
        with pytest.raises(ValueError, match=message):
            problem.fit(init=start)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_the_same_seed_gives_the_same_fit_and_the_best_of_several_starts_is_kept(case: Case) -> None:
    X, _ = case.rows(120, 6, 3, seed=2)
    make = lambda: case.make(n_classes=3, n_init=4, random_state=7, max_iter=60, unlabeled_weight=1.0)  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = make().fit(X), make().fit(X)
        single = [case.make(n_classes=3, n_init=1, random_state=s, max_iter=60, unlabeled_weight=1.0) for s in range(3)]
        objectives = [m.fit(X).history_[-1].objective for m in single]
    for a, b in zip(fitted_tables(one), fitted_tables(other), strict=True):
        assert_array_equal(a, b)
    assert one.n_starts_ == 4
    assert 1 <= one.n_best_starts_ <= 4
    assert one.history_[-1].objective >= min(objectives) - 1e-9 * abs(min(objectives))


# ---- discovering
@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_classes_without_labels_are_discovered_next_to_known_ones(case: Case) -> None:
    X, truth = case.rows(600, 12, 3, seed=1)
    y = np.where(truth == 2, np.nan, truth.astype(float))
    y[40:] = np.nan
    model = case.make(n_classes=3, random_state=0, unlabeled_weight=1.0, max_iter=300).fit(X, y)
    assert model.classes_.tolist() == [0.0, 1.0, 2.0]
    assert (model.predict(X) == truth).mean() > 0.9
    assert_array_equal(model.responsibilities(X, y).argmax(axis=1)[:40][~np.isnan(y[:40])], y[:40][~np.isnan(y[:40])])


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_planted_groups_are_found_without_any_label(case: Case) -> None:
    X, truth = case.rows(600, 12, 2, seed=1)
    model = case.make(n_classes=2, random_state=0, unlabeled_weight=1.0, max_iter=300).fit(X)
    same = (model.predict(X) == truth).mean()
    assert max(same, 1 - same) > 0.9
    assert model.n_starts_ == 10


def test_discovered_classes_of_named_ones_get_names_of_their_own() -> None:
    X, truth = BERNOULLI.rows(300, 12, 3, seed=1)
    y: Any = [["x", "y", None][k] if i < 60 else None for i, k in enumerate(truth)]
    model = BERNOULLI.make(n_classes=3, random_state=0, unlabeled_weight=1.0, max_iter=300).fit(X, y)
    assert model.classes_.tolist() == ["x", "y", "new 1"]
    resp = model.responsibilities(X, y)
    for i, label in enumerate(y):
        if label is not None:
            assert resp[i, model.classes_.tolist().index(label)] == 1.0
    assert (np.array(["x", "y", "new 1"])[truth] == model.predict(X)).mean() > 0.9


# ---- reports
@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_what_happened_is_reported(case: Case) -> None:
    problem = make_problem(case, 1)
    with pytest.warns(UserWarning, match="stopped after max_iter=2 iterations before it converged"):
        short = problem.fit(max_iter=2, tol=1e-12)
    assert not short.converged_
    assert short.n_iter_ == 2
    done = problem.fit(max_iter=500, tol=1e-6)
    assert done.converged_
    assert done.n_iter_ < 500
    assert [step.iteration for step in done.history_] == list(range(done.n_iter_ + 1))
    changes = np.diff([step.objective for step in done.history_])
    assert_allclose([step.change for step in done.history_[1:]], changes, rtol=1e-9, atol=1e-12)
    assert all(step.seconds >= 0.0 for step in done.history_)
