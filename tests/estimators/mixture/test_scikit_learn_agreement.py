"""GaussianMixture gives what scikit-learn's gives from the same start, iteration by iteration."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.mixture import GaussianMixture as Rival

from softcount import GaussianMixture

COVARIANCES = ["full", "tied", "diag", "spherical"]
STARTS = ["kmeans", "k-means++", "random", "random_from_data"]
FITTED = ["weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"]


@pytest.fixture(scope="module")
def tables():
    blobs = make_blobs(400, centers=4, n_features=3, cluster_std=2.0, random_state=3)[0]
    return {"iris": np.unique(load_iris().data, axis=0), "wine": load_wine().data, "blobs": blobs}


def both(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianMixture(**options).fit(X), Rival(**options).fit(X)


def assert_agree(own, rival, X, rtol):
    assert own.n_iter_ == rival.n_iter_
    assert own.converged_ == rival.converged_
    for name in FITTED:
        ours, theirs = getattr(own, name), getattr(rival, name)
        assert ours.shape == theirs.shape, name
        assert_allclose(ours, theirs, rtol=rtol, atol=rtol * np.abs(theirs).max(), err_msg=name)
    assert_allclose(own.score_samples(X), rival.score_samples(X), rtol=rtol, atol=rtol)
    assert_allclose(own.predict_proba(X), rival.predict_proba(X), atol=10 * rtol)
    assert_allclose([own.aic(X), own.bic(X)], [rival.aic(X), rival.bic(X)], rtol=rtol)
    assert own.n_parameters_ == rival._n_parameters()
    np.testing.assert_array_equal(own.predict(X), rival.predict(X))


@pytest.mark.parametrize("name", ["iris", "wine", "blobs"])
@pytest.mark.parametrize("covariance_type", COVARIANCES)
@pytest.mark.parametrize("init_params", ["kmeans", "random"])
def test_without_a_floor_everything_agrees_to_rounding(tables, name, covariance_type, init_params):
    X = tables[name]
    own, rival = both(
        X, n_components=3, covariance_type=covariance_type, init_params=init_params, reg_covar=0.0, random_state=7
    )
    assert_agree(own, rival, X, 1e-8)


@pytest.mark.parametrize("covariance_type", COVARIANCES)
@pytest.mark.parametrize("init_params", STARTS)
def test_with_the_default_floor_everything_agrees_to_a_millionth(tables, covariance_type, init_params):
    X = tables["blobs"]
    own, rival = both(X, n_components=4, covariance_type=covariance_type, init_params=init_params, random_state=1)
    assert_agree(own, rival, X, 1e-6)


@pytest.mark.parametrize("covariance_type", COVARIANCES)
def test_with_the_default_floor_tight_clusters_agree_in_likelihood_to_a_millionth(tables, covariance_type):
    # The floor is a ten-thousandth of the smallest variance here, and leaves a trace of that size in the parameters.
    X = tables["iris"]
    own, rival = both(
        X,
        n_components=3,
        covariance_type=covariance_type,
        random_state=0,
        tol=1e-9,
        max_iter=2000,
        init_params="kmeans",
    )
    assert_allclose(own.score(X), rival.score(X), rtol=1e-6)
    assert_allclose(own.means_, rival.means_, rtol=1e-4)


@pytest.mark.parametrize("max_iter", [1, 2, 5])
@pytest.mark.parametrize("covariance_type", COVARIANCES)
def test_every_iteration_agrees(tables, max_iter, covariance_type):
    own, rival = both(
        tables["blobs"],
        n_components=4,
        covariance_type=covariance_type,
        reg_covar=0.0,
        tol=0.0,
        max_iter=max_iter,
        random_state=0,
        init_params="random",
    )
    assert own.n_iter_ == rival.n_iter_ == max_iter
    for name in FITTED:
        assert_allclose(getattr(own, name), getattr(rival, name), rtol=1e-9, err_msg=name)
    # Their bound is that of the parameters before the last step.
    if max_iter > 1:
        assert_allclose(own.lower_bounds_[-2], rival.lower_bound_, rtol=1e-10)
        assert_allclose(own.lower_bounds_[: max_iter - 1], rival.lower_bounds_[1:], rtol=1e-10)


@pytest.mark.parametrize("covariance_type", COVARIANCES)
def test_given_starts_are_started_from(tables, covariance_type):
    X = tables["blobs"]
    first = Rival(4, covariance_type=covariance_type, random_state=5, max_iter=2, tol=0.0, init_params="random")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first.fit(X)
    given = {
        "weights_init": first.weights_,
        "means_init": first.means_,
        "precisions_init": first.precisions_,
    }
    options = {"n_components": 4, "covariance_type": covariance_type, "reg_covar": 0.0}
    own, rival = both(X, **options, **given)
    assert_agree(own, rival, X, 1e-8)
    own, rival = both(X, **options, means_init=first.means_, random_state=0)
    assert_agree(own, rival, X, 1e-8)


def test_the_best_of_several_starts_is_the_rivals(tables):
    X = tables["wine"]
    own, rival = both(X, n_components=3, n_init=5, init_params="random", random_state=3, reg_covar=0.0, tol=1e-6)
    assert_allclose(own.score(X), rival.score(X), rtol=1e-7)
    assert own.n_starts_ == 5


def test_a_warm_start_goes_on_where_the_last_fit_ended(tables):
    X = tables["blobs"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            cls(4, warm_start=True, max_iter=3, tol=0.0, random_state=0, reg_covar=0.0)
            for cls in (GaussianMixture, Rival)
        ]
        for model in models:
            model.fit(X).fit(X)
    once = GaussianMixture(4, max_iter=6, tol=0.0, random_state=0, reg_covar=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        once.fit(X)
    assert_allclose(models[0].means_, models[1].means_, rtol=1e-9)
    assert_allclose(models[0].means_, once.means_, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance_type": "round"}, "covariance_type"),
        ({"init_params": "guess"}, "init_params"),
        ({"reg_covar": -1.0}, "reg_covar"),
        ({"weights_init": [0.5, 0.6]}, "weights_init"),
        ({"means_init": [[0.0]]}, "means_init"),
        ({"precisions_init": -np.ones((2, 3, 3))}, "precisions_init"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_parameters_no_fit_can_use_are_named(tables, options, message):
    with pytest.raises(ValueError, match=message):
        GaussianMixture(2, **options).fit(tables["blobs"])


@pytest.mark.parametrize("covariance_type", COVARIANCES)
def test_information_criteria_count_the_same_parameters(tables, covariance_type):
    X = tables["blobs"]
    own, rival = both(X, n_components=3, covariance_type=covariance_type, reg_covar=0.0, random_state=0)
    assert_allclose([own.aic(X), own.bic(X)], [rival.aic(X), rival.bic(X)], rtol=1e-9)
    assert own.n_parameters_ == round((rival.bic(X) - rival.aic(X)) / (np.log(len(X)) - 2.0))


def test_defaults_are_the_rivals():
    ours, theirs = GaussianMixture().get_params(), Rival().get_params()
    assert {name: ours[name] for name in theirs} == theirs


@pytest.mark.parametrize("covariance_type", COVARIANCES)
def test_repeated_rows_are_clustered_as_well_as_the_rival_clusters_them(covariance_type):
    # One row of these appears twice; both need the same clusters from every seed.
    X = load_iris().data
    for seed in range(5):
        own, rival = both(X, n_components=3, covariance_type=covariance_type, random_state=seed, max_iter=500)
        assert own.score(X) > rival.score(X) - 1e-4
    distinct, counts = np.unique(X, axis=0, return_counts=True)
    weighted = GaussianMixture(3, covariance_type=covariance_type, random_state=4, max_iter=500)
    weighted.fit(distinct, sample_weight=counts)
    assert_allclose(weighted.covariances_, own.covariances_, rtol=1e-9)
    assert_allclose(weighted.weights_, own.weights_, rtol=1e-9)


def test_a_thorough_search_keeps_to_its_limits_and_starts_where_it_is_told(tables):
    X = tables["blobs"]
    found = GaussianMixture(3, thorough=True, random_state=0).fit(X)
    assert (found.n_starts_, found.converged_) == (20, True)
    assert found.n_finished_starts_ >= 5
    assert found.n_best_starts_ >= 2
    assert found.log_likelihood_ > GaussianMixture(3, random_state=0).fit(X).log_likelihood_
    assert GaussianMixture(3, thorough=True, n_init=30, n_final=6, random_state=0).fit(X).n_finished_starts_ == 6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert GaussianMixture(3, thorough=True, tol=0.0, max_iter=4, random_state=0).fit(X).n_iter_ == 4
    given = {"weights_init": found.weights_, "means_init": found.means_, "precisions_init": found.precisions_}
    again = GaussianMixture(3, thorough=True, **given).fit(X)
    assert again.n_starts_ == 1
    assert_allclose(again.means_, found.means_, rtol=1e-5)
