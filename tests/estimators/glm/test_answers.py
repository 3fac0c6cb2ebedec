"""Summaries, formulas, intervals and scores of fitted generalized linear models."""

import math

import numpy as np
import pytest
from scipy import stats

from softcount._errors import InputError
from softcount.estimators.coefficient_table import CoefficientTable, critical_value
from softcount.estimators.glm import GLM
from tests.estimators.glm.test_penalties import data_for, our_glm

pd = pytest.importorskip("pandas")


def claims(n_rows=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, n_rows),
            "region": rng.choice(["north", "south", "west"], n_rows),
            "years": rng.uniform(0.2, 3.0, n_rows),
        }
    )
    rate = np.exp(-1.0 + 0.01 * frame["age"] + 0.4 * (frame["region"] == "south"))
    frame["claims"] = rng.poisson(rate * frame["years"])
    return frame


# ---- the table of coefficients


def test_the_summary_prints_a_table_and_gives_a_frame():
    x, y = data_for("gamma", n_features=3)
    model = our_glm("gamma").fit(x, y)
    summary = model.summary(level=0.9)
    text, frame = str(summary), summary.frame()
    for word in ("family: gamma", "link: log", "(intercept)", "x0", "lower 90%", "p > |t|", "AIC"):
        assert word in text
    assert list(frame.index) == ["(intercept)", "x0", "x1", "x2"]
    np.testing.assert_allclose(frame["estimate"], np.r_[model.intercept_, model.coef_])
    np.testing.assert_allclose(frame[["lower 90%", "upper 90%"]], model.conf_int(0.9))
    width = len(text.splitlines()[-1])
    assert all(len(line) <= width for line in text.splitlines()[text.splitlines().index("-" * width) :])


def test_tests_use_the_t_distribution_where_a_dispersion_was_estimated_and_the_normal_elsewhere():
    x, y = data_for("poisson", 20, 3)
    fixed, estimated = GLM("poisson").fit(x, y).summary(), GLM("poisson", dispersion="pearson").fit(x, y).summary()
    assert math.isinf(fixed.df)
    assert estimated.df == 16
    np.testing.assert_allclose(fixed.p_values, 2 * stats.norm.sf(np.abs(fixed.statistics)))
    np.testing.assert_allclose(estimated.p_values, 2 * stats.t.sf(np.abs(estimated.statistics), 16))
    assert "p > |z|" in str(fixed)
    assert "p > |t|" in str(estimated)


def test_missing_numbers_are_printed_as_dots_and_tiny_p_values_as_bounds():
    table = CoefficientTable(["a", "b"], np.array([1.0, 50.0]), np.array([np.nan, 1.0]), notes=["a note"])
    first, second = str(table).splitlines()[3:5]
    assert first.split()[2:] == ["."] * 5
    assert "<0.0001" in second
    assert str(table).endswith("a note")


def test_a_level_outside_zero_to_one_is_refused():
    with pytest.raises(InputError, match="level"):
        critical_value(95.0, math.inf)


def test_quasi_families_widen_the_errors_by_the_root_of_the_dispersion():
    x, y = data_for("negative_binomial")
    plain, quasi = GLM("poisson").fit(x, y), GLM("quasipoisson").fit(x, y)
    np.testing.assert_allclose(quasi.coef_, plain.coef_, rtol=1e-10)
    np.testing.assert_allclose(quasi.standard_errors_, plain.standard_errors_ * quasi.dispersion_**0.5, rtol=1e-10)
    assert quasi.dispersion_ > 1.2
    assert np.isnan(quasi.aic_)


def test_a_given_dispersion_is_used_and_the_deviance_can_estimate_it():
    x, y = data_for("gamma")
    given, by_deviance = our_glm("gamma", dispersion=0.3).fit(x, y), our_glm("gamma", dispersion="deviance").fit(x, y)
    assert given.dispersion_ == 0.3
    assert math.isinf(given.summary().df)
    assert by_deviance.dispersion_ == pytest.approx(by_deviance.deviance_ / by_deviance.df_residual_)


