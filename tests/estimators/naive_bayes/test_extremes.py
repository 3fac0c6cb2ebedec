"""The far ends: one row, one class, constant columns, tiny and huge numbers, long rows and wide tables."""

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from softcount._errors import InputError
from softcount.estimators.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
)
from tests.estimators.naive_bayes.cases import ALL, GAUSSIAN, GENERATIVE, MULTINOMIAL, Case

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def by_name(case: Case) -> str:
    return case.name


def assert_sound(model: Any, X: Any) -> None:
    posterior, log_posterior = model.predict_proba(X), model.predict_log_proba(X)
    assert np.isfinite(posterior).all()
    assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-9)
    assert not np.isnan(log_posterior).any()
    assert set(model.predict(X).tolist()) <= set(model.classes_.tolist())


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_one_row_is_enough(case: Case) -> None:
    X, _ = case.rows()
    model = case.make().fit(X[:1], ["only"])
    assert model.predict(X).tolist() == ["only"] * len(X)
    assert_array_equal(model.predict_proba(X), 1.0)


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_one_row_per_class_is_enough(case: Case) -> None:
    X, y = case.rows(n_rows=3)
    assert_sound(case.make().fit(X, y), X)


@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_one_class_with_and_without_labels(case: Case) -> None:
    X, _ = case.rows()
    y: Any = ["a"] + [None] * (len(X) - 1)
    for model in (case.make().fit(X, y), case.make(n_classes=1).fit(X)):
        assert_array_equal(model.predict_proba(X), 1.0)
        assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("value", [0, 1, 2])
@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_constant_columns_are_harmless(case: Case, value: int) -> None:
    X, y = case.rows()
    X = np.column_stack([X, np.full(len(X), value)])
    X[:, 1] = value
    assert_sound(case.make().fit(X, y), X)
    assert_sound(case.make().fit(np.full((6, 2), value), [0, 1, 0, 1, 0, 1]), np.full((2, 2), value))
    if case in GENERATIVE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = case.make(n_classes=2, random_state=0, unlabeled_weight=1.0).fit(np.full((6, 2), value))
        assert_sound(model, np.full((2, 2), value))


def test_a_constant_column_of_a_gaussian_without_floor_does_not_divide_by_zero() -> None:
    X = np.column_stack([np.full(6, 7.0), np.arange(6.0)])
    for smoothing in (0.0, 1e-9):
        model = GaussianNB(var_smoothing=smoothing).fit(X, [0, 0, 0, 1, 1, 1])
        assert_sound(model, X)
        assert model.predict(X).tolist() == [0, 0, 0, 1, 1, 1]
        assert_sound(model, np.array([[8.0, 1.0], [-1e9, 1e9]]))


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30, 1e100])
def test_gaussian_answers_do_not_depend_on_the_unit(scale: float) -> None:
    X, y = GAUSSIAN.rows()
    plain, scaled = GaussianNB().fit(X, y), GaussianNB().fit(X * scale, y)
    assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), rtol=1e-7)
    assert_allclose(scaled.theta_, plain.theta_ * scale, rtol=1e-10)


@pytest.mark.parametrize("value", [1e300, -1e300, 1e-300, 1e200])
def test_gaussian_values_whose_squares_leave_the_range_are_refused_by_name(value: float) -> None:
    X, y = GAUSSIAN.rows()
    X[:, 2] = np.where(y == 0, value, -value)
    with pytest.raises(InputError, match=r"Column 'x2' holds values as large as 1e.?\d+ .*Rescale"):
        GaussianNB().fit(X, y)


@pytest.mark.parametrize("value", [1e300, -1e300, 1e-300, 1e160, 5e-324])
def test_gaussian_predicts_values_far_out(value: float) -> None:
    X, y = GAUSSIAN.rows()
    model = GaussianNB().fit(X, y)
    assert_sound(model, np.full((2, 5), value))
    assert not np.isnan(model.score_samples(np.full((2, 5), value))).any()


