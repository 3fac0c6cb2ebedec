"""Pictures of mixtures show the numbers of the fit and hand back their axes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import softcount
from softcount.explain.mixtures import profiles
from tests.reference.published_tables import CARCINOMA, all_rows

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402  (after the choice of the backend)


@pytest.fixture(scope="module")
def carcinoma():
    rows = all_rows(CARCINOMA)
    return rows, softcount.LatentClass(3, random_state=0).fit(rows)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_profiles_run_through_the_item_probabilities(carcinoma):
    _, model = carcinoma
    ax = softcount.plot_profiles(model)
    for k, line in enumerate(ax.get_lines()):
        expected = [model.item_probabilities_[f"x{j}"][k, 1] for j in range(7)]
        assert_allclose(line.get_ydata(), expected)
    assert [text.get_text() for text in ax.get_xticklabels()] == [f"x{j}" for j in range(7)]
    assert "44.5 %" in ax.get_legend().get_texts()[0].get_text()


def test_profiles_of_measurements_are_standardized():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal([0.0, 100.0], [1.0, 50.0], (80, 2)), rng.normal([4.0, 400.0], [1.0, 50.0], (80, 2))])
    model = softcount.GaussianMixture(2, random_state=0).fit(X)
    found = profiles(model)
    assert_allclose(found.means, model.means_.T)
    assert_allclose(found.standardized @ found.weights, 0.0, atol=1e-9)
    ax = softcount.plot_profiles(model)
    assert_allclose(ax.get_lines()[0].get_ydata(), found.standardized[:, 0])
    plain = softcount.plot_profiles(model, standardize=False)
    assert_allclose(plain.get_lines()[0].get_ydata(), model.means_[0])


def test_profiles_know_every_family():
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=200)
    rows = np.empty((200, 4), dtype=object)
    rows[:, 0] = np.where(rng.random(200) < np.where(z, 0.9, 0.2), "yes", "no")
    rows[:, 1] = rng.poisson(np.where(z, 7.0, 2.0))
    rows[:, 2] = rng.gamma(np.where(z, 9.0, 2.0))
    rows[:, 3] = rng.random(200) < np.where(z, 0.8, 0.3)
    model = softcount.Mixture(2, families={"x1": "poisson", "x2": "gamma"}, random_state=0).fit(rows)
    found = profiles(model)
    assert sorted(found.columns) == ["x0", "x1", "x2", "x3"]
    overall = dict(zip(found.columns, found.means @ found.weights, strict=True))
    assert overall["x1"] == pytest.approx(np.mean(rows[:, 1].astype(float)), rel=0.02)
    assert overall["x2"] == pytest.approx(np.mean(rows[:, 2].astype(float)), rel=0.1)
    assert not found.are_shares
    assert len(softcount.plot_profiles(model).get_lines()) == 3


def test_the_heat_map_holds_every_probability(carcinoma):
    _, model = carcinoma
    ax = softcount.plot_item_probabilities(model)
    image = ax.get_images()[0].get_array()
    assert image.shape == (14, 3)
    assert_allclose(image[1], model.item_probabilities_["x0"][:, 1])
    assert ax.get_yticklabels()[1].get_text() == "x0 = 2"
    numbers = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="no categorical or yes/no column"):
        softcount.plot_item_probabilities(softcount.GaussianMixture(2).fit(numbers))


def test_the_histogram_counts_every_row_once(carcinoma):
    rows, model = carcinoma
    ax = softcount.plot_posteriors(model, rows)
    heights = sum(patch.get_height() for patch in ax.patches)
    assert heights == len(rows)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"{k}: {n}" for k, n in enumerate(np.bincount(model.predict(rows)))]


def test_the_triangle_places_rows_by_their_posterior(carcinoma):
    rows, model = carcinoma
    ax = softcount.plot_ternary(model, rows)
    points = np.concatenate([group.get_offsets() for group in ax.collections])
    assert len(points) == len(rows)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    expected = model.predict_proba(rows) @ corners
    assert_allclose(np.sort(points[:, 0]), np.sort(expected[:, 0]), atol=1e-9)
    with pytest.raises(ValueError, match="three corners"):
        softcount.plot_ternary(softcount.LatentClass(2, random_state=0).fit(rows), rows)
    with pytest.raises(ValueError, match="components names"):
        softcount.plot_ternary(model, rows, components=["a", "b", "c"])
    chosen = softcount.plot_ternary(model, rows, components=[2, 0, 1])
    assert [text.get_text() for text in chosen.texts] == ["2", "0", "1"]


def test_pictures_are_drawn_where_asked_and_names_with_dollars_are_plain(carcinoma):
    import pandas as pd

    rows, _ = carcinoma
    frame = pd.DataFrame(rows, columns=["$a$", *"BCDEFG"])
    model = softcount.LatentClass(3, random_state=0).fit(frame)
    figure, axes = plt.subplots(2, 2)
    assert softcount.plot_profiles(model, ax=axes[0, 0]) is axes[0, 0]
    assert softcount.plot_item_probabilities(model, ax=axes[0, 1]) is axes[0, 1]
    assert softcount.plot_posteriors(model, frame, ax=axes[1, 0]) is axes[1, 0]
    assert softcount.plot_ternary(model, frame, ax=axes[1, 1]) is axes[1, 1]
    figure.canvas.draw()
    assert axes[0, 0].get_xticklabels()[0].get_text() == r"\$a\$"


def test_the_histogram_counts_weights(carcinoma):
    rows, model = carcinoma
    weight = np.arange(len(rows)) % 4
    ax = softcount.plot_posteriors(model, rows, sample_weight=weight)
    assert sum(patch.get_height() for patch in ax.patches) == pytest.approx(weight.sum())