def test_robust_errors_hold_where_the_variance_function_is_wrong():
    rng = np.random.default_rng(5)
    estimates, robust, plain = [], [], []
    for _ in range(150):
        x = rng.normal(size=(200, 1))
        y = rng.poisson(np.exp(0.3 * x[:, 0]) * rng.gamma(1.0, 1.0, 200)).astype(float)
        sandwich = GLM("poisson", covariance="sandwich").fit(x, y)
        estimates.append(sandwich.coef_[0])
        robust.append(sandwich.standard_errors_[0])
        plain.append(GLM("poisson").fit(x, y).standard_errors_[0])
    assert np.mean(robust) == pytest.approx(np.std(estimates), rel=0.15)
    assert np.mean(plain) < 0.8 * np.std(estimates)


# ---- formulas


def test_a_formula_makes_the_columns_and_predicts_from_a_frame():
    frame = claims()
    by_formula = GLM.from_formula("claims ~ age + C(region)", frame, family="poisson", exposure="years")
    columns = np.column_stack([frame["age"], frame["region"] == "south", frame["region"] == "west"]).astype(float)
    by_hand = GLM("poisson").fit(columns, frame["claims"], exposure=frame["years"])
    np.testing.assert_allclose(by_formula.coef_, by_hand.coef_, rtol=1e-9)
    assert by_formula.coefficient_names_ == ["(intercept)", "age", "C(region)[T.south]", "C(region)[T.west]"]
    new = pd.DataFrame({"age": [30.0, 40.0], "region": ["west", "north"]})
    expected = by_hand.predict([[30.0, 0.0, 1.0], [40.0, 0.0, 0.0]])
    np.testing.assert_allclose(by_formula.predict(new), expected, rtol=1e-9)
    assert by_formula.predict_interval(new).shape == (2, 2)


def test_a_formula_may_leave_out_the_intercept():
    frame = claims()
    model = GLM("poisson").fit_formula("claims ~ age - 1", frame)
    assert model.intercept_ == 0.0
    assert model.coefficient_names_ == ["age"]
    assert model.fit_intercept
    np.testing.assert_allclose(model.predict(frame), np.exp(model.coef_[0] * frame["age"]), rtol=1e-12)


def test_weights_of_a_formula_may_be_columns():
    frame = claims().assign(times=2)
    by_column = GLM.from_formula("claims ~ age", frame, family="poisson", frequency_weight="times")
    by_array = GLM.from_formula("claims ~ age", frame, family="poisson", frequency_weight=np.full(len(frame), 2))
    assert by_column.n_observations_ == by_array.n_observations_ == 2 * len(frame)
    np.testing.assert_array_equal(by_column.coef_, by_array.coef_)


def test_two_targets_of_a_formula_are_successes_and_failures():
    frame = pd.DataFrame({"dose": [0.0, 1, 2, 3], "cases": [1, 4, 9, 13], "controls": [19, 16, 11, 7]})
    model = GLM.from_formula("cases + controls ~ dose", frame, family="binomial")
    plain = GLM("binomial").fit(frame[["dose"]], frame[["cases", "controls"]])
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)


def test_a_formula_never_drops_rows_with_missing_cells():
    frame = claims()
    frame.loc[3, "age"] = np.nan
    with pytest.raises(InputError, match="never dropped"):
        GLM.from_formula("claims ~ age", frame, family="poisson")


def test_a_formula_without_a_target_is_refused():
    with pytest.raises(InputError, match="no '~'"):
        GLM.from_formula("age + region", claims())


def test_fitting_arrays_after_a_formula_forgets_the_formula():
    frame = claims()
    model = GLM.from_formula("claims ~ age", frame, family="poisson")
    model.fit(frame[["years"]], frame["claims"])
    np.testing.assert_allclose(model.predict(frame[["years"]]).shape, (len(frame),))


