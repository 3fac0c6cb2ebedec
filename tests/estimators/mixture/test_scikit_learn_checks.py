"""scikit-learn's own checks of an estimator, with no failure expected of any."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import softcount

NAMES = [
    "BernoulliMixture",
    "CategoricalMixture",
    "GaussianMixture",
    "LatentClass",
    "Mixture",
    "MultinomialMixture",
    "PoissonMixture",
]
GAUSSIANS = [softcount.GaussianMixture(covariance_type=kind) for kind in ("tied", "diag", "spherical")]


@pytest.mark.filterwarnings("ignore:.*")
@parametrize_with_checks([*(getattr(softcount, name)() for name in NAMES), *GAUSSIANS])
def test_scikit_learn_check(estimator, check):
    assert check(estimator) is None
