"""Offsets, exposures, frequencies, trials, probabilities and filled-in labels of rows that are not in memory."""

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

import softcount as sc
from softcount._errors import InputError
from tests.estimators.distant.cases import SIZES, assert_learned_the_same, numbers
from tests.estimators.distant.linear_cases import assert_fitted_the_same, gamma, poisson, three_classes, two_classes

pytestmark = pytest.mark.filterwarnings("ignore::softcount._errors.ConvergenceWarning")


@pytest.fixture(scope="module", autouse=True)
def small_chunks():
    """Chunks so small that these rows are many of them."""
    from softcount.core import chunks

    patch = pytest.MonkeyPatch()
    patch.setattr(chunks, "MOST_CELLS", 1)
    yield
    patch.undo()


def in_batches(X, y, weight=None, **beside):
    """Tuples of rows, targets, weights and whatever comes beside them, of unequal size."""
    found, start, turn = [], 0, 0
    while start < X.shape[0]:
        rows = slice(start, start + (SIZES[turn % len(SIZES)] or 5))
        others = {name: values[rows] for name, values in beside.items()}
        found.append((X[rows], y[rows], None if weight is None else weight[rows], others))
        start, turn = rows.stop, turn + 1
    return found


def parquet_of(path, **columns):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = {}
    for name, values in columns.items():
        many = values.ndim == 2
        table.update({f"{name}{j}": values[:, j] for j in range(values.shape[1])} if many else {name: values})
    path.mkdir()
    for number, start in enumerate(range(0, 3000, 1700)):
        pq.write_table(pa.table(table).slice(start, 1700), path / f"part-{number}.parquet", row_group_size=600)
    return path


def regression(draw=poisson):
    rng = np.random.default_rng(31)
    X, y, weight = draw()
    return X, y, weight + 0.5, rng.normal(size=3000), rng.random(3000) + 0.2, rng.integers(0, 4, 3000).astype(float)


@pytest.mark.parametrize(
    ("model", "draw", "names"),
    [
        (sc.GLM("poisson"), poisson, ("offset",)),
        (sc.GLM("poisson", covariance="HC3"), poisson, ("exposure", "sample_weight", "frequency_weight")),
        (sc.GLM("poisson", inference=False), poisson, ("offset", "exposure")),
        (sc.GLM("negative_binomial", fit_intercept=False), poisson, ("offset", "frequency_weight")),
        (sc.GLM("gamma", "log", covariance="sandwich"), gamma, ("frequency_weight", "sample_weight", "offset")),
        (sc.GLM("gamma", "log"), gamma, ("frequency_weight",)),
        (sc.GLM(alpha=0.1, l1_ratio=0.5), gamma, ("offset", "frequency_weight", "sample_weight")),
    ],
)
def test_offsets_and_frequencies_in_batches_count_as_in_memory(model, draw, names):
    X, y, weight, offset, exposure, often = regression(draw)
    values = {"sample_weight": weight, "offset": offset, "exposure": exposure, "frequency_weight": often}
    given = {name: values[name] for name in names}
    memory = clone(model).fit(X, y, **given)
    own = {name: value for name, value in given.items() if name != "sample_weight"}
    far = clone(model).fit(in_batches(X, y, given.get("sample_weight"), **own))
    assert_fitted_the_same(memory, far)
    shifts = {name: value for name, value in own.items() if name != "frequency_weight"}
    rows = in_batches(X, y, given.get("sample_weight"), **shifts)
    assert far.score(rows) == pytest.approx(memory.score(X, y, given.get("sample_weight"), **shifts), rel=1e-8)


def test_successes_and_failures_in_batches_count_as_in_memory():
    rng = np.random.default_rng(32)
    X, _, weight, offset, _, often = regression()
    trials = rng.integers(0, 6, 3000)
    cases = rng.binomial(trials, 1.0 / (1.0 + np.exp(-X[:, 0] - offset)))
    both = np.column_stack([cases, trials - cases])
    for given in ({}, {"frequency_weight": often, "offset": offset}):
        for own_weight in (None, weight):
            memory = sc.GLM("binomial", covariance="HC1").fit(X, both, sample_weight=own_weight, **given)
            far = sc.GLM("binomial", covariance="HC1").fit(in_batches(X, both, own_weight, **given))
            assert_fitted_the_same(memory, far)


