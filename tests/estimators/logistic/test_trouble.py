"""Separated classes, collinear columns, extreme values and bad input: a finite answer or a named error."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from softcount import LogisticRegression
from softcount._errors import ConvergenceWarning, InputError
from softcount.estimators.glm.trouble import AliasedColumnsWarning, SeparationWarning
from tests.estimators.logistic.data import make_classification, names_of

SOLVERS = ["newton", "irls", "lbfgs", "gradient", "newton-cg"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_complete_separation_is_explained_and_answered_finitely(solver):
    X = np.arange(10.0)[:, None]
    y = names_of((X[:, 0] > 4.0).astype(int))
    with pytest.warns(SeparationWarning, match="every row above 4.5 is 'bee', every row below is 'ant'"):
        model = LogisticRegression(C=np.inf, solver=solver).fit(X, y)
    assert model.separated_ == ["x0"]
    assert "column 'x0' separates the classes" in model.separation_
    assert model.score(X, y) == 1.0
    # The mode under the documented prior: standard deviation 10 per standard deviation of the column.
    weak = LogisticRegression(C=(10.0 / X.std()) ** 2).fit(X, y)
    np.testing.assert_allclose(model.coef_, weak.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, weak.intercept_, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_quasi_separation_by_a_rare_column_is_explained(solver):
    X, y = make_classification(n_rows=300)
    rare = (np.arange(300) % 29 == 0).astype(float)
    X, y = np.column_stack([X, rare]), np.where(rare == 1.0, 1, y)
    with pytest.warns(SeparationWarning, match=r"column 'x5' separates the classes: every row above 0 is 1 \(at 0"):
        model = LogisticRegression(C=np.inf, solver=solver).fit(X, y)
    reference = LogisticRegression(C=np.inf, solver="newton")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference.fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=2e-6)
    assert np.all(np.isfinite(model.standard_errors_))
    assert "Separated classes" in str(model.summary())


def test_separation_of_several_classes_names_the_combination():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.where(X[:, 0] + X[:, 1] > 0.3, 2, np.where(X[:, 2] > 0.0, 0, 1))
    with pytest.warns(SeparationWarning, match="combination of the columns 'x0', 'x1' sorts the classes"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.all(np.isfinite(model.coef_))


@pytest.mark.parametrize("unit", [1e-8, 1e8])
@pytest.mark.parametrize("measured", [0, 1, 3])
def test_which_columns_separate_does_not_depend_on_their_units(measured, unit):
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] + np.random.default_rng(1).normal(size=300) > 0.0).astype(int)
    X = np.column_stack([X, 2.0 * y + X[:, 1]])
    X[:, measured] *= unit
    with pytest.warns(SeparationWarning):
        assert LogisticRegression(C=np.inf).fit(X, y).separated_ == ["x1", "x3"]


def test_a_penalty_makes_separated_classes_an_ordinary_problem():
    X, y = np.arange(10.0)[:, None], np.arange(10) // 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(C=1.0).fit(X, y)
    assert model.separation_ is None
    assert model.separated_ == []


def test_certain_but_overlapping_classes_are_not_called_separated():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 2))
    y = (40.0 * X[:, 0] + rng.logistic(size=2000) > 0.0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert model.coef_[0, 0] > 20.0


def test_more_columns_than_rows_are_answered_without_a_penalty():
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 4000), density=0.05, format="csr", rng=rng)
    y = rng.integers(0, 2, 60)
    with pytest.warns(SeparationWarning):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert model.score(X, y) == 1.0


def test_very_wide_tables_are_fitted_without_a_matrix_of_their_columns():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 60_000), density=1e-3, format="csr", rng=rng)
    y = (X[:, :2000].sum(axis=1) > np.median(X[:, :2000].sum(axis=1))).astype(int)
    model = LogisticRegression().fit(X, y)
    assert model.solver_ == "newton-cg"
    assert model.converged_
    assert model.covariance_ is None
    slope = X.T @ (y - model.predict_proba(X)[:, 1]) - model.coef_[0]
    assert np.abs(slope).max() < 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_collinear_and_constant_columns_get_zero_and_are_named(solver):
    X, y = make_classification(n_rows=200, n_columns=3)
    wide = np.column_stack([X, X[:, 0] - 2.0 * X[:, 1], np.full(200, 0.1), X[:, 2]])
    with pytest.warns(AliasedColumnsWarning, match="'x3', 'x4', 'x5' are linear combinations"):
        model = LogisticRegression(C=np.inf, solver=solver).fit(wide, y)
    plain = LogisticRegression(C=np.inf).fit(X, y)
    assert model.aliased_ == ["x3", "x4", "x5"]
    np.testing.assert_array_equal(model.coef_[0, 3:], 0.0)
    assert np.isnan(model.standard_errors_[0, 3:]).all()
    np.testing.assert_allclose(model.coef_[0, :3], plain.coef_[0], atol=1e-6)
    np.testing.assert_allclose(model.standard_errors_[0, :3], plain.standard_errors_[0], rtol=1e-6)
    assert model.n_parameters_ == 4
    assert "Explained by the columns before" in str(model.summary())


def test_with_a_penalty_collinear_columns_share_the_effect():
    X, y = make_classification(n_rows=200, n_columns=1)
    model = LogisticRegression().fit(np.column_stack([X, X]), y)
    assert model.coef_[0, 0] == pytest.approx(model.coef_[0, 1])


@pytest.mark.parametrize("scale", [1e-300, 1e-120, 1e120, 1e300])
def test_extreme_units_change_the_units_of_the_answer_alone(scale):
    X, y = make_classification(n_rows=200, n_columns=2)
    plain, scaled = LogisticRegression(C=np.inf).fit(X, y), LogisticRegression(C=np.inf).fit(X * scale, y)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-8)
    np.testing.assert_allclose(scaled.standard_errors_ * scale, plain.standard_errors_, rtol=1e-8)
    np.testing.assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [1e200, 1.7e308])
def test_a_single_huge_cell_is_found_wherever_it_is(layout, value):
    X, y = make_classification(n_rows=5000, n_columns=2)
    X[37, 1] = X[38, 1] = value
    y[37], y[38] = 0, 1
    without = LogisticRegression().fit(X[:, :1], y)
    model = LogisticRegression().fit(layout(X), y)
    assert model.converged_
    assert model.coef_[0, 0] == pytest.approx(without.coef_[0, 0], rel=0.05)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_column_far_from_zero_loses_no_digits():
    X, y = make_classification(n_rows=300, n_columns=2)
    plain, far = LogisticRegression(C=np.inf).fit(X, y), LogisticRegression(C=np.inf).fit(X + np.array([1e7, -1e6]), y)
    np.testing.assert_allclose(far.coef_, plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(far.standard_errors_, plain.standard_errors_, rtol=1e-6)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_cells_without_a_number_are_named(value, word, layout):
    X, y = make_classification(n_rows=50)
    X[31, 2] = value
    with pytest.raises(InputError, match=rf"{word}: row 31, column 'x2'"):
        LogisticRegression().fit(layout(X), y)
    fitted = LogisticRegression().fit(np.nan_to_num(X, posinf=0.0), y)
    with pytest.raises(InputError, match=rf"{word}: row 31, column 'x2'"):
        fitted.predict(layout(X))


def test_a_single_class_is_refused():
    X, y = make_classification(n_rows=30)
    with pytest.raises(InputError, match="at least 2 classes in the data, but the data contains only one class: 1"):
        LogisticRegression().fit(X, np.ones(30, dtype=int))
    with pytest.raises(InputError, match="only one class: 0"):
        LogisticRegression().fit(X, y, (y == 0).astype(float))
    with pytest.raises(InputError, match="All sample weights are zero"):
        LogisticRegression().fit(X, y, np.zeros(30))


def test_a_named_class_without_rows_is_refused():
    X, y = make_classification(n_rows=30)
    with pytest.raises(InputError, match=r"\[2\] named in classes="):
        LogisticRegression(classes=[0, 1, 2]).fit(X, y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": 0.0}, "C is 0.0; expected a number above 0"),
        ({"C": -1.0}, "C is -1.0"),
        ({"C": "1"}, "C is '1'"),
        ({"l1_ratio": 1.5}, "l1_ratio is 1.5"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"max_iter": 2.5}, "max_iter is 2.5; expected a whole number"),
        ({"solver": "saga"}, "every solver reaches the same optimum"),
        ({"solver": "liblinear"}, "penalizes the intercept"),
        ({"solver": "adam"}, "choose one of 'auto', 'newton'"),
        ({"dual": True}, "the primal is solved"),
        ({"intercept_scaling": 2.0}, "intercept_scaling is 2.0"),
        ({"inference": "yes"}, "inference is 'yes'"),
        ({"class_weight": "even"}, "class_weight is 'even'"),
        ({"class_weight": {0: -1.0}}, "class_weight of class 0 is -1.0"),
        ({"penalty": "l0"}, "penalty is 'l0'"),
    ],
)
def test_parameters_no_fit_can_have_are_refused(arguments, message):
    X, y = make_classification(n_rows=30)
    with pytest.raises(InputError, match=message):
        LogisticRegression(**arguments).fit(X, y)


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (np.zeros(3), r"offset.shape == \(3,\), expected \(30,\)"),
        (np.full(30, np.nan), "offset of row 0 is not finite"),
        (["a"] * 30, "offset cannot be read as numbers"),
    ],
)
def test_offsets_that_fit_no_row_are_refused(offset, message):
    X, y = make_classification(n_rows=30)
    with pytest.raises(InputError, match=message):
        LogisticRegression().fit(X, y, offset=offset)


def test_negative_weights_are_refused():
    X, y = make_classification(n_rows=30)
    with pytest.raises(InputError, match="sample_weight of row 4 is"):
        LogisticRegression().fit(X, y, np.where(np.arange(30) == 4, -1.0, 1.0))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"penalty": "l2"}, {}),
        ({"penalty": "l1", "l1_ratio": 0.0}, {"l1_ratio": 1.0}),
        ({"penalty": "elasticnet", "l1_ratio": 0.3}, {"l1_ratio": 0.3}),
        ({"penalty": None}, {"C": np.inf}),
    ],
)
def test_the_deprecated_penalty_means_what_it_meant(old, new):
    X, y = make_classification()
    with pytest.warns(FutureWarning, match="'penalty' is deprecated"):
        before = LogisticRegression(**old).fit(X, y)
    np.testing.assert_array_equal(before.coef_, LogisticRegression(**new).fit(X, y).coef_)


def test_an_early_stop_is_reported():
    X, y = make_classification()
    with pytest.warns(ConvergenceWarning, match=r"Not converged after 2 iterations \(max_iter=2\)"):
        model = LogisticRegression(solver="gradient", max_iter=2).fit(X, y)
    assert not model.converged_
    assert "(not converged)" in str(model.summary())


def test_warnings_point_at_the_line_of_the_user():
    X, y = np.arange(10.0)[:, None], np.arange(10) // 5
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LogisticRegression(C=np.inf).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        ({0: ["a", "b"], 1: ["hi"]}, "column 'x1' sets 'hi' apart from 'a', 'b'"),
        ({0: ["hi"], 1: ["y", "z"]}, "column 'x1' sets 'hi' apart from 'y', 'z'"),
        ({0: ["a", "b"], 1: ["c", "d"]}, "column 'x1' sets 'a', 'b' apart from 'c', 'd'"),
    ],
)
def test_separation_of_some_of_the_classes_says_which(groups, sentence):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.array([rng.choice(groups[int(value > 0.5)]) for value in X[:, 1]])
    with pytest.warns(SeparationWarning, match=sentence):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert model.separation_ == sentence


def test_a_text_in_the_table_is_named_with_its_place_and_the_way_out():
    with pytest.raises(InputError, match=r"row 1, column 'color' of X holds 'red'.*OneHotEncoder"):
        LogisticRegression().fit(pd.DataFrame({"size": [1.0, 2.0], "color": [3, "red"]}), ["a", "b"])


def test_a_missing_cell_among_objects_is_a_missing_cell():
    with pytest.raises(InputError, match=r"contains NaN: row 1, column 'size'"):
        LogisticRegression().fit(pd.DataFrame({"size": [1.0, pd.NA]}, dtype=object), ["a", "b"])


@pytest.mark.parametrize("solver", ["newton", "newton-cg"])
@pytest.mark.parametrize("size", [20.0, 40.0])
def test_offsets_that_leave_no_information_at_the_start_are_overcome(size, solver):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    offset = np.where(np.arange(60) % 2, size, -size)
    model = LogisticRegression(C=np.inf, solver=solver).fit(X, y, offset=offset)
    assert model.converged_
    residual = y - model.predict_proba(X, offset=offset)[:, 1]
    np.testing.assert_allclose(np.column_stack([np.ones(60), X]).T @ residual, 0.0, atol=1e-6)


def test_a_fit_that_finds_no_step_says_so_and_is_not_converged():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    with pytest.warns(ConvergenceWarning, match="No step raises the likelihood"):
        model = LogisticRegression(C=np.inf).fit(X, y, offset=np.where(np.arange(60) % 2, 700.0, -700.0))
    assert not model.converged_
    assert np.isfinite(model.coef_).all()
