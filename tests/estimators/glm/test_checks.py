"""scikit-learn's own checks, for the families that take any finite target and for some that do not."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from softcount.estimators.glm import GLM


@parametrize_with_checks(
    [
        GLM(),
        GLM(alpha=0.1, l1_ratio=0.5),
        GLM("gaussian", "identity", alpha=0.5, fit_intercept=False),
        GLM("gamma", "log"),
        GLM("inverse_gaussian", "log", alpha=0.1),
    ]
)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)
