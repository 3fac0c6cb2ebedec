"""Data that are difficult or wrong: a right answer, a warning that names the column, or an error that names the row."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from softcount._errors import InputError
from softcount.core.glm.families import BinomialFamily
from softcount.core.glm.links import Power
from softcount.estimators.glm import GLM
from softcount.estimators.glm.trouble import AliasedColumnsWarning, SeparationWarning

FAMILIES = ["gaussian", "binomial", "poisson", "gamma", "inverse_gaussian", "negative_binomial", "tweedie"]


def rows(n_rows=120, n_features=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def target(family, x):
    rng = np.random.default_rng(1)
    mean = np.exp(0.3 * x[:, 0])
    if family == "gaussian":
        return np.log(mean) + rng.normal(size=len(x))
    if family == "binomial":
        return (rng.uniform(size=len(x)) < mean / (1 + mean)).astype(float)
    if family in {"poisson", "negative_binomial"}:
        return rng.poisson(mean * rng.gamma(2.0, 0.5, len(x))).astype(float)
    return rng.gamma(3.0, mean / 3.0)


def glm(family, **parameters):
    link = {"gaussian": "identity", "binomial": "logit"}.get(family, "log")
    return GLM(family, link, theta=2.0, **parameters)


# ---- collinear columns


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e9])
def test_a_combination_of_earlier_columns_gets_zero_and_is_named(family, scale):
    x = rows()
    y = target(family, x)
    more = np.column_stack([x, scale * (x[:, 0] - 2.0 * x[:, 2] + 3.0), np.full(len(x), 0.1)])
    with pytest.warns(AliasedColumnsWarning, match="'x3', 'x4'"):
        model = glm(family).fit(more, y)
    plain = glm(family).fit(x, y)
    assert model.aliased_ == ["x3", "x4"]
    np.testing.assert_array_equal(model.coef_[3:], 0.0)
    assert np.isnan(model.standard_errors_[3:]).all()
    np.testing.assert_allclose(model.coef_[:3], plain.coef_, rtol=1e-7)
    np.testing.assert_allclose(model.standard_errors_[:3], plain.standard_errors_, rtol=1e-7)
    assert model.df_residual_ == plain.df_residual_
    np.testing.assert_allclose(model.predict_interval(more), plain.predict_interval(x), rtol=1e-6)


def test_the_later_of_two_equal_columns_is_the_one_left_out():
    x = rows()[:, [0, 1, 0]]
    with pytest.warns(AliasedColumnsWarning, match="Column 'x2' is a linear combination"):
        model = GLM().fit(x, target("gaussian", x))
    assert model.aliased_ == ["x2"]


def test_a_full_set_of_dummies_beside_an_intercept_leaves_out_the_last():
    groups = np.random.default_rng(0).integers(0, 4, 200)
    dummies = np.eye(4)[groups]
    y = groups + np.random.default_rng(1).normal(size=200)
    for table in (dummies, sp.csr_array(dummies)):
        with pytest.warns(AliasedColumnsWarning, match="'x3'"):
            model = GLM().fit(table, y)
        means = np.array([y[groups == g].mean() for g in range(4)])
        np.testing.assert_allclose(model.intercept_ + model.coef_, means, rtol=1e-9)
    without = GLM(fit_intercept=False).fit(dummies, y)
    assert without.aliased_ == []


@pytest.mark.parametrize("weight", [1.0, 1e-8, 1e8])
def test_a_constant_that_is_only_known_to_rounding_is_constant(weight):
    x = rows()
    constant = np.where(x[:, 0] > 0.0, 1e8, np.nextafter(1e8, np.inf))
    with pytest.warns(AliasedColumnsWarning, match="'x3'"):
        model = GLM().fit(np.column_stack([x, constant]), target("gaussian", x), sample_weight=np.full(len(x), weight))
    assert model.aliased_ == ["x3"]


def test_small_but_real_variation_around_a_large_number_is_kept():
    x = rows()
    seconds = 1.7e9 + 60.0 * x[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GLM().fit(np.column_stack([seconds, x[:, 1:]]), target("gaussian", x))
    plain = GLM().fit(x, target("gaussian", x))
    np.testing.assert_allclose(60.0 * model.coef_[0], plain.coef_[0], rtol=1e-5)


def test_more_columns_than_rows_fit_perfectly_with_as_many_as_there_are_rows():
    x = rows(10, 30)
    y = target("gaussian", x)
    with pytest.warns(AliasedColumnsWarning, match="and 11 more"):
        model = GLM().fit(x, y)
    assert len(model.aliased_) == 21
    np.testing.assert_allclose(model.predict(x), y, atol=1e-9)
    assert np.isnan(model.dispersion_)


# ---- separation


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "loglog"])
def test_complete_separation_is_flagged_with_the_column_and_stays_finite(link):
    x = rows()
    y = (x[:, 1] > 0).astype(float)
    with pytest.warns(SeparationWarning, match=r"'x1'.*alpha"):
        model = GLM("binomial", link).fit(x, y)
    assert "x1" in model.separated_
    assert np.isfinite(model.coef_).all()
    np.testing.assert_array_equal(model.predict(x) > 0.5, y > 0.5)
    assert "Growing without bound" in str(model.summary())


def test_quasi_separation_by_one_column_names_that_column_only():
    x = rows(400)
    rare = (np.arange(400) < 6).astype(float)
    y = np.where(rare > 0, 1.0, target("binomial", x))
    with pytest.warns(SeparationWarning) as caught:
        model = GLM("binomial").fit(np.column_stack([x, rare]), y)
    assert model.separated_ == ["x3"]
    assert "'x0'" not in str(caught[0].message)
    without = GLM("binomial").fit(x[6:], y[6:])
    np.testing.assert_allclose(model.coef_[:3], without.coef_, rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1e4, 1e8])
@pytest.mark.parametrize("measured", ["what separates", "the others"])
def test_what_separates_does_not_depend_on_the_units_of_columns(measured, unit):
    x = rows(400)
    rare = (np.arange(400) < 6).astype(float)
    y = np.where(rare > 0, 1.0, target("binomial", x))
    table = np.column_stack([x, rare])
    table[:, [3] if measured == "what separates" else [0, 1, 2]] *= unit
    with pytest.warns(SeparationWarning, match="'x3'"):
        model = GLM("binomial").fit(table, y)
    assert model.separated_ == ["x3"]


def test_a_group_of_zero_counts_is_flagged_in_a_poisson_model():
    x = rows(300)
    group = (np.arange(300) < 20).astype(float)
    y = np.where(group > 0, 0.0, target("poisson", x))
    with pytest.warns(SeparationWarning, match="'x3'"):
        model = GLM("poisson").fit(np.column_stack([x, group]), y)
    assert model.coef_[3] < -10.0
    assert np.isfinite(model.log_likelihood_)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_one_outcome_only_is_flagged(value):
    x = rows()
    with pytest.warns(SeparationWarning):
        model = GLM("binomial").fit(x, np.full(len(x), value))
    np.testing.assert_allclose(model.predict(x), value, atol=1e-3)


def test_counts_that_are_all_zero_are_flagged():
    x = rows()
    with pytest.warns(SeparationWarning, match="intercept"):
        model = GLM("poisson").fit(x, np.zeros(len(x)))
    assert model.predict(x).max() < 1e-4


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_data_without_separation_raise_no_flag(family):
    for seed in range(20):
        x = rows(60, 3, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert glm(family).fit(x, target(family, x)).separated_ == []


# ---- starts, steps and stopping


def test_a_fit_cut_short_says_so():
    x = rows()
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = GLM("poisson", max_iter=1).fit(x, target("poisson", x))
    assert not model.converged_


def test_a_tolerance_of_zero_runs_exactly_max_iter_iterations_without_complaint():
    x = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GLM("poisson", max_iter=7, tol=0).fit(x, target("poisson", x))
    assert model.n_iter_ == 7
    np.testing.assert_allclose(model.coef_, GLM("poisson").fit(x, target("poisson", x)).coef_, rtol=1e-8)


def test_steps_that_leave_the_family_are_halved():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (200, 1))
    y = rng.poisson(0.05 + 8.0 * x[:, 0]).astype(float)
    model = GLM("poisson", "identity").fit(x, y)
    assert model.predict(x).min() > 0.0
    objectives = [step.objective for step in model.history_]
    assert np.all(np.diff(objectives) >= -1e-9 * np.abs(objectives[1:]))


def test_a_best_fit_at_the_edge_of_the_family_is_reported():
    x = np.linspace(0, 1, 60)[:, None]
    y = np.where(x[:, 0] < 0.3, 0.0, np.round(20.0 * (x[:, 0] - 0.3)))
    with pytest.warns(ConvergenceWarning, match=r"edge.*row 0.*'log'"):
        model = GLM("poisson", "identity").fit(x, y)
    assert np.isfinite(model.coef_).all()
    with pytest.warns(ConvergenceWarning, match=r"edge.*row"):
        GLM("binomial", "identity").fit(x, (x[:, 0] > 0.9).astype(float))


def test_rows_without_weight_are_at_no_edge():
    x = np.linspace(0, 1, 60)[:, None]
    y = np.where(x[:, 0] < 0.3, 0.0, np.round(20.0 * (x[:, 0] - 0.3)))
    weight = np.ones(60)
    weight[:2] = 0.0
    with pytest.warns(ConvergenceWarning, match=r"edge.*row 2\b"):
        GLM("poisson", "identity").fit(x, y, sample_weight=weight)


@pytest.mark.parametrize("link", ["inverse", "identity", "log", Power(-0.5)])
def test_a_start_is_found_without_an_intercept(link):
    rng = np.random.default_rng(2)
    x = rng.uniform(1.0, 2.0, (150, 2))
    y = rng.gamma(20.0, 1.0 / (x @ [0.5, 1.0]) / 20.0)
    model = GLM("gamma", link, fit_intercept=False).fit(x, y)
    assert model.converged_
    assert model.intercept_ == 0.0


def test_a_model_no_start_exists_for_says_what_to_change():
    x = np.concatenate([np.ones(50), -np.ones(50)])[:, None]
    with pytest.raises(InputError, match="fit_intercept=True"):
        GLM("gamma", "inverse", fit_intercept=False).fit(x, np.ones(100) + np.arange(100))


def test_counts_as_even_as_poisson_counts_send_theta_to_infinity_with_a_warning():
    x = rows(400)
    y = np.random.default_rng(3).binomial(10, 0.3, 400).astype(float)
    with pytest.warns(ConvergenceWarning, match="poisson"):
        model = GLM("negative_binomial").fit(x, y)
    np.testing.assert_allclose(model.coef_, GLM("poisson").fit(x, y).coef_, atol=1e-5)


# ---- wrong input

BAD_CELLS = [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "frame"])
@pytest.mark.parametrize(("value", "word"), BAD_CELLS)
def test_a_bad_cell_of_x_is_named_by_row_and_column(kind, value, word):
    pd = pytest.importorskip("pandas")
    x = rows()
    x[17, 1] = value
    table, column = x, "x1"
    if kind == "float32":
        table = x.astype(np.float32)
    if kind == "sparse":
        table = sp.csr_array(x)
    if kind == "frame":
        table, column = pd.DataFrame(x, columns=["age", "dose", "year"]), "dose"
    with pytest.raises(InputError, match=rf"X contains {word}.*row 17, column '{column}'"):
        GLM().fit(table, target("gaussian", rows()))


def test_a_bad_cell_is_refused_at_prediction_as_well():
    x = rows()
    model = GLM().fit(x, target("gaussian", x))
    x[3, 0] = np.nan
    with pytest.raises(InputError, match="row 3, column 'x0'"):
        model.predict(x)


@pytest.mark.parametrize("name", ["y", "sample_weight", "frequency_weight", "offset", "exposure"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_number_in_any_vector_is_named_by_row(name, value):
    x = rows()
    vectors = {"y": target("poisson", x), name: np.ones(len(x))}
    vectors[name] = vectors[name].copy()
    vectors[name][11] = value
    with pytest.raises(InputError, match=rf"{name}.*11|11.*{name}"):
        GLM("poisson").fit(x, vectors.pop("y"), **vectors)


@pytest.mark.parametrize("name", ["sample_weight", "frequency_weight", "exposure"])
def test_negative_weights_and_exposures_are_refused(name):
    x = rows()
    values = np.ones(len(x))
    values[5] = -1.0
    with pytest.raises(InputError, match=rf"{name}.*5"):
        GLM("poisson").fit(x, target("poisson", x), **{name: values})


@pytest.mark.parametrize(
    ("family", "value", "expected"),
    [
        ("poisson", -1.0, "not negative"),
        ("negative_binomial", -2.0, "not negative"),
        ("gamma", 0.0, "positive"),
        ("inverse_gaussian", -1.0, "positive"),
        ("binomial", 1.5, "between 0 and 1"),
        ("quasibinomial", -0.1, "between 0 and 1"),
        ("quasipoisson", -3.0, "not negative"),
        ("tweedie", -0.5, "not negative"),
    ],
)
def test_a_target_the_family_cannot_produce_is_named_by_row(family, value, expected):
    x = rows()
    y = np.full(len(x), 0.5)
    y[42] = value
    with pytest.raises(InputError, match=rf"y of row 42 is {value}.*{expected}"):
        GLM(family).fit(x, y)


@pytest.mark.parametrize(
    ("parameters", "fitting", "message"),
    [
        ({"family": "normal"}, {}, "'normal' is not a family"),
        ({"link": "logistic"}, {}, "'logistic' is not a link"),
        ({"alpha": -1.0}, {}, "alpha=-1.0"),
        ({"l1_ratio": 2.0}, {}, "l1_ratio=2.0"),
        ({"family": "negative_binomial", "theta": 0.0}, {}, "theta=0.0"),
        ({"covariance": "robust"}, {}, "'sandwich'"),
        ({"dispersion": -2.0}, {}, "dispersion"),
        ({"max_iter": 0}, {}, "max_iter=0"),
        ({"tol": -1.0}, {}, "tol=-1.0"),
        ({"family": "tweedie", "power": 0.5}, {}, "power=0.5"),
        ({}, {"exposure": np.ones(120)}, "exposure multiplies"),
        ({}, {"offset": np.ones(7)}, r"offset.shape == \(7,\)"),
        ({}, {"offset": ["a"] * 120}, "offset cannot be read"),
        ({}, {"sample_weight": np.zeros(120)}, "weights are zero"),
        ({"family": "poisson"}, {"offset": np.linspace(-1e4, 1e4, 120)}, "Check the offset"),
    ],
)
def test_impossible_parameters_and_arguments_are_refused_by_name(parameters, fitting, message):
    x = rows()
    with pytest.raises(InputError, match=message):
        GLM(**parameters).fit(x, target("poisson", x), **fitting)


def test_two_columns_of_counts_need_a_binomial_family_and_no_negative_count():
    x = rows()
    counts = np.ones((len(x), 2))
    with pytest.raises(ValueError, match="1d array"):
        GLM("poisson").fit(x, counts)
    counts[8, 1] = -1.0
    with pytest.raises(InputError, match="y of row 8"):
        GLM("binomial").fit(x, counts)


def test_text_as_target_is_refused():
    with pytest.raises(InputError, match="numeric target"):
        GLM().fit(rows(), ["a"] * 120)


def test_asking_before_fitting_is_refused():
    with pytest.raises(NotFittedError):
        GLM().predict(rows())
    with pytest.raises(NotFittedError):
        GLM().summary()


def test_the_constructor_only_stores_and_clone_keeps_all_parameters():
    family = BinomialFamily()
    model = GLM(family, Power(2.0), alpha=0.3, l1_ratio=0.2, theta=4.0, covariance="sandwich", dispersion=2.0)
    copy = clone(model)
    assert copy.get_params() | {"family": None, "link": None} == model.get_params() | {"family": None, "link": None}
    assert not [name for name in vars(model) if name.endswith("_")]
    assert model.set_params(alpha=0.5).alpha == 0.5


def test_a_failed_fit_leaves_the_fitted_model_as_it_was():
    x = rows()
    model = GLM("poisson").fit(x, target("poisson", x))
    before = model.coef_.copy()
    with pytest.raises(InputError):
        model.fit(x, -np.ones(len(x)))
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize(
    ("power", "target", "expected"),
    [(1.5, -1.0, "not negative"), (2.5, 0.0, "positive"), (3, 0.0, "positive"), (-1.0, np.inf, "infinity")],
)
def test_a_target_of_no_tweedie_family_is_told_what_its_power_allows(power, target, expected):
    with pytest.raises(InputError, match=expected):
        GLM("tweedie", power=power).fit([[0.0], [1.0], [2.0]], [1.0, target, 2.0])


@pytest.mark.parametrize("power", [1.0, 1.5, 1.999, 2.0, 2.001, 3.0])
def test_the_default_link_of_a_tweedie_family_does_not_jump_with_its_power(power):
    x = np.random.default_rng(0).normal(size=(60, 2))
    model = GLM("tweedie", power=power).fit(x, np.exp(0.3 * x[:, 0]) + 0.1)
    assert model.link_.name == "log"
