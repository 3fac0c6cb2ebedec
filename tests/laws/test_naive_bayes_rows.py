"""Laws of rows, columns and classes: weights are copies, order does not matter, and neither does the layout."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array, csr_array, csr_matrix

from softcount.estimators import _grid
from softcount.estimators.naive_bayes import BernoulliNB, MultinomialNB
from tests.estimators.naive_bayes.cases import GENERATIVE, SPARSE, Case
from tests.laws.naive_bayes_problems import Problem, make_problem, problems

SEEDS = st.integers(0, 10**6)
SPARSE_GENERATIVE = [case for case in SPARSE if case in GENERATIVE]


def by_name(case: Case) -> str:
    return case.name


def answers(model: Any, X: Any) -> list[Any]:
    return [model.predict_joint_log_proba(X), model.predict_proba(X), model.score_samples(X), model.class_count_]


def assert_same_answers(one: Any, other: Any, X: Any, rtol: float = 1e-8) -> None:
    for a, b in zip(answers(one, X), answers(other, X), strict=True):
        assert_allclose(a, b, rtol=rtol, atol=1e-10)
    if one.history_ and other.history_:
        assert_allclose(one.history_[-1].objective, other.history_[-1].objective, rtol=1e-9)


def rows_of(problem: Problem, rows: Any, weight: Any = None) -> Problem:
    y = problem.y if problem.y is None else problem.y[rows]
    return Problem(problem.case, problem.X[rows], problem.truth[rows], y, weight, problem.settings)


# ---- weights
@given(problem=problems(), seed=SEEDS)
def test_a_weight_of_k_is_k_copies_of_the_row(problem: Problem, seed: int) -> None:
    # Starts of several components draw rows by their number, which copies change.
    problem.settings["n_components_per_class"] = 1
    copies = np.random.default_rng(seed).integers(0, 4, size=len(problem.X))
    copies[: len(np.unique(problem.truth))] = 1
    problem.weight = copies.astype(float)
    repeated = rows_of(problem, np.repeat(np.arange(len(copies)), copies))
    if problem.case.name == "CategoricalNB":
        # Values that only rows of weight zero have are still values of the column.
        problem.settings["min_categories"] = np.nanmax(problem.X, axis=0).astype(int) + 1
    assert_same_answers(problem.fit(), repeated.fit(), repeated.X)


@given(problem=problems(), seed=SEEDS)
def test_a_row_of_weight_zero_is_absent(problem: Problem, seed: int) -> None:
    problem.settings["n_components_per_class"] = 1
    kept = np.random.default_rng(seed).random(len(problem.X)) < 0.7
    kept[: len(np.unique(problem.truth))] = True
    weight = np.ones(len(problem.X)) if problem.weight is None else problem.weight
    problem.weight = np.where(kept, weight, 0.0)
    if problem.case.name == "CategoricalNB":
        problem.settings["min_categories"] = np.nanmax(problem.X, axis=0).astype(int) + 1
    remaining = rows_of(problem, kept, weight[kept])
    assert_same_answers(problem.fit(), remaining.fit(), remaining.X)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_weights_scaled_by_a_factor_leave_a_fit_without_smoothing_as_it_is(case: Case) -> None:
    problem = make_problem(case, 5)
    plain = {"var_smoothing": 0.0} if case.name == "GaussianNB" else {"alpha": 1e-300}
    one = problem.fit(**plain)
    problem.weight = np.full(len(problem.X), 8.0)
    other = problem.fit(**plain)
    assert_allclose(one.predict_proba(problem.X), other.predict_proba(problem.X), rtol=1e-9, atol=1e-12)
    assert_allclose(8.0 * one.class_count_, other.class_count_, rtol=1e-12)


# ---- order
@given(problem=problems(), seed=SEEDS)
def test_the_order_of_the_rows_does_not_matter(problem: Problem, seed: int) -> None:
    problem.settings["n_components_per_class"] = 1
    order = np.random.default_rng(seed).permutation(len(problem.X))
    weight = None if problem.weight is None else problem.weight[order]
    assert_same_answers(problem.fit(), rows_of(problem, order, weight).fit(), problem.X)


@given(problem=problems(), seed=SEEDS)
def test_the_order_of_the_columns_does_not_matter(problem: Problem, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(problem.X.shape[1])
    shuffled = Problem(problem.case, problem.X[:, order], problem.truth, problem.y, problem.weight, problem.settings)
    one, other = problem.fit(), shuffled.fit()
    assert_allclose(one.predict_joint_log_proba(problem.X), other.predict_joint_log_proba(shuffled.X), rtol=1e-8)


@given(problem=problems(labels=("some", "few")), seed=SEEDS)
def test_the_names_of_the_classes_do_not_matter(problem: Problem, seed: int) -> None:
    problem.settings["n_components_per_class"] = 1
    n_classes = len(np.unique(problem.truth))
    order = np.random.default_rng(seed).permutation(n_classes)
    known = ~np.isnan(problem.y)
    renamed = np.full(len(problem.y), np.nan)
    renamed[known] = order[problem.y[known].astype(int)]
    other = Problem(problem.case, problem.X, problem.truth, renamed, problem.weight, problem.settings).fit()
    one = problem.fit()
    assert_allclose(one.predict_proba(problem.X), other.predict_proba(problem.X)[:, order], rtol=1e-8, atol=1e-12)
    # Of classes that are equally probable the first is named, and which one that is depends on the names.
    top = np.sort(one.predict_proba(problem.X), axis=1)[:, -2:]
    clear = np.diff(top, axis=1)[:, 0] > 1e-9
    guesses = order[one.predict(problem.X).astype(int)], other.predict(problem.X).astype(int)
    assert_array_equal(guesses[0][clear], guesses[1][clear])


# ---- layout
@given(problem=problems(cases=SPARSE_GENERATIVE))
def test_sparse_rows_are_dense_rows(problem: Problem) -> None:
    dense = problem.fit()
    for container in (csr_array, csr_matrix, csc_array):
        sparse = problem.fit(container(problem.X))
        assert_same_answers(dense, sparse, problem.X)
        for a, b in zip(answers(sparse, container(problem.X)), answers(dense, problem.X), strict=True):
            assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_explicit_zeros_and_repeated_entries_of_a_sparse_matrix_are_what_they_sum_to() -> None:
    dense = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0], [2.0, 1.0, 0.0]])
    data = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 3.0, 0.0, 2.0, 1.0])
    columns = np.array([0, 1, 2, 2, 1, 2, 0, 0, 1])
    rows = csr_array((data, columns, np.array([0, 4, 5, 7, 9])), shape=(4, 3))
    assert_array_equal(rows.toarray(), dense)
    for case in SPARSE:
        one, other = case.make().fit(rows, [0, 0, 1, 1]), case.make().fit(dense, [0, 0, 1, 1])
        assert_allclose(one.predict_joint_log_proba(rows), other.predict_joint_log_proba(dense), rtol=1e-13)


def test_repeated_entries_are_summed_before_anything_is_asked_of_their_squares() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40)
    X = csr_array(rng.poisson(1.0 + 3.0 * (truth[:, None] == np.arange(6) % 2)).astype(float))
    halves = csr_array((np.repeat(X.data / 2.0, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    known = np.where(np.arange(40) < 16, truth.astype(float), np.nan)
    # With unlabeled rows the evidence of a document depends on how often words repeat in it.
    whole, repeated = MultinomialNB().fit(X, known), MultinomialNB().fit(halves, known)
    assert_allclose(repeated.predict_proba(halves), whole.predict_proba(X), rtol=1e-10)
    assert str(repeated.unlabeled_verdict_) == str(whole.unlabeled_verdict_)
    assert repeated.calibration_.correlation == whole.calibration_.correlation
    assert halves.nnz == 2 * X.nnz


@given(problem=problems(), rows=st.integers(1, 17))
def test_chunks_of_any_size_give_the_same_answers(problem: Problem, rows: int) -> None:
    whole = problem.fit()
    whole_answers = [*answers(whole, problem.X), whole.responsibilities(problem.X, problem.y)]
    with pytest.MonkeyPatch.context() as patch:
        asked: list[int] = []
        patch.setattr(_grid, "chunk_rows", lambda n_components, *_: asked.append(n_components) or rows)
        parts = problem.fit()
        part_answers = [*answers(parts, problem.X), parts.responsibilities(problem.X, problem.y)]
    assert len(asked) == 5
    for a, b in zip(whole_answers, part_answers, strict=True):
        assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_one_thread_and_many_threads_give_the_same_bits(
    case: Case, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if layout == "sparse" and not case.reads_sparse:
        pytest.skip(f"{case.name} reads dense tables alone")
    monkeypatch.setattr(_grid, "chunk_rows", lambda *_: 16)
    problem = make_problem(case, 2, n_rows=200, labels="few")
    X = problem.sparse() if layout == "sparse" else problem.X
    first = problem.fit(X, n_jobs=1)
    for n_jobs in (2, 3, 8):
        other = problem.fit(X, n_jobs=n_jobs)
        for a, b in zip(answers(first, X), answers(other, X), strict=True):
            assert_array_equal(a, b)
        assert [s.objective for s in first.history_] == [s.objective for s in other.history_]


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_batches_of_labeled_rows_are_one_fit_and_later_batches_may_lack_labels(case: Case) -> None:
    problem = make_problem(case, 8, n_rows=60, missing=case.name != "MultinomialNB")
    settings = {"min_categories": 5} if case.name == "CategoricalNB" else {}
    batches = case.make(**settings)
    for start in range(0, 60, 20):
        rows = slice(start, start + 20)
        batches.partial_fit(problem.X[rows], problem.truth[rows], classes=[0, 1, 2])
    whole = case.make(**settings).fit(problem.X, problem.truth)
    assert_allclose(batches.predict_joint_log_proba(problem.X), whole.predict_joint_log_proba(problem.X), rtol=1e-9)
    before = batches.class_count_.copy()
    expected = batches.predict_proba(problem.X)
    batches.partial_fit(problem.X, np.full(60, np.nan))
    assert_allclose(batches.class_count_, before + expected.sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_soft_labels_in_batches_add_up_to_one_fit(case: Case) -> None:
    problem = make_problem(case, 8, n_rows=60)
    settings = {"min_categories": 5} if case.name == "CategoricalNB" else {}
    soft = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
    batches = case.make(**settings)
    for start in range(0, 60, 30):
        batches.partial_fit(problem.X[start : start + 30], soft[start : start + 30], classes=[0, 1, 2])
    whole = case.make(**settings).fit(problem.X, soft)
    assert_allclose(batches.class_count_, soft.sum(axis=0), rtol=1e-12)
    assert_allclose(batches.predict_joint_log_proba(problem.X), whole.predict_joint_log_proba(problem.X), rtol=1e-9)


# ---- probabilities
@given(problem=problems())
def test_probabilities_sum_to_one_and_are_finite(problem: Problem) -> None:
    model = problem.fit()
    gone = np.vstack([problem.X, np.full((1, problem.X.shape[1]), np.nan)])
    posterior, log_posterior = model.predict_proba(gone), model.predict_log_proba(gone)
    assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(posterior).all()
    assert np.isfinite(log_posterior).all()
    assert_allclose(np.exp(log_posterior), posterior, atol=1e-14)
    # A row without any cell has the class prior and density one.
    assert_allclose(posterior[-1], np.exp(model._log_class_prior()), rtol=1e-12)
    assert_allclose(model.score_samples(gone)[-1], 0.0, atol=1e-12)
    assert_allclose(np.exp(model.params_.log_weights).sum(), 1.0, rtol=1e-12)


@given(problem=problems(), seed=SEEDS)
def test_a_missing_cell_is_left_out_of_the_density(problem: Problem, seed: int) -> None:
    model = problem.fit(n_components_per_class=1)
    rng = np.random.default_rng(seed)
    X = problem.X.astype(float)
    holes = rng.random(X.shape) < 0.5
    joint = model.predict_joint_log_proba(np.where(holes, np.nan, X))
    prior = model._log_class_prior()
    total = np.tile(prior, (len(X), 1))
    for j in range(X.shape[1]):
        alone = np.full(X.shape, np.nan)
        alone[:, j] = np.where(holes[:, j], np.nan, X[:, j])
        total += model.predict_joint_log_proba(alone) - prior
    assert_allclose(joint, total, rtol=1e-9, atol=1e-9)


def test_a_column_without_any_value_says_nothing() -> None:
    for case in GENERATIVE:
        X, y = case.rows()
        wide = np.column_stack([X, np.full(len(X), np.nan)])
        one, other = case.make().fit(X, y), case.make().fit(wide, y)
        # A multinomial class knows the empty column as one more word.
        if case.name != "MultinomialNB":
            assert_allclose(one.predict_proba(X), other.predict_proba(wide), rtol=1e-9)
        assert np.isfinite(other.predict_log_proba(wide)).all()


def test_bits_stored_as_booleans_are_the_same_bits() -> None:
    problem = make_problem(GENERATIVE[0], 3)
    assert_array_equal(
        BernoulliNB().fit(problem.X.astype(bool), problem.truth).feature_log_prob_,
        BernoulliNB().fit(problem.X, problem.truth).feature_log_prob_,
    )
