"""Every closed form of naive Bayes, against the formula written out."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp
from scipy.stats import norm, poisson

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

ALPHAS = [0.1, 1.0, 7.5]


def by_name(case: Case) -> str:
    return case.name


# ---- estimates
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_bernoulli_probability_is_lambda_plus_ones_over_two_lambda_plus_rows(alpha: float, as_sparse: bool) -> None:
    X, y = BERNOULLI.rows()
    model = BernoulliNB(alpha=alpha).fit(csr_array(X) if as_sparse else X, y)
    for k in range(3):
        for j in range(5):
            ones, n_rows = X[y == k, j].sum(), (y == k).sum()
            expected = (alpha + ones) / (2 * alpha + n_rows)
            assert_allclose(np.exp(model.feature_log_prob_[k, j]), expected, rtol=1e-14)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_absent_words_count_in_the_bernoulli_model(as_sparse: bool) -> None:
    X, y = BERNOULLI.rows()
    model = BernoulliNB().fit(X, y)
    theta = np.exp(model.feature_log_prob_)
    rows = csr_array(X) if as_sparse else X
    expected = np.log(np.bincount(y) / y.size) + X @ np.log(theta).T + (1 - X) @ np.log(1 - theta).T
    assert_allclose(model.predict_joint_log_proba(rows), expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_categorical_probability_uses_each_columns_own_number_of_values(alpha: float) -> None:
    X, y = CATEGORICAL.rows()
    model = CategoricalNB(alpha=alpha).fit(X, y)
    assert_array_equal(model.n_categories_, X.max(axis=0) + 1)
    for j in range(5):
        for k in range(3):
            for v in range(X[:, j].max() + 1):
                count, n_rows = (X[y == k, j] == v).sum(), (y == k).sum()
                expected = (count + alpha) / (n_rows + alpha * (X[:, j].max() + 1))
                assert_allclose(np.exp(model.feature_log_prob_[j][k, v]), expected, rtol=1e-14)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_multinomial_probability_is_smoothed_share_of_the_class_words(alpha: float) -> None:
    X, y = MULTINOMIAL.rows()
    model = MultinomialNB(alpha=alpha).fit(X, y)
    for k in range(3):
        total = X[y == k].sum() + 5 * alpha
        assert_allclose(np.exp(model.feature_log_prob_[k]), (X[y == k].sum(axis=0) + alpha) / total, rtol=1e-14)


def test_multinomial_reads_documents_as_lists_of_word_ids() -> None:
    documents = [[0, 0, 1], [2], [], [3, 3, 1, 0, 3], np.array([2, 2]), (1, 0)]
    counts = np.array([np.bincount(np.asarray(d, dtype=int), minlength=4) for d in documents])
    y = [0, 1, 0, 1, 0, 1]
    from_ids, from_counts = MultinomialNB().fit(documents, y), MultinomialNB().fit(counts, y)
    assert_array_equal(from_ids.feature_count_, from_counts.feature_count_)
    assert_allclose(from_ids.predict_proba(documents), from_counts.predict_proba(counts), rtol=1e-14)
    assert from_ids.n_features_in_ == 4


def test_a_model_of_word_ids_reads_documents_of_equal_length_as_word_ids_too() -> None:
    model = MultinomialNB().fit([[0, 0, 1], [2], [3, 3, 1, 3]], ["a", "b", "b"])
    alone = model.predict_joint_log_proba([[3, 3, 3, 0]])
    together = model.predict_joint_log_proba([[3, 3, 3, 0], [1]])
    assert_array_equal(alone[0], together[0])
    assert_allclose(alone[0], np.log([1 / 3, 2 / 3]) + model.feature_log_prob_ @ [1, 0, 0, 3], rtol=1e-14)


def test_word_ids_not_seen_in_training_are_left_out() -> None:
    model = MultinomialNB().fit([[0, 0, 1], [2]], ["a", "b"])
    assert_array_equal(model.predict_proba([[0, 99], [2]]), model.predict_proba([[0], [2, 1000]]))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_poisson_rate_is_the_class_mean_drawn_towards_the_overall_mean(alpha: float, as_sparse: bool) -> None:
    X, y = POISSON.rows()
    rows = csr_array(X) if as_sparse else X
    model = PoissonNB(alpha=alpha).fit(rows, y)
    overall = X.mean(axis=0)
    for k in range(3):
        rate = (X[y == k].sum(axis=0) + alpha * overall) / ((y == k).sum() + alpha)
        assert_allclose(model.rate_[k], rate, rtol=1e-13)
        log_density = poisson.logpmf(X, rate).sum(axis=1) + np.log((y == k).mean())
        base = -gammaln(X + 1).sum(axis=1)
        assert_allclose(model.predict_joint_log_proba(rows)[:, k] + base, log_density, rtol=1e-12)


@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9, 0.5])
def test_gaussian_means_and_variances_are_those_of_the_class(var_smoothing: float) -> None:
    X, y = GAUSSIAN.rows()
    model = GaussianNB(var_smoothing=var_smoothing).fit(X, y)
    floor = var_smoothing * X.var(axis=0).max()
    assert_allclose(model.epsilon_, floor, rtol=1e-12)
    for k in range(3):
        assert_allclose(model.theta_[k], X[y == k].mean(axis=0), rtol=1e-13)
        assert_allclose(model.var_[k], X[y == k].var(axis=0) + floor, rtol=1e-12)
        density = norm.logpdf(X, model.theta_[k], np.sqrt(model.var_[k])).sum(axis=1)
        assert_allclose(model.predict_joint_log_proba(X)[:, k], density + np.log((y == k).mean()), rtol=1e-11)


def test_shared_variance_is_the_pooled_scatter_within_classes() -> None:
    X, y = GAUSSIAN.rows()
    model = GaussianNB(shared_variance=True, var_smoothing=0.0).fit(X, y)
    within = X - np.array([X[y == k].mean(axis=0) for k in range(3)])[y]
    for k in range(3):
        assert_allclose(model.var_[k], (within**2).mean(axis=0), rtol=1e-12)


# ---- smoothing of features
@pytest.mark.parametrize("case", [BERNOULLI, MULTINOMIAL, CATEGORICAL, POISSON], ids=by_name)
def test_endless_smoothing_makes_all_classes_alike(case: Case) -> None:
    X, y = case.rows()
    model = case.make(alpha=1e15, fit_prior=False).fit(X, y)
    assert_allclose(model.predict_proba(X), 1 / 3, rtol=1e-9)


def test_endless_smoothing_gives_uniform_probabilities() -> None:
    X, y = BERNOULLI.rows()
    assert_allclose(np.exp(BernoulliNB(alpha=1e15).fit(X, y).feature_log_prob_), 0.5, rtol=1e-12)
    assert_allclose(np.exp(MultinomialNB(alpha=1e15).fit(X, y).feature_log_prob_), 0.2, rtol=1e-12)
    codes, y = CATEGORICAL.rows()
    for j, table in enumerate(CategoricalNB(alpha=1e15).fit(codes, y).feature_log_prob_):
        assert_allclose(np.exp(table), 1 / (codes[:, j].max() + 1), rtol=1e-12)


def test_alpha_may_differ_from_class_to_class_and_from_feature_to_feature() -> None:
    X, y = BERNOULLI.rows(n_classes=2)
    per_class = BernoulliNB(alpha=[[1.0], [10.0]]).fit(X, y)
    both = BernoulliNB(alpha=np.outer([1.0, 10.0], [1, 2, 3, 4, 5])).fit(X, y)
    per_feature = BernoulliNB(alpha=[1, 2, 3, 4, 5]).fit(X, y)
    for k in range(2):
        ones, n_rows = X[y == k].sum(axis=0), (y == k).sum()
        for model, alpha in (
            (per_class, np.full(5, [1.0, 10.0][k])),
            (both, [1.0, 10.0][k] * np.arange(1, 6)),
            (per_feature, np.arange(1.0, 6.0)),
        ):
            assert_allclose(np.exp(model.feature_log_prob_[k]), (ones + alpha) / (n_rows + 2 * alpha), rtol=1e-13)


def test_alpha_per_column_serves_every_value_of_a_categorical_column() -> None:
    X, y = CATEGORICAL.rows(n_classes=2)
    alpha = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    model = CategoricalNB(alpha=alpha).fit(X, y)
    for j in range(5):
        for k in range(2):
            counts = np.bincount(X[y == k, j], minlength=model.n_categories_[j])
            expected = (counts + alpha[j]) / (counts.sum() + alpha[j] * counts.size)
            assert_allclose(np.exp(model.feature_log_prob_[j][k]), expected, rtol=1e-13)


# ---- smoothing of the class prior
@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
@pytest.mark.parametrize("class_alpha", [0.0, 1.0, 2.5])
def test_class_prior_is_smoothed_by_pseudo_rows_of_its_own(case: Case, class_alpha: float) -> None:
    X, y = case.rows()
    counts = np.bincount(y)
    expected = (counts + class_alpha) / (y.size + 3 * class_alpha)
    model = case.make(class_alpha=class_alpha).fit(X, y)
    prior = model.class_prior_ if case is GAUSSIAN else np.exp(model.class_log_prior_)
    assert_allclose(prior, expected, rtol=1e-13)
    assert_allclose(model.class_count_, counts)


def test_pseudo_observations_of_both_classes_give_n1_plus_2_over_n_plus_4() -> None:
    X, y = BERNOULLI.rows(n_classes=2)
    model = BernoulliNB(class_alpha=2.0).fit(X, y)
    assert_allclose(math.exp(model.class_log_prior_[1]), (y.sum() + 2) / (y.size + 4), rtol=1e-14)


def test_the_class_prior_tends_to_uniform_with_endless_class_alpha() -> None:
    X, y = BERNOULLI.rows()
    assert_allclose(np.exp(BernoulliNB(class_alpha=1e15).fit(X, y).class_log_prior_), 1 / 3, rtol=1e-12)


# ---- conjugate priors
@pytest.mark.parametrize("alpha", ALPHAS)
def test_alpha_is_the_posterior_mean_under_dirichlet_alpha_and_the_mode_under_dirichlet_alpha_plus_1(
    alpha: float,
) -> None:
    X, y = CATEGORICAL.rows()
    model = CategoricalNB(alpha=alpha).fit(X, y)
    for j in range(5):
        counts = np.bincount(X[y == 0, j], minlength=model.n_categories_[j])
        posterior = counts + alpha
        assert_allclose(np.exp(model.feature_log_prob_[j][0]), posterior / posterior.sum(), rtol=1e-13)
        above = counts + (alpha + 1.0)
        assert_allclose(np.exp(model.feature_log_prob_[j][0]), (above - 1) / (above.sum() - above.size), rtol=1e-13)


# ---- alpha of zero
ZEROS = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 0]])
ZERO_LABELS = ["a", "a", "b", "b"]


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("make", [BernoulliNB, MultinomialNB, PoissonNB])
def test_without_smoothing_zero_counts_are_zero_probabilities_and_posteriors_are_defined(
    make: Any, as_sparse: bool
) -> None:
    X = csr_array(ZEROS) if as_sparse else ZEROS
    model = make(alpha=0.0, class_prior=[0.25, 0.75]).fit(X, ZERO_LABELS)
    # The second row has a word that b lacks, so it is a's for certain.
    posterior = model.predict_proba(X)
    assert_array_equal(posterior[0], [1.0, 0.0])
    assert np.isfinite(posterior).all()
    joint = model.predict_joint_log_proba(X)
    assert joint[0, 1] == -np.inf
    assert not np.isnan(joint).any()
    assert not np.isnan(model.predict_log_proba(X)).any()
    assert not np.isnan(model.score_samples(X)).any()


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("make", [BernoulliNB, MultinomialNB, PoissonNB])
def test_a_row_that_no_class_can_have_produced_gets_the_class_prior(make: Any, as_sparse: bool) -> None:
    X = csr_array(ZEROS) if as_sparse else ZEROS
    model = make(alpha=0.0, class_prior=[0.25, 0.75]).fit(X, ZERO_LABELS)
    impossible = np.array([[1, 1, 1], [0, 0, 5]])
    rows = csr_array(impossible) if as_sparse else impossible
    assert_allclose(model.predict_proba(rows), [[0.25, 0.75]] * 2, rtol=1e-14)
    assert_allclose(model.predict_log_proba(rows), np.log([[0.25, 0.75]] * 2), rtol=1e-14)
    assert model.predict(rows).tolist() == ["b", "b"]
    assert_array_equal(model.score_samples(rows), [-np.inf, -np.inf])


def test_an_impossible_category_gets_the_class_prior() -> None:
    model = CategoricalNB(alpha=0.0, min_categories=3).fit([[0], [0], [1]], ["a", "a", "b"])
    assert_array_equal(np.exp(model.feature_log_prob_[0]), [[1, 0, 0], [0, 1, 0]])
    assert_allclose(model.predict_proba([[0], [1], [2]]), [[1, 0], [0, 1], [2 / 3, 1 / 3]], rtol=1e-14)


def test_nothing_over_nothing_is_the_uniform_distribution() -> None:
    X, y = np.zeros((4, 3), dtype=int), ["a", "a", "b", "b"]
    assert_allclose(np.exp(MultinomialNB(alpha=0.0).fit(X, y).feature_log_prob_), 1 / 3, rtol=1e-14)
    gaps = np.array([[np.nan, 1.0], [np.nan, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert_allclose(np.exp(BernoulliNB(alpha=0.0).fit(gaps, y).feature_log_prob_[0, 0]), 0.5, rtol=1e-14)
    model = CategoricalNB(alpha=0.0).fit(gaps, y)
    assert_allclose(np.exp(model.feature_log_prob_[0][0]), 0.5, rtol=1e-14)
    # A rate or a mean without any row is that of all rows.
    assert_allclose(PoissonNB(alpha=0.0).fit(gaps, y).rate_[0, 0], 0.5, rtol=1e-14)
    assert_allclose(GaussianNB().fit(gaps, y).theta_[0, 0], 0.5, rtol=1e-14)


# ---- classifying
@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_posteriors_are_the_joint_normalized_and_the_decision_is_its_largest_entry(case: Case) -> None:
    X, y = case.rows(n_classes=4)
    model = case.make().fit(X, y)
    joint = model.predict_joint_log_proba(X)
    log_norm = logsumexp(joint, axis=1, keepdims=True)
    assert_allclose(model.predict_log_proba(X), joint - log_norm, atol=1e-12)
    assert_allclose(model.predict_proba(X), np.exp(joint - log_norm), rtol=1e-12)
    assert_array_equal(model.predict(X), joint.argmax(axis=1))
    base = -gammaln(X + 1.0).sum(axis=1) if case is POISSON else 0.0
    assert_allclose(model.score_samples(X), log_norm[:, 0] + base, rtol=1e-12)


def test_a_million_words_do_not_underflow() -> None:
    rng = np.random.default_rng(0)
    n_words = 10**6
    rows = np.repeat(np.arange(4), 200)
    columns = np.concatenate([rng.choice(n_words, 200, replace=False) for _ in range(4)])
    X = csr_array((np.ones(800), (rows, columns)), shape=(4, n_words))
    for make in (BernoulliNB, MultinomialNB, PoissonNB):
        model = make().fit(X, [0, 0, 1, 1])
        posterior = model.predict_proba(X)
        assert np.isfinite(model.predict_log_proba(X)).all()
        assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)
        assert model.predict(X).tolist() == [0, 0, 1, 1]


# ---- unseen values
def test_an_unseen_category_is_left_out_refused_or_smoothed_as_asked() -> None:
    X, y = [[0, 1], [0, 0], [1, 1], [1, 0]], ["a", "a", "b", "b"]
    ignoring = CategoricalNB().fit(X, y)
    assert_allclose(ignoring.predict_proba([[0, 9]]), ignoring.predict_proba([[0, np.nan]]), rtol=1e-14)
    with pytest.raises(ValueError, match=r"Row 0, column 'x1' holds the category 9.*not seen in training \(0 to 1"):
        CategoricalNB(handle_unknown="error").fit(X, y).predict([[0, 9]])
    smoothed = CategoricalNB(handle_unknown="smooth", alpha=0.5, fit_prior=False).fit([[0], [0], [1]], ["a", "a", "b"])
    expected = np.log([0.5, 0.5]) + np.log([0.5 / (2 + 0.5 * 2), 0.5 / (1 + 0.5 * 2)])
    assert_allclose(smoothed.predict_joint_log_proba([[7]])[0], expected, rtol=1e-13)
    assert_allclose(np.exp(smoothed.feature_log_prob_[0]).sum(axis=1), 1.0, rtol=1e-13)


def test_a_category_code_beyond_32_bits_is_unseen_when_predicting() -> None:
    model = CategoricalNB().fit([[0], [1]], ["a", "b"])
    assert_allclose(model.predict_proba([[2**40], [1e300]]), 0.5, rtol=1e-14)
