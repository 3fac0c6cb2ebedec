"""With all labels known every answer is scikit-learn's, to ten digits."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csc_matrix, csr_array, csr_matrix

from tests.estimators.naive_bayes.cases import (
    ALL,
    BERNOULLI,
    CATEGORICAL,
    COMPLEMENT,
    GAUSSIAN,
    MULTINOMIAL,
    WITH_RIVAL,
    Case,
)

DISCRETE = [case for case in WITH_RIVAL if case is not GAUSSIAN]
LINEAR = [BERNOULLI, MULTINOMIAL, COMPLEMENT]
ATTRIBUTES = {
    "BernoulliNB": ["class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"],
    "MultinomialNB": ["class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"],
    "ComplementNB": ["class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_", "feature_all_"],
    "CategoricalNB": ["class_count_", "class_log_prior_", "category_count_", "feature_log_prob_", "n_categories_"],
    "GaussianNB": ["class_count_", "class_prior_", "theta_", "var_", "epsilon_"],
}


def by_name(case: Case) -> str:
    return case.name


def assert_same_model(ours: Any, theirs: Any, X: Any) -> None:
    for name in [*ATTRIBUTES[type(theirs).__name__], "classes_", "n_features_in_"]:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if isinstance(other, list):
            assert len(mine) == len(other)
            for part, other_part in zip(mine, other, strict=True):
                assert_allclose(part, other_part, rtol=1e-10, atol=1e-12, err_msg=name)
        else:
            assert_allclose(mine, other, rtol=1e-10, atol=1e-12, err_msg=name)
            assert np.shape(mine) == np.shape(other), name
    assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-10, atol=1e-10)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-10, atol=1e-10)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-10, atol=1e-13)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def fit_both(case: Case, X: Any, y: Any, weight: Any = None, **settings: Any) -> tuple[Any, Any]:
    return case.make(**settings).fit(X, y, sample_weight=weight), case.rival(**settings).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 6])
@pytest.mark.parametrize("case", WITH_RIVAL, ids=by_name)
def test_every_attribute_and_answer_is_that_of_scikit_learn(case: Case, n_classes: int) -> None:
    X, y = case.rows(n_classes=n_classes)
    assert_same_model(*fit_both(case, X, y), X)


@pytest.mark.parametrize("container", [csr_array, csr_matrix, csc_array, csc_matrix, coo_array])
@pytest.mark.parametrize("case", LINEAR, ids=by_name)
def test_sparse_rows_give_the_answers_of_scikit_learn(case: Case, container: Any) -> None:
    X, y = case.rows()
    ours, theirs = fit_both(case, container(X), y)
    assert_same_model(ours, theirs, container(X))
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(container(X)), rtol=1e-10)


@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bool"],
)
@pytest.mark.parametrize("case", WITH_RIVAL, ids=by_name)
def test_every_number_type_gives_the_answers_of_scikit_learn(case: Case, dtype: str) -> None:
    X, y = case.rows()
    if case is GAUSSIAN:
        X = np.abs(np.round(4 * X))
    X = X.astype(dtype)
    # scikit-learn computes narrow floats in their own precision; in double precision the numbers are the same ones.
    ours, theirs = case.make().fit(X, y), case.rival().fit(X.astype(np.float64), y)
    assert_same_model(ours, theirs, X.astype(np.float64))
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X.astype(np.float64)), rtol=1e-10)


@pytest.mark.parametrize("alpha", [1.0, 0.5, 1e-3, 10.0, 1e5])
@pytest.mark.parametrize("case", DISCRETE, ids=by_name)
def test_smoothing_is_that_of_scikit_learn(case: Case, alpha: float) -> None:
    X, y = case.rows()
    assert_same_model(*fit_both(case, X, y, alpha=alpha), X)


@pytest.mark.parametrize("case", [MULTINOMIAL, COMPLEMENT], ids=by_name)
def test_smoothing_per_feature_is_that_of_scikit_learn(case: Case) -> None:
    X, y = case.rows()
    assert_same_model(*fit_both(case, X, y, alpha=np.array([0.1, 1.0, 2.0, 0.5, 3.0])), X)


@pytest.mark.filterwarnings("ignore:alpha too small")
@pytest.mark.parametrize("alpha", [0.0, 1e-12])
@pytest.mark.parametrize("case", DISCRETE, ids=by_name)
def test_smoothing_too_small_is_raised_unless_forced_as_in_scikit_learn(case: Case, alpha: float) -> None:
    X, y = case.rows()
    ours, theirs = fit_both(case, X, y, alpha=alpha, force_alpha=False)
    assert_same_model(ours, theirs, X)
    with pytest.warns(UserWarning, match="alpha too small"):
        case.make(alpha=alpha, force_alpha=False).fit(X, y)


@pytest.mark.parametrize("settings", [{"fit_prior": False}, {"class_prior": [0.2, 0.3, 0.5]}], ids=str)
@pytest.mark.parametrize("case", DISCRETE, ids=by_name)
def test_class_probabilities_given_or_equal_are_those_of_scikit_learn(case: Case, settings: dict[str, Any]) -> None:
    X, y = case.rows()
    assert_same_model(*fit_both(case, X, y, **settings), X)


@pytest.mark.parametrize("settings", [{"priors": [0.2, 0.3, 0.5]}, {"var_smoothing": 0.1}, {"var_smoothing": 0.0}])
def test_gaussian_settings_mean_what_they_mean_in_scikit_learn(settings: dict[str, Any]) -> None:
    X, y = GAUSSIAN.rows()
    assert_same_model(*fit_both(GAUSSIAN, X, y, **settings), X)


@pytest.mark.parametrize("case", WITH_RIVAL, ids=by_name)
def test_row_weights_mean_what_they_mean_in_scikit_learn(case: Case) -> None:
    X, y = case.rows()
    weight = np.random.default_rng(3).integers(0, 4, size=y.size) * 0.75
    # scikit-learn takes the variance floor from the unweighted columns; here a weight of k is k copies everywhere.
    settings = {"var_smoothing": 0.0} if case is GAUSSIAN else {}
    assert_same_model(*fit_both(case, X, y, weight, **settings), X)


@pytest.mark.parametrize("case", WITH_RIVAL, ids=by_name)
def test_batches_add_up_to_the_answers_of_scikit_learn(case: Case) -> None:
    X, y = case.rows(n_rows=90)
    # scikit-learn's CategoricalNB learns no values beyond those of its first batch; each batch here has them all.
    settings: dict[str, Any] = {"min_categories": 5} if case is CATEGORICAL else {}
    if case is GAUSSIAN:
        # scikit-learn's variance floor is that of the last batch; here batches add up to one fit.
        settings = {"var_smoothing": 0.0}
    weight = np.random.default_rng(3).random(y.size)
    ours, theirs = case.make(**settings), case.rival(**settings)
    for start in range(0, 90, 30):
        rows = slice(start, start + 30)
        for estimator in (ours, theirs):
            estimator.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
        assert_same_model(ours, theirs, X)


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_batches_add_up_to_one_fit(case: Case) -> None:
    X, y = case.rows(n_rows=90)
    batches = case.make()
    for start in range(0, 90, 15):
        batches.partial_fit(X[start : start + 15], y[start : start + 15], classes=[0, 1, 2])
    whole = case.make().fit(X, y)
    assert_allclose(batches.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("case", [BERNOULLI, MULTINOMIAL, CATEGORICAL], ids=by_name)
def test_a_class_named_in_the_first_batch_may_have_no_row_yet(case: Case) -> None:
    X, y = case.rows(n_classes=2)
    settings = {"min_categories": 5} if case is CATEGORICAL else {}
    ours = case.make(**settings).partial_fit(X, y, classes=[0, 1, 2])
    theirs = case.rival(**settings).partial_fit(X, y, classes=[0, 1, 2])
    assert_same_model(ours, theirs, X)
    assert ours.class_log_prior_[2] == -np.inf


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_normalized_complement_weights_are_those_of_scikit_learn(norm: bool, alpha: float) -> None:
    X, y = COMPLEMENT.rows()
    assert_same_model(*fit_both(COMPLEMENT, X, y, norm=norm, alpha=alpha), X)


@pytest.mark.parametrize("fewest", [7, [3, 4, 5, 6, 7], np.array([9, 3, 3, 3, 9])], ids=str)
def test_fewest_categories_mean_what_they_mean_in_scikit_learn(fewest: Any) -> None:
    X, y = CATEGORICAL.rows()
    assert_same_model(*fit_both(CATEGORICAL, X, y, min_categories=fewest), X)


@pytest.mark.parametrize("binarize", [0.0, 1.0, 2.5])
def test_thresholds_of_bits_are_those_of_scikit_learn(binarize: float) -> None:
    X, y = MULTINOMIAL.rows()
    assert_same_model(*fit_both(BERNOULLI, X, y, binarize=binarize), X)
    assert_same_model(*fit_both(BERNOULLI, csr_array(X), y, binarize=binarize), csr_array(X))


def test_bits_without_a_threshold_may_be_fractions_as_in_scikit_learn() -> None:
    X, y = MULTINOMIAL.rows()
    X = X / X.max()
    assert_same_model(*fit_both(BERNOULLI, X, y, binarize=None), X)
    assert_same_model(*fit_both(BERNOULLI, csr_array(X), y, binarize=None), csr_array(X))


@pytest.mark.parametrize("case", [MULTINOMIAL, COMPLEMENT], ids=by_name)
def test_counts_may_be_fractions_as_in_scikit_learn(case: Case) -> None:
    X, y = case.rows()
    X = X * np.random.default_rng(5).random(X.shape)
    assert_same_model(*fit_both(case, X, y), X)
    assert_same_model(*fit_both(case, csr_array(X), y), csr_array(X))


@pytest.mark.filterwarnings("ignore:CategoricalNB takes categories as whole numbers")
def test_fractions_of_codes_are_cut_off_as_in_scikit_learn_and_said() -> None:
    X, y = CATEGORICAL.rows()
    X = X + np.where(X == 2, 0.7, 0.0)
    assert_same_model(*fit_both(CATEGORICAL, X, y), X)
    with pytest.warns(UserWarning, match=r"row \d+, column 'x\d' holds 2.7: fractions are cut off"):
        CATEGORICAL.make().fit(X, y)


@pytest.mark.parametrize(
    "names",
    [["ham", "spam", "virus"], [-1, 0, 1], [1.0, 2.0, 3.0], ["b", "a", "c"], [10**12, 5, -7]],
    ids=str,
)
@pytest.mark.parametrize("case", WITH_RIVAL, ids=by_name)
def test_classes_are_named_and_ordered_as_in_scikit_learn(case: Case, names: list[Any]) -> None:
    X, y = case.rows()
    labels: NDArray[Any] = np.array(names)[y]
    ours, theirs = fit_both(case, X, labels)
    assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.classes_.dtype == theirs.classes_.dtype
    assert_array_equal(ours.predict(X), theirs.predict(X))
