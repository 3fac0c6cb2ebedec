"""Learning curves of a generative and a discriminative model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import stats
from sklearn.naive_bayes import GaussianNB as TheirGaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import softcount
from softcount import GaussianNB, LogisticRegression, compare_pair
from softcount._errors import InputError
from softcount.explain.compare import PairComparison, _crossing, _turning_point


def correlated_classes(n_rows=1500, seed=0):
    """Columns so correlated within a class that naive Bayes is wrong, but quick."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    shared = rng.normal(size=(n_rows, 1))
    X = 1.2 * y[:, None] * np.linspace(1.0, 0.2, 12) + shared + rng.normal(size=(n_rows, 12))
    return X, y


def test_the_discriminative_model_overtakes_the_generative_one_on_correlated_columns():
    X, y = correlated_classes()
    pair = (GaussianNB(shared_variance=True), LogisticRegression(C=np.inf))
    compared = compare_pair(*pair, X, y, sizes=[6, 12, 25, 60, 200, 900], n_repeats=8, random_state=0)
    means = compared.mean_errors
    assert means[0, 2] < means[1, 2]
    assert means[1, -1] < means[0, -1]
    assert compared.crossing is not None
    assert 6 <= compared.crossing.lower <= compared.crossing.size <= compared.crossing.upper <= 900
    assert "overtakes it at about" in compared.sentence
    assert str(compared) == compared.sentence


def test_the_frame_says_what_the_curves_say():
    X, y = correlated_classes(300)
    compared = compare_pair(GaussianNB(), LogisticRegression(), X, y, sizes=[10, 100], n_repeats=4, random_state=1)
    frame = compared.frame()
    assert frame["model"].tolist() == ["GaussianNB", "GaussianNB", "LogisticRegression", "LogisticRegression"]
    assert frame["size"].tolist() == [10, 100, 10, 100]
    np.testing.assert_allclose(frame["error"], compared.mean_errors.ravel())
    assert np.all(frame["lower"] <= frame["error"])
    assert np.all(frame["error"] <= frame["upper"])
    assert (frame["repeats"] == 4).all()


def test_the_seed_decides_and_the_number_of_jobs_does_not():
    X, y = correlated_classes(200)
    arguments = {"sizes": [8, 60], "n_repeats": 3}
    one = compare_pair(GaussianNB(), LogisticRegression(), X, y, random_state=5, **arguments)
    with parallel_config(backend="threading"):  # processes take seconds to start
        two = compare_pair(GaussianNB(), LogisticRegression(), X, y, random_state=5, n_jobs=2, **arguments)
    other = compare_pair(GaussianNB(), LogisticRegression(), X, y, random_state=6, **arguments)
    np.testing.assert_array_equal(one.errors, two.errors)
    assert not np.array_equal(one.errors, other.errors)


def test_every_sample_holds_every_class():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [170, 25, 5])
    X = pd.DataFrame(rng.normal(size=(200, 2)) + (y == "b")[:, None], columns=["u", "v"])
    compared = compare_pair(
        TheirGaussianNB(), make_pipeline(StandardScaler(), LogisticRegression()), X, y, sizes=[3, 6], n_repeats=5
    )
    assert compared.names == ("GaussianNB", "LogisticRegression")
    assert np.isfinite(compared.errors).all()


def test_two_models_of_the_same_class_keep_their_roles_apart():
    X, y = correlated_classes(120)
    compared = compare_pair(LogisticRegression(), LogisticRegression(), X, y, sizes=[20], n_repeats=2)
    assert compared.names == ("LogisticRegression (generative)", "LogisticRegression (discriminative)")
    assert compared.crossing is None
    assert "the same errors" in compared.sentence


def test_warnings_of_fits_are_counted_and_not_repeated():
    X, y = correlated_classes(120)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compared = compare_pair(GaussianNB(), LogisticRegression(C=np.inf), X, y, sizes=[4, 60], n_repeats=3)
    assert compared.n_warned[1, 0] == 3


def test_default_sizes_grow_evenly_on_a_logarithmic_scale():
    X, y = correlated_classes(150)
    compared = compare_pair(GaussianNB(), LogisticRegression(), X, y, n_repeats=2)
    assert compared.sizes[0] == 4
    assert compared.sizes[-1] == 100
    assert len(compared.sizes) == 10


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ([0.1, 0.05, -0.05, -0.1], np.sqrt(20 * 40)),
        ([0.1, 0.1, 0.1, 0.1], None),
        ([-0.1, -0.1, -0.1, -0.1], None),
        ([0.1, -0.1, 0.05, -0.05], np.sqrt(40 * 80)),
        ([-0.1, -0.1, 0.1, 0.1], None),
    ],
)
def test_the_crossing_is_the_last_change_in_favor_of_the_discriminative_model(gaps, expected):
    found = _turning_point(np.array([10, 20, 40, 80]), np.array(gaps))
    assert found is None if expected is None else found == pytest.approx(expected)