# ---- intervals


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma", "inverse_gaussian", "negative_binomial", "tweedie"])
def test_intervals_for_new_observations_hold_as_many_as_they_say(family):
    x, y = data_for(family, 3000, 3)
    model = our_glm(family).fit(x[:2000], y[:2000])
    low, high = model.predict_interval(x[2000:], kind="observation", level=0.9).T
    inside = np.mean((y[2000:] >= low) & (y[2000:] <= high))
    # A discrete interval holds at least its level; a mass at zero can lift it far above.
    if model.family_.is_discrete or family == "tweedie":
        assert 0.885 <= inside <= 0.985
    else:
        assert inside == pytest.approx(0.9, abs=0.03)


def test_intervals_for_counts_end_at_counts():
    x, y = data_for("poisson", 300, 3)
    limits = GLM("poisson").fit(x, y).predict_interval(x, kind="observation")
    np.testing.assert_array_equal(limits, np.round(limits))
    assert limits.min() >= 0.0


def test_intervals_for_proportions_end_at_possible_proportions():
    x, y = data_for("binomial", 300, 3)
    model = GLM("binomial").fit(x, y)
    limits = model.predict_interval(x, kind="observation", sample_weight=10)
    np.testing.assert_allclose(limits * 10, np.round(limits * 10), atol=1e-9)
    low, high = model.predict_interval(x, kind="observation", level=0.9, sample_weight=1000).T
    mean_low, mean_high = model.predict_interval(x, level=0.9).T
    assert np.all(low <= mean_low + 1e-3)
    assert np.all(high >= mean_high - 1e-3)


def test_quantiles_of_a_known_mean_are_those_of_the_distribution():
    x, y = data_for("gamma", 20_000, 3)
    model = our_glm("gamma", dispersion=0.5).fit(x, y)
    low, high = model.predict_interval(x[:5], kind="observation", level=0.9).T
    mean = model.predict(x[:5])
    np.testing.assert_allclose(low, stats.gamma.ppf(0.05, 2.0, scale=mean / 2.0), rtol=2e-3)
    np.testing.assert_allclose(high, stats.gamma.ppf(0.95, 2.0, scale=mean / 2.0), rtol=2e-3)


def test_intervals_for_the_mean_hold_the_true_mean_as_often_as_they_say():
    inside = []
    for seed in range(150):
        x, y = data_for("poisson", 80, 3, seed)
        low, high = GLM("poisson").fit(x, y).predict_interval([[0.5, 0.0, -0.5]], level=0.8)[0]
        inside.append(low < np.exp(0.2 - 0.3 * -0.5 + 0.4 * 0.5) < high)
    assert np.mean(inside) == pytest.approx(0.8, abs=0.07)


def test_limits_end_at_the_edge_of_the_means_a_family_can_have():
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 1.0, 40)[:, None]
    rising = GLM("poisson", "identity").fit(x, rng.poisson(0.02 + 3.0 * x[:, 0]).astype(float))
    falling = GLM("gamma", "inverse").fit(x, rng.gamma(1.0, 1.0 / (0.02 + 3.0 * x[:, 0])))
    for model, edge in ((rising, 0.0), (falling, np.inf)):
        low, high = model.predict_interval(x, level=0.999).T
        mean = model.predict(x)
        assert np.all((low < mean) & (mean < high))
        assert edge in (low[0], high[0])


@pytest.mark.parametrize("family", ["quasipoisson", "quasibinomial"])
def test_families_without_a_distribution_refuse_intervals_for_observations(family):
    x, y = data_for("binomial", 100, 3)
    with pytest.raises(InputError, match="kind='mean'"):
        GLM(family).fit(x, y).predict_interval(x, kind="observation")


# ---- scores and residuals


