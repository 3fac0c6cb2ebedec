"""Every family with every link, weights and offsets, against statsmodels."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm

from softcount.core.glm.families import resolve_family
from softcount.core.glm.inference import RowWeights, likelihood
from softcount.core.glm.links import LINKS, Power
from softcount.estimators.glm import GLM

THETA = 2.5
POWER = 1.6
SM_LINKS = {
    "identity": sm.families.links.Identity,
    "log": sm.families.links.Log,
    "inverse": sm.families.links.InversePower,
    "inverse_squared": sm.families.links.InverseSquared,
    "sqrt": sm.families.links.Sqrt,
    "logit": sm.families.links.Logit,
    "probit": sm.families.links.Probit,
    "cloglog": sm.families.links.CLogLog,
    "loglog": sm.families.links.LogLog,
    "cauchit": sm.families.links.Cauchy,
    "power(-0.5)": lambda: sm.families.links.Power(-0.5),
}
SM_FAMILIES = {
    "gaussian": sm.families.Gaussian,
    "binomial": sm.families.Binomial,
    "poisson": sm.families.Poisson,
    "gamma": sm.families.Gamma,
    "inverse_gaussian": sm.families.InverseGaussian,
    "negative_binomial": lambda link: sm.families.NegativeBinomial(link, alpha=1.0 / THETA),
    "tweedie": lambda link: sm.families.Tweedie(link, var_power=POWER, eql=False),
}
PAIRS = [
    *[("gaussian", link) for link in ("identity", "log", "inverse")],
    *[("binomial", link) for link in ("logit", "probit", "cloglog", "loglog", "cauchit", "log", "identity")],
    *[("poisson", link) for link in ("log", "identity", "sqrt")],
    *[("gamma", link) for link in ("inverse", "log", "identity")],
    *[("inverse_gaussian", link) for link in ("inverse_squared", "inverse", "log", "identity")],
    *[("negative_binomial", link) for link in ("log", "identity")],
    *[("tweedie", link) for link in ("log", "identity", "power(-0.5)")],
]


def link_of(name):
    return Power(-0.5) if name == "power(-0.5)" else LINKS[name]


def data_for(family, link, n_rows=160):
    """Rows whose means lie well inside what the family and link can express."""
    rng = np.random.default_rng(sum(map(ord, family + link)))
    x = np.column_stack([rng.uniform(0.0, 1.0, n_rows), rng.integers(0, 2, n_rows), rng.uniform(5.0, 7.0, n_rows)])
    slopes = np.array([0.25, 0.15, 0.05])
    if family == "binomial":
        predictor = x @ (0.4 * slopes) + 0.15 if link in ("identity",) else x @ slopes - (1.2 if link == "log" else 0.5)
    else:
        predictor = x @ slopes + 0.6
    mean = link_of(link).inverse(predictor)[0]
    y = {
        "gaussian": lambda: rng.normal(mean, 0.1),
        "binomial": lambda: (rng.uniform(size=n_rows) < mean).astype(float),
        "poisson": lambda: rng.poisson(mean).astype(float),
        "gamma": lambda: rng.gamma(5.0, mean / 5.0),
        "inverse_gaussian": lambda: rng.wald(mean, 10.0),
        "negative_binomial": lambda: rng.poisson(mean * rng.gamma(THETA, 1.0 / THETA, n_rows)).astype(float),
        "tweedie": lambda: rng.poisson(1.5, n_rows) * rng.gamma(2.0, mean / 3.0),
    }[family]()
    return x, y


def statsmodels_fit(family, link, x, y, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # statsmodels warns of links it did not expect
        model = sm.GLM(y, sm.add_constant(x), family=SM_FAMILIES[family](SM_LINKS[link]()), **kwargs)
        start = None
        if (family, link) in {("binomial", "log"), ("binomial", "identity")}:
            start = np.r_[link_of(link).link(np.array([y.mean()])), np.zeros(x.shape[1])]
        return model.fit(tol=1e-14, maxiter=500, start_params=start)


def our_fit(family, link, x, y, **fitting):
    model = GLM(family, link_of(link), theta=THETA, power=POWER, tol=1e-13, max_iter=500)
    return model.fit(x, y, **fitting)


def all_coefficients(model):
    return np.r_[model.intercept_, model.coef_]


def all_errors(model):
    return np.r_[model.intercept_standard_error_, model.standard_errors_]


def assert_same_coefficients(ours, theirs):
    """To 1e-6 of the largest, and to 1e-5 standard errors each (statsmodels stops a little earlier)."""
    found = all_coefficients(ours)
    np.testing.assert_allclose(found, theirs.params, rtol=1e-6, atol=1e-6 * np.abs(found).max())
    assert np.max(np.abs(found - theirs.params) / theirs.bse) < 1e-5


@pytest.mark.parametrize(("family", "link"), PAIRS)
def test_coefficients_errors_and_deviances_agree(family, link):
    x, y = data_for(family, link)
    theirs, ours = statsmodels_fit(family, link, x, y), our_fit(family, link, x, y)
    assert ours.converged_
    assert_same_coefficients(ours, theirs)
    np.testing.assert_allclose(all_errors(ours), theirs.bse, rtol=1e-6)
    assert ours.deviance_ == pytest.approx(theirs.deviance, rel=1e-9)
    assert ours.pearson_chi2_ == pytest.approx(theirs.pearson_chi2, rel=1e-6)
    assert ours.dispersion_ == pytest.approx(theirs.scale, rel=1e-6)
    assert ours.null_deviance_ == pytest.approx(theirs.null_deviance, rel=1e-7)
    assert ours.df_residual_ == theirs.df_resid


@pytest.mark.parametrize(("family", "link"), PAIRS)
def test_log_likelihoods_at_the_same_dispersion_agree(family, link):
    x, y = data_for(family, link)
    theirs, ours = statsmodels_fit(family, link, x, y), our_fit(family, link, x, y)
    if ours.family_.fixed_dispersion is not None:
        assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-9)
        assert ours.aic_ == pytest.approx(theirs.aic, rel=1e-9)
        return
    rule = resolve_family(family, power=POWER)
    _, ours_at_theirs = likelihood(rule, y, RowWeights(), ours.deviance_, dispersion=theirs.scale)
    expected = theirs.model.family.loglike(y, theirs.mu, scale=theirs.scale)
    # statsmodels sums a truncated series for the Tweedie density.
    assert ours_at_theirs == pytest.approx(expected, rel=1e-6 if family == "tweedie" else 1e-9)


@pytest.mark.parametrize(("family", "link"), [pair for pair in PAIRS if pair[1] == "log"])
@pytest.mark.parametrize("kind", ["freq_weights", "var_weights", "offset"])
def test_weights_and_offsets_agree(family, link, kind):
    x, y = data_for(family, link)
    rng = np.random.default_rng(7)
    if kind == "offset":
        values, name = rng.uniform(-0.05, 0.05, y.size), "offset"
    elif kind == "freq_weights":
        values, name = rng.integers(1, 5, y.size).astype(float), "frequency_weight"
    else:
        values, name = rng.uniform(0.5, 3.0, y.size), "sample_weight"
    theirs = statsmodels_fit(family, link, x, y, **{kind: values})
    ours = our_fit(family, link, x, y, **{name: values})
    assert_same_coefficients(ours, theirs)
    np.testing.assert_allclose(all_errors(ours), theirs.bse, rtol=1e-6)
    assert ours.deviance_ == pytest.approx(theirs.deviance, rel=1e-9)
    assert ours.null_deviance_ == pytest.approx(theirs.null_deviance, rel=1e-6)
    if ours.family_.fixed_dispersion is not None and family != "binomial":
        assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-9)


def test_exposure_is_an_offset_on_the_log_scale():
    x, y = data_for("poisson", "log")
    exposure = np.random.default_rng(1).uniform(0.5, 4.0, y.size)
    theirs = statsmodels_fit("poisson", "log", x, y, exposure=exposure)
    ours = our_fit("poisson", "log", x, y, exposure=exposure)
    np.testing.assert_allclose(all_coefficients(ours), theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.predict(x, exposure=exposure), theirs.mu, rtol=1e-8)


@pytest.mark.parametrize(("family", "link"), [("poisson", "log"), ("binomial", "logit"), ("gaussian", "identity")])
def test_sandwich_errors_agree_for_canonical_links(family, link):
    x, y = data_for(family, link)
    theirs = statsmodels_fit(family, link, x, y)
    robust = theirs.model.fit(tol=1e-14, cov_type="HC0")
    ours = GLM(family, link, covariance="sandwich", tol=1e-13).fit(x, y)
    np.testing.assert_allclose(all_errors(ours), robust.bse, rtol=1e-6)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_robust_errors_of_least_squares_agree(kind):
    x, y = data_for("gaussian", "identity", 40)
    theirs = sm.OLS(y, sm.add_constant(x)).fit(cov_type=kind)
    ours = GLM(covariance=kind).fit(x, y)
    np.testing.assert_allclose(all_errors(ours), theirs.bse, rtol=1e-8)


@pytest.mark.parametrize(("family", "link"), PAIRS)
@pytest.mark.parametrize(("kind", "power"), [("HC0", 0.0), ("HC1", 0.0), ("HC2", 0.5), ("HC3", 1.0)])
def test_robust_errors_are_their_formula_with_the_leverages_of_statsmodels(family, link, kind, power):
    x, y = data_for(family, link, 60)
    theirs = statsmodels_fit(family, link, x, y)
    columns = sm.add_constant(x)
    slope, variance = 1.0 / theirs.family.link.deriv(theirs.mu), theirs.family.variance(theirs.mu)
    bread = np.linalg.inv(columns.T @ (columns * (slope**2 / variance)[:, None]))
    leverage = theirs.get_influence(observed=False).hat_matrix_diag
    scores = columns * (slope * (y - theirs.mu) / variance / (1.0 - leverage) ** power)[:, None]
    expected = bread @ scores.T @ scores @ bread * (60 / (60 - columns.shape[1]) if kind == "HC1" else 1.0)
    parameters = {"theta": THETA} if family == "negative_binomial" else {"power": POWER}
    ours = GLM(family, link_of(link), covariance=kind, tol=1e-13, **parameters).fit(x, y)
    np.testing.assert_allclose(all_errors(ours), np.sqrt(np.diag(expected)), rtol=1e-5)


@pytest.mark.parametrize("kind", ["HC0", "HC2", "HC3"])
def test_robust_errors_of_sparse_rows_are_those_of_dense_ones(kind):
    x = sp.random_array((20_000, 60), density=0.02, format="csr", rng=np.random.default_rng(0))
    y = np.random.default_rng(1).poisson(np.exp(0.5 * x[:, [0]].toarray()[:, 0]))
    sparse, dense = (GLM("poisson", covariance=kind).fit(table, y) for table in (x, x.toarray()))
    np.testing.assert_allclose(all_errors(sparse), all_errors(dense), rtol=1e-9)


def test_a_row_that_determines_a_coefficient_alone_adds_nothing_to_robust_errors():
    x, y = data_for("gaussian", "identity", 40)
    alone = np.column_stack([x, np.arange(40) == 7])
    ours, rest = GLM(covariance="HC3").fit(alone, y), np.arange(40) != 7
    without = GLM(covariance="HC3").fit(x[rest], y[rest])
    np.testing.assert_allclose(ours.standard_errors_[:-1], without.standard_errors_, rtol=1e-8)


def test_counts_out_of_n_agree():
    x, _ = data_for("binomial", "logit", 40)
    rng = np.random.default_rng(3)
    trials = rng.integers(1, 20, 40)
    successes = rng.binomial(trials, 1 / (1 + np.exp(0.5 - x[:, 0])))
    counts = np.column_stack([successes, trials - successes])
    theirs = sm.GLM(counts, sm.add_constant(x), family=sm.families.Binomial()).fit(tol=1e-14)
    ours = GLM("binomial", tol=1e-13).fit(x, counts)
    np.testing.assert_allclose(all_coefficients(ours), theirs.params, rtol=1e-8)
    np.testing.assert_allclose(all_errors(ours), theirs.bse, rtol=1e-7)
    assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-10)
    weighted = GLM("binomial", tol=1e-13).fit(x, successes / trials, sample_weight=trials)
    np.testing.assert_allclose(weighted.coef_, ours.coef_, rtol=1e-10)
    assert weighted.log_likelihood_ == pytest.approx(ours.log_likelihood_, rel=1e-10)


def test_theta_of_the_negative_binomial_is_the_maximum_likelihood_one():
    rng = np.random.default_rng(11)
    x = rng.normal(size=(400, 2))
    y = rng.poisson(np.exp(0.5 + x @ [0.4, -0.3]) * rng.gamma(1.7, 1 / 1.7, 400)).astype(float)
    theirs = sm.NegativeBinomial(y, sm.add_constant(x)).fit(disp=0, method="bfgs", gtol=1e-10, maxiter=500)
    ours = GLM("negative_binomial", tol=1e-13).fit(x, y)
    np.testing.assert_allclose(all_coefficients(ours), theirs.params[:-1], rtol=1e-5, atol=1e-7)
    assert ours.theta_ == pytest.approx(1.0 / theirs.params[-1], rel=1e-5)
    assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-10)
    assert ours.aic_ == pytest.approx(theirs.aic, rel=1e-10)


@pytest.mark.parametrize("kind", ["pearson", "deviance", "response", "working"])
@pytest.mark.parametrize(("family", "link"), [("poisson", "log"), ("gamma", "inverse"), ("binomial", "cloglog")])
def test_residuals_agree(family, link, kind):
    x, y = data_for(family, link)
    theirs, ours = statsmodels_fit(family, link, x, y), our_fit(family, link, x, y)
    expected = getattr(theirs, f"resid_{kind}")
    np.testing.assert_allclose(ours.residuals(x, y, kind=kind), expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(("family", "link"), [("poisson", "log"), ("binomial", "probit"), ("binomial", "cauchit")])
def test_intervals_for_the_mean_agree(family, link):
    x, y = data_for(family, link)
    theirs, ours = statsmodels_fit(family, link, x, y), our_fit(family, link, x, y)
    expected = theirs.get_prediction(sm.add_constant(x)).summary_frame(alpha=0.1)
    found = ours.predict_interval(x, level=0.9)
    np.testing.assert_allclose(found[:, 0], expected["mean_ci_lower"], rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], expected["mean_ci_upper"], rtol=1e-6)


def test_prediction_intervals_of_least_squares_agree():
    x, y = data_for("gaussian", "identity")
    theirs = sm.OLS(y, sm.add_constant(x)).fit().get_prediction(sm.add_constant(x)).summary_frame(alpha=0.05)
    ours = GLM().fit(x, y)
    mean, new = ours.predict_interval(x), ours.predict_interval(x, kind="observation")
    np.testing.assert_allclose(mean, theirs[["mean_ci_lower", "mean_ci_upper"]], rtol=1e-9)
    np.testing.assert_allclose(new, theirs[["obs_ci_lower", "obs_ci_upper"]], rtol=1e-9)
