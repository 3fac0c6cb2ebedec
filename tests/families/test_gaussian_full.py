"""Multivariate Gaussians with missing cells, singular covariances, and one covariance for all classes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from softcount._errors import InputError
from softcount.families import DenseBlock, Gaussian, MomentPrior, MultivariateGaussian

MEAN = np.array([[0.5, -1.0], [0.0, 1.0], [2.0, 0.3]])
COV = np.array([[2.0, 0.6, 0.3], [0.6, 1.0, -0.2], [0.3, -0.2, 1.5]])
PARAMS = {"mean": MEAN, "cov": np.stack([COV, 0.5 * COV + np.eye(3)])}
RNG = np.random.default_rng(5)


def rows_with_holes(n_rows=30):
    values = RNG.normal(size=(n_rows, 3))
    values[RNG.random(values.shape) < 0.4] = np.nan
    values[0] = np.nan
    values[1] = [0.1, 0.2, 0.3]
    return values


@pytest.mark.parametrize("shared", [False, True])
def test_incomplete_rows_score_by_the_density_of_what_was_seen(shared):
    values = rows_with_holes()
    params = {"mean": MEAN, "cov": np.stack([COV, COV])} if shared else PARAMS
    out = np.zeros((len(values), 2))
    MultivariateGaussian(shared=shared).scorer(params).add(DenseBlock(values, has_missing=True), out)
    for i, row in enumerate(values):
        seen = np.flatnonzero(~np.isnan(row))
        for k in range(2):
            cov = params["cov"][k][np.ix_(seen, seen)]
            expected = stats.multivariate_normal(MEAN[seen, k], cov).logpdf(row[seen]) if seen.size else 0.0
            assert_allclose(out[i, k], expected, rtol=1e-11, atol=1e-12)


def test_incomplete_rows_count_by_their_expectation_given_what_was_seen():
    family, values = MultivariateGaussian(), rows_with_holes()
    resp = RNG.dirichlet(np.ones(2), len(values))
    block = DenseBlock(values, has_missing=True)
    tally = family.tally(block, 2, PARAMS)
    tally.add(block, resp)
    found = tally.statistics()
    for k in range(2):
        mean, cov = MEAN[:, k], PARAMS["cov"][k]
        filled, extra = values.copy(), np.zeros((3, 3))
        for i, row in enumerate(values):
            lost, seen = np.flatnonzero(np.isnan(row)), np.flatnonzero(~np.isnan(row))
            gain = (
                cov[np.ix_(lost, seen)] @ np.linalg.inv(cov[np.ix_(seen, seen)])
                if seen.size
                else np.zeros((lost.size, 0))
            )
            filled[i, lost] = mean[lost] + gain @ (row[seen] - mean[seen])
            extra[np.ix_(lost, lost)] += resp[i, k] * (cov[np.ix_(lost, lost)] - gain @ cov[np.ix_(seen, lost)])
        center = resp[:, k] @ filled / resp[:, k].sum()
        deviation = filled - center
        assert_allclose(found.mean[:, k], center, rtol=1e-11)
        assert_allclose(found.scatter[k], (deviation * resp[:, k, None]).T @ deviation + extra, rtol=1e-10, atol=1e-12)
        assert_allclose(found.weight[:, k], resp[:, k].sum(), rtol=1e-13)


def test_em_over_incomplete_rows_never_lowers_the_likelihood_and_finds_the_correlation():
    family = MultivariateGaussian()
    complete = RNG.multivariate_normal([0.0, 1.0], [[1.0, 0.8], [0.8, 1.0]], size=4000)
    complete[RNG.random(complete.shape) < 0.3] = np.nan
    block = DenseBlock(complete, has_missing=True)
    params = {"mean": np.zeros((2, 1)), "cov": np.eye(2)[None]}
    before = -np.inf
    for _ in range(60):
        out = np.zeros((len(complete), 1))
        family.scorer(params).add(block, out)
        assert out.sum() >= before - 1e-7
        before = out.sum()
        tally = family.tally(block, 1, params)
        tally.add(block, np.ones((len(complete), 1)))
        params = family.solve(tally.statistics(), MomentPrior(smoothing=0.0))
    assert_allclose(params["cov"][0], [[1.0, 0.8], [0.8, 1.0]], atol=0.08)


def test_a_table_with_holes_cannot_be_counted_without_parameters():
    block = DenseBlock(rows_with_holes(), has_missing=True)
    tally = MultivariateGaussian().tally(block, 2)
    with pytest.raises(InputError, match="expectation under some parameters"):
        tally.add(block, np.ones((30, 2)))


def test_the_density_of_a_vector_with_missing_entries_is_that_of_the_others():
    family = MultivariateGaussian()
    single = {"mean": MEAN[:, 0], "cov": COV}
    expected = stats.multivariate_normal(MEAN[[0, 2], 0], COV[np.ix_([0, 2], [0, 2])]).logpdf([1.0, -1.0])
    assert_allclose(family.log_prob([1.0, np.nan, -1.0], single), expected, rtol=1e-12)
    assert family.log_prob([np.nan, np.inf, 0.0], single) == -np.inf


def test_a_singular_covariance_is_named():
    singular = np.array([[1.0, 1.0], [1.0, 1.0]])
    params = {"mean": np.zeros((2, 2)), "cov": np.stack([np.eye(2), singular])}
    for use in (
        lambda: MultivariateGaussian().scorer(params),
        lambda: MultivariateGaussian().log_prob(np.zeros((2, 2)), {"mean": np.zeros((2, 2)), "cov": params["cov"]}),
    ):
        with pytest.raises(InputError, match="component 1 is singular"):
            use()


def test_incomplete_vectors_are_refused_where_a_fit_needs_complete_ones():
    with pytest.raises(InputError, match="Row 1 of x has missing entries"):
        MultivariateGaussian().fit([[1.0, 2.0], [np.nan, 1.0]])


@pytest.mark.parametrize("family", [Gaussian(), MultivariateGaussian()], ids=lambda f: f.name)
def test_fitting_far_from_zero_keeps_the_variance(family):
    noise = RNG.normal(size=(500, 2))
    far, near = family.fit(1e8 + noise), family.fit((1e8 + noise) - 1e8)
    second = "var" if isinstance(family, Gaussian) else "cov"
    assert_allclose(far[second], near[second], rtol=1e-12)
    assert_allclose(far["mean"], near["mean"] + 1e8, rtol=1e-15)


def test_far_off_means_do_not_hide_what_tells_classes_apart():
    family = Gaussian()
    near = {"mean": np.array([[0.0, 3.0]]), "var": np.array([[1.0, 1.0]])}
    far = {"mean": near["mean"] + 1e8, "var": near["var"]}
    weight = np.array([0.5, 0.5])
    assert_allclose(family.telling(far, weight), family.telling(near, weight), rtol=1e-9)
    assert_allclose(family.telling(near, weight), [[-4.5, 4.5]], rtol=1e-12)


def test_a_fixed_variance_stays_what_the_prior_says():
    block = DenseBlock(RNG.normal(size=(50, 2)))
    for family, name in ((Gaussian(), "var"), (MultivariateGaussian(), "cov")):
        tally = family.tally(block, 1)
        tally.add(block, np.ones((50, 1)))
        prior = MomentPrior(scatter=2.5, dof=np.inf, floor=0.0)
        params = family.solve(tally.statistics(), prior)
        fixed = 2.5 * np.eye(2)[None] if name == "cov" else np.full((2, 1), 2.5)
        assert_allclose(params[name], fixed)
        assert np.isfinite(family.log_prior(params, prior))


def test_the_prior_of_diagonal_covariances_is_that_of_independent_columns():
    var = np.array([[0.5, 2.0], [1.5, 0.3], [3.0, 1.0]])
    mean = np.arange(6.0).reshape(3, 2)
    full = {"mean": mean, "cov": np.stack([np.diag(var[:, k]) for k in range(2)])}
    for floor in (0.0, 0.4):
        prior = MomentPrior(weight=0.7, mean=0.5, scatter=2.0, dof=3.0, floor=floor)
        expected = Gaussian().log_prior({"mean": mean, "var": var}, prior)
        assert_allclose(MultivariateGaussian().log_prior(full, prior), expected, rtol=1e-12)


def test_a_column_tells_as_much_as_the_divergence_from_the_moments_of_the_other_classes():
    mean, var, weight = np.array([[1.0, -2.0, 5.0]]), np.array([[0.5, 2.0, 1.0]]), np.array([0.2, 0.5, 0.3])
    found = Gaussian().telling({"mean": mean, "var": var}, weight)[0]
    for k in range(3):
        others = [j for j in range(3) if j != k]
        share = weight[others] / weight[others].sum()
        rest = share @ mean[0, others]
        rest_var = share @ (var[0, others] + mean[0, others] ** 2) - rest**2
        ratio = var[0, k] / rest_var
        divergence = 0.5 * (ratio - 1.0 - np.log(ratio) + (mean[0, k] - rest) ** 2 / rest_var)
        assert_allclose(found[k], np.sign(mean[0, k] - rest) * divergence, rtol=1e-10)


def test_what_cells_say_is_of_the_observed_part_and_adds_up_to_the_score_of_the_row():
    family, values = MultivariateGaussian(), rows_with_holes()
    block = DenseBlock(values, has_missing=True)
    weights = RNG.normal(size=(len(values), 2))
    cells, rest = family.column_scores(PARAMS, block, weights)
    scores = np.zeros((len(values), 2))
    family.scorer(PARAMS).add(block, scores)
    assert_allclose(cells.sum(axis=1) + rest, np.sum(weights * scores, axis=1), rtol=1e-10, atol=1e-12)
    assert not cells[np.isnan(values)].any()
    for i, row in enumerate(values):
        seen = np.flatnonzero(~np.isnan(row))
        expected = np.zeros(seen.size)
        for k in range(2):
            deviation = row[seen] - MEAN[seen, k]
            precision = np.linalg.inv(PARAMS["cov"][k][np.ix_(seen, seen)])
            expected -= 0.5 * weights[i, k] * deviation * (precision @ deviation)
        assert_allclose(cells[i, seen], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("spherical", [False, True])
def test_parameters_are_counted_as_there_are_different_numbers_among_them(shared, spherical):
    family = Gaussian(shared=shared, spherical=spherical)
    tally = family.tally(DenseBlock(RNG.normal(size=(60, 4))), 3)
    tally.add(DenseBlock(RNG.normal(size=(60, 4))), RNG.dirichlet(np.ones(3), 60))
    params = family.solve(tally.statistics(), MomentPrior(floor=0.0))
    free = sum(np.unique(params[name]).size for name in ("mean", "var"))
    assert family.n_parameters(params) == free
