"""GaussianDiscriminant with all labels: closed forms, and the answers of scikit-learn's discriminant analyses."""

import numpy as np
import pytest
import sklearn
from sklearn.covariance import empirical_covariance, ledoit_wolf, shrunk_covariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from softcount import GaussianDiscriminant, GaussianNB

KINDS = [("tied", False), ("full", False), ("diag", False), ("diag", True), ("spherical", False), ("spherical", True)]
#: Up to 1.8 scikit-learn's svd solvers divided by the number of rows minus that of means.
SVD_IS_UNBIASED = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 9)


def problem(n_classes=3, n_samples=240, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_samples)
    spread = np.eye(n_features) + 0.4 * rng.normal(size=(n_features, n_features))
    X = rng.normal(size=(n_samples, n_features)) @ spread + rng.normal(size=(n_classes, n_features))[y]
    return X, y


def centered(scores):
    """Decision values of more than two classes mean the same after adding a number to a row."""
    return scores if scores.ndim == 1 else scores - scores.mean(axis=1, keepdims=True)


def assert_same_answers(model, reference, X):
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), rtol=0, atol=1e-8)
    ours, theirs = centered(model.decision_function(X)), centered(reference.decision_function(X))
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore:.*is singular:UserWarning")
@parametrize_with_checks(
    [
        GaussianDiscriminant(),
        GaussianDiscriminant(covariance="full"),
        GaussianDiscriminant(covariance="diag"),
        GaussianDiscriminant(covariance="spherical", shared_variance=True),
        GaussianDiscriminant(covariance="full", shrinkage="auto"),
    ]
)
def test_scikit_learns_checks_hold(estimator, check):
    check(estimator)


# ---- agreement with scikit-learn
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
@pytest.mark.parametrize("shrinkage", [None, 0.0, 0.3, 1.0, "auto"])
def test_tied_covariance_gives_the_answers_of_linear_discriminant_analysis(n_classes, solver, shrinkage):
    X, y = problem(n_classes)
    reference = LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage).fit(X, y)
    assert_same_answers(GaussianDiscriminant(shrinkage=shrinkage).fit(X, y), reference, X)


@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
def test_tied_covariance_gives_the_answers_of_the_svd_solver_with_and_without_given_priors(priors):
    X, y = problem()
    reference = LinearDiscriminantAnalysis(solver="svd", priors=priors).fit(X, y)
    assert_same_answers(GaussianDiscriminant(priors=priors, unbiased=SVD_IS_UNBIASED).fit(X, y), reference, X)


def test_priors_that_do_not_sum_to_one_are_normalized_with_a_warning_as_the_reference_does():
    X, y = problem()
    with pytest.warns(UserWarning, match="sum to 1"):
        reference = LinearDiscriminantAnalysis(solver="svd", priors=[2.0, 3.0, 5.0]).fit(X, y)
    with pytest.warns(UserWarning, match="which sums to 10"):
        own = GaussianDiscriminant(priors=[2.0, 3.0, 5.0], unbiased=SVD_IS_UNBIASED).fit(X, y)
    assert_same_answers(own, reference, X)
    assert own.priors_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_full_covariances_give_the_answers_of_quadratic_discriminant_analysis(n_classes):
    X, y = problem(n_classes)
    reference = QuadraticDiscriminantAnalysis().fit(X, y)
    assert_same_answers(GaussianDiscriminant(covariance="full", unbiased=SVD_IS_UNBIASED).fit(X, y), reference, X)


@pytest.mark.parametrize("shrinkage", [0.0, 0.25, 1.0])
def test_shrunk_full_covariances_are_those_of_scikit_learn_class_by_class(shrinkage):
    X, y = problem()
    model = GaussianDiscriminant(covariance="full", shrinkage=shrinkage).fit(X, y)
    expected = [shrunk_covariance(empirical_covariance(X[y == k]), shrinkage) for k in range(3)]
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-12, atol=1e-14)


