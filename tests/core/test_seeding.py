"""Seeds lie far apart in every family, and a hole pulls nowhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from softcount.core.chunks import Chunks
from softcount.core.mixture import MixtureModel
from softcount.core.seeding import at_rows, coordinates, distances, lloyd, nearest, spread_seeds
from softcount.families import FAMILIES, Categorical, PseudoCounts
from softcount.families.blocks import CodesBlock, DenseBlock, SparseBlock


def place(family, block, weight=None):
    model = MixtureModel((family,), (PseudoCounts(np.array(1.0)),), np.arange(2), 2)
    return coordinates(model, Chunks((block,), None, weight, rows_per_chunk=1024))


def between(places):
    return distances(places, at_rows(places, np.arange(places[0].shape[0])))


def test_categories_are_one_apart_for_each_column_that_differs():
    codes = np.array([[0, 2], [0, 1], [1, 0]], dtype=np.int16)
    found = between(place(Categorical((2, 3)), CodesBlock(codes, np.array([0, 2, 5]))))
    assert_allclose(found, [[0, 1, 2], [1, 0, 2], [2, 2, 0]], atol=1e-12)


def test_numbers_are_measured_by_their_spread_whatever_their_unit():
    X = np.random.default_rng(0).normal(size=(50, 2))
    first = between(place(FAMILIES["gaussian"](), DenseBlock(X)))
    second = between(place(FAMILIES["gaussian"](), DenseBlock(X * [1.0, 1e6] + [0.0, 1e8])))
    assert_allclose(first, second, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["poisson", "multinomial", "bernoulli"])
def test_sparse_rows_lie_where_dense_rows_do(name):
    X = np.random.default_rng(0).integers(0, 2 if name == "bernoulli" else 6, (30, 5)).astype(float)
    table = csr_array(X)
    sparse = SparseBlock(table.indptr, table.indices, table.data, 5)
    assert_allclose(
        between(place(FAMILIES[name](), sparse)), between(place(FAMILIES[name](), DenseBlock(X))), atol=1e-9
    )


def test_a_missing_cell_lies_at_the_mean():
    X = np.array([[0.0, 1.0], [4.0, 2.0], [np.nan, 1.5]])
    found = place(FAMILIES["gaussian"](), DenseBlock(X, True))[0]
    assert_allclose(found[2], [0.0, 0.0], atol=1e-12)
    codes = np.array([[0], [0], [1], [-1]], dtype=np.int16)
    share = place(Categorical((2,)), CodesBlock(codes, np.array([0, 2])))[0][3]
    assert_allclose(share * np.sqrt(2.0), [2 / 3, 1 / 3])


def test_seeds_fall_into_different_clusters_and_avoid_taken_places():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0], [50.0, 50.0]])
    X = np.repeat(centers, 25, axis=0) + rng.normal(size=(100, 2))
    places = [X]
    for seed in range(10):
        rows = spread_seeds(places, np.ones(100), 4, np.random.default_rng(seed))
        assert sorted(rows // 25) == [0, 1, 2, 3]
        rest = spread_seeds(places, np.ones(100), 3, np.random.default_rng(seed), taken=[centers[:1]])
        assert sorted(rest // 25) == [1, 2, 3]
    weight = np.where(np.arange(100) < 50, 1.0, 0.0)
    assert (spread_seeds(places, weight, 5, rng) < 50).all()


def test_a_seed_is_the_row_that_the_generator_would_choose():
    rng = np.random.default_rng(0)
    places, weight = [rng.normal(size=(40, 2))], rng.random(40)
    first, second = spread_seeds(places, weight, 2, np.random.default_rng(5))
    chooser = np.random.default_rng(5)
    assert first == chooser.choice(40, p=weight / weight.sum())
    chance = weight * distances(places, at_rows(places, np.array([first])))[:, 0]
    assert second == chooser.choice(40, p=chance / chance.sum())


@pytest.mark.parametrize(("n_rows", "are_kept"), [(50, True), (70_000, False)])
def test_coordinates_of_few_rows_are_found_once_for_every_kind_of_family(n_rows, are_kept):
    rows = Chunks((DenseBlock(np.arange(2.0 * n_rows).reshape(-1, 2)),), rows_per_chunk=1024)
    prior = (PseudoCounts(np.array(1.0)),)
    first, again = (
        coordinates(MixtureModel((FAMILIES["gaussian"](),), prior, np.arange(2), 2), rows)[0] for _ in range(2)
    )
    counts = coordinates(MixtureModel((FAMILIES["poisson"](),), prior, np.arange(2), 2), rows)[0]
    assert (first is again) == are_kept
    assert_allclose(first, again, rtol=0.0)
    assert_allclose(counts, 2.0 * np.sqrt(rows.blocks[0].values))


def test_rows_that_are_all_equal_can_still_be_seeds():
    rows = spread_seeds([np.ones((6, 2))], np.ones(6), 3, np.random.default_rng(0))
    assert len(rows) == 3


def test_moving_seeds_to_the_means_of_their_rows_shortens_the_distances():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(6, 1, (60, 2))])
    weight = rng.uniform(0.5, 2.0, 120)
    start = [X[[0, 1]]]
    moved = lloyd([X], weight, start)
    before = weight @ distances([X], start).min(axis=1)
    after = weight @ distances([X], moved).min(axis=1)
    assert after < before
    groups = nearest([X], moved)
    for k in range(2):
        inside = groups == k
        assert_allclose(moved[0][k], weight[inside] @ X[inside] / weight[inside].sum(), rtol=1e-9)
    held = lloyd([X], weight, start, n_fixed=1)
    assert_allclose(held[0][0], X[0])
