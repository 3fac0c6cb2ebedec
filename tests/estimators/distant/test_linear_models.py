"""Linear models learn from rows that are not in memory what they learn from rows in memory."""

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

import softcount as sc
from softcount._errors import InputError
from tests.estimators.distant.cases import batches_of, sparse_parts
from tests.estimators.distant.linear_cases import (
    CLASSIFIERS,
    REGRESSORS,
    assert_fitted_the_same,
    poisson,
    three_classes,
    two_classes,
    words,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::softcount._errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::softcount.estimators.glm.trouble.AliasedColumnsWarning"),
]
SIZES = (1100, 900, 1000)


@pytest.fixture(scope="module", autouse=True)
def small_chunks():
    """Chunks so small that these rows are many of them."""
    from softcount.core import chunks

    patch = pytest.MonkeyPatch()
    patch.setattr(chunks, "MOST_CELLS", 1)
    yield
    patch.undo()


def parquet_of(path, X, y, weight):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {f"c{j}": X[:, j] for j in range(X.shape[1])}
    table = pa.table({**columns, "target": y, "often": weight})
    path.mkdir()
    for number, start in enumerate(range(0, X.shape[0], 1700)):
        pq.write_table(table.slice(start, 1700), path / f"part-{number}.parquet", row_group_size=600)
    return path


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_batches_teach_a_logistic_regression_what_rows_in_memory_do(name):
    estimator, make = CLASSIFIERS[name]
    X, y, weight = make()
    memory = clone(estimator).fit(X, y, weight)
    model = clone(estimator).fit(batches_of(X, y, weight))
    assert_fitted_the_same(memory, model)
    assert model.classes_.tolist() == memory.classes_.tolist()
    answers = np.concatenate(list(model.predict_proba(batches_of(X))))
    np.testing.assert_allclose(answers, memory.predict_proba(X), rtol=1e-8, atol=1e-12)
    assert np.concatenate(list(model.predict(batches_of(X)))).tolist() == memory.predict(X).tolist()
    assert model.score(batches_of(X, y, weight)) == pytest.approx(memory.score(X, y, weight), rel=1e-12)


@pytest.mark.parametrize("name", REGRESSORS)
def test_batches_teach_a_regression_what_rows_in_memory_do(name):
    estimator, make = REGRESSORS[name]
    X, y, weight = make()
    memory = clone(estimator).fit(X, y, sample_weight=weight)
    model = clone(estimator).fit(batches_of(X, y, weight))
    assert_fitted_the_same(memory, model)
    answers = np.concatenate(list(model.predict(batches_of(X))))
    np.testing.assert_allclose(answers, memory.predict(X), rtol=1e-8)
    assert model.score(batches_of(X, y, weight)) == pytest.approx(memory.score(X, y, weight), rel=1e-8)


@pytest.mark.parametrize(
    ("estimator", "make"),
    [
        (sc.LogisticRegression(), three_classes),
        (sc.GLM("poisson"), poisson),
        (sc.BayesianLinearRegression(), poisson),
    ],
)
def test_files_datasets_and_mapped_arrays_teach_the_same(estimator, make, tmp_path):
    X, y, weight = make()
    memory = clone(estimator).fit(X, y, sample_weight=weight)
    folder = parquet_of(tmp_path / "rows", X, y, weight)
    import pyarrow.dataset

    dataset = pyarrow.dataset.dataset(folder)
    mapped = np.memmap(tmp_path / "rows.bin", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    files = clone(estimator).fit(folder, "target", sample_weight="often")
    assert_fitted_the_same(memory, files)
    assert_fitted_the_same(memory, clone(estimator).fit(dataset, "target", sample_weight="often"))
    assert_fitted_the_same(memory, clone(estimator).fit(mapped, y, sample_weight=weight))
    assert files.feature_names_in_.tolist() == [f"c{j}" for j in range(4)]
    answers = np.concatenate(list(files.predict(folder)))
    assert answers.tolist() == pytest.approx(memory.predict(X).tolist()) if y.dtype.kind == "f" else True
    assert answers.tolist() == memory.predict(X).tolist() or y.dtype.kind == "f"
    assert files.score(folder, "target", "often") == pytest.approx(memory.score(X, y, weight), rel=1e-8)


@pytest.mark.parametrize("name", ["three classes", "absolute values", "words", "separated"])
def test_a_collection_teaches_a_logistic_regression_what_rows_in_memory_do(name, two_workers):
    estimator, make = CLASSIFIERS[name]
    X, y, weight = make()
    memory = clone(estimator).fit(X, y, weight)
    model = clone(estimator).fit(*on_dask(X, y, weight))
    assert_fitted_the_same(memory, model)
    rows, labels, weights = on_dask(X, y, weight)
    proba = model.predict_proba(rows)
    assert hasattr(proba, "__dask_graph__")
    np.testing.assert_allclose(proba.compute(), memory.predict_proba(X), rtol=1e-8, atol=1e-12)
    assert model.score(rows, labels, weights) == pytest.approx(memory.score(X, y, weight), rel=1e-12)


@pytest.mark.parametrize("name", ["GLM normal", "GLM gamma", "GLM without a matrix", "BayesianLinearRegression"])
def test_a_collection_teaches_a_regression_what_rows_in_memory_do(name, two_workers):
    estimator, make = REGRESSORS[name]
    X, y, weight = make()
    memory = clone(estimator).fit(X, y, sample_weight=weight)
    rows, targets, weights = on_dask(X, y, weight)
    model = clone(estimator).fit(rows, targets, sample_weight=weights)
    assert_fitted_the_same(memory, model)
    np.testing.assert_allclose(model.predict(rows).compute(), memory.predict(X), rtol=1e-8)
    assert model.score(rows, targets, weights) == pytest.approx(memory.score(X, y, weight), rel=1e-8)


def on_dask(X, y, weight):
    """Rows, targets and weights as Dask arrays with parts of unequal size."""
    rows = da.from_array(X, chunks=(SIZES, -1)) if isinstance(X, np.ndarray) else sparse_parts(X, SIZES)
    return rows, da.from_array(y, chunks=(SIZES,)), da.from_array(weight, chunks=700)


def test_many_columns_are_fitted_without_a_matrix_of_them():
    X, y, _ = words(2600)
    memory = sc.LogisticRegression(C=0.1).fit(X, y)
    model = sc.LogisticRegression(C=0.1).fit(batches_of(X, y))
    assert model.solver_ == "newton-cg"
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=1e-6, atol=1e-8)


