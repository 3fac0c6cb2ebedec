"""Laws of mixtures: weights are repetitions, order and names mean nothing, labels are kept, nothing falls."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from tests.estimators.mixture.cases import ALL, BERNOULLI, CATEGORICAL, DISCRETE, GAUSSIAN, LATENT_CLASS, Case

CASES = st.sampled_from(ALL)
SEEDS = st.integers(0, 10**6)


def fit(case: Case, X, y=None, weight=None, n_components=3, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return case.make(n_components, **options).fit(X, y, sample_weight=weight)


def assert_same_fit(one, other, rtol=1e-6):
    assert_allclose(one.log_likelihood_, other.log_likelihood_, rtol=1e-9)
    assert_allclose(one.weights_, other.weights_, rtol=rtol, atol=1e-7)
    for a, b in zip(one.params_.blocks, other.params_.blocks, strict=True):
        for name in a:
            first, second = a[name], b[name]
            if name.startswith("log"):
                first, second = np.exp(first), np.exp(second)
            assert_allclose(first, second, rtol=rtol, atol=1e-6)


@given(case=CASES, seed=SEEDS)
def test_a_weight_of_k_is_k_rows_and_a_weight_of_zero_is_none(case, seed):
    X, _ = case.rows(40, 4, seed=seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(X))
    # The floor of a variance is a share of that of all rows, weighted.
    weighted = fit(case, X, weight=weight, n_components=2)
    repeated = fit(case, X.repeat(weight, axis=0), n_components=2)
    assert_same_fit(weighted, repeated)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)
    assert weighted.criteria() == pytest.approx(repeated.criteria(), rel=1e-7)


@given(case=CASES, seed=SEEDS)
def test_neither_the_order_of_rows_nor_of_columns_matters(case, seed):
    rng = np.random.default_rng(seed)
    X, _ = case.rows(50, 4, seed=seed)
    X = X[rng.integers(len(X), size=len(X))]
    first = fit(case, X, n_components=2, order="size" if case is not GAUSSIAN else None)
    rows = rng.permutation(len(X))
    shuffled = fit(case, X[rows], n_components=2, order="size" if case is not GAUSSIAN else None)
    assert_same_fit(first, shuffled)
    assert_allclose(first.predict_proba(X)[rows], shuffled.predict_proba(X[rows]), atol=1e-6)


@given(case=CASES, seed=SEEDS, accelerate=st.booleans(), share=st.sampled_from([0.0, 0.3]))
def test_the_objective_never_falls(case, seed, accelerate, share):
    X, y = case.rows(50, 4, seed=seed)
    rng = np.random.default_rng(seed)
    holes = rng.random(X.shape) < share
    table = np.where(holes, np.nan, X.astype(float)) if share else X
    labels = np.where(rng.random(len(y)) < 0.3, y.astype(float), np.nan) if seed % 2 else None
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = fit(case, table, labels, accelerate=accelerate, max_iter=60, tol=1e-6)
    values = np.array([step.objective for step in model.history_])
    assert np.isfinite(values).all()
    assert (np.diff(values) >= -1e-9 * np.abs(values[:-1])).all()


@given(case=CASES, seed=SEEDS)
def test_all_labels_give_naive_bayes_exactly(case, seed):
    X, y = case.rows(60, 4, seed=seed)
    names = np.array(["ash", "birch", "cedar"])[y]
    alpha = {} if case is GAUSSIAN else {"alpha": 0.7}
    options = {"reg_covar": 0.0} if case is GAUSSIAN else alpha
    twin_options = {"var_smoothing": 0.0} if case is GAUSSIAN else dict(alpha)
    if case.twin == "NaiveBayes":
        # The twin adds its floor to the variances; the mixture only keeps them above one.
        twin_options["var_smoothing"] = 0.0
        twin_options["families"] = "categorical" if case is LATENT_CLASS else "gaussian"
        options = {**options, "families": twin_options["families"]}
    mixture = fit(case, X, names, **options)
    bayes = case.make_twin(**twin_options).fit(X, names)
    assert mixture.component_names_.tolist() == bayes.classes_.tolist()
    assert mixture.n_iter_ == 1
    assert_allclose(mixture.params_.log_weights, bayes.params_.log_weights, rtol=1e-12)
    for ours, theirs in zip(mixture.params_.blocks, bayes.params_.blocks, strict=True):
        for name in ours:
            assert_allclose(ours[name], theirs[name], rtol=1e-12)
    assert_allclose(mixture.predict_proba(X), bayes.predict_proba(X), rtol=1e-9, atol=1e-12)


@given(case=CASES, seed=SEEDS)
def test_known_labels_are_never_overwritten(case, seed):
    X, y = case.rows(60, 4, seed=seed)
    rng = np.random.default_rng(seed)
    known = rng.random(len(y)) < 0.4
    known[:3] = True
    labels = np.where(known, y.astype(float), np.nan)
    model = fit(case, X, labels)
    resp = model.responsibilities(X, labels)
    assert_array_equal(resp[known].argmax(axis=1), y[known])
    assert_allclose(resp[known].max(axis=1), 1.0)
    again = fit(case, X, labels)
    assert_same_fit(model, again, rtol=1e-12)
    assert_array_equal(model.component_names_, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("case", [case for case in DISCRETE if case.reads_sparse], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_sparse_rows_give_what_dense_rows_give(case, seed):
    X, _ = case.rows(80, 6, seed=seed)
    dense, sparse = fit(case, X), fit(case, csr_array(X))
    assert_same_fit(dense, sparse, rtol=1e-5)
    assert_allclose(dense.score_samples(X), sparse.score_samples(csr_array(X)), rtol=1e-6)
    assert_allclose(dense.predict_proba(X), sparse.predict_proba(csr_array(X)), atol=1e-5)


@given(case=CASES, seed=SEEDS)
def test_merging_equal_rows_changes_nothing(case, seed):
    X, _ = case.rows(25, 3, seed=seed)
    X = X[np.random.default_rng(seed).integers(len(X), size=90)]
    merged, whole = (fit(case, X, n_components=2, merge_rows=merge) for merge in (True, False))
    assert merged.n_patterns_ == len(np.unique(X, axis=0)) < len(X)
    assert whole.n_patterns_ is None
    assert_allclose(merged.log_likelihood_, whole.log_likelihood_, rtol=1e-7)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_the_result_does_not_depend_on_the_number_of_threads(case):
    X, _ = case.rows(200, 5, seed=4)
    one, two = fit(case, X, n_jobs=1), fit(case, X, n_jobs=2)
    assert one.log_likelihood_ == two.log_likelihood_
    assert_array_equal(one.weights_, two.weights_)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert (one.n_best_starts_, one.n_iter_) == (two.n_best_starts_, two.n_iter_)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_one_component_is_maximum_likelihood_of_all_rows(case):
    X, _ = case.rows(80, 4, seed=2)
    none = {"reg_covar": 0.0} if case is GAUSSIAN else {"alpha": 0.0}
    model = fit(case, X, n_components=1, **none)
    assert_allclose(model.weights_, [1.0])
    twin = {"var_smoothing": 0.0} if "Gaussian" in case.twin else {"alpha": 0.0}
    if case.twin == "NaiveBayes":
        twin = {"alpha": 0.0, "var_smoothing": 0.0, "families": "categorical" if case is LATENT_CLASS else "gaussian"}
    alone = case.make_twin(**twin).fit(X, np.zeros(len(X), dtype=int))
    for ours, theirs in zip(model.params_.blocks, alone.params_.blocks, strict=True):
        for name in ours:
            assert_allclose(ours[name], theirs[name], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("case", [BERNOULLI, CATEGORICAL], ids=str)
def test_renaming_categories_renames_the_answer_alone(case):
    X, _ = case.rows(90, 5, seed=7)
    top = int(X.max())
    options = {"min_categories": top + 1} if case is CATEGORICAL else {}
    start = np.random.default_rng(0).dirichlet(np.ones(3), len(X))
    first, flipped = (fit(case, table, init=start, **options) for table in (X, top - X))
    assert_allclose(first.log_likelihood_, flipped.log_likelihood_, rtol=1e-6)
    assert_allclose(first.predict_proba(X), flipped.predict_proba(top - X), atol=1e-3)
