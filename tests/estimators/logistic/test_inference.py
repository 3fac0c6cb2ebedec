"""Standard errors, summaries and criteria."""

import numpy as np
import pandas as pd
import pytest

from softcount import LogisticRegression
from softcount._errors import InputError
from tests.estimators.logistic.data import make_classification, names_of


def test_standard_errors_match_the_spread_of_repeated_fits():
    X, y = make_classification(n_rows=400, n_columns=3)
    model = LogisticRegression(C=np.inf).fit(X, y)
    rng = np.random.default_rng(0)
    probability = model.predict_proba(X)[:, 1]
    draws = [
        LogisticRegression(C=np.inf, inference=False).fit(X, rng.random(400) < probability).coef_[0] for _ in range(150)
    ]
    np.testing.assert_allclose(np.std(draws, axis=0), model.standard_errors_[0], rtol=0.2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_penalized_covariance_is_the_inverse_of_the_penalized_curvature(n_classes):
    X, y = make_classification(n_classes=n_classes, n_columns=2)
    model = LogisticRegression(C=0.2).fit(X, y)
    Z = np.column_stack([np.ones(len(y)), X])
    shares = model.predict_proba(X)
    if n_classes == 2:
        weight = shares[:, 0] * shares[:, 1]
        curvature = Z.T @ (weight[:, None] * Z) + np.diag([0.0, 5.0, 5.0])
        np.testing.assert_allclose(model.covariance_, np.linalg.inv(curvature), rtol=1e-6)
        information = curvature - np.diag([0.0, 5.0, 5.0])
        assert model.n_parameters_ == pytest.approx(np.trace(np.linalg.solve(curvature, information)), rel=1e-6)
        return
    size = 3 * n_classes
    curvature = np.zeros((size, size))
    for p, z in zip(shares, Z, strict=True):
        curvature += np.kron(np.diag(p) - np.outer(p, p), np.outer(z, z))
    curvature += np.kron(np.eye(n_classes), np.diag([0.0, 5.0, 5.0]))
    # A shift common to all classes changes nothing: what is known about it is the prior, and is left out.
    contrast = np.kron(np.eye(n_classes) - 1.0 / n_classes, np.eye(3))
    expected = contrast @ np.linalg.pinv(curvature, rcond=1e-10) @ contrast
    np.testing.assert_allclose(model.covariance_, expected, atol=1e-9)


def test_the_choice_of_the_baseline_changes_the_question_and_not_the_model():
    X, y = make_classification(n_classes=3)
    model = LogisticRegression(C=np.inf).fit(X, names_of(y))
    by_ant, by_bee = model.summary().frame(), model.summary(baseline="bee").frame()
    one, other = by_ant.loc["bee: x1"], by_bee.loc["ant: x1"]
    assert one["estimate"] == pytest.approx(-other["estimate"])
    assert one["std. error"] == pytest.approx(other["std. error"])
    with pytest.raises(InputError, match="baseline is 'cow', which is none of the classes"):
        model.summary(baseline="cow")


def test_the_summary_is_a_table_of_text_and_a_frame():
    X, y = make_classification(n_columns=2)
    model = LogisticRegression(C=np.inf).fit(pd.DataFrame(X, columns=["dose", "age"]), names_of(y))
    table = model.summary()
    frame = table.frame()
    assert frame.index.tolist() == ["(intercept)", "dose", "age"]
    assert frame.columns.tolist() == [
        "estimate",
        "std. error",
        "z",
        "p > |z|",
        "lower 95%",
        "upper 95%",
        "odds ratio",
        "lower OR",
        "upper OR",
    ]
    np.testing.assert_allclose(frame["odds ratio"], np.exp(frame["estimate"]))
    np.testing.assert_allclose(frame["lower OR"], np.exp(frame["lower 95%"]))
    text = str(table)
    assert text.startswith("Logistic regression\n===================\nclasses: ant, bee\nbaseline: ant\n")
    assert all(len(line) <= 130 for line in text.splitlines())
    np.testing.assert_allclose(model.conf_int(), frame[["lower 95%", "upper 95%"]])
    swapped = model.summary(baseline="bee").frame()
    np.testing.assert_allclose(swapped["estimate"], -frame["estimate"])


def test_names_of_coefficients_and_rows_of_the_covariance_belong_together():
    X, y = make_classification(n_classes=3, n_columns=2)
    model = LogisticRegression().fit(X, names_of(y))
    assert model.coefficient_names_[:4] == ["ant: (intercept)", "ant: x0", "ant: x1", "bee: (intercept)"]
    assert model.covariance_.shape == (9, 9)
    errors = np.column_stack([model.intercept_standard_errors_, model.standard_errors_]).ravel()
    np.testing.assert_allclose(np.sqrt(np.diag(model.covariance_)), errors)


def test_without_an_intercept_there_is_none_anywhere():
    X, y = make_classification(n_columns=2)
    model = LogisticRegression(fit_intercept=False, C=np.inf).fit(X, y)
    assert model.coefficient_names_ == ["x0", "x1"]
    assert model.covariance_.shape == (2, 2)
    np.testing.assert_array_equal(model.intercept_, [0.0])
    assert np.isnan(model.intercept_standard_errors_).all()
    assert len(model.summary().frame()) == 2


def test_columns_chosen_by_the_penalty_have_no_standard_errors():
    X, y = make_classification()
    model = LogisticRegression(C=0.02, l1_ratio=1.0).fit(X, y)
    assert np.isnan(model.standard_errors_).all()
    assert model.covariance_ is None
    assert model.n_parameters_ == np.count_nonzero(model.coef_) + 1
    assert "No standard errors" in str(model.summary())


def test_standard_errors_are_left_out_on_demand():
    X, y = make_classification()
    model = LogisticRegression(inference=False).fit(X, y)
    assert np.isnan(model.standard_errors_).all()
    np.testing.assert_allclose(model.coef_, LogisticRegression(inference=True).fit(X, y).coef_, atol=1e-7)


def test_history_and_iterations_belong_together():
    X, y = make_classification()
    for solver in ("newton", "lbfgs", "gradient", "newton-cg"):
        model = LogisticRegression(solver=solver).fit(X, y)
        assert model.n_iter_.shape == (1,)
        assert [step.iteration for step in model.history_] == list(range(model.n_iter_[0] + 1))
        assert model.solver_ == solver
        assert model.converged_


def test_progress_is_printed_to_standard_error(capsys):
    X, y = make_classification()
    LogisticRegression(verbose=2).fit(X, y)
    printed = capsys.readouterr()
    assert "[LogisticRegression] iteration    1" in printed.err
    assert not printed.out


def test_sparsified_coefficients_predict_the_same():
    X, y = make_classification(n_classes=3)
    model = LogisticRegression(l1_ratio=1.0, C=0.05).fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.sparsify().predict_proba(X), before)
    np.testing.assert_array_equal(model.densify().predict_proba(X), before)


