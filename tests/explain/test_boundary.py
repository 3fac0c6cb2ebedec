"""Decision regions in a plane of two columns."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import softcount
from softcount import GaussianNB, LogisticRegression
from softcount._errors import InputError
from softcount.explain.boundary import decision_regions


def three_groups(n_columns=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 150)
    centers = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 4.0]])
    X = rng.normal(size=(150, n_columns))
    X[:, :2] += centers[y]
    return X, np.array(["a", "b", "c"])[y]


def test_regions_are_what_the_classifier_predicts():
    X, y = three_groups()
    model = LogisticRegression().fit(X, y)
    regions = decision_regions(model, X, y, grid=15)
    first, second = np.meshgrid(*regions.axes)
    plane = np.column_stack([first.ravel(), second.ravel()])
    np.testing.assert_array_equal(regions.classes[regions.codes.ravel()], model.predict(plane))
    np.testing.assert_allclose(regions.confidence.ravel(), model.predict_proba(plane).max(axis=1))
    np.testing.assert_array_equal(regions.points, X)
    assert regions.names == ("x0", "x1")


def test_an_unfitted_classifier_is_fitted_to_the_two_columns_alone():
    X, y = three_groups(4)
    model = GaussianNB()
    regions = decision_regions(model, X, y, columns=(3, 1), grid=10)
    assert not hasattr(model, "classes_")
    expected = GaussianNB().fit(X[:, [3, 1]], y)
    first, second = np.meshgrid(*regions.axes)
    plane = np.column_stack([first.ravel(), second.ravel()])
    np.testing.assert_array_equal(regions.classes[regions.codes.ravel()], expected.predict(plane))
    assert regions.names == ("x3", "x1")


def test_a_fitted_classifier_is_cut_at_the_medians_of_the_other_columns():
    X, y = three_groups(3)
    model = LogisticRegression().fit(X, y)
    regions = decision_regions(model, X, y, columns=(0, 2), grid=8)
    first, second = np.meshgrid(*regions.axes)
    plane = np.column_stack([first.ravel(), np.full(64, np.median(X[:, 1])), second.ravel()])
    np.testing.assert_array_equal(regions.classes[regions.codes.ravel()], model.predict(plane))


def test_columns_of_a_frame_go_by_name_and_keep_their_names():
    X, y = three_groups(3)
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    model = LogisticRegression().fit(frame, y)
    by_name = decision_regions(model, frame, y, columns=("u", "w"), grid=8)
    by_position = decision_regions(model, frame, y, columns=(0, -1), grid=8)
    np.testing.assert_array_equal(by_name.codes, by_position.codes)
    assert by_name.names == ("u", "w")
    assert decision_regions(LogisticRegression(), frame, y, columns=("u", "w"), grid=8).codes.shape == (8, 8)


@pytest.mark.parametrize("classifier", [LinearSVC(), DecisionTreeClassifier(), GaussianNB()])
def test_any_classifier_will_do(classifier):
    X, y = three_groups()
    regions = decision_regions(classifier, X, y, grid=20)
    assert sorted(np.unique(regions.codes)) == [0, 1, 2]
    assert np.all(regions.confidence > 1 / 3)


def test_sparse_tables_are_drawn_as_dense_ones():
    X, y = three_groups()
    one, other = (decision_regions(LogisticRegression(), table, y, grid=9) for table in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(one.codes, other.codes)


@pytest.mark.parametrize(
    ("columns", "message"),
    [((0, 5), "Column 5 asked for, but X has 2"), (("u", 0), "no column 'u'"), ((0, 1, 1), "a plane has two")],
)
def test_columns_that_are_not_there_are_refused(columns, message):
    X, y = three_groups()
    with pytest.raises(InputError, match=message):
        decision_regions(LogisticRegression(), X, y, columns=columns)


def test_the_regions_can_be_drawn():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    X, y = three_groups()
    ax = softcount.plot_boundary(LogisticRegression(), X, np.char.add("$", y))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [r"\$a", r"\$b", r"\$c"]
    assert ax.get_xlabel() == "x0"
    assert len(ax.get_images()) == 1
    ax.figure.canvas.draw()
    plt.close(ax.figure)


def test_rows_without_a_label_are_drawn_too():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    X, y = three_groups()
    labels = y.astype(object)
    labels[::3] = None
    model = LogisticRegression().fit(X, y)
    assert np.array_equal(decision_regions(model, X, labels, grid=4).point_codes == -1, np.arange(len(y)) % 3 == 0)
    ax = softcount.plot_boundary(model, X, labels)
    assert ax.get_legend().get_texts()[-1].get_text() == "no label, or another"
    assert sum(len(drawn.get_offsets()) for drawn in ax.collections if drawn.get_label()[:1] != "_") == len(y)
    plt.close(ax.figure)
