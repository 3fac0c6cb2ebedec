"""Parameters of fits that unlabeled rows take part in: starts, temperatures, and evidence after calibration."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from softcount import BernoulliMixture, BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from softcount._errors import InputError


def problem(n_rows: int = 300, n_columns: int = 8) -> tuple[Any, Any, Any]:
    """Yes/no rows of three classes, with repeated columns (which make posteriors too certain); 30 have labels."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, n_rows)
    X = (rng.random((n_rows, n_columns)) < np.array([0.2, 0.5, 0.8])[truth][:, None]).astype(float)
    return np.repeat(X, 2, axis=1), truth, np.where(np.arange(n_rows) < 30, truth, np.nan)


@pytest.mark.parametrize("layout", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_evidence_of_a_calibrated_model_sums_to_its_own_log_odds(layout: Any) -> None:
    X, _, y = problem()
    X = layout(X)
    model = BernoulliNB(calibrate="temperature", random_state=0).fit(X, y)
    assert model.calibration_ is not None
    assert model.calibration_.correlation > 0.01
    log_posterior = model.predict_log_proba(X)
    evidence = model.contributions(X, positive=2.0, negative=0.0)
    assert_allclose(evidence.total(), log_posterior[:, 2] - log_posterior[:, 0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (
            lambda X, y: GaussianNB().fit(X, y),
            r"GaussianNB with columns of the family gaussian.*MultinomialNB has multi",
        ),
        (lambda X, y: MultinomialNB().fit(X[:, :3], y), r"fitted to 3 columns, but X has 16"),
    ],
    ids=["another family", "other columns"],
)
def test_a_start_that_is_not_of_the_same_kind_is_refused(init: Any, message: str) -> None:
    X, truth, y = problem()
    with pytest.raises(InputError, match=message):
        MultinomialNB(init=init(X, truth), unlabeled_weight=1.0).fit(X, y)


def test_a_start_with_other_values_of_a_categorical_column_is_refused() -> None:
    X, truth, y = problem()
    with pytest.raises(InputError, match=r"categorical columns with other values"):
        CategoricalNB(init=CategoricalNB().fit(X + 1, truth), unlabeled_weight=1.0).fit(X, y)


def test_a_fitted_estimator_is_a_start_at_its_own_parameters() -> None:
    X, _, y = problem()
    fitted = MultinomialNB(unlabeled_weight=1.0, calibrate="none", tol=1e-9).fit(X, y)
    again = MultinomialNB(init=fitted, unlabeled_weight=1.0, calibrate="none", tol=1e-9).fit(X, y)
    assert again.n_iter_ < fitted.n_iter_
    assert again.history_[0].objective == pytest.approx(fitted.history_[-1].objective, rel=1e-12)


@pytest.mark.parametrize("annealing", [[0.0, 1.0], [np.nan], "hot", 3.0, [-1.0], ["a"]])
def test_temperatures_that_cannot_divide_are_refused(annealing: Any) -> None:
    X, _, y = problem()
    with pytest.raises(InputError, match=r"annealing"):
        MultinomialNB(annealing=annealing, unlabeled_weight=1.0).fit(X, y)


def test_criteria_without_any_weight_and_samples_of_a_truth_value_are_refused() -> None:
    X, truth, _ = problem()
    model = MultinomialNB().fit(X, truth)
    with pytest.raises(InputError, match=r"zero in all rows"):
        model.bic(X, sample_weight=np.zeros(300))
    with pytest.raises(InputError, match=r"n_samples is True"):
        model.sample(True)


@pytest.mark.parametrize("make", [BernoulliNB, MultinomialNB, CategoricalNB], ids=lambda make: make.__name__)
def test_class_priors_that_do_not_sum_to_one_are_divided_by_their_sum_with_a_warning(make: Any) -> None:
    X, _, known = problem()
    right = make(class_prior=[0.2, 0.3, 0.5], unlabeled_weight=1.0).fit(X, known)
    with pytest.warns(UserWarning, match=r"class_prior is \[2.0, 3.0, 5.0\], which sums to 10; it was divided by that"):
        odds = make(class_prior=[2.0, 3.0, 5.0], unlabeled_weight=1.0).fit(X, known)
    assert_allclose(odds.class_log_prior_, np.log([0.2, 0.3, 0.5]), rtol=1e-12)
    assert_allclose(odds.score_samples(X), right.score_samples(X), rtol=1e-12)
    assert_allclose(odds.predict_proba(X), right.predict_proba(X), rtol=1e-12)


def test_weights_of_components_that_do_not_sum_to_one_are_divided_by_their_sum_with_a_warning() -> None:
    X = problem()[0]
    with pytest.warns(UserWarning, match="which sums to 4"):
        model = BernoulliMixture(2, class_prior=[1.0, 3.0], random_state=0).fit(X)
    assert_allclose(np.sort(model.weights_), [0.25, 0.75], rtol=1e-12)
    right = BernoulliMixture(2, class_prior=[0.25, 0.75], random_state=0).fit(X)
    assert model.log_likelihood_ == pytest.approx(right.log_likelihood_, rel=1e-12)
