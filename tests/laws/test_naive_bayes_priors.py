"""Laws of explicit conjugate priors: their closed forms, and EM that climbs with them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from softcount import priors
from softcount.estimators.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB
from tests.estimators.naive_bayes.cases import BERNOULLI, CATEGORICAL, GAUSSIAN, MULTINOMIAL, POISSON, Case
from tests.laws.naive_bayes_problems import class_scores, make_problem

SEEDS = st.integers(0, 10**6)
PRIORS: list[Any] = [
    pytest.param(BERNOULLI, priors.Beta(3.0, 1.5), {}, id="beta"),
    pytest.param(MULTINOMIAL, priors.Dirichlet(2.5), {}, id="dirichlet of words"),
    pytest.param(CATEGORICAL, priors.Dirichlet(2.5), {}, id="dirichlet of values"),
    pytest.param(POISSON, priors.Gamma(shape=3.0, rate=0.7), {}, id="gamma"),
    pytest.param(GAUSSIAN, priors.NormalInverseGamma(1.0, 2.0, 3.0, 4.0), {}, id="normal-inverse-gamma"),
    pytest.param(
        GAUSSIAN, priors.NormalInverseGamma(1.0, 2.0, 3.0, 4.0), {"shared_variance": True}, id="shared variance"
    ),
]


def log_density(prior: Any, model: Any) -> float:
    """Log-density of the fitted parameters under the prior, up to a constant."""
    block = model.params_.blocks[0]
    if isinstance(prior, priors.Beta):
        return float(prior.log_density(np.exp(block["log_prob"])).sum())
    if isinstance(prior, priors.Dirichlet):
        return float(((np.asarray(prior.concentration) - 1.0) * block["log_prob"]).sum())
    if isinstance(prior, priors.Gamma):
        return float(prior.log_density(block["rate"]).sum())
    assert isinstance(prior, priors.NormalInverseGamma)
    if not model.shared_variance:
        return float(prior.log_density(block["mean"], block["var"]).sum())
    # One variance for all means: its own density once, that of the means given it once each.
    mean, var = block["mean"], block["var"]
    own = -(prior.shape + 1.0) * np.log(var[:, :1]) - prior.scale / var[:, :1]
    means = -0.5 * np.log(var) - 0.5 * prior.kappa * (mean - prior.mean) ** 2 / var
    return float(own.sum() + means.sum())


@pytest.mark.parametrize(("case", "prior", "settings"), PRIORS)
@given(seed=SEEDS, missing=st.booleans(), n_components=st.integers(1, 2))
def test_em_climbs_the_posterior_density_of_explicit_priors(
    case: Case, prior: Any, settings: dict[str, Any], *, seed: int, missing: bool, n_components: int
) -> None:
    problem = make_problem(case, seed, missing=missing, weighted=True, n_components=n_components)
    settings = {**settings, "feature_prior": prior, **({"var_smoothing": 0.0} if case is GAUSSIAN else {})}
    short, long = problem.fit(max_iter=3, **settings), problem.fit(max_iter=9, **settings)
    values = np.array([step.objective for step in long.history_])
    assert (np.diff(values) >= -1e-9 * np.abs(values[:-1])).all(), np.diff(values)

    def posterior(model: Any) -> float:
        scores = class_scores(model, problem.X)
        known = ~np.isnan(problem.y)
        rows = np.where(known, scores[np.arange(len(scores)), np.where(known, problem.y, 0).astype(int)], 0.0)
        rows[~known] = np.logaddexp.reduce(scores[~known], axis=1)
        return float(problem.weight @ rows) + log_density(prior, model)

    gained = long.history_[-1].objective - short.history_[-1].objective
    assert_allclose(gained, posterior(long) - posterior(short), rtol=1e-6, atol=1e-7 * abs(values[-1]))


@pytest.mark.parametrize(("a", "b"), [(2.0, 2.0), (3.5, 1.5), (1.0, 1.0)])
def test_map_under_a_beta_prior_is_n1_plus_a_minus_1_over_n_plus_a_plus_b_minus_2(a: float, b: float) -> None:
    X, y = BERNOULLI.rows()
    model = BernoulliNB(feature_prior=priors.Beta(a, b)).fit(X, y)
    mean = BernoulliNB(feature_prior=priors.Beta(a, b), estimate="mean").fit(X, y)
    for k in range(3):
        ones, n_rows = X[y == k].sum(axis=0), (y == k).sum()
        assert_allclose(np.exp(model.feature_log_prob_[k]), (ones + a - 1) / (n_rows + a + b - 2), rtol=1e-13)
        assert_allclose(np.exp(mean.feature_log_prob_[k]), (ones + a) / (n_rows + a + b), rtol=1e-13)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 4.0])
def test_alpha_is_the_mean_under_dirichlet_alpha_and_the_mode_under_dirichlet_alpha_plus_one(alpha: float) -> None:
    for case, make in ((CATEGORICAL, CategoricalNB), (MULTINOMIAL, MultinomialNB)):
        X, y = case.rows()
        plain = make(alpha=alpha).fit(X, y).predict_joint_log_proba(X)
        mean = make(feature_prior=priors.Dirichlet(alpha), estimate="mean").fit(X, y)
        mode = make(feature_prior=priors.Dirichlet(alpha + 1.0), estimate="mode").fit(X, y)
        assert_allclose(mean.predict_joint_log_proba(X), plain, rtol=1e-12)
        assert_allclose(mode.predict_joint_log_proba(X), plain, rtol=1e-12)


@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_a_gamma_prior_adds_its_shape_to_the_events_and_its_rate_to_the_rows(estimate: str) -> None:
    X, y = POISSON.rows()
    model = PoissonNB(feature_prior=priors.Gamma(shape=3.0, rate=2.0), estimate=estimate).fit(X, y)
    for k in range(3):
        events = X[y == k].sum(axis=0) + 3.0 - (1.0 if estimate == "mode" else 0.0)
        assert_allclose(model.rate_[k], events / ((y == k).sum() + 2.0), rtol=1e-12)


@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_a_normal_inverse_gamma_prior_draws_means_and_variances(estimate: str) -> None:
    X, y = GAUSSIAN.rows()
    center, kappa, shape, scale = 2.0, 3.0, 4.0, 5.0
    prior = priors.NormalInverseGamma(center, kappa, shape, scale)
    model = GaussianNB(feature_prior=prior, var_smoothing=0.0, estimate=estimate).fit(X, y)
    for k in range(3):
        rows = X[y == k]
        n, mean = rows.shape[0], rows.mean(axis=0)
        spread = ((rows - mean) ** 2).sum(axis=0) + n * kappa / (n + kappa) * (mean - center) ** 2 + 2 * scale
        assert_allclose(model.theta_[k], (n * mean + kappa * center) / (n + kappa), rtol=1e-12)
        dof = 2 * shape + 3 if estimate == "mode" else 2 * shape - 2
        assert_allclose(model.var_[k], spread / (n + dof), rtol=1e-12)
