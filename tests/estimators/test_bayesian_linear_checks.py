"""scikit-learn's own checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from softcount.estimators.bayesian_linear import BayesianLinearRegression


@parametrize_with_checks(
    [
        BayesianLinearRegression(),
        BayesianLinearRegression(prior_precision=1.0, noise=0.5, fit_intercept=False),
        BayesianLinearRegression(noise="conjugate", prior_precision=0.1),
    ]
)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)