def test_columns_of_files_and_arrays_beside_a_mapped_one_hold_offsets_and_frequencies(tmp_path):
    X, y, weight, offset, exposure, often = regression()
    memory = sc.GLM("poisson").fit(X, y, sample_weight=weight, frequency_weight=often, offset=offset, exposure=exposure)
    folder = parquet_of(tmp_path / "rows", x=X, y=y, w=weight, shift=offset, time=exposure, often=often)
    names = {"offset": "shift", "exposure": "time"}
    files = sc.GLM("poisson").fit(folder, "y", sample_weight="w", frequency_weight="often", **names)
    assert_fitted_the_same(memory, files)
    assert files.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
    answers = np.concatenate(list(files.predict(folder, **names)))
    np.testing.assert_allclose(answers, memory.predict(X, offset=offset, exposure=exposure), rtol=1e-8)
    of_rows = files.predict(folder, offset="shift", exposure=2.0)
    np.testing.assert_allclose(np.concatenate(list(of_rows)), memory.predict(X, offset=offset, exposure=2.0), rtol=1e-8)
    mapped = np.memmap(tmp_path / "rows.bin", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    given = {"sample_weight": weight, "frequency_weight": often, "offset": offset, "exposure": exposure}
    assert_fitted_the_same(memory, sc.GLM("poisson").fit(mapped, y, **given))
    both = parquet_of(tmp_path / "both", x=X, case=np.column_stack([y, 2.0 * y + 1.0]))
    binomial = sc.GLM("binomial").fit(both, ("case0", "case1"))
    assert_fitted_the_same(sc.GLM("binomial").fit(X, np.column_stack([y, 2.0 * y + 1.0])), binomial)


def soft(y, classes, seed=33):
    rng = np.random.default_rng(seed)
    shares = np.eye(len(classes))[np.searchsorted(classes, y)] + rng.random((len(y), len(classes)))
    shares[:50] = np.eye(len(classes))[np.searchsorted(classes, y[:50])]
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("model", "make", "classes"),
    [
        (sc.LogisticRegression(), two_classes, ["no", "yes"]),
        (sc.LogisticRegression(class_weight="balanced"), two_classes, ["no", "yes"]),
        (sc.LogisticRegression(C=np.inf), three_classes, ["ann", "bob", "cleo"]),
        (sc.LogisticRegression(class_weight={0: 2.0, 2: 0.5}), three_classes, ["ann", "bob", "cleo"]),
        (sc.LogisticRegression(solver="newton-cg"), three_classes, ["ann", "bob", "cleo"]),
    ],
)
def test_rows_of_probabilities_and_offsets_in_batches_count_as_in_memory(model, make, classes):
    X, y, weight = make()
    shares = soft(y, classes)
    offset = np.random.default_rng(34).normal(size=3000 if len(classes) == 2 else (3000, 3))
    for given in ({}, {"offset": offset}):
        memory = clone(model).fit(X, shares, weight, **given)
        far = clone(model).fit(in_batches(X, shares, weight, **given))
        assert_fitted_the_same(memory, far)
        assert far.classes_.tolist() == memory.classes_.tolist()
    memory = sc.LogisticRegression().fit(X, y, offset=offset)
    far = sc.LogisticRegression().fit(in_batches(X, y, offset=offset))
    assert_fitted_the_same(memory, far)