@pytest.mark.parametrize(
    ("parameters", "penalty", "note"),
    [
        ({"C": np.inf}, "penalty: none", None),
        ({"C": 0.5}, "penalty: L2, C=0.5", "Penalized: standard errors are those of the posterior"),
        ({"C": 0.5, "l1_ratio": 1.0}, "penalty: L1, C=0.5", "the penalty chose the columns"),
        ({"C": 0.5, "l1_ratio": 0.25}, "penalty: l1_ratio=0.25, C=0.5", "the penalty chose the columns"),
        ({"C": np.inf, "inference": False}, "penalty: none", "they cost more than the fit, or were not wanted"),
    ],
)
def test_the_summary_says_which_penalty_and_why_there_are_no_errors(parameters, penalty, note):
    X, y = make_classification(n_rows=60)
    text = str(LogisticRegression(**parameters).fit(X, y).summary())
    assert penalty in text.splitlines()
    last = text.splitlines()[-1]
    assert last.startswith("---") if note is None else note in last


def test_one_offset_stands_for_all_rows_and_moves_the_intercept_alone():
    X, y = make_classification(n_rows=60)
    plain, shifted = LogisticRegression().fit(X, y), LogisticRegression().fit(X, y, offset=1.5)
    np.testing.assert_allclose(shifted.coef_, plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(shifted.intercept_, plain.intercept_ - 1.5, rtol=1e-6)
    np.testing.assert_allclose(shifted.predict_proba(X, offset=1.5), plain.predict_proba(X), rtol=1e-6)