def test_the_score_is_the_share_of_deviance_explained():
    x, y = data_for("poisson")
    model = GLM("poisson").fit(x, y)
    assert model.score(x, y) == pytest.approx(1.0 - model.deviance_ / model.null_deviance_, rel=1e-10)
    gaussian = GLM().fit(x, y)
    residual = y - gaussian.predict(x)
    assert gaussian.score(x, y) == pytest.approx(1.0 - residual.var() / y.var(), rel=1e-10)


def test_the_score_knows_exposure_and_weights():
    frame = claims()
    x, y, years = frame[["age"]], frame["claims"], frame["years"]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = GLM("poisson").fit(x, y, exposure=years, sample_weight=weight)
    found = model.score(x, y, weight, exposure=years)
    assert found == pytest.approx(1.0 - model.deviance_ / model.null_deviance_, rel=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "gamma", "tweedie"])
def test_squared_residuals_add_up_to_deviance_and_pearsons_statistic(family):
    x, y = data_for(family)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = our_glm(family).fit(x, y, sample_weight=weight)
    deviance = model.residuals(x, y, sample_weight=weight)
    pearson = model.residuals(x, y, kind="pearson", sample_weight=weight)
    assert np.sum(deviance**2) == pytest.approx(model.deviance_, rel=1e-10)
    assert np.sum(pearson**2) == pytest.approx(model.pearson_chi2_, rel=1e-10)
    np.testing.assert_array_equal(np.sign(deviance), np.sign(model.residuals(x, y, kind="response")))


def test_unknown_kinds_are_refused():
    x, y = data_for("poisson")
    model = GLM("poisson").fit(x, y)
    with pytest.raises(InputError, match="'working'"):
        model.residuals(x, y, kind="raw")
    with pytest.raises(InputError, match="'observation'"):
        model.predict_interval(x, kind="new")
    with pytest.raises(InputError, match="y of row 0"):
        model.residuals(x, -np.ones(len(y)))


def test_a_model_survives_pickling_and_saying_what_it_is():
    import pickle

    x, y = data_for("poisson")
    model = GLM("poisson", alpha=0.1).fit(x, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(x), model.predict(x))
    assert "alpha=0.1" in repr(model)


def test_verbose_fits_report_on_standard_error(capsys):
    x, y = data_for("poisson")
    GLM("poisson", verbose=2).fit(x, y)
    captured = capsys.readouterr()
    assert "[GLM] iteration" in captured.err
    assert captured.out == ""


def test_formulas_read_frames_of_other_libraries_and_dictionaries_of_columns():
    polars = pytest.importorskip("polars")
    frame = claims()
    expected = GLM.from_formula("claims ~ age + C(region)", frame, family="poisson").coef_
    columns = {name: frame[name].to_numpy() for name in frame}
    for data in (polars.DataFrame({name: frame[name].tolist() for name in frame}), columns):
        model = GLM.from_formula("claims ~ age + C(region)", data, family="poisson")
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-12)
        np.testing.assert_allclose(model.predict(data), model.predict(frame), rtol=1e-12)
    with pytest.raises(InputError, match="columns with names, but the data are a ndarray"):
        GLM.from_formula("claims ~ age", frame.to_numpy())


def test_predictions_after_a_formula_name_their_columns():
    frame = claims()
    model = GLM.from_formula("claims ~ age", frame, family="poisson", exposure="years")
    np.testing.assert_array_equal(model.predict(frame, exposure="years"), model.predict(frame, exposure=frame["years"]))
    assert model.score(frame, "claims", exposure="years") == model.score(
        frame, frame["claims"], exposure=frame["years"]
    )
    assert model.predict_interval(frame[:2], exposure="years").shape == (2, 2)
    np.testing.assert_array_equal(
        model.residuals(frame, "claims", exposure="years"),
        model.residuals(frame, frame["claims"], exposure=frame["years"]),
    )
    with pytest.raises(InputError, match="exposure='year' names a column"):
        model.predict(frame, exposure="year")