def test_automatic_shrinkage_is_that_of_ledoit_and_wolf_on_standardized_columns():
    X, y = problem(n_samples=60, n_features=10)
    model = GaussianDiscriminant(covariance="full", shrinkage="auto").fit(X, y)
    for k in range(3):
        scaler = StandardScaler().fit(X[y == k])
        shrunk, intensity = ledoit_wolf(scaler.transform(X[y == k]))
        expected = scaler.scale_[:, None] * shrunk * scaler.scale_
        np.testing.assert_allclose(model.shrinkage_[k], intensity, rtol=1e-10)
        np.testing.assert_allclose(model.covariance_[k], expected, rtol=1e-10, atol=1e-12)


def test_automatic_shrinkage_with_unequal_intensities_and_a_constant_column_is_scikit_learns():
    X, y = problem(n_samples=40, n_features=12)
    y[:3] = 2
    X[:, 5] = 4.0
    reference = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y)
    model = GaussianDiscriminant(shrinkage="auto").fit(X, y)
    assert np.ptp(model.shrinkage_) > 0.01
    np.testing.assert_allclose(model.covariance_, reference.covariance_, rtol=1e-10, atol=1e-12)


def test_diagonal_covariances_are_gaussian_naive_bayes():
    X, y = problem()
    model = GaussianDiscriminant(covariance="diag").fit(X, y)
    naive = GaussianNB(var_smoothing=0.0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), naive.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(model.covariance_, naive.var_, rtol=1e-12)


# ---- closed forms
def scatters(X, y):
    return np.stack([(X[y == k] - X[y == k].mean(axis=0)).T @ (X[y == k] - X[y == k].mean(axis=0)) for k in range(3)])


@pytest.mark.parametrize("unbiased", [False, True])
def test_every_covariance_is_its_closed_form(unbiased):
    X, y = problem()
    S, n, d, lost = scatters(X, y), np.bincount(y), X.shape[1], int(unbiased)
    variances = np.diagonal(S, axis1=1, axis2=2)
    expected = {
        ("tied", False): S.sum(axis=0) / (n.sum() - 3 * lost),
        ("full", False): S / (n - lost)[:, None, None],
        ("diag", False): variances / (n - lost)[:, None],
        ("diag", True): variances.sum(axis=0) / (n.sum() - 3 * lost),
        ("spherical", False): variances.sum(axis=1) / (d * (n - lost)),
        ("spherical", True): variances.sum() / (d * (n.sum() - 3 * lost)),
    }
    for kind, shared in KINDS:
        model = GaussianDiscriminant(covariance=kind, shared_variance=shared, unbiased=unbiased).fit(X, y)
        np.testing.assert_allclose(model.covariance_, expected[kind, shared], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(model.means_, [X[y == k].mean(axis=0) for k in range(3)], rtol=1e-12)
        np.testing.assert_allclose(model.priors_, n / n.sum())
        np.testing.assert_array_equal(model.class_count_, n)


def test_two_classes_have_the_parameters_of_the_textbook():
    """Psi, mu_0, mu_1 and Sigma that maximize the joint likelihood of Gaussian discriminant analysis."""
    X = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 3.0], [6.0, 5.0], [8.0, 8.0]])
    y = np.array([0, 0, 0, 1, 1])
    model = GaussianDiscriminant().fit(X, y)
    np.testing.assert_allclose(model.priors_[1], 2 / 5)
    np.testing.assert_allclose(model.means_, [[2.0, 2.0], [7.0, 6.5]])
    # Deviations (-1, 0), (1, -1), (0, 1), (-1, -1.5), (1, 1.5): products summed and divided by 5.
    np.testing.assert_allclose(model.covariance_, [[4 / 5, 2 / 5], [2 / 5, 6.5 / 5]])


