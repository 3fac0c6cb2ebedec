"""The bootstrap likelihood-ratio test tells real components from chance."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from softcount import GaussianMixture, LatentClass, PoissonMixture, select
from softcount.select.bootstrap import BootstrapTest
from tests.reference.published_tables import CARCINOMA, all_rows


def fits(estimator, X, sizes):
    return [estimator(k).fit(X) for k in sizes]


def test_statistics_and_p_values_of_a_published_table():
    rows = all_rows(CARCINOMA)
    two, three, four = fits(lambda k: LatentClass(k, random_state=0), rows, (2, 3, 4))
    first = select.bootstrap_test(two, three, rows, n_samples=19, random_state=0)
    second = select.bootstrap_test(three, four, rows, n_samples=19, random_state=0)
    assert round(first.statistic, 4) == round(2 * (317.25684 - 293.70498), 4) == 47.1037
    assert first.p_value == 1 / 20
    assert second.p_value > 0.05
    assert first.n_components == (2, 3)
    assert "3 against 2 components" in str(first)


def test_the_same_seed_gives_the_same_samples_in_any_number_of_processes():
    rows = all_rows(CARCINOMA)
    one, two = fits(lambda k: LatentClass(k, random_state=0), rows, (1, 2))
    here = select.bootstrap_test(one, two, rows, n_samples=4, random_state=1)
    there = select.bootstrap_test(one, two, rows, n_samples=4, random_state=1, n_jobs=2)
    assert_array_equal(here.simulated, there.simulated)
    assert here.p_value == there.p_value


def test_p_values_are_spread_evenly_where_the_smaller_model_is_true():
    p_values = []
    for seed in range(12):
        X = np.random.default_rng(seed).poisson(4.0, (80, 2))
        one, two = fits(lambda k: PoissonMixture(k, alpha=0.0, random_state=0, n_init=6), X, (1, 2))
        p_values.append(select.bootstrap_test(one, two, X, n_samples=19, n_init=4, random_state=seed).p_value)
    assert min(p_values) >= 0.05
    assert np.mean(np.array(p_values) <= 0.1) <= 0.4
    assert np.mean(p_values) > 0.25


def test_a_real_component_is_found_by_gaussian_mixtures_with_holes():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1.0, (60, 2)), rng.normal(4.0, 1.0, (60, 2))])
    X[::9, 1] = np.nan
    one, two = fits(lambda k: GaussianMixture(k, random_state=0, n_init=4, tol=1e-5), X, (1, 2))
    assert select.bootstrap_test(one, two, X, n_samples=9, random_state=0).p_value == 0.1


def test_weights_count_rows_or_are_refused():
    answers, count = np.unique(all_rows(CARCINOMA), axis=0, return_counts=True)
    one, two = (LatentClass(k, random_state=0).fit(answers, sample_weight=count) for k in (1, 2))
    weighted = select.bootstrap_test(one, two, answers, sample_weight=count, n_samples=3, random_state=0)
    assert weighted.statistic == pytest.approx(2 * (524.46482 - 317.25684), abs=1e-3)
    with pytest.raises(ValueError, match="how often each row counts"):
        select.bootstrap_test(one, two, answers, sample_weight=count / 3.0)
    with pytest.raises(ValueError, match="the smaller one first"):
        select.bootstrap_test(two, one, answers, sample_weight=count)


def test_labels_are_refused():
    with pytest.raises(ValueError, match="without labels"):
        select.how_many(LatentClass(), all_rows(CARCINOMA), [1, 2], np.zeros(118), n_bootstrap=5)


def test_samples_that_reach_the_statistic_exactly_count_against_the_larger_model():
    # Rows that are all the same: no model gains anything, in the table and in every sample.
    rows = np.tile([1, 0], (30, 1))
    one, two = fits(lambda k: LatentClass(k, random_state=0), rows, (1, 2))
    found = select.bootstrap_test(one, two, rows, n_samples=3, n_init=2, random_state=0)
    assert found.statistic == pytest.approx(0.0, abs=1e-6)
    assert found.p_value == 1.0


def test_the_standard_error_is_that_of_a_share_of_all_tables():
    found = BootstrapTest((1, 2), 3.0, 0.2, np.zeros(99))
    assert found.standard_error == pytest.approx(np.sqrt(0.2 * 0.8 / 100))


def test_fits_that_stopped_early_are_run_on_before_they_are_compared():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(80, 2)), rng.normal(2.0, 1.0, (60, 2))])
    options = {"covariance_type": "diag", "random_state": 0}
    ended = [GaussianMixture(k, thorough=True, **options).fit(X) for k in (1, 2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        means = ended[1].means_ + np.array([[1.0, 1.0], [-1.0, -1.0]])
        stopped = GaussianMixture(2, max_iter=1, tol=0.0, means_init=means, **options).fit(X)
    assert 2.0 * (ended[1].log_likelihood_ - stopped.log_likelihood_) > 1.0
    early = select.bootstrap_test(ended[0], stopped, X, n_samples=2, random_state=0)
    late = select.bootstrap_test(*ended, X, n_samples=2, random_state=0)
    assert early.statistic == pytest.approx(late.statistic, abs=0.01)