@pytest.mark.parametrize("family", ["poisson", "gaussian"])
def test_a_formula_of_an_intercept_alone_is_the_null_model(family):
    frame = claims()
    null = GLM.from_formula("claims ~ 1", frame, family=family)
    assert null.deviance_ == pytest.approx(null.null_deviance_, rel=1e-12)
    np.testing.assert_allclose(null.predict(frame[:3]), frame["claims"].mean(), rtol=1e-10)
    np.testing.assert_allclose(null.predict({"age": [1.0, 2.0]}), frame["claims"].mean(), rtol=1e-10)
    with_column = GLM.from_formula("claims ~ age", frame, family=family)
    assert with_column.null_deviance_ == pytest.approx(null.deviance_, rel=1e-12)


def test_missing_cells_of_a_formula_are_listed_by_column_and_row():
    frame = claims(50)
    frame.loc[[3, 8], "age"] = np.nan
    frame.loc[4, "region"] = None
    frame.loc[5, "years"] = np.nan
    expected = r"'age' in 2 of 50 rows \(the first is row 3\); 'region' in 1 of 50 rows \(the first is row 4\)\."
    with pytest.raises(InputError, match=expected):
        GLM.from_formula("claims ~ age + C(region)", frame, family="poisson")


def test_a_target_of_categories_asks_which_one_counts():
    frame = claims()
    frame["any"] = np.where(frame["claims"] > 1, "yes", "no")
    values = list(dict.fromkeys(frame["any"]))
    with pytest.raises(
        InputError, match=rf"holds categories '{values[0]}', '{values[1]}'.*\{{any == '{values[1]}'\}} ~ age"
    ):
        GLM.from_formula("any ~ age", frame, family="binomial")
    chosen = GLM.from_formula("{any == 'yes'} ~ age", frame, family="binomial")
    by_hand = GLM("binomial").fit(frame[["age"]], (frame["any"] == "yes").astype(float))
    np.testing.assert_allclose(chosen.coef_, by_hand.coef_, rtol=1e-10)
    frame["flag"] = frame["any"] == "yes"
    flagged = GLM.from_formula("flag ~ age", frame, family="binomial")
    np.testing.assert_allclose(flagged.coef_, by_hand.coef_, rtol=1e-10)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("claims ~ aage", "`aage` is not present.*The columns are: age, region, years, claims"),
        ("claims ~ age + (", "cannot be applied"),
        ("cbind(claims, years) ~ age", "written 'successes \\+ failures ~ terms'"),
    ],
)
def test_a_formula_that_cannot_be_applied_says_what_there_is(formula, message):
    with pytest.raises(InputError, match=message):
        GLM.from_formula(formula, claims(20), family="poisson")


def test_a_column_that_is_not_there_is_refused_by_the_argument_that_names_it():
    with pytest.raises(InputError, match="exposure='yeers' names a column"):
        GLM.from_formula("claims ~ age", claims(20), family="poisson", exposure="yeers")


# ---- what the summary says about its errors


def test_the_summary_says_why_errors_are_missing_and_what_penalized_ones_mean():
    x, y = data_for("gaussian", 6, 5)
    saturated = str(GLM().fit(x, y).summary())
    assert saturated.endswith("leave nothing to estimate the dispersion from.")
    x, y = data_for("gaussian")
    assert str(GLM(alpha=0.1, l1_ratio=0.5).fit(x, y).summary()).endswith("by looking at the data.")
    assert str(GLM(alpha=0.1).fit(x, y).summary()).endswith("under the penalty as a normal prior.")
    assert str(GLM().fit(x, y).summary()).endswith("---")


def test_labels_by_name_are_refused_with_the_estimator_that_takes_them():
    x, y = data_for("binomial")
    with pytest.raises(InputError, match="For classes by name use LogisticRegression"):
        GLM("binomial").fit(x, np.where(y > 0.5, "yes", "no"))
