"""Dask collections teach what rows in memory teach, and are answered lazily."""

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import softcount as sc
from softcount._errors import InputError
from tests.estimators.distant.cases import (
    MIXTURES,
    SUPERVISED,
    assert_learned_the_same,
    counts,
    labels_for,
    numbers,
    sparse_parts,
    table,
)

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::softcount._errors.ConvergenceWarning")


@pytest.fixture(autouse=True)
def client(two_workers):
    return two_workers


def collection(X, sizes=(1100, 0, 900, 1000)):
    """Rows as a Dask collection whose parts are of unequal size."""
    if isinstance(X, pd.DataFrame):
        ends = np.cumsum(sizes)
        return [dask.delayed(X.iloc[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
    if isinstance(X, np.ndarray):
        return da.from_array(X, chunks=(tuple(sizes), *[-1] * (X.ndim - 1)))
    return sparse_parts(X, sizes)


@pytest.mark.parametrize(
    "name", ["GaussianNB", "MultinomialNB sparse", "CategoricalNB", "NaiveBayes", "GaussianDiscriminant with holes"]
)
@pytest.mark.parametrize("some", [False, True])
def test_a_collection_teaches_a_classifier_what_rows_in_memory_do(name, some):
    estimator, make = SUPERVISED[name]
    X, z = make()
    rng = np.random.default_rng(9)
    y, weight = labels_for(z, rng, some=some), rng.integers(0, 3, z.shape[0]).astype(float)
    estimator = clone(estimator).set_params(max_iter=8)
    memory = clone(estimator).fit(X, y, weight)
    rows = collection(X)
    parts = rows if isinstance(rows, list) else collection(X)
    if isinstance(rows, list):
        labels, weights = collection(pd.DataFrame({"y": y})), collection(pd.DataFrame({"w": weight}))
        labels, weights = [part["y"] for part in labels], [part["w"] for part in weights]
    else:
        sizes = rows.chunks[0]
        labels, weights = da.from_array(y, chunks=700), da.from_array(weight, chunks=(sizes,))
    model = clone(estimator).fit(rows, labels, weights)
    assert_learned_the_same(memory, model)
    assert getattr(model, "unlabeled_use_", None) == getattr(memory, "unlabeled_use_", None)
    proba = model.predict_proba(parts)
    assert hasattr(proba, "__dask_graph__")
    np.testing.assert_allclose(proba.compute(), memory.predict_proba(X), rtol=1e-8, atol=1e-12)
    assert model.predict(parts).compute().tolist() == memory.predict(X).tolist()
    if not some:
        assert model.score(rows, labels, weights) == pytest.approx(memory.score(X, y, weight), rel=1e-12)


@pytest.mark.parametrize("name", ["BernoulliMixture", "MultinomialMixture sparse", "LatentClass", "GaussianMixture"])
def test_a_collection_teaches_a_mixture_what_rows_in_memory_do(name):
    estimator, make = MIXTURES[name]
    X, _ = make()
    memory, model = clone(estimator).fit(X), clone(estimator).fit(collection(X))
    assert_learned_the_same(memory, model)
    density = model.score_samples(collection(X))
    assert not isinstance(density, np.ndarray)
    np.testing.assert_allclose(density.compute(), memory.score_samples(X), rtol=1e-8)
    assert model.score(collection(X)) == pytest.approx(memory.score(X), rel=1e-10)


def test_a_data_frame_names_its_labels_and_answers_without_them():
    dd = pytest.importorskip("dask.dataframe")
    X, z = table()
    y = labels_for(z, np.random.default_rng(0), some=False)
    memory = sc.NaiveBayes().fit(X, y)
    frame = dd.from_pandas(X.assign(who=y), npartitions=3, sort=False)
    model = sc.NaiveBayes().fit(frame, "who")
    assert_learned_the_same(memory, model)
    assert model.predict(frame).compute().tolist() == memory.predict(X).tolist()
    assert model.score(frame, "who") == memory.score(X, y)


def test_delayed_batches_hold_rows_labels_and_weights():
    X, z = numbers()
    weight = np.random.default_rng(0).random(3000)
    parts = [dask.delayed((X[i : i + 500], z[i : i + 500], weight[i : i + 500])) for i in range(0, 3000, 500)]
    assert_learned_the_same(sc.GaussianNB().fit(X, z, weight), sc.GaussianNB().fit(parts))


def test_parts_of_unknown_length_and_arrays_cut_by_columns_are_taken():
    X, z = numbers()
    memory = sc.GaussianNB().fit(X[X[:, 0] > 0], z[X[:, 0] > 0])
    rows, labels = da.from_array(X, chunks=(700, 2)), da.from_array(z, chunks=700)
    few = sc.GaussianNB().fit(rows[rows[:, 0] > 0], labels[rows[:, 0] > 0])
    assert_learned_the_same(memory, few)
    assert np.isnan(few.predict(rows[rows[:, 0] > 0]).shape[0])


def test_nothing_as_long_as_the_rows_comes_to_the_client(client, monkeypatch):
    """Whatever the client gathers in a fit is small beside the rows."""
    X, z = counts(3000)
    rows, sizes = da.from_array(np.tile(X, (20, 1)), chunks=(10_000, -1)), []
    labels = da.from_array(np.tile(z, 20), chunks=10_000)
    gather = type(client).gather

    def watched(self, futures, *args, **settings):
        found = gather(self, futures, *args, **settings)
        sizes.extend(len(part) for part in found)
        return found

    monkeypatch.setattr(type(client), "gather", watched)
    sc.MultinomialNB().fit(rows, labels)
    assert sizes
    assert max(sizes) < 20_000


def test_what_does_not_go_together_is_refused():
    X, z = numbers(900)
    rows = da.from_array(X, chunks=300)
    with pytest.raises(InputError, match="X has 900 rows, but y has 800 entries"):
        sc.GaussianNB().fit(rows, da.from_array(z[:800], chunks=400))
    with pytest.raises(InputError, match="X is in 2 parts, but y in 1"):
        sc.GaussianNB().fit([dask.delayed(X[:400]), dask.delayed(X[400:])], [dask.delayed(z)])
    with pytest.raises(InputError, match="Expected 2D array"):
        sc.GaussianNB().fit(da.from_array(z, chunks=300), z)
    broken = X.copy()
    broken[650, 1] = np.inf
    with pytest.raises(InputError, match=r"In partition 2: .*row 50"):
        sc.GaussianNB().fit(da.from_array(broken, chunks=(300, -1)), z)


def test_a_cluster_without_workers_is_told(client, monkeypatch):
    X, z = numbers(900)
    monkeypatch.setattr(client, "nthreads", dict)
    with pytest.warns(UserWarning, match=r"has no workers; GaussianNB waits .* dask worker ADDRESS"):
        sc.GaussianNB().fit(da.from_array(X, chunks=(300, -1)), z)
