"""LatentClass speaks its field's words: items, classes, chi-squared statistics with refusals, residuals, tables."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2
from sklearn.exceptions import NotFittedError

import softcount
from softcount import LatentClass
from tests.reference.published_tables import CARCINOMA, CHEATING, all_rows

ITEMS = ["exam", "paper", "fraud", "copy"]


@pytest.fixture(scope="module")
def cheating():
    frame = pd.DataFrame(all_rows(CHEATING), columns=ITEMS)
    return frame, LatentClass(2, random_state=0).fit(frame)


def draw_answers(n_rows, seed, n_items=4, n_values=2):
    """Two classes with clearly different answers."""
    rng = np.random.default_rng(seed)
    z = (rng.random(n_rows) < 0.4).astype(int)
    peaks = np.array([np.linspace(3.0, 1.0, n_values), np.linspace(1.0, 3.0, n_values)])
    peaks /= peaks.sum(axis=1, keepdims=True)
    return np.array([rng.choice(n_values, size=n_items, p=peaks[k]) for k in z])


# ---- what is read
def test_answers_are_categories_whatever_they_are():
    rng = np.random.default_rng(0)
    z = rng.random(200) < 0.5
    words = np.where(z[:, None] ^ (rng.random((200, 3)) < 0.1), "agree", "disagree")
    frames = {
        "words": pd.DataFrame(words),
        "categories": pd.DataFrame(words).astype("category"),
        "truths": pd.DataFrame(words == "agree"),
        "numbers": pd.DataFrame(np.where(words == "agree", 1, 2)),
        "numbers with decimals": pd.DataFrame(np.where(words == "agree", 1.0, 2.0)),
        "array": np.where(words == "agree", 1, 2),
        "lists": words.tolist(),
    }
    fits = {name: LatentClass(2, random_state=0).fit(table) for name, table in frames.items()}
    for name, model in fits.items():
        assert_allclose(model.log_likelihood_, fits["words"].log_likelihood_, rtol=1e-8, err_msg=name)
        assert set(model.families_.values()) == {"categorical"}, name
    assert fits["words"].item_values_["0"] == ["agree", "disagree"]


def test_measurements_are_taken_as_gaussian_and_that_is_said():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"answer": rng.integers(0, 2, 100), "age": rng.normal(40.0, 10.0, 100)})
    with pytest.warns(UserWarning, match="'age' hold numbers with more than 30 different values"):
        model = LatentClass(2, random_state=0).fit(frame)
    assert model.families_ == {"answer": "categorical", "age": "gaussian"}
    assert model.goodness_ is None
    assert "age mean" in model.summary()
    told = LatentClass(2, families={"age": "gaussian"}, random_state=0).fit(frame)
    assert not any("age" in note for note in told.notes_)
    with pytest.raises(ValueError, match="not categorical"):
        told.goodness_of_fit(frame)
    assert told.bivariate_residuals(frame).empty


def test_sparse_tables_are_refused():
    from scipy.sparse import csr_array

    with pytest.raises(ValueError, match="X is sparse"):
        LatentClass(2).fit(csr_array(np.eye(4)))


# ---- fit statistics
def test_chi_squared_statistics_are_those_of_the_cells(cheating):
    frame, model = cheating
    table = model.predicted_counts(frame, all_cells=True)
    assert len(table) == 16
    assert table.observed.sum() == 319
    assert_allclose(table.expected.sum(), 319)
    seen = table[table.observed > 0]
    found = model.goodness_of_fit(frame)
    assert_allclose(found.g2, 2 * (seen.observed * np.log(seen.observed / seen.expected)).sum())
    assert_allclose(found.x2, ((table.observed - table.expected) ** 2 / table.expected).sum())
    assert_allclose(table.residual, (table.observed - table.expected) / np.sqrt(table.expected))
    assert found.df == 16 - 1 - 9
    assert found == model.goodness_


def test_cells_without_rows_count_in_pearsons_statistic():
    frame = pd.DataFrame(all_rows(CARCINOMA), columns=list("ABCDEFG"))
    model = LatentClass(3, random_state=0).fit(frame)
    table = model.predicted_counts(frame, all_cells=True)
    assert len(table) == 2**7
    used = table[table.expected > 0]
    assert_allclose(model.goodness_.x2, ((used.observed - used.expected) ** 2 / used.expected).sum(), rtol=1e-9)
    assert len(model.predicted_counts(frame)) == 20


def test_p_values_are_given_where_the_table_is_full_enough():
    X = draw_answers(4000, 0)
    model = LatentClass(2, random_state=0).fit(X)
    found = model.goodness_
    assert found.reasons == ()
    assert found.p_g2 == pytest.approx(chi2.sf(found.g2, found.df))
    assert found.p_x2 == pytest.approx(chi2.sf(found.x2, found.df))
    assert "p =" in str(found)


def test_p_values_of_true_models_are_spread_evenly():
    p_values = [LatentClass(2, random_state=0, n_init=4).fit(draw_answers(3000, s)).goodness_.p_g2 for s in range(40)]
    assert None not in p_values
    assert 0.02 < np.mean(np.array(p_values) < 0.25) < 0.5
    assert 0.3 < np.mean(p_values) < 0.7


@pytest.mark.parametrize(
    ("rows", "options", "reason"),
    [
        (draw_answers(60, 0, n_items=7), {}, "too sparse"),
        (draw_answers(60, 0, n_items=30), {}, "rows in 1.074e"),
        (draw_answers(500, 0, n_items=3), {"n_components": 2}, "(df = 0), so it cannot be tested"),
        (draw_answers(500, 0, n_items=3), {"n_components": 3}, "(df = -4), so it is not identified"),
    ],
    ids=["few-rows", "too-many-cells", "no-degrees-of-freedom", "more-parameters-than-cells"],
)
def test_p_values_are_refused_with_the_reason(rows, options, reason):
    model = LatentClass(**{"n_components": 2, "random_state": 0, **options}).fit(rows)
    assert model.goodness_.p_g2 is None
    assert model.goodness_.p_x2 is None
    assert any(reason in text for text in model.goodness_.reasons)
    assert "No p-value" in model.summary()


def test_missing_answers_and_fractional_weights_refuse_p_values():
    X = draw_answers(3000, 1).astype(float)
    X[:100, 0] = np.nan
    holes = LatentClass(2, random_state=0).fit(X)
    assert any("100 of 3000 rows have missing cells" in text for text in holes.goodness_.reasons)
    assert holes.goodness_.n_complete == 2900
    weighted = LatentClass(2, random_state=0).fit(X[100:], sample_weight=np.full(2900, 0.5))
    assert any("not whole numbers" in text for text in weighted.goodness_.reasons)


def test_the_bootstrap_gives_a_p_value_where_the_table_is_sparse(cheating):
    frame, model = cheating
    found = model.goodness_of_fit(frame, n_bootstrap=39, random_state=0)
    assert found.n_bootstrap == 39
    # The chi-squared p-value of G2 = 7.76 with 6 degrees of freedom is 0.26.
    assert 0.05 < found.p_bootstrap < 0.7
    assert found == model.goodness_of_fit(frame, n_bootstrap=39, random_state=0)
    one = LatentClass(1).fit(frame).goodness_of_fit(frame, n_bootstrap=39, random_state=0)
    assert one.p_bootstrap == pytest.approx(1 / 40)


def test_bivariate_residuals_show_dependence_inside_the_classes():
    X = draw_answers(3000, 2, n_items=6)
    X[:, 5] = np.where(np.random.default_rng(0).random(3000) < 0.85, X[:, 4], X[:, 5])
    model = LatentClass(2, random_state=0).fit(pd.DataFrame(X, columns=list("abcdef")))
    table = model.bivariate_residuals(pd.DataFrame(X, columns=list("abcdef")))
    assert len(table) == 15
    one = LatentClass(1).fit(X)
    first = one.bivariate_residuals(X).iloc[0]
    assert {first["item"], first["other item"]} == {"x4", "x5"}
    observed = pd.crosstab(X[:, 4], X[:, 5]).to_numpy()
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / observed.sum()
    assert_allclose(first.chi_squared, ((observed - expected) ** 2 / expected).sum(), rtol=1e-9)
    assert table.residual.is_monotonic_decreasing


# ---- tables and text
def test_item_probabilities_and_class_sizes_are_the_parameters(cheating):
    frame, model = cheating
    table = model.item_probabilities()
    assert table.index.names == ["item", "value"]
    assert_allclose(table.groupby("item").sum().to_numpy(), 1.0)
    assert_allclose(model.class_sizes_, model.weights_)
    assert_allclose(table.loc[("exam", 2)].to_numpy(), model.item_probabilities_["exam"][:, 1])
    for item in ITEMS:
        observed = (frame[item] == 2).mean()
        assert_allclose(model.class_sizes_ @ model.item_probabilities_[item][:, 1], observed, rtol=1e-5)


def test_the_posterior_is_a_table_of_probabilities_and_modal_classes(cheating):
    frame, model = cheating
    table = model.posterior(frame)
    assert list(table.columns) == ["P(class 0)", "P(class 1)", "class"]
    assert_array_equal(table["class"], model.predict(frame))


def test_the_summary_prints_the_analysis(cheating):
    _, model = cheating
    text = model.summary()
    for line in (
        "Latent class analysis: 2 classes, 4 items, 319 rows with 16 different patterns",
        "Item-response probabilities by class",
        "estimated                0.8394      0.1606",
        "log-likelihood           -440.0271",
        "AIC                      898.0542",
        "BIC                      931.9409",
        "G^2 = 7.7642, X^2 = 8.3234, 6 degrees of freedom",
    ):
        assert line in text


def test_probabilities_on_the_boundary_are_counted():
    model = LatentClass(3, random_state=0).fit(all_rows(CARCINOMA))
    at_edge = sum(int((table < 1e-6).sum()) for table in model.item_probabilities_.values())
    assert model.n_boundary_ == at_edge > 0
    smoothed = LatentClass(3, alpha=0.1, random_state=0).fit(all_rows(CARCINOMA))
    assert smoothed.n_boundary_ == 0


def test_one_class_needs_one_start():
    model = LatentClass(1, random_state=0).fit(all_rows(CARCINOMA))
    assert model.n_starts_ == 1
    assert model.classification_.relative_entropy == 1.0


def test_one_expected_count_below_one_refuses_p_values_however_full_the_other_cells_are():
    first = np.repeat(np.arange(5), [40, 490, 490, 490, 490])
    second = np.random.default_rng(0).permutation(first)
    found = LatentClass(1).fit(np.column_stack([first, second])).goodness_
    # 4 % of the cells are small, but the smallest is 40 * 40 / 2000.
    assert found.p_g2 is None
    assert "4 % of the expected counts are below 5" in found.reasons[0]
    assert "the smallest is 0.8" in found.reasons[0]


def test_more_parameters_than_free_cells_are_warned_about():
    answers = draw_answers(500, 0, n_items=3)
    with pytest.warns(UserWarning, match="11 parameters, but the table has only 7 free cells, so it is not identified"):
        LatentClass(3, random_state=0).fit(answers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LatentClass(2, random_state=0).fit(answers)


def test_an_item_that_names_the_rows_is_pointed_out():
    answers = pd.DataFrame(draw_answers(200, 0, n_items=5), columns=list("abcde"))
    answers["person"] = [f"p{i}" for i in range(200)]
    with pytest.warns(UserWarning, match="'person' has 200 different values in 200 rows"):
        LatentClass(2, random_state=0).fit(answers)


def test_classes_can_be_named_and_the_names_are_shown_and_saved(cheating, tmp_path):
    frame = cheating[0]
    model = LatentClass(2, random_state=0).fit(frame)
    assert model.name_components(["honest", "cheats"]) is model
    assert model.posterior(frame).columns.tolist() == ["P(class honest)", "P(class cheats)", "class"]
    assert model.item_probabilities().columns.tolist() == ["honest", "cheats"]
    assert model.classification_.frame().index.tolist() == ["honest", "cheats"]
    assert "    honest      cheats" in model.summary()
    assert set(model.predict(frame)) == {0, 1}
    path = tmp_path / "model.softcount"
    model.save(path)
    assert softcount.load(path).component_names_.tolist() == ["honest", "cheats"]
    for wrong in (["one"], ["same", "same"], "ab"):
        with pytest.raises(ValueError, match="2 different names"):
            model.name_components(wrong)


@pytest.mark.parametrize("ordered", [True, False])
def test_values_come_in_the_order_that_their_categories_state(ordered):
    scale = ["never", "rarely", "often", "always"]
    words = np.array(scale)[np.random.default_rng(0).integers(0, 3, (120, 4))]
    plain = pd.DataFrame(words, columns=list("abcd"))
    stated = plain.apply(lambda column: pd.Categorical(column, categories=scale, ordered=ordered))
    model = LatentClass(2, random_state=0).fit(stated)
    # Those that occur, in their order; the texts alone are sorted.
    assert model.item_values_["a"] == ["never", "rarely", "often"]
    other = LatentClass(2, random_state=0).fit(plain)
    assert other.item_values_["a"] == ["never", "often", "rarely"]
    assert model.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-9)
    np.testing.assert_allclose(model.predict_proba(stated), model.predict_proba(plain))
    regression = LatentClass(2, covariates="a", random_state=0).fit(stated)
    assert regression.coefficient_names_ == ["(intercept)", "a=rarely", "a=often"]


@pytest.mark.parametrize(
    "question",
    [
        lambda m, X: m.goodness_of_fit(X),
        lambda m, X: m.bivariate_residuals(X),
        lambda m, X: m.predicted_counts(X),
        lambda m, X: m.item_probabilities(),
        lambda m, X: m.posterior(X),
        lambda m, X: m.summary(),
        lambda m, X: m.frame(),
        lambda m, X: m.criteria(),
        lambda m, X: m.standard_errors(X),
        lambda m, X: m.name_components([1, 2]),
    ],
)
def test_every_question_needs_a_fit_and_says_so(question, cheating):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        question(LatentClass(2), cheating[0])
