"""Laws of single distributions: densities, moments, the three parameterizations, entropy and divergence."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount._errors import InputError
from softcount.families import FAMILIES
from tests.laws.family_cases import CASES, Case

every_family = pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
DISTRIBUTIONS = [(case, params) for case in CASES.values() for params in case.params]


def over(distributions):
    return pytest.mark.parametrize(("case", "params"), distributions, ids=lambda value: getattr(value, "name", ""))


every_distribution = over(DISTRIBUTIONS)


def gradient(function, at, order=1):
    """Derivatives by central differences of eighth order, along every coordinate."""
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    columns = []
    for j in range(at.size):
        step = 0.004 * max(abs(at[j]), 0.05) if order == 1 else 0.01 * max(abs(at[j]), 0.05)
        moved = [function(at + k * step * np.eye(at.size)[j]) for k in range(-4, 5)]
        columns.append(np.tensordot(weights, np.array(moved), axes=(0, 0)) / step)
    return np.stack(columns, axis=-1)


def test_every_registered_family_has_a_case_and_every_case_a_family():
    assert set(CASES) == set(FAMILIES)


def test_the_registry_knows_each_family_by_its_own_name():
    assert all(family.name == name for name, family in FAMILIES.items())


@every_distribution
def test_probabilities_sum_to_one(case: Case, params):
    assert_allclose(
        case.expectation(params, lambda x: np.ones(np.shape(x)[: np.ndim(x) - case.family.event_ndim])), 1.0, rtol=1e-9
    )


@every_distribution
def test_the_density_is_that_of_the_exponential_family(case: Case, params):
    family = case.family
    x = case.draw(params, 1, 40)
    natural = family.natural(params)
    expected = np.sum(natural * family.stats(x), axis=-1) - family.log_normalizer(natural) + family.log_base(x)
    assert_allclose(family.log_prob(x, params), expected, rtol=1e-10, atol=1e-10)


@over([(case, params) for case, params in DISTRIBUTIONS if case.frozen is not None])
def test_the_density_equals_scipys(case: Case, params):
    assert case.frozen is not None
    frozen = case.frozen(params)
    log_density = frozen.logpmf if hasattr(frozen, "logpmf") else frozen.logpdf
    x = case.draw(params, 2, 60)
    values = [float(log_density(v)) for v in x] if case.is_vector else log_density(x)
    assert_allclose(case.family.log_prob(x, params), values, rtol=1e-12, atol=1e-12)


@every_distribution
def test_the_mean_of_the_statistic_is_its_expectation(case: Case, params):
    family = case.family
    assert_allclose(family.mean_stats(params), case.expectation(params, family.stats), rtol=1e-7, atol=1e-8)


@every_distribution
def test_the_covariance_of_the_statistic_is_its_expectation(case: Case, params):
    family = case.family
    mean = family.mean_stats(params)

    def products(x):
        deviation = family.stats(x) - mean
        return deviation[..., :, None] * deviation[..., None, :]

    expected = case.expectation(params, products)
    assert_allclose(family.cov_stats(params), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@every_distribution
def test_the_gradient_of_the_log_normalizer_is_the_mean(case: Case, params):
    family = case.family
    mean = family.mean_stats(params)
    computed = gradient(family.log_normalizer, family.natural(params))
    assert_allclose(computed, mean, rtol=1e-7, atol=1e-8 * np.abs(mean).max())


@every_distribution
def test_the_hessian_of_the_log_normalizer_is_the_covariance(case: Case, params):
    family = case.family
    natural = family.natural(params)
    computed = gradient(lambda at: gradient(family.log_normalizer, at, 2), natural, 2)
    expected = family.cov_stats(params)
    assert_allclose(computed, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@every_distribution
def test_natural_parameters_and_back_is_the_identity(case: Case, params):
    back = case.family.from_natural(case.family.natural(params))
    for name, value in params.items():
        assert_allclose(back[name], value, rtol=1e-12, atol=1e-14)


@every_distribution
def test_mean_parameters_and_back_is_the_identity(case: Case, params):
    back = case.family.from_mean_stats(case.family.mean_stats(params))
    for name, value in params.items():
        assert_allclose(back[name], value, rtol=1e-9, atol=1e-12)


@every_distribution
def test_sample_averages_are_the_means(case: Case, params):
    family, size = case.family, 40_000
    stats = family.stats(case.draw(params, 3, size))
    spread = np.sqrt(np.diagonal(family.cov_stats(params)) / size)
    assert np.all(np.abs(stats.mean(axis=0) - family.mean_stats(params)) <= 5.0 * spread + 1e-12)


@every_distribution
def test_fitting_a_large_sample_recovers_the_distribution(case: Case, params):
    fitted = case.family.fit(case.draw(params, 4, 40_000))
    # Twice the sample size times the divergence is about chi-squared with as many degrees as parameters.
    assert float(case.family.kl(fitted, params)) * 2 * 40_000 < 30.0


@every_distribution
def test_fitting_matches_the_averaged_statistics(case: Case, params):
    family = case.family
    x = case.draw(params, 5, 200)
    mean = family.stats(x).mean(axis=0)
    fitted = family.mean_stats(family.fit(x))
    if case.name == "multinomial":
        mean = mean / mean.sum()
    assert_allclose(fitted, mean, rtol=1e-8, atol=1e-10)


@every_distribution
def test_a_weight_of_k_is_k_copies_and_zero_is_absence(case: Case, params):
    family = case.family
    x = case.draw(params, 6, 30)
    weight = np.arange(30) % 4
    repeated, weighted = family.fit(np.repeat(x, weight, axis=0)), family.fit(x, weight)
    for name, value in repeated.items():
        assert_allclose(weighted[name], value, rtol=1e-9, atol=1e-12)


@every_distribution
def test_entropy_is_minus_the_expected_log_density(case: Case, params):
    family = case.family
    expected = -case.expectation(params, lambda x: np.nan_to_num(family.log_prob(x, params), neginf=0.0))
    assert_allclose(family.entropy(params), expected, rtol=1e-7, atol=1e-8)


@every_family
def test_divergence_is_the_expected_log_ratio(case: Case):
    family, (first, second) = case.family, (case.params * 2)[:2]
    if len(case.params) == 1:
        second = family.from_mean_stats(family.mean_stats(first) * 1.05 + 0.01)
    expected = case.expectation(
        first, lambda x: np.nan_to_num(family.log_prob(x, first) - family.log_prob(x, second), posinf=0.0, neginf=0.0)
    )
    assert_allclose(family.kl(first, second), expected, rtol=1e-7, atol=1e-9)


@every_family
def test_divergence_from_itself_is_zero(case: Case):
    for params in case.params:
        assert_allclose(case.family.kl(params, params), 0.0, atol=1e-12)


@every_family
def test_values_outside_the_support_have_probability_zero(case: Case):
    for value in case.outside:
        assert case.family.log_prob(np.asarray(value), case.params[0]) == -np.inf, value
        assert not np.all(case.family.in_support(np.asarray(value))) or case.name == "categorical"


@every_family
def test_missing_values_have_log_probability_zero(case: Case):
    x = np.full(case.family.stats(case.draw(case.params[0], 0, 1)).shape[1:] if case.is_vector else (3,), np.nan)
    if case.name == "multivariate_gaussian":
        x = x[:2]
    assert_allclose(case.family.log_prob(x, case.params[0]), 0.0)


@every_family
def test_a_table_of_parameters_scores_like_its_single_distributions(case: Case):
    family = case.family
    names = case.params[0].keys()
    table = {name: np.stack([p[name] for p in case.params]) for name in names}
    x = case.draw(case.params[0], 7, 1)[0]
    together = family.log_prob(x, table)
    for k, params in enumerate(case.params):
        assert_allclose(together[k], family.log_prob(x, params), rtol=1e-13)


@every_family
def test_fitting_a_constant_gives_a_finite_density_at_it(case: Case):
    family = case.family
    x = np.array([case.constant] * 5, dtype=np.float64)
    if case.name == "multivariate_gaussian":
        with pytest.raises(InputError, match="singular"):
            family.log_prob(x, family.fit(x))
        return
    params = family.fit(x)
    assert all(np.all(np.isfinite(v) | np.isneginf(v)) for v in params.values())
    assert np.all(np.isfinite(family.log_prob(x, params)))
    assert np.all(family.log_prob(x, params) >= family.log_prob(x, family.fit(case.draw(case.params[0], 8, 50))) - 1e-9)


@every_family
def test_fitting_to_nothing_is_refused(case: Case):
    x = np.array([case.constant] * 2, dtype=np.float64)
    with pytest.raises(InputError, match="weights are zero"):
        case.family.fit(x, [0.0, 0.0])
    with pytest.raises(InputError, match="at least one observation"):
        case.family.fit(x[:0])


@pytest.mark.parametrize("case", [c for c in CASES.values() if c.name != "categorical"], ids=lambda case: case.name)
def test_fitting_refuses_values_outside_the_support(case: Case):
    with pytest.raises(InputError, match=case.name):
        case.family.fit(np.array([case.constant, case.outside[0]], dtype=np.float64))
