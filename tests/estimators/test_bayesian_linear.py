"""Bayesian linear regression against direct formulas, scikit-learn, and its own laws."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge

from softcount._errors import InputError
from softcount.estimators.bayesian_linear import BayesianLinearRegression
from softcount.estimators.glm import GLM


def regression(n_rows=60, n_features=4, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_features)) + np.arange(n_features)
    return x, x @ np.linspace(-1.0, 1.0, n_features) + 3.0 + noise * rng.normal(size=n_rows)


PRECISION = np.array([[2.0, 0.3, 0.0, 0.1], [0.3, 1.0, 0.2, 0.0], [0.0, 0.2, 1.5, 0.4], [0.1, 0.0, 0.4, 3.0]])
MEAN = np.array([0.5, -1.0, 0.0, 2.0])


def test_posterior_of_a_given_prior_and_noise_is_the_closed_form():
    x, y = regression()
    model = BayesianLinearRegression(prior_precision=PRECISION, prior_mean=MEAN, noise=0.4, fit_intercept=False)
    model.fit(x, y)
    precision = x.T @ x / 0.4 + PRECISION
    np.testing.assert_allclose(model.covariance_, np.linalg.inv(precision), rtol=1e-10)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(precision, x.T @ y / 0.4 + PRECISION @ MEAN), rtol=1e-10)


def test_a_covariance_is_the_inverse_of_a_precision():
    x, y = regression()
    by_precision = BayesianLinearRegression(prior_precision=PRECISION, noise=0.4).fit(x, y)
    by_covariance = BayesianLinearRegression(prior_covariance=np.linalg.inv(PRECISION), noise=0.4).fit(x, y)
    np.testing.assert_allclose(by_covariance.coef_, by_precision.coef_, rtol=1e-10)
    assert by_covariance.log_evidence_ == pytest.approx(by_precision.log_evidence_, rel=1e-11)


def test_evidence_is_the_density_of_the_targets_with_the_coefficients_integrated_out():
    x, y = regression(20)
    model = BayesianLinearRegression(prior_precision=PRECISION, prior_mean=MEAN, noise=0.4, fit_intercept=False)
    model.fit(x, y)
    covariance = 0.4 * np.eye(20) + x @ np.linalg.inv(PRECISION) @ x.T
    expected = stats.multivariate_normal(x @ MEAN, covariance).logpdf(y)
    assert model.log_evidence_ == pytest.approx(expected, rel=1e-10)


def test_a_flat_prior_on_the_intercept_is_the_limit_of_a_wide_one():
    x, y = regression(15)
    flat = BayesianLinearRegression(prior_precision=1.0, noise=0.4).fit(x, y)
    tiny = 1e-8
    with_ones = np.column_stack([np.ones(15), x])
    wide = BayesianLinearRegression(prior_precision=[tiny, 1, 1, 1, 1], noise=0.4, fit_intercept=False)
    wide.fit(with_ones, y)
    assert flat.intercept_ == pytest.approx(wide.coef_[0], rel=1e-6)
    np.testing.assert_allclose(flat.coef_, wide.coef_[1:], rtol=1e-6)
    np.testing.assert_allclose(flat.covariance_, wide.covariance_[1:, 1:], rtol=1e-6)
    # A normal density with precision tiny is sqrt(tiny / 2 pi) where a flat one is 1.
    assert flat.log_evidence_ == pytest.approx(wide.log_evidence_ - 0.5 * np.log(tiny / (2 * np.pi)), abs=1e-5)
    mean, std = flat.predict(x, return_std=True)
    wide_mean, wide_std = wide.predict(with_ones, return_std=True)
    np.testing.assert_allclose(mean, wide_mean, rtol=1e-6)
    np.testing.assert_allclose(std, wide_std, rtol=1e-6)


def test_conjugate_evidence_is_a_multivariate_t_density():
    x, y = regression(12)
    model = BayesianLinearRegression(
        prior_precision=PRECISION,
        prior_mean=MEAN,
        noise="conjugate",
        noise_shape=2.0,
        noise_rate=1.5,
        fit_intercept=False,
    ).fit(x, y)
    shape = 0.75 * (np.eye(12) + x @ np.linalg.inv(PRECISION) @ x.T)
    expected = stats.multivariate_t(x @ MEAN, shape, df=4.0).logpdf(y)
    assert model.log_evidence_ == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_conjugate_answer_is_that_of_given_noise_averaged_over_its_posterior(fit_intercept):
    x, y = regression(12)

    def evidence(noise):
        model = BayesianLinearRegression(prior_precision=2.0 / noise, noise=noise, fit_intercept=fit_intercept)
        return model.fit(x, y).log_evidence_

    # Simpson's rule in the logarithm of the noise.
    grid = np.linspace(-6.0, 8.0, 561)
    log_joint = np.array([evidence(np.exp(t)) + stats.invgamma(2.0, scale=1.5).logpdf(np.exp(t)) + t for t in grid])
    density = np.exp(log_joint - log_joint.max())
    total = integrate.simpson(density, x=grid)
    model = BayesianLinearRegression(
        prior_precision=2.0, noise="conjugate", noise_shape=2.0, noise_rate=1.5, fit_intercept=fit_intercept
    ).fit(x, y)
    assert model.log_evidence_ == pytest.approx(np.log(total) + log_joint.max(), abs=1e-8)
    assert model.df_ == 2.0 * 2.0 + 12 - int(fit_intercept)
    mean_noise = integrate.simpson(density * np.exp(grid), x=grid) / total
    assert model.noise_variance_ * model.df_ / (model.df_ - 2.0) == pytest.approx(mean_noise, rel=1e-7)


def test_conjugate_predictions_follow_students_t():
    x, y = regression(12)
    model = BayesianLinearRegression(
        prior_precision=1.0, noise="conjugate", noise_shape=2.0, noise_rate=1.5, fit_intercept=False
    ).fit(x, y)
    precision = x.T @ x + np.eye(4)
    mean = np.linalg.solve(precision, x.T @ y)
    rate = 1.5 + 0.5 * (y @ y - mean @ precision @ mean)
    assert model.df_ == 2 * (2.0 + 6.0)
    np.testing.assert_allclose(model.covariance_, rate / (8.0 - 1.0) * np.linalg.inv(precision), rtol=1e-9)
    row = np.array([[1.0, -1.0, 0.5, 2.0]])
    scale = np.sqrt(rate / 8.0 * (1.0 + row[0] @ np.linalg.inv(precision) @ row[0]))
    expected = stats.t(16.0, row @ mean, scale)
    np.testing.assert_allclose(model.predict_interval(row, level=0.9)[0], np.ravel(expected.interval(0.9)), rtol=1e-9)
    assert model.predict(row, return_std=True)[1][0] == pytest.approx(float(np.ravel(expected.std())[0]), rel=1e-9)


def test_evidence_maximization_agrees_with_scikit_learn():
    x, y = regression(80)
    theirs = BayesianRidge(
        alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, fit_intercept=False, max_iter=5000, tol=1e-12, compute_score=False
    ).fit(x, y)
    ours = BayesianLinearRegression(fit_intercept=False).fit(x, y)
    assert ours.noise_variance_ == pytest.approx(1.0 / theirs.alpha_, rel=1e-7)
    assert ours.prior_precision_ == pytest.approx(theirs.lambda_, rel=1e-7)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)
    np.testing.assert_allclose(ours.covariance_, theirs.sigma_, rtol=1e-6)
    mean, std = ours.predict(x, return_std=True)
    their_mean, their_std = theirs.predict(x, return_std=True)
    np.testing.assert_allclose(mean, their_mean, rtol=1e-7)
    np.testing.assert_allclose(std, their_std, rtol=1e-7)


@pytest.mark.parametrize("noise", ["evidence", "conjugate", 0.25])
def test_the_chosen_prior_precision_has_the_highest_evidence(noise):
    x, y = regression(40)
    best = BayesianLinearRegression(noise=noise).fit(x, y)
    given_noise = best.noise_variance_ if noise == "evidence" else noise
    for factor in (0.9, 0.999, 1.001, 1.1):
        other = BayesianLinearRegression(prior_precision=factor * best.prior_precision_, noise=given_noise).fit(x, y)
        assert other.log_evidence_ < best.log_evidence_


def test_the_chosen_noise_has_the_highest_evidence_under_a_given_prior():
    x, y = regression(40)
    best = BayesianLinearRegression(prior_precision=PRECISION, prior_mean=MEAN).fit(x, y)
    for factor in (0.9, 0.999, 1.001, 1.1):
        other = BayesianLinearRegression(
            prior_precision=PRECISION, prior_mean=MEAN, noise=factor * best.noise_variance_
        ).fit(x, y)
        assert other.log_evidence_ < best.log_evidence_


@pytest.mark.parametrize("noise", ["evidence", "conjugate", 0.3])
def test_parts_added_one_by_one_equal_the_whole(noise):
    x, y = regression(97)
    whole = BayesianLinearRegression(noise=noise).fit(x, y)
    parts = BayesianLinearRegression(noise=noise)
    for start in (0, 10, 60):
        stop = {0: 10, 10: 60, 60: 97}[start]
        parts.partial_fit(x[start:stop], y[start:stop])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-10)
    np.testing.assert_allclose(parts.covariance_, whole.covariance_, rtol=1e-8)
    assert parts.intercept_ == pytest.approx(whole.intercept_, rel=1e-10)
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-10)


@given(st.lists(st.integers(0, 4), min_size=30, max_size=30).filter(lambda counts: sum(c > 0 for c in counts) > 8))
def test_a_weight_of_k_equals_k_copies_of_the_row(counts):
    x, y = regression(30)
    weight = np.array(counts)
    weighted = BayesianLinearRegression().fit(x, y, sample_weight=weight)
    copies = BayesianLinearRegression().fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, copies.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(weighted.covariance_, copies.covariance_, rtol=1e-6, atol=1e-10)
    assert weighted.log_evidence_ == pytest.approx(copies.log_evidence_, rel=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_rows_equal_dense_ones(fit_intercept):
    rng = np.random.default_rng(4)
    x = sp.random_array((300, 12), density=0.03, rng=rng, format="csr")
    y = x @ np.arange(12.0) + rng.normal(size=300)
    sparse = BayesianLinearRegression(fit_intercept=fit_intercept).fit(x, y)
    dense = BayesianLinearRegression(fit_intercept=fit_intercept).fit(x.toarray(), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-10)
    np.testing.assert_allclose(
        sparse.predict(x, return_std=True)[1], dense.predict(x.toarray(), return_std=True)[1], rtol=1e-9
    )


def test_the_number_of_threads_does_not_change_a_bit():
    x, y = regression(20_000)
    one, two = BayesianLinearRegression(n_jobs=1).fit(x, y), BayesianLinearRegression(n_jobs=2).fit(x, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.covariance_, two.covariance_)


@pytest.mark.parametrize("noise", ["evidence", "conjugate"])
def test_dependent_columns_share_the_effect_equally(noise):
    x, y = regression()
    doubled = np.column_stack([x, x[:, 0]])
    model = BayesianLinearRegression(noise=noise).fit(doubled, y)
    assert model.coef_[0] == pytest.approx(model.coef_[4], rel=1e-8)
    assert np.isfinite(model.covariance_).all()
    mean, std = model.predict(doubled, return_std=True)
    assert np.corrcoef(mean, y)[0, 1] > 0.9
    assert (std > 0).all()


def test_more_columns_than_rows_leave_the_unseen_directions_at_the_prior():
    x, y = regression(6, 10)
    model = BayesianLinearRegression(prior_precision=4.0, noise=0.5).fit(x, y)
    centered = x - x.mean(axis=0)
    unseen = np.linalg.svd(centered)[2][5:]
    np.testing.assert_allclose(unseen @ model.coef_, 0.0, atol=1e-10)
    np.testing.assert_allclose(unseen @ model.covariance_ @ unseen.T, 0.25 * np.eye(5), atol=1e-9)


def test_units_of_the_columns_do_not_matter_when_the_prior_has_the_same_units():
    x, y = regression()
    units = np.array([1e-8, 1.0, 1e5, 1e8])
    plain = BayesianLinearRegression(prior_precision=np.ones(4)).fit(x, y)
    scaled = BayesianLinearRegression(prior_precision=units**2).fit(x * units, y)
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-9)
    assert scaled.log_evidence_ == pytest.approx(plain.log_evidence_, rel=1e-10)


def test_columns_in_wild_units_keep_their_digits_under_a_common_prior():
    x, y = regression(200)
    units = np.array([1e-6, 1.0, 1e6, 1e2])
    model = BayesianLinearRegression(prior_precision=1e-20, noise=0.25).fit(x * units, y)
    by_likelihood = GLM().fit(x, y)
    np.testing.assert_allclose(model.coef_ * units, by_likelihood.coef_, rtol=1e-5)


def test_numbers_whose_fourth_powers_are_none_are_refused_by_name():
    x, y = regression(200)
    for unit in (1e-60, 1e60):
        whole = BayesianLinearRegression().fit(unit * x, unit * y)
        np.testing.assert_allclose(whole.coef_, BayesianLinearRegression().fit(x, y).coef_, rtol=1e-6)
    wild = x.copy()
    wild[150, 2] = -1e90
    with pytest.raises(InputError, match="Column 'x2' of X"):
        BayesianLinearRegression().fit(wild, y)
    for factors, name in (((1e-90, 1.0), "X"), ((1.0, 1e-90), "y"), ((1.0, 1e90), "y")):
        with pytest.raises(InputError, match=f"{name} holds values up to"):
            BayesianLinearRegression().fit(factors[0] * x, factors[1] * y)


def test_a_column_far_from_zero_costs_no_digits():
    x, y = regression(200)
    near, far = BayesianLinearRegression().fit(x, y), BayesianLinearRegression().fit(x + 1e7, y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6)
    np.testing.assert_allclose(far.predict(x + 1e7, return_std=True)[1], near.predict(x, return_std=True)[1], rtol=1e-7)


def test_the_ridge_of_a_gaussian_glm_is_the_posterior_mode():
    x, y = regression()
    bayes = BayesianLinearRegression(prior_precision=3.0, noise=0.5).fit(x, y)
    ridge = GLM(alpha=3.0 * 0.5 / len(y), dispersion=0.5).fit(x, y)
    np.testing.assert_allclose(bayes.coef_, ridge.coef_, rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(bayes.covariance_)), ridge.standard_errors_, rtol=1e-9)
    assert bayes.effective_coefficients_ + 1 == pytest.approx(ridge.n_parameters_ - 1, rel=1e-9)


@pytest.mark.parametrize("noise", [0.5, "conjugate"])
def test_draws_have_the_moments_of_the_posterior(noise):
    x, y = regression(25)
    model = BayesianLinearRegression(prior_precision=1.0, noise=noise).fit(x, y)
    draws = model.sample_posterior(40_000, random_state=1)
    np.testing.assert_allclose(draws.coef.mean(axis=0), model.coef_, atol=0.01)
    np.testing.assert_allclose(np.cov(draws.coef.T), model.covariance_, atol=0.03 * model.covariance_.max())
    row = np.array([2.0, 0.0, 1.0, -1.0])
    predicted = draws.coef @ row + draws.intercept
    low, high = model.predict_interval(row[None], kind="mean", level=0.9)[0]
    assert np.mean((predicted > low) & (predicted < high)) == pytest.approx(0.9, abs=0.01)
    assert draws.noise_variance.mean() == pytest.approx(
        model.noise_variance_ * (1.0 if np.isinf(model.df_) else model.df_ / (model.df_ - 2.0)), rel=0.02
    )


def test_draws_are_repeated_by_their_seed():
    x, y = regression()
    model = BayesianLinearRegression(noise="conjugate").fit(x, y)
    first, second = model.sample_posterior(3, random_state=5), model.sample_posterior(3, random_state=5)
    np.testing.assert_array_equal(first.coef, second.coef)


def test_intervals_hold_new_observations_as_often_as_they_say():
    inside = []
    for seed in range(200):
        x, y = regression(31, seed=seed)
        low, high = BayesianLinearRegression().fit(x[:-1], y[:-1]).predict_interval(x[-1:], level=0.8)[0]
        inside.append(low < y[-1] < high)
    assert np.mean(inside) == pytest.approx(0.8, abs=0.07)


def test_noise_alone_leaves_no_effective_coefficients():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    y -= x @ np.linalg.lstsq(x, y, rcond=None)[0]
    model = BayesianLinearRegression(fit_intercept=False).fit(x, y)
    assert model.effective_coefficients_ < 1e-6
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-8)


def test_the_summary_tells_estimates_and_evidence():
    x, y = regression()
    text = str(BayesianLinearRegression().fit(x, y).summary())
    assert "Bayesian linear regression" in text
    assert "log evidence" in text
    assert "(intercept)" in text


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prior_precision": -1.0}, "positive"),
        ({"prior_precision": "guess"}, "'evidence'"),
        ({"prior_precision": np.ones(3)}, "4 numbers"),
        (
            {"prior_precision": np.array([[1.0, 2, 0, 0], [2, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])},
            "positive definite",
        ),
        ({"prior_precision": 1.0, "prior_covariance": 1.0}, "give one of them"),
        ({"prior_mean": [1.0, 2.0]}, "prior_mean"),
        ({"noise": 0.0}, "positive variance"),
        ({"noise": "flat"}, "conjugate"),
        ({"noise": "conjugate", "noise_rate": 0.0}, "noise_rate"),
    ],
)
def test_impossible_parameters_are_refused_by_name(parameters, message):
    x, y = regression()
    with pytest.raises(InputError, match=message):
        BayesianLinearRegression(**parameters).fit(x, y)


def test_missing_cells_are_refused_with_row_and_column():
    x, y = regression()
    x[7, 2] = np.nan
    with pytest.raises(InputError, match="row 7, column 'x2'"):
        BayesianLinearRegression().fit(x, y)


def test_one_row_is_enough_where_prior_and_noise_are_given():
    model = BayesianLinearRegression(prior_precision=2.0, noise=0.5).fit([[1.0, 2.0]], [3.0])
    np.testing.assert_allclose(model.covariance_, 0.5 * np.eye(2))
    np.testing.assert_allclose(model.predict([[1.0, 2.0]]), 3.0)
    # The one observation has the flat density of the intercept.
    assert model.log_evidence_ == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(InputError, match="give both"):
        BayesianLinearRegression(noise=0.5).fit([[1.0, 2.0]], [3.0])


def test_one_row_is_too_few():
    with pytest.raises(InputError, match="one sample"):
        BayesianLinearRegression().fit([[1.0]], [2.0])


def test_asking_before_fitting_is_refused():
    with pytest.raises(NotFittedError):
        BayesianLinearRegression().predict([[1.0]])


def test_a_table_too_wide_for_a_covariance_is_refused():
    with pytest.raises(InputError, match=r"30000 columns.*posterior covariance"):
        BayesianLinearRegression().fit(sp.csr_array((10, 30_000)), np.arange(10.0))