def test_variances_of_one_survive_means_a_hundred_million_apart() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 500)
    X = rng.normal(size=(1000, 3)) + 1e8 * y[:, None]
    model = GaussianNB(var_smoothing=0.0).fit(X, y)
    for k in range(2):
        assert_allclose(model.var_[k], (X[y == k] - 1e8 * k).var(axis=0), rtol=1e-6)
    assert_array_equal(model.predict(X), y)
    half = np.where(rng.random(1000) < 0.5, np.nan, y)
    model = GaussianNB(var_smoothing=0.0, unlabeled_weight=1.0).fit(X, half)
    assert_allclose(model.var_, 1.0, atol=0.2)
    assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("make", [MultinomialNB, ComplementNB, PoissonNB])
@pytest.mark.parametrize("value", [1e-300, 5e-324, 1e100, 2.0**40])
def test_counts_of_any_size_are_counted(make: Any, value: float) -> None:
    X, y = MULTINOMIAL.rows()
    scaled = X * value
    model = make().fit(scaled, y)
    assert_sound(model, scaled)
    assert_sound(make().fit(X, y), scaled)
    assert_allclose(model.feature_count_, np.array([scaled[y == k].sum(axis=0) for k in range(3)]), rtol=1e-12)


@pytest.mark.parametrize("make", [MultinomialNB, ComplementNB, PoissonNB])
def test_counts_whose_sums_leave_the_range_are_refused_by_place(make: Any) -> None:
    X, y = MULTINOMIAL.rows()
    X = X.astype(float)
    X[3, 1] = 1e308
    with pytest.raises(InputError, match=r"Row 3, column 'x1' holds 1e\+308.*Rescale"):
        make().fit(X, y)
    with pytest.raises(InputError, match=r"Row 3, column 'x1' holds 1e\+308"):
        make().fit(X[:3], [0, 1, 2]).predict(csr_array(X))


def test_counts_beyond_32_bits_are_exact() -> None:
    X = np.array([[2**33 + 1, 1], [1, 2**33 + 3]], dtype=np.int64)
    model = MultinomialNB().fit(X, ["a", "b"])
    assert_array_equal(model.feature_count_, X)


def test_a_column_of_a_million_categories_is_counted() -> None:
    n = 10**6
    X = np.column_stack([np.arange(n), np.arange(n) % 2])
    y = np.arange(n) % 2
    model = CategoricalNB().fit(X, y)
    assert model.n_categories_.tolist() == [n, 2]
    expected = np.log(0.5) + np.log(2 / (n / 2 + n)) + np.log((n / 2 + 1) / (n / 2 + 2))
    assert_allclose(model.predict_joint_log_proba(X[:2])[[0, 1], [0, 1]], expected, rtol=1e-12)
    assert_array_equal(model.predict(X[:1000]), y[:1000])


def test_two_rows_with_a_huge_code_are_refused_instead_of_filling_the_memory() -> None:
    with pytest.raises(InputError, match=r"Column 'x0' holds the code 100000000.*for 2 rows.*NaiveBayes"):
        CategoricalNB().fit([[10**8], [0]], ["a", "b"])
    with pytest.raises(InputError, match=r"Row 0, column 'x0' holds the category 1e\+300"):
        CategoricalNB().fit([[1e300], [0.0]], ["a", "b"])
    with pytest.raises(InputError, match=r"Row 1, column 'x0' holds the category 9223372036854775808"):
        CategoricalNB().fit(np.array([[0], [2**63]], dtype=np.uint64), ["a", "b"])


def test_a_word_id_without_words_below_it_is_refused_instead_of_filling_the_memory() -> None:
    with pytest.raises(InputError, match=r"Document 1 holds the word id 1000000000.*without gaps"):
        MultinomialNB().fit([[0, 1], [10**9]], ["a", "b"])