def test_the_interval_of_the_crossing_covers_the_truth():
    sizes = np.array([10, 20, 40, 80, 160, 320])
    true_gap = 0.03 * (np.log(60.0) - np.log(sizes))
    rng = np.random.default_rng(3)
    stated = covered = 0
    for _ in range(40):
        errors = np.zeros((2, 6, 25))
        errors[1] = true_gap[:, None] + 0.03 * rng.normal(size=(6, 25))
        crossing = _crossing(sizes, errors)
        stated += crossing is not None
        covered += crossing is not None and crossing.lower <= 60.0 <= crossing.upper
    assert stated == 40  # leads of five standard errors are clear
    assert covered >= 33


@pytest.mark.parametrize("end", [0.0, -0.05])
def test_a_crossing_is_hardly_ever_stated_where_there_is_none(end):
    sizes = np.array([10, 20, 40, 80, 160, 320])
    rng = np.random.default_rng(4)
    stated = 0
    for _ in range(200):
        errors = 0.03 * rng.normal(size=(2, 6, 20))
        errors[1] += np.linspace(0.0, end, 6)[:, None] if end else 0.0
        stated += _crossing(sizes, errors) is not None
    assert stated <= 10  # one in twenty


def compared_from(gaps, spread=0.0, sizes=(10, 20, 40)):
    errors = np.full((2, len(gaps), 8), 0.3)
    errors[1] += np.array(gaps)[:, None] + spread * np.array([-1.0, 1.0] * 4)
    return PairComparison(
        ("G", "D"), np.array(sizes), errors, _crossing(np.array(sizes), errors), np.zeros((2, len(gaps)), dtype=int)
    )


def test_sentences_say_who_leads_where_nothing_crosses():
    assert compared_from([-0.1, -0.1, -0.1]).sentence == (
        "D makes fewer errors at all sizes, from 10 to 40 training rows."
    )
    assert compared_from([0.1, 0.1, 0.1]).sentence == (
        "G makes fewer errors at all sizes, from 10 to 40 training rows; D is not seen to overtake it."
    )
    assert "D makes fewer errors at 10 training rows, G at 20 and 40; a crossing in favor of D is not seen" in (
        compared_from([-0.1, 0.1, 0.1]).sentence
    )


def test_differences_within_their_intervals_are_not_told_as_findings():
    noisy = compared_from([0.01, -0.01, -0.02], spread=0.05)
    assert noisy.leads.tolist() == [0, 0, 0]
    assert noisy.crossing is None
    assert noisy.sentence == "No difference between G and D is clear, from 10 to 40 training rows."
    ending = compared_from([0.01, 0.0, -0.2], spread=0.05)
    assert ending.crossing is None
    assert ending.sentence == (
        "D makes clearly fewer errors at 40 training rows; elsewhere, from 10 to 40 training rows, no difference is "
        "clear."
    )


def test_a_clear_crossing_says_where_the_generative_model_led():
    assert compared_from([0.1, 0.1, -0.1]).sentence.startswith("G makes fewer errors on few rows; D overtakes it at")
    assert compared_from([-0.1, 0.1, -0.1]).sentence.startswith("G makes fewer errors on 20 rows; D overtakes it at")


def test_intervals_of_the_errors_are_those_of_students_t():
    compared = compared_from([0.0, 0.1], spread=0.05, sizes=(10, 20))
    values = compared.errors[1, 1]
    expected = stats.t.interval(0.95, 7, values.mean(), stats.sem(values))
    np.testing.assert_allclose(compared.intervals[1, 1], expected)


def test_comparisons_that_cannot_be_made_are_refused():
    X, y = correlated_classes(60)
    with pytest.raises(InputError, match="at least two classes"):
        compare_pair(GaussianNB(), LogisticRegression(), X, np.zeros(60))
    with pytest.raises(InputError, match="sizes is \\[10, 50\\]"):
        compare_pair(GaussianNB(), LogisticRegression(), X, y, sizes=[10, 50])
    with pytest.raises(InputError, match="n_repeats is 1"):
        compare_pair(GaussianNB(), LogisticRegression(), X, y, n_repeats=1)


def test_the_curves_can_be_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    X, y = correlated_classes(300)
    compared = compare_pair(GaussianNB(), LogisticRegression(), X, y, sizes=[6, 60, 200], n_repeats=4, random_state=0)
    ax = compared.plot()
    assert [line.get_label() for line in ax.get_lines()][:2] == list(compared.names)
    assert ax.get_xscale() == "log"
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), compared.mean_errors[0])
    assert compared.plot(ax) is ax
    plt.close(ax.figure)


def test_it_is_a_public_name():
    assert softcount.compare_pair is compare_pair


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_rows_without_a_label_are_refused_for_errors_are_counted_against_labels(missing):
    X, y = correlated_classes(60)
    labels = np.where(y == 1, "quick", "slow").astype(object)
    labels[[4, 9]] = missing
    with pytest.raises(InputError, match=r"no label in 2 of 60 rows \(the first is row 4\)"):
        compare_pair(GaussianNB(), LogisticRegression(), X, labels)
