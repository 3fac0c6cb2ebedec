"""scikit-learn's own checks, for every solver and kind of penalty."""

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from softcount import GaussianNB, LogisticRegression


@parametrize_with_checks(
    [
        LogisticRegression(),
        LogisticRegression(C=np.inf),
        LogisticRegression(solver="lbfgs", n_jobs=1),
        LogisticRegression(solver="gradient", l1_ratio=0.5, tol=1e-10),
        LogisticRegression(solver="newton-cg"),
        LogisticRegression(from_generative=GaussianNB()),
    ]
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