def test_columns_of_files_hold_probabilities_and_offsets(tmp_path):
    X, y, weight = three_classes()
    shares, offset = soft(y, ["ann", "bob", "cleo"]), np.random.default_rng(35).normal(size=(3000, 3))
    folder = parquet_of(tmp_path / "rows", x=X, share=shares, shift=offset, w=weight)
    shifts = ("shift0", "shift1", "shift2")
    shares_of = ("share0", "share1", "share2")
    memory = sc.LogisticRegression().fit(X, shares, weight, offset=offset)
    far = sc.LogisticRegression().fit(folder, shares_of, "w", offset=shifts)
    assert_fitted_the_same(memory, far)
    assert far.classes_.tolist() == ["share0", "share1", "share2"]
    answers = np.concatenate(list(far.predict_proba(folder, offset=shifts)))
    np.testing.assert_allclose(answers, memory.predict_proba(X, offset=offset), rtol=1e-8)
    bare = parquet_of(tmp_path / "bare", x=X, share=shares)
    assert_learned_the_same(sc.GaussianNB().fit(X, shares), sc.GaussianNB().fit(bare, shares_of))


@pytest.mark.parametrize("is_fitted", [False, True])
def test_a_generative_model_fills_in_labels_that_batches_and_files_lack(is_fitted, tmp_path):
    X, z = numbers(3000, 36)
    y = np.array(["ann", "bob", "cleo"], dtype=object)[z]
    y[np.random.default_rng(0).random(3000) < 0.7] = None
    weight = np.random.default_rng(1).integers(0, 3, 3000).astype(float)
    generative = sc.GaussianNB()
    if is_fitted:
        generative.fit(X, y, weight)
    memory = sc.LogisticRegression(from_generative=generative).fit(X, y, weight)
    assert_fitted_the_same(
        memory,
        sc.LogisticRegression(from_generative=generative).fit(in_batches(X, y, weight)),
    )
    folder = parquet_of(tmp_path / "rows", x=X, y=y, w=weight)
    if not is_fitted:
        far = sc.LogisticRegression(from_generative=generative).fit(folder, "y", "w")
        assert_fitted_the_same(memory, far)
    all_three = sc.GaussianNB().fit(X, z)
    with pytest.raises(InputError, match=r"knows the classes \[0, 1, 2\], but y holds \[0, 1\]"):
        sc.LogisticRegression(from_generative=all_three).fit(in_batches(X, np.minimum(z, 1)))
    strange = sc.GaussianNB().fit(X, np.minimum(z, 1))
    with pytest.raises(InputError, match=r"In batch 0: The target label\(s\) \[2\] in y do not exist"):
        sc.LogisticRegression(from_generative=strange).fit(in_batches(X, z))


def test_a_collection_has_offsets_frequencies_and_probabilities(two_workers):
    X, y, weight, offset, exposure, often = regression()
    rows, of_rows = da.from_array(X, chunks=(1000, -1)), lambda values: da.from_array(values, chunks=700)
    memory = sc.GLM("poisson").fit(X, y, sample_weight=weight, frequency_weight=often, offset=offset, exposure=exposure)
    given = {"sample_weight": weight, "frequency_weight": often, "offset": offset, "exposure": exposure}
    far = sc.GLM("poisson").fit(rows, of_rows(y), **{name: of_rows(values) for name, values in given.items()})
    assert_fitted_the_same(memory, far)
    shifts = {"offset": of_rows(offset), "exposure": of_rows(exposure)}
    answers = far.predict(rows, **shifts)
    np.testing.assert_allclose(answers.compute(), memory.predict(X, offset=offset, exposure=exposure), rtol=1e-8)
    own = memory.score(X, y, weight, offset=offset, exposure=exposure)
    assert far.score(rows, of_rows(y), of_rows(weight), **shifts) == pytest.approx(own, rel=1e-8)
    X, y, weight = three_classes()
    shares, shift = soft(y, ["ann", "bob", "cleo"]), np.random.default_rng(34).normal(size=(3000, 3))
    parts = [da.from_array(values, chunks=(1000, -1)) for values in (X, shares, shift)]
    memory = sc.LogisticRegression().fit(X, shares, weight, offset=shift)
    far = sc.LogisticRegression().fit(parts[0], parts[1], of_rows(weight), offset=parts[2])
    assert_fitted_the_same(memory, far)
