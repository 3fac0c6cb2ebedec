"""GaussianDiscriminant with missing labels and missing values: EM, weights, batches."""

import itertools
import warnings

import numpy as np
import pytest

from softcount import GaussianDiscriminant

KINDS = [("tied", False), ("full", False), ("diag", False), ("diag", True), ("spherical", False), ("spherical", True)]
SETTINGS = [
    {"covariance": kind, "shared_variance": shared, "shrinkage": shrinkage, "unbiased": unbiased}
    for (kind, shared), shrinkage, unbiased in itertools.product(KINDS, (None, 0.2, 1.0, "auto"), (False, True))
    if shrinkage is None or (kind != "spherical" and not (kind == "diag" and shrinkage == "auto"))
]


def named(settings):
    return "-".join(str(value) for value in settings.values())


def problem(n_samples=150, n_features=3, seed=0, gap=2.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_samples)
    spread = np.eye(n_features) + 0.5 * rng.normal(size=(n_features, n_features))
    X = rng.normal(size=(n_samples, n_features)) @ spread + gap * rng.normal(size=(3, n_features))[y]
    return X, y


def without_some_labels(y, share, seed=1):
    labels = np.where(np.random.default_rng(seed).random(y.shape) < share, np.nan, y)
    labels[:6] = y[:6]
    return labels


def without_some_cells(X, share, seed=2):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def objectives(model):
    return np.array([step.objective for step in model.history_])


# ---- the objective
@pytest.mark.parametrize("settings", SETTINGS, ids=named)
@pytest.mark.parametrize("hole", ["labels", "cells", "both"])
def test_the_objective_never_falls(settings, hole):
    X, y = problem()
    if hole != "labels":
        X = without_some_cells(X, 0.15)
    labels = y if hole == "cells" else without_some_labels(y, 0.6)
    model = GaussianDiscriminant(**settings, unlabeled_weight=1.0, calibrate="none", max_iter=30, tol=0.0)
    model.fit(X, labels)
    if hole == "cells" and settings["covariance"] in ("diag", "spherical"):
        assert model.n_iter_ == 1, "independent columns have a closed form with missing cells"
    else:
        steps = np.diff(objectives(model))
        assert model.n_iter_ == 30
        assert steps[0] > 0.0
        assert (steps >= -1e-10 * np.abs(objectives(model)[1:])).all()