def test_a_document_of_a_million_words_is_one_row() -> None:
    rng = np.random.default_rng(0)
    long = rng.integers(0, 1000, size=10**6)
    model = MultinomialNB().fit([long.tolist()[:1000], [1, 2], long], ["a", "b", "a"])
    assert model.feature_count_.sum() == 10**6 + 1002
    assert_sound(model, [long, [1]])
    assert model.predict([long]).tolist() == ["a"]


def test_a_long_document_is_scored_without_underflow() -> None:
    X = csr_array(np.array([[10**6, 0], [0, 10**6]]))
    for make in (MultinomialNB, PoissonNB, ComplementNB):
        model = make().fit(X, ["a", "b"])
        assert model.predict(X).tolist() == ["a", "b"]
        assert_sound(model, X)


@pytest.mark.parametrize("make", [BernoulliNB, MultinomialNB, PoissonNB, ComplementNB])
def test_a_million_sparse_columns_with_and_without_labels(make: Any) -> None:
    rng = np.random.default_rng(0)
    columns = rng.choice(10**6, size=(40, 30))
    X = csr_array((np.ones(1200), (np.repeat(np.arange(40), 30), columns.ravel())), shape=(40, 10**6))
    y = np.arange(40) % 2
    model = make().fit(X, y)
    assert_sound(model, X)
    if make is not ComplementNB:
        half = np.where(np.arange(40) < 10, y, np.nan)
        assert_sound(make(unlabeled_weight=1.0, max_iter=3, tol=0.0).fit(X, half), X)


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_rows_and_columns_without_any_value_are_harmless(case: Case) -> None:
    X, y = case.rows()
    X = X.astype(float)
    X[:, 3] = np.nan
    X[5] = np.nan
    model = case.make().fit(X, y)
    assert_sound(model, X)
    prior = model.class_prior_ if case is GAUSSIAN else np.exp(model.class_log_prior_)
    if case.name != "ComplementNB":
        assert_allclose(model.predict_proba(X)[5], prior, rtol=1e-12)
    if case in GENERATIVE:
        assert_sound(case.make(n_classes=2, random_state=0, unlabeled_weight=1.0, max_iter=5, tol=0.0).fit(X), X)


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_a_table_of_missing_cells_alone_gives_the_class_prior(case: Case) -> None:
    X = np.full((4, 2), np.nan)
    model = case.make().fit(X, ["a", "b", "b", "b"])
    assert_sound(model, X)
    if case.name != "ComplementNB":
        assert_allclose(model.predict_proba(X), [[0.25, 0.75]] * 4, rtol=1e-12)


def test_complement_weights_without_smoothing_are_decisive_and_never_nan() -> None:
    X, y = [[2, 0, 1], [1, 0, 0], [0, 3, 1]], ["a", "a", "b"]
    model = ComplementNB(alpha=0.0).fit(X, y)
    assert_array_equal(
        model.predict_proba([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0]]), [[1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5]]
    )
    assert_sound(model, X)
    assert set(model.top_features(1)) == {"a", "b"}
    with pytest.raises(InputError, match=r"norm=True.*alpha above 0"):
        ComplementNB(alpha=0.0, norm=True).fit(X, y)
    assert_sound(ComplementNB(alpha=0.0).fit(X, ["a", "a", "a"]), X)
    assert_sound(ComplementNB(norm=True).fit([[1], [2]], ["a", "b"]), [[1]])


def test_complement_has_no_density_and_says_so() -> None:
    X, y = MULTINOMIAL.rows()
    model = ComplementNB().fit(X, y)
    for name in ("score_samples", "responsibilities", "sample", "aic", "bic", "icl", "contributions", "to_linear"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=rf"ComplementNB has no {name}: it is a scoring rule"):
            getattr(model, name)
    labels: Any = [*y[:-1].tolist(), None]
    with pytest.raises(InputError, match=r"row 59 has no label.*Use MultinomialNB"):
        ComplementNB().fit(X, labels)
