"""Agreement with scikit-learn and statsmodels: the same optimum, whatever the solver."""

import numpy as np
import pytest
import sklearn.linear_model as sk
import statsmodels.api as sm

from softcount import LogisticRegression
from tests.estimators.logistic.data import make_classification, names_of

SOLVERS = ["auto", "newton", "irls", "lbfgs", "gradient", "newton-cg", "newton-cholesky"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_coefficients_are_those_of_scikit_learn(solver, n_classes, C):
    X, y = make_classification(n_classes=n_classes)
    theirs = sk.LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12).fit(X, y)
    ours = LogisticRegression(C=C, solver=solver).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.decision_function(X).shape == theirs.decision_function(X).shape


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_and_class_weights_are_those_of_scikit_learn(fit_intercept, n_classes):
    X, y = make_classification(n_classes=n_classes)
    weight = np.random.default_rng(0).random(len(y))
    for class_weight in (None, "balanced", {0: 3.0, 1: 0.5}):
        arguments = {"C": 0.5, "class_weight": class_weight, "fit_intercept": fit_intercept}
        theirs = sk.LogisticRegression(solver="newton-cholesky", tol=1e-12, **arguments).fit(X, y, weight)
        ours = LogisticRegression(**arguments).fit(X, y, weight)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


@pytest.mark.parametrize("l1_ratio", [0.4, 1.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_coefficients_are_those_of_scikit_learn(l1_ratio, n_classes):
    X, y = make_classification(n_classes=n_classes)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = sk.LogisticRegression(C=0.02, l1_ratio=l1_ratio, solver="saga", tol=1e-11, max_iter=10**5).fit(X, y)
    ours = LogisticRegression(C=0.02, l1_ratio=l1_ratio).fit(X, y)
    assert np.any(ours.coef_ == 0.0) or l1_ratio < 1.0
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


def test_maximum_likelihood_is_that_of_statsmodels():
    X, y = make_classification()
    theirs = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14)
    ours = LogisticRegression(C=np.inf).fit(X, y)
    np.testing.assert_allclose(ours.coef_[0], theirs.params[1:], rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.params[:1], rtol=1e-9)
    np.testing.assert_allclose(ours.standard_errors_[0], theirs.bse[1:], rtol=1e-8)
    np.testing.assert_allclose(ours.intercept_standard_errors_, theirs.bse[:1], rtol=1e-8)
    np.testing.assert_allclose(ours.covariance_, theirs.cov_params(), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(ours.conf_int(0.9), theirs.conf_int(0.1), rtol=1e-8)
    assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-12)
    assert ours.aic_ == pytest.approx(theirs.aic, rel=1e-12)
    assert ours.bic_ == pytest.approx(theirs.bic, rel=1e-12)
    assert ours.n_parameters_ == len(theirs.params)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_multinomial_logit_is_that_of_statsmodels(solver):
    X, y = make_classification(600, 4, 4)
    theirs = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, method="newton", tol=1e-14)
    ours = LogisticRegression(C=np.inf, solver=solver).fit(X, y)
    table = ours.summary().frame()
    np.testing.assert_allclose(table["estimate"], np.asarray(theirs.params).T.ravel(), atol=1e-6)
    np.testing.assert_allclose(table["std. error"], np.asarray(theirs.bse).T.ravel(), rtol=1e-6)
    np.testing.assert_allclose(table["p > |z|"], np.asarray(theirs.pvalues).T.ravel(), atol=1e-6)
    assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-12)
    assert ours.aic_ == pytest.approx(theirs.aic, rel=1e-12)


def test_offsets_are_those_of_statsmodels():
    X, y = make_classification()
    offset = np.random.default_rng(1).normal(size=len(y))
    theirs = sm.GLM(y, sm.add_constant(X), sm.families.Binomial(), offset=offset).fit(tol=1e-14)
    ours = LogisticRegression(C=np.inf).fit(X, y, offset=offset)
    np.testing.assert_allclose(ours.coef_[0], theirs.params[1:], rtol=1e-9)
    np.testing.assert_allclose(ours.standard_errors_[0], theirs.bse[1:], rtol=1e-8)
    predicted = ours.predict_proba(X, offset=offset)[:, 1]
    np.testing.assert_allclose(predicted, theirs.fittedvalues, atol=1e-10)


def test_frequency_weights_are_those_of_statsmodels():
    X, y = make_classification(n_rows=120)
    often = np.random.default_rng(2).integers(1, 5, len(y))
    theirs = sm.GLM(y, sm.add_constant(X), sm.families.Binomial(), freq_weights=often).fit(tol=1e-14)
    ours = LogisticRegression(C=np.inf).fit(X, y, often)
    np.testing.assert_allclose(ours.coef_[0], theirs.params[1:], rtol=1e-8)
    np.testing.assert_allclose(ours.standard_errors_[0], theirs.bse[1:], rtol=1e-7)
    assert ours.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-10)
    assert ours.n_observations_ == often.sum()


def test_the_generalized_linear_model_of_this_package_agrees():
    from softcount import GLM

    X, y = make_classification()
    glm, logistic = GLM("binomial").fit(X, y), LogisticRegression(C=np.inf).fit(X, y)
    np.testing.assert_allclose(logistic.coef_[0], glm.coef_, rtol=1e-7)
    np.testing.assert_allclose(logistic.standard_errors_[0], glm.standard_errors_, rtol=1e-6)


def test_multinomial_offsets_shift_the_scores_of_their_classes():
    X, y = make_classification(n_classes=3)
    shift = np.array([0.5, -1.0, 2.0])
    plain = LogisticRegression().fit(X, y)
    offset = LogisticRegression().fit(X, y, offset=np.tile(shift, (len(y), 1)))
    np.testing.assert_allclose(offset.coef_, plain.coef_, atol=1e-7)
    moved = offset.intercept_ + shift
    np.testing.assert_allclose(moved - moved.mean(), plain.intercept_ - plain.intercept_.mean(), atol=1e-6)


@pytest.mark.parametrize("kind", [str, int, float, bool])
def test_labels_of_any_type_are_answered_in_kind(kind):
    X, y = make_classification()
    labels = names_of(y) if kind is str else (y.astype(kind) if kind is not int else 10 * y - 5)
    model = LogisticRegression().fit(X, labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels) == LogisticRegression().fit(X, y).score(X, y)


def test_minus_one_and_one_are_ordinary_labels():
    X, y = make_classification()
    np.testing.assert_allclose(
        LogisticRegression().fit(X, 2 * y - 1).coef_, LogisticRegression().fit(X, y).coef_, rtol=1e-12
    )


def test_multinomial_coefficients_sum_to_zero_over_the_classes():
    X, y = make_classification(n_classes=4)
    for C in (0.1, np.inf):
        model = LogisticRegression(C=C).fit(X, y)
        np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-12)
        assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-10)


def test_log_probabilities_are_finite_where_probabilities_underflow():
    X, y = np.array([[-1.0], [-0.5], [0.5], [1.0]]), np.array([0, 0, 1, 1])
    model = LogisticRegression(C=1e6).fit(X, y)
    far = np.array([[1e4], [-1e4]])
    log_proba = model.predict_log_proba(far)
    assert np.isfinite(log_proba).all()
    assert log_proba[0, 0] == pytest.approx(-model.decision_function(far)[0])
    with np.errstate(divide="ignore"):
        assert np.isneginf(np.log(model.predict_proba(far)[0, 0]))