@pytest.mark.parametrize("settings", SETTINGS, ids=named)
def test_with_singular_covariances_the_objective_stays_finite_and_never_falls(settings):
    """Fewer rows than columns in every class, a duplicated column and a constant one."""
    X, y = problem(n_samples=12, n_features=5)
    X[:, 1], X[:, 2] = X[:, 0], 7.0
    model = GaussianDiscriminant(**settings, unlabeled_weight=1.0, calibrate="none", max_iter=25, tol=0.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is singular", UserWarning)
        model.fit(X, without_some_labels(y, 0.5))
    found = objectives(model)
    assert np.isfinite(found).all()
    assert (np.diff(found) >= -1e-9 * np.maximum(np.abs(found[1:]), 1.0)).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_objective_is_the_marginal_log_likelihood_where_there_is_no_prior():
    X, y = problem()
    labels = without_some_labels(y, 0.5)
    known = ~np.isnan(labels)
    model = GaussianDiscriminant(covariance="full", unlabeled_weight=1.0, calibrate="none").fit(X, labels)
    joint = model.predict_joint_log_proba(X)
    expected = joint[known, labels[known].astype(int)].sum() + np.logaddexp.reduce(joint[~known], axis=1).sum()
    np.testing.assert_allclose(objectives(model)[-1], expected, rtol=1e-12)


# ---- one end is the closed form, the other the mixture
@pytest.mark.parametrize("settings", SETTINGS, ids=named)
def test_one_row_without_a_label_hardly_changes_the_closed_form(settings):
    X, y = problem(n_samples=400, gap=6.0)
    labels = y.astype(float)
    labels[-1] = np.nan
    whole = GaussianDiscriminant(**settings).fit(X, y)
    model = GaussianDiscriminant(**settings, unlabeled_weight=1.0, calibrate="none", tol=1e-10).fit(X, labels)
    size = np.abs(whole.covariance_).max()
    np.testing.assert_allclose(model.covariance_, whole.covariance_, atol=0.03 * size)


@pytest.mark.parametrize("settings", SETTINGS, ids=named)
def test_rows_whose_label_is_a_set_of_one_class_are_labeled_rows(settings):
    X, y = problem()
    sets = np.empty(y.shape, dtype=object)
    sets[:] = [{int(k)} for k in y]
    model = GaussianDiscriminant(**settings).fit(X, sets)
    np.testing.assert_array_equal(model.covariance_, GaussianDiscriminant(**settings).fit(X, y).covariance_)


@pytest.mark.parametrize("settings", SETTINGS, ids=named)
def test_em_over_labeled_rows_stays_at_the_closed_form(settings):
    """A row of class factors that rules out all classes but one goes through EM, but says the same as a label."""
    X, y = problem()
    factors = np.eye(3)[y]
    factors[0] *= 0.5  # not a sure label to the reader, so that EM has to run
    closed = GaussianDiscriminant(**settings).fit(X, y)
    model = GaussianDiscriminant(**settings, soft_labels="prior", calibrate="none", max_iter=3, tol=0.0)
    model.fit(X, factors)
    assert model.n_iter_ == 3
    np.testing.assert_allclose(model.means_, closed.means_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.covariance_, closed.covariance_, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["tied", "full", "diag", "spherical"])
def test_without_any_label_it_is_the_gaussian_mixture(kind):
    X, _ = problem(gap=6.0)
    model = GaussianDiscriminant(covariance=kind, n_classes=3, random_state=0, tol=1e-10).fit(X)
    joint = model.predict_joint_log_proba(X)
    resp = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    weight = resp.sum(axis=0)
    np.testing.assert_allclose(model.priors_, weight / weight.sum(), atol=1e-4)
    np.testing.assert_allclose(model.means_, (resp.T @ X) / weight[:, None], atol=1e-3)


# ---- missing cells
def test_expected_statistics_reach_the_likelihoods_maximum():
    """Rows of one class with holes: no nearby parameters are more likely."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    X[:25, 1] = np.nan
    model = GaussianDiscriminant(tol=1e-13, max_iter=2000).fit(X, np.zeros(80))

    def log_likelihood(mean, cov):
        total = 0.0
        for row in X:
            seen = ~np.isnan(row)
            gap, part = row[seen] - mean[seen], cov[np.ix_(seen, seen)]
            total -= 0.5 * (gap @ np.linalg.solve(part, gap) + np.linalg.slogdet(2 * np.pi * part)[1])
        return total

    best = log_likelihood(model.means_[0], model.covariance_)
    np.testing.assert_allclose(best, objectives(model)[-1], rtol=1e-10)
    for entry in [(0, 0), (0, 1), (1, 1)]:
        for step in (-1e-3, 1e-3):
            nudge = np.zeros((2, 2))
            nudge[entry] = nudge[entry[::-1]] = step
            assert log_likelihood(model.means_[0], model.covariance_ + nudge) < best
            assert log_likelihood(model.means_[0] + step * np.eye(2)[entry[1]], model.covariance_) < best


def test_values_missing_because_of_an_observed_column_leave_no_bias():
    """Missing at random: the second column is missing where the first is large, so its observed mean is too low."""
    rng = np.random.default_rng(3)
    n, cov = 30_000, np.array([[1.0, 0.8], [0.8, 1.0]])
    y = rng.integers(2, size=n)
    X = rng.multivariate_normal([0.0, 0.0], cov, size=n) + np.array([[0.0, 0.0], [2.0, 1.0]])[y]
    X[X[:, 0] > 1.0, 1] = np.nan
    labels = np.where(rng.random(n) < 0.5, y, np.nan)
    model = GaussianDiscriminant(unlabeled_weight=1.0, calibrate="none", max_iter=500, tol=1e-9).fit(X, labels)
    assert abs(np.nanmean(X[y == 1, 1]) - 1.0) > 0.5
    np.testing.assert_allclose(model.means_, [[0.0, 0.0], [2.0, 1.0]], atol=0.06)
    np.testing.assert_allclose(model.covariance_, cov, atol=0.05)


@pytest.mark.parametrize(("kind", "shared"), KINDS)
def test_a_row_is_judged_by_its_observed_cells_alone(kind, shared):
    X, y = problem()
    model = GaussianDiscriminant(covariance=kind, shared_variance=shared).fit(X, y)
    hidden = X.copy()
    hidden[:, 2] = np.nan
    np.testing.assert_allclose(
        model.score_samples(hidden),
        GaussianDiscriminant(covariance=kind, shared_variance=shared).fit(X[:, :2], y).score_samples(X[:, :2]),
        rtol=1e-9,
    ) if kind != "spherical" else None
    assert model.predict_proba(hidden).shape == (150, 3)
    np.testing.assert_allclose(model.predict_proba(hidden).sum(axis=1), 1.0)
    nothing = model.predict_proba(np.full((1, 3), np.nan))
    np.testing.assert_allclose(nothing[0], model.priors_, rtol=1e-12)


# ---- weights
@pytest.mark.parametrize("settings", SETTINGS, ids=named)
def test_a_weight_of_k_is_k_copies_with_holes_of_both_kinds(settings):
    X, y = problem(n_samples=60)
    X, labels = without_some_cells(X, 0.1), without_some_labels(y, 0.4)
    weight = np.random.default_rng(4).integers(0, 4, size=60)
    weight[:6] = 2
    model = GaussianDiscriminant(**settings, unlabeled_weight=1.0, calibrate="none", max_iter=10, tol=0.0)
    weighted = model.fit(X, labels, sample_weight=weight).covariance_
    copied = model.fit(np.repeat(X, weight, axis=0), np.repeat(labels, weight)).covariance_
    np.testing.assert_allclose(weighted, copied, rtol=1e-8, atol=1e-10)


# ---- batches
@pytest.mark.parametrize("settings", [s for s in SETTINGS if s["shrinkage"] != "auto" and not s["unbiased"]], ids=named)
def test_batches_of_labeled_rows_add_up_to_one_fit(settings):
    X, y = problem()
    whole = GaussianDiscriminant(**settings).fit(X, y)
    model = GaussianDiscriminant(**settings)
    for rows in np.array_split(np.arange(150), 4):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(model.covariance_, whole.covariance_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("kind", ["tied", "full", "diag"])
def test_batches_with_holes_of_both_kinds_come_close_to_one_fit(kind):
    X, y = problem(n_samples=1200, gap=4.0)
    X, labels = without_some_cells(X, 0.1), without_some_labels(y, 0.3)
    whole = GaussianDiscriminant(covariance=kind, unlabeled_weight=1.0, calibrate="none").fit(X, labels)
    model = GaussianDiscriminant(covariance=kind)
    for rows in np.array_split(np.arange(1200), 4):
        model.partial_fit(X[rows], labels[rows], classes=[0, 1, 2])
    assert model.class_count_.sum() == pytest.approx(1200.0)
    np.testing.assert_allclose(model.means_, whole.means_, atol=0.1)
    np.testing.assert_allclose(model.covariance_, whole.covariance_, atol=0.2)


def test_a_first_batch_without_any_complete_row_is_counted():
    X, y = problem()
    X[np.arange(150), np.arange(150) % 3] = np.nan
    model = GaussianDiscriminant(covariance="full").partial_fit(X, y, classes=[0, 1, 2])
    assert model.class_count_.sum() == pytest.approx(150.0)
    assert np.linalg.eigvalsh(model.covariance_).min() > 0.0


def test_batches_cannot_be_shrunk_automatically():
    with pytest.raises(AttributeError) as caught:
        GaussianDiscriminant(shrinkage="auto").partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    assert "fourth moments" in str(caught.value.__cause__)


# ---- what to do with rows without labels
def test_by_default_it_is_decided_by_cross_validation_whether_unlabeled_rows_are_used():
    X, y = problem(n_samples=300, gap=3.0)
    model = GaussianDiscriminant(random_state=0).fit(X, without_some_labels(y, 0.9))
    assert model.unlabeled_use_ in ("none", "marginals", "full")
    assert model.unlabeled_verdict_.n_labeled + model.unlabeled_verdict_.n_unlabeled == 300
    assert model.score(X, y) > 0.8


def test_shrinkage_keeps_its_strength_whether_or_not_unlabeled_rows_are_used():
    X, y = problem(n_samples=300)
    labels = without_some_labels(y, 0.5)
    known = ~np.isnan(labels)
    alone = GaussianDiscriminant(shrinkage=0.5, unlabeled_weight=0.0, calibrate="none").fit(X, labels)
    expected = GaussianDiscriminant(shrinkage=0.5).fit(X[known], labels[known])
    np.testing.assert_allclose(alone.covariance_, expected.covariance_, rtol=1e-9)


@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto"])
def test_without_labels_too_the_units_of_the_columns_do_not_matter(shrinkage):
    X, _ = problem(gap=6.0)
    resp = np.random.default_rng(0).dirichlet(np.ones(3), size=150)
    model = GaussianDiscriminant(covariance="full", shrinkage=shrinkage, n_classes=3, init=resp, max_iter=5, tol=0.0)
    scale = 1e-5 if shrinkage == 0.3 else np.array([1e-5, 1.0, 1e5])
    plain, scaled = model.fit(X).covariance_, model.fit(X * scale).covariance_
    np.testing.assert_allclose(scaled, plain * (np.ones(3) * scale)[:, None] * scale, rtol=1e-6)
