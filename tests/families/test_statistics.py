"""Merging statistics: sums by addition, moments without losing digits."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from softcount.families import DenseBlock, Gaussian, MultivariateGaussian
from softcount.families.statistics import Moments, Statistics, Sums


def moments_of(values, resp, full=False):
    """Weight, mean and scatter by their definitions, in two passes."""
    weight = resp.sum(axis=0)
    mean = np.divide(values.T @ resp, weight, out=np.zeros((values.shape[1], resp.shape[1])), where=weight > 0)
    scatter = []
    for k in range(resp.shape[1]):
        deviation = values - mean[:, k]
        scatter.append((deviation * resp[:, k, None]).T @ deviation)
    stacked = np.stack(scatter)
    if not full:
        stacked = np.diagonal(stacked, axis1=1, axis2=2).T
    return Moments(np.broadcast_to(weight, mean.shape).copy(), mean, np.array(stacked))


def same(first, second, rtol=1e-10):
    for name, array in first.arrays().items():
        other = second.arrays()[name]
        assert_allclose(array, other, rtol=rtol, atol=1e-10 * max(1.0, np.abs(other).max(initial=0.0)), err_msg=name)


@given(
    sizes=st.lists(st.integers(0, 6), min_size=2, max_size=5),
    offset=st.sampled_from([0.0, 1.0, -1e6]),
    seed=st.integers(0, 2**31),
    full=st.booleans(),
)
def test_moments_of_parts_merge_to_those_of_the_whole_in_any_order(sizes, offset, seed, full):
    rng = np.random.default_rng(seed)
    parts = []
    for size in sizes:
        values = offset + rng.normal(size=(size, 2))
        resp = rng.random((size, 3)) * (rng.random((size, 3)) < 0.7)
        parts.append((values, resp))
    whole = moments_of(np.concatenate([v for v, _ in parts]), np.concatenate([r for _, r in parts]), full)
    pieces = [moments_of(v, r, full) for v, r in parts]
    observed = whole.weight > 0
    for order in (pieces, pieces[::-1]):
        merged = reduce(lambda a, b: a + b, order)
        assert_allclose(merged.weight, whole.weight, rtol=1e-12)
        assert_allclose(merged.mean[observed], whole.mean[observed], rtol=1e-9)
        assert_allclose(merged.scatter, whole.scatter, rtol=1e-6, atol=1e-9 * max(1.0, abs(offset)))
    if len(pieces) > 2:
        same((pieces[0] + pieces[1]) + pieces[2], pieces[0] + (pieces[1] + pieces[2]), rtol=1e-6)


def test_parts_with_means_far_apart_keep_eight_digits_of_the_variance():
    rng = np.random.default_rng(0)
    low, high = rng.normal(size=(500, 1)), 1e8 + rng.normal(size=(500, 1))
    one = np.ones((500, 1))
    apart = moments_of(low, one) + moments_of(high, one)
    assert_allclose(apart.scatter[0, 0], 1000 * (0.5e8) ** 2, rtol=1e-8)
    near = moments_of(high[:200], one[:200]) + moments_of(high[200:], one[200:])
    exact = ((high - 1e8) - (high - 1e8).mean()) ** 2
    assert_allclose(near.scatter[0, 0], exact.sum(), rtol=1e-8)


@pytest.mark.parametrize("family", [Gaussian(), MultivariateGaussian()], ids=lambda f: f.name)
@pytest.mark.parametrize("known", [False, True])
def test_classes_1e8_apart_with_variance_one_keep_eight_digits_whatever_the_chunks(family, known):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, 600).astype(np.int32)
    noise = rng.normal(size=(600, 2))
    block = DenseBlock(noise + 1e8 * codes[:, None])
    tally = family.tally(block, 2)
    for start in range(0, 600, 100):
        part, chosen = block.rows(start, start + 100), codes[start : start + 100]
        if known:
            tally.add_known(part, chosen, None)
        else:
            tally.add(part, np.eye(2)[chosen])
    found = tally.statistics()
    for k in range(2):
        rows = np.asarray(block.values)[codes == k]
        # What the numbers near 1e8 really are, after rounding: differences from 1e8 k are exact.
        exact = rows - 1e8 * k
        deviation = exact - exact.mean(axis=0)
        scatter = deviation.T @ deviation
        expected = scatter if found.is_full else np.diagonal(scatter)
        assert_allclose(found.scatter[k] if found.is_full else found.scatter[:, k], expected, rtol=1e-8, atol=1e-6)
        assert_allclose(found.mean[:, k], 1e8 * k + exact.mean(axis=0), rtol=1e-15)


def test_a_part_without_weight_changes_nothing_whatever_its_mean():
    part = Moments(np.array([[2.0]]), np.array([[5.0]]), np.array([[1.0]]))
    empty = Moments(np.array([[0.0]]), np.array([[1e300]]), np.array([[0.0]]))
    for merged in (part + empty, empty + part):
        same(merged, part, rtol=0.0)


def test_sums_merge_scale_pool_and_choose_classes():
    sums = Sums({"sum": np.array([[1.0, 2.0], [3.0, 4.0]]), "weight": np.array([[5.0, 6.0]])})
    assert (sums + sums).values["sum"].tolist() == sums.scaled(2.0).values["sum"].tolist()
    assert sums.pooled()["sum"].tolist() == [[3.0], [7.0]]
    assert sums.take(np.array([1, 1]))["weight"].tolist() == [[6.0, 6.0]]
    assert "sum" in sums
    assert "count" not in sums
    assert isinstance(sums, Statistics)


def test_clipping_leaves_sums_that_may_be_negative():
    sums = Sums({"stats": np.array([-2.0]), "weight": np.array([-1e-17])}, signed=frozenset({"stats"}))
    for kept in (sums.clipped(), (sums + sums).scaled(0.5).clipped(), sums.take(np.array([0])).clipped()):
        assert kept["stats"].tolist() == [-2.0]
        assert kept["weight"].tolist() == [0.0]


def test_clipped_moments_have_no_negative_weight_or_scatter():
    diagonal = Moments(np.array([[-1e-17]]), np.array([[1.0]]), np.array([[-1e-17]])).clipped()
    assert diagonal.weight.tolist() == [[0.0]]
    assert diagonal.scatter.tolist() == [[0.0]]
    matrix = np.array([[[1.0, 2.0], [2.0, 1.0]]])
    full = Moments(np.ones((2, 1)), np.zeros((2, 1)), matrix).clipped()
    assert_allclose(full.scatter[0], np.array([[1.5, 1.5], [1.5, 1.5]]), atol=1e-14)
