"""scikit-learn's own checks of an estimator, with no failure expected of any."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.estimators.naive_bayes.cases import ALL


# Some checks feed measurements to CategoricalNB, which cuts their fractions off as scikit-learn does, with a warning.
@pytest.mark.filterwarnings("ignore:CategoricalNB takes categories as whole numbers")
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@parametrize_with_checks([case.make() for case in ALL])
def test_estimator_passes_the_check_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("case", [case for case in ALL if case.name != "ComplementNB"], ids=lambda case: case.name)
def test_estimators_of_two_components_and_of_shared_settings_can_be_cloned_and_printed(case: Any) -> None:
    from sklearn.base import clone

    estimator = case.make(n_components_per_class=2, missing_label="?", init="uniform")
    assert clone(estimator).get_params()["missing_label"] == "?"
    assert "missing_label='?'" in repr(estimator)