def test_batches_added_to_a_bayesian_regression_are_one_fit():
    X, y, weight = poisson()
    whole = sc.BayesianLinearRegression().fit(X, y, weight)
    model = sc.BayesianLinearRegression()
    for start in range(0, 3000, 1000):
        rows = slice(start, start + 1000)
        model.partial_fit(batches_of(X[rows], y[rows], weight[rows]))
    assert_fitted_the_same(whole, model)


def test_a_fit_of_batches_is_taken_up_where_it_was(tmp_path):
    X, y, weight = three_classes()
    whole = sc.LogisticRegression().fit(batches_of(X, y, weight))
    with sc.checkpoints(tmp_path / "fit", seconds=0.0):
        sc.LogisticRegression().fit(batches_of(X, y, weight))
    with sc.checkpoints(tmp_path / "fit", resume=True):
        again = sc.LogisticRegression().fit(batches_of(X, y, weight))
    assert again.coef_.tobytes() == whole.coef_.tobytes()
    with pytest.raises(InputError, match="other data"), sc.checkpoints(tmp_path / "fit", resume=True):
        sc.LogisticRegression().fit(batches_of(X + 1.0, y, weight))


def test_cells_and_targets_that_are_no_numbers_are_named_by_their_place(tmp_path):
    X, y, weight = poisson()
    X[1500, 2] = np.nan
    with pytest.raises(InputError, match=r"In batch 4: .*NaN: row 466, column 'x2'"):
        sc.GLM("poisson").fit(batches_of(X, y, weight))
    X, y, weight = poisson()
    y[5] = -1.0
    weight[5] = 1.0
    with pytest.raises(InputError, match=r"In batch 0: y of row 5 is -1.0, which the poisson family cannot produce"):
        sc.GLM("poisson").fit(batches_of(X, y, weight))
    folder = parquet_of(tmp_path / "rows", *two_classes())
    with pytest.raises(InputError, match=r"Column 'target' holds no numbers"):
        sc.GLM().fit(folder, "often")
    with pytest.raises(InputError, match="no column 'nothing'"):
        sc.LogisticRegression().fit(folder, "nothing")


def test_what_cannot_be_learned_from_is_refused():
    X, y, weight = two_classes()
    with pytest.raises(InputError, match=r"so offset comes with them: .* \(X, y, weight, {'offset': ...}\)"):
        sc.LogisticRegression().fit(batches_of(X, y), offset=np.zeros(3000))
    with pytest.raises(InputError, match="batch 0 comes with 'exposure', which is not taken here"):
        sc.LogisticRegression().fit([(X, y, weight, {"exposure": weight})])
    with pytest.raises(InputError, match="batch 0 comes with 'offset', which is not taken here"):
        sc.GaussianNB().fit([(X, y, weight, {"offset": weight})])
    with pytest.raises(InputError, match="batch 0 is a tuple of 5"):
        sc.GaussianNB().fit([(X, y, weight, {}, None)])
    with pytest.raises(InputError, match="Some batches come with an offset"):
        sc.LogisticRegression().fit([(X, y, weight, {"offset": weight}), (X, y)])
    with pytest.raises(InputError, match="others with a row of probabilities"):
        sc.LogisticRegression().fit([(X, y), (X, np.full((3000, 2), 0.5))])
    with pytest.raises(InputError, match="There is no target"):
        sc.LogisticRegression().fit(batches_of(X))
    labels = np.array(y, dtype=object)
    labels[7] = None
    with pytest.raises(InputError, match="missing label"):
        sc.LogisticRegression().fit(batches_of(X, labels))
    with pytest.raises(InputError, match="All sample weights are zero"):
        sc.LogisticRegression().fit(batches_of(X, y, 0.0 * weight))
    counts, numbers, _ = poisson()
    with pytest.raises(InputError, match="In batch 0: exposure of row 0 is"):
        sc.GLM("poisson").fit([(counts, numbers, None, {"exposure": np.zeros(3000)})])
    with pytest.raises(InputError, match="exposure multiplies the mean only with link 'log'"):
        sc.GLM().fit([(counts, numbers, None, {"exposure": np.ones(3000)})])
