"""Comparing numbers of components: the table, the choice, the words, the picture."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount import CategoricalMixture, GaussianMixture, LatentClass, PoissonMixture, select
from softcount.select.advice import advise
from softcount.select.candidate import Candidate
from tests.reference.published_tables import CARCINOMA, all_rows


@pytest.fixture(scope="module")
def carcinoma():
    return select.how_many(LatentClass(random_state=0), all_rows(CARCINOMA), range(1, 6))


def test_the_table_holds_every_criterion_of_every_fit(carcinoma):
    table = carcinoma.table()
    assert table.index.tolist() == [1, 2, 3, 4, 5]
    assert_allclose(table.log_likelihood.round(4).tolist()[1:4], [-317.2568, -293.7050, -289.2858])
    for size, model in carcinoma.models.items():
        for name, value in model.criteria().items():
            assert table.loc[size, name] == value
        assert table.loc[size, "entropy"] == model.classification_.entropy
        assert table.loc[size, "smallest_share"] == model.weights_.min()
        assert table.loc[size, "n_best"] == model.n_best_starts_
        assert table.loc[size, "df"] == model.goodness_.df


def test_the_recommendation_has_reasons(carcinoma):
    assert carcinoma.best == 3
    assert carcinoma.best_model is carcinoma.models[3]
    words = carcinoma.recommendation
    assert words.startswith(
        "Recommended: 3 components. BIC is lowest there (697.14, clearly lower than with 2: by 8.94)"
    )
    assert "AIC, SABIC and CAIC agree; ICL prefers 2." in words
    assert "relative entropy 0.93" in words
    assert "smallest component holds 18.2 % of the rows (21)" in words
    printed = str(carcinoma)
    assert "3 <" in printed
    assert words in printed


def test_other_criteria_can_decide(carcinoma):
    by_icl = select.how_many(LatentClass(random_state=0), all_rows(CARCINOMA), [1, 2, 3], criterion="icl")
    assert by_icl.best == 2
    with pytest.raises(ValueError, match="criterion is 'r2'"):
        select.how_many(LatentClass(), all_rows(CARCINOMA), criterion="r2")
    with pytest.raises(ValueError, match="candidates"):
        select.how_many(LatentClass(), all_rows(CARCINOMA), [])


def test_the_true_number_is_found_for_other_families():
    rng = np.random.default_rng(0)
    z = rng.integers(3, size=400)
    numbers = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[z] + rng.normal(size=(400, 2))
    found = select.how_many(GaussianMixture(n_init=5, random_state=0), numbers, range(1, 6), n_jobs=2)
    assert found.best == 3
    counts = rng.poisson(np.array([[2.0, 9.0], [9.0, 2.0]])[z % 2])
    assert select.how_many(PoissonMixture(random_state=0), counts, range(1, 4)).best == 2


def test_weights_and_labels_reach_the_fits():
    rows = all_rows(CARCINOMA)
    answers, count = np.unique(rows, axis=0, return_counts=True)
    weighted = select.how_many(LatentClass(random_state=0), answers, [2, 3], sample_weight=count)
    whole = select.how_many(LatentClass(random_state=0), rows, [2, 3])
    assert_allclose(weighted.table().bic, whole.table().bic, rtol=1e-9)
    labels = np.where(np.arange(118) < 34, 0.0, np.nan)
    labeled = select.how_many(CategoricalMixture(random_state=0), rows - 1, [2, 3], labels)
    assert labeled.models[2].predict(rows[:34] - 1).tolist() == [0] * 34


def test_progress_is_counted_and_printed(capsys):
    seen = []
    select.how_many(
        LatentClass(random_state=0, n_init=2),
        all_rows(CARCINOMA),
        [1, 2],
        n_bootstrap=3,
        verbose=1,
        progress=lambda done, total: seen.append((done, total)),
        random_state=0,
    )
    assert sorted(seen) == [(k, 5) for k in range(1, 6)]
    assert "2 components, log-likelihood -317.2568" in capsys.readouterr().err


def test_the_elbow_plot_marks_the_lowest_points(carcinoma):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = carcinoma.plot(["bic", "aic"])
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert_allclose(lines["BIC"].get_ydata(), carcinoma.table().bic)
    assert_allclose(lines["recommended: 3"].get_xdata(), [3, 3])
    with pytest.raises(ValueError, match="criteria"):
        carcinoma.plot(["r2"])
    matplotlib.pyplot.close("all")


# ---- advice from numbers
def candidate(k, bic, **more):
    values = {
        "n_components": k,
        "log_likelihood": -100.0,
        "n_parameters": 3 * k,
        "aic": bic,
        "bic": bic,
        "sabic": bic,
        "caic": bic,
        "icl": bic,
        "entropy": 1.0,
        "relative_entropy": 0.9,
        "smallest_share": 0.3,
        "smallest_rows": 60.0,
        "n_best": 4,
        "n_finished": 5,
        "n_starts": 20,
        "converged": True,
        "df": None,
        "p_value": None,
    }
    return Candidate(**{**values, **more})


def test_a_model_that_is_not_identified_is_passed_over():
    best, words = advise([candidate(1, 220.0), candidate(2, 210.0), candidate(3, 200.0, df=-2)], "bic")
    assert best == 2
    assert "3 components have a lower BIC but are passed over" in words
    assert "not identified" in words


def test_a_model_with_an_empty_or_collapsed_component_is_passed_over():
    for note in ("component 2 is empty: ...", "component 0 has shrunk onto 2 rows: ..."):
        best, words = advise([candidate(1, 220.0), candidate(2, 210.0, notes=(note,))], "bic")
        assert best == 1
        assert "passed over" in words


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"relative_entropy": 0.4}, "the components overlap"),
        ({"smallest_share": 0.01, "smallest_rows": 300.0}, "smallest component holds 1.0 %"),
        ({"n_best": 1}, "only 1 of the 5 starts"),
        ({"converged": False}, "did not converge"),
        ({"p_value": 0.3}, "not clearly better than one component fewer (p = 0.300)"),
        ({"p_value": 0.001}, "are better than one component fewer (p = 0.001)"),
    ],
)
def test_what_speaks_against_a_choice_is_said(more, words):
    best, text = advise([candidate(1, 220.0), candidate(2, 200.0, **more), candidate(3, 206.0)], "bic")
    assert best == 2
    assert words in text


def test_a_choice_at_the_edge_of_the_range_is_said():
    assert "largest number tried, so try more" in advise([candidate(1, 220.0), candidate(2, 200.0)], "bic")[1]
    assert "largest number" not in advise([candidate(1, 200.0), candidate(2, 220.0)], "bic")[1]
    assert "hardly lower" in advise([candidate(1, 200.0), candidate(2, 200.5)], "bic")[1]


@pytest.mark.parametrize(
    ("model", "candidates", "message"),
    [
        (LatentClass(), 4, "several numbers of components"),
        (LatentClass(), "123", "several numbers of components"),
        (LatentClass(), [1.5, 2], "whole numbers of components"),
        (LatentClass(), [0, 2], "whole numbers of components"),
        (LatentClass(), [], "whole numbers of components"),
        (LatentClass, [1, 2], "give a mixture such as"),
    ],
)
def test_what_cannot_be_compared_is_named(carcinoma, model, candidates, message):
    with pytest.raises(ValueError, match=message):
        select.how_many(model, all_rows(CARCINOMA), candidates)


def test_a_bootstrap_that_no_sample_reaches_counts_as_evidence_at_its_smallest_p_value(carcinoma):
    found = select.how_many(LatentClass(random_state=0), all_rows(CARCINOMA), [1, 2], n_bootstrap=19, random_state=0)
    assert found.tests[0].p_value == pytest.approx(0.05)
    assert "they are better than one component fewer" in found.recommendation


def test_sizes_that_were_fitted_from_one_start_are_pointed_out():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(4.0, 1.0, (60, 2))])
    words = "Caution: with 2 and 3 components there was one start"
    assert words in select.how_many(GaussianMixture(random_state=0), X, range(1, 4)).recommendation
    searched = select.how_many(GaussianMixture(thorough=True, random_state=0), X, range(1, 4))
    assert "one start" not in searched.recommendation
    assert searched.best == 2
    named = np.repeat([0, 1], 60)
    assert "one start" not in select.how_many(GaussianMixture(random_state=0), X, [2], named).recommendation