def test_shrunk_diagonal_variances_are_drawn_towards_their_mean():
    X, y = problem()
    plain = GaussianDiscriminant(covariance="diag").fit(X, y).covariance_
    shrunk = GaussianDiscriminant(covariance="diag", shrinkage=0.4).fit(X, y).covariance_
    np.testing.assert_allclose(shrunk, 0.6 * plain + 0.4 * plain.mean(axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize(("kind", "shared", "variances"), [
    ("tied", False, 10), ("full", False, 30), ("diag", False, 12), ("diag", True, 4), ("spherical", False, 3),
    ("spherical", True, 1),
])  # fmt: skip
def test_free_parameters_are_means_variances_and_class_probabilities(kind, shared, variances):
    X, y = problem()
    model = GaussianDiscriminant(covariance=kind, shared_variance=shared).fit(X, y)
    assert model.n_parameters_ == 3 * 4 + variances + 2


# ---- the boundary
@pytest.mark.parametrize(("kind", "shared"), [("tied", False), ("diag", True), ("spherical", True)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_posterior_is_logistic_where_the_covariance_is_shared(kind, shared, n_classes):
    X, y = problem(n_classes)
    model = GaussianDiscriminant(covariance=kind, shared_variance=shared).fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    if n_classes == 2:
        posterior = 1.0 / (1.0 + np.exp(-scores[:, 0]))
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], posterior, atol=1e-12)
        precision_times_gap = np.linalg.solve(
            model.covariance_ if kind == "tied" else np.diag(np.broadcast_to(model.covariance_, 4)),
            model.means_[1] - model.means_[0],
        )
        np.testing.assert_allclose(model.coef_[0], precision_times_gap, rtol=1e-10)
    else:
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(model.predict_proba(X), weights / weights.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_a_quadratic_boundary_has_no_weights_and_says_why(kind):
    X, y = problem(2)
    model = GaussianDiscriminant(covariance=kind).fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match="quadratic"):
        model.to_linear()


@pytest.mark.parametrize(("kind", "shared"), KINDS)
def test_contributions_sum_to_the_log_odds(kind, shared):
    X, y = problem(3)
    X[::7, 1] = np.nan
    model = GaussianDiscriminant(covariance=kind, shared_variance=shared).fit(X, y)
    evidence = model.contributions(X, positive=2, negative=0)
    log_proba = model.predict_log_proba(X)
    np.testing.assert_allclose(evidence.total(), log_proba[:, 2] - log_proba[:, 0], rtol=1e-9, atol=1e-9)


# ---- Fisher's projection
def test_the_projection_is_that_of_scikit_learn_up_to_signs():
    X, y = problem(4)
    model = GaussianDiscriminant(unbiased=SVD_IS_UNBIASED).fit(X, y)
    reference = LinearDiscriminantAnalysis(solver="svd").fit(X, y)
    ours, theirs = model.transform(X), reference.transform(X)
    assert ours.shape == (X.shape[0], 3)
    signs = np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours * signs, theirs, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.explained_variance_ratio_, reference.explained_variance_ratio_, rtol=1e-10)


@pytest.mark.parametrize(("kind", "shared"), KINDS)
def test_projections_have_unit_variance_within_classes(kind, shared):
    X, y = problem()
    model = GaussianDiscriminant(covariance=kind, shared_variance=shared).fit(X, y)
    within = model.params_.blocks[0]
    matrices = within["cov"] if "cov" in within else within["var"].T[:, :, None] * np.eye(4)
    mean_covariance = np.einsum("k,kde->de", model.priors_, matrices)
    np.testing.assert_allclose(model.scalings_.T @ mean_covariance @ model.scalings_, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(model.explained_variance_ratio_.sum(), 1.0)


def test_a_missing_cell_is_projected_at_its_expectation():
    X, y = problem(2, n_features=2)
    model = GaussianDiscriminant().fit(X, y)
    row = np.array([[0.7, np.nan]])
    cov, posterior = model.covariance_, model.predict_proba(row)[0]
    expected = posterior @ (model.means_[:, 1] + cov[1, 0] / cov[0, 0] * (0.7 - model.means_[:, 0]))
    np.testing.assert_allclose(model.transform(row), model.transform([[0.7, expected]]), rtol=1e-12)


# ---- sampling
def test_drawn_rows_give_the_parameters_back():
    X, y = problem()
    model = GaussianDiscriminant(covariance="full").fit(X, y)
    drawn, classes = model.sample(40_000, random_state=0)
    again = GaussianDiscriminant(covariance="full").fit(drawn, classes)
    np.testing.assert_allclose(again.means_, model.means_, atol=0.1)
    np.testing.assert_allclose(again.covariance_, model.covariance_, atol=0.2)
