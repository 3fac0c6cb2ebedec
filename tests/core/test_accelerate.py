"""Leaps on the counts keep what all counts have in common."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from softcount.core.accelerate import extrapolate
from softcount.core.counts import Counts
from softcount.families.statistics import Moments, Sums

SEEDS = st.integers(0, 10**6)


def counts_of(rng: Any, n_rows: int, resp: Any, X: Any) -> Counts:
    """Counts of yes/no columns and of numbers under responsibilities."""
    bits = (X > 0).astype(float)
    weight = resp.sum(axis=0)
    mean = (X.T @ resp) / weight
    scatter = np.stack([(((X - mean[:, k]) ** 2) * resp[:, [k]]).sum(axis=0) for k in range(resp.shape[1])], axis=1)
    moments = Moments(np.tile(weight, (X.shape[1], 1)), mean, scatter)
    parts: Any = {
        "classes": Sums({"weight": weight}),
        "0": Sums({"sum": bits.T @ resp, "weight": weight[None, :]}),
        "1": moments,
    }
    return Counts(parts)


def trail_of(seed: int, pull: float) -> tuple[list[Counts], int]:
    """Three counts along a path that slows down."""
    rng = np.random.default_rng(seed)
    n_rows, n_classes = int(rng.integers(5, 30)), int(rng.integers(2, 4))
    X = rng.normal(size=(n_rows, 3))
    start = rng.dirichlet(np.ones(n_classes), size=n_rows)
    end = rng.dirichlet(np.ones(n_classes), size=n_rows)
    return [counts_of(rng, n_rows, end + pull**i * (start - end), X) for i in range(3)], n_rows


def in_units(counts: Counts, units: Any) -> Counts:
    """The same counts with the columns of numbers in other units."""
    moments: Any = counts.parts["1"]
    scaled = Moments(moments.weight, units[:, None] * moments.mean, units[:, None] ** 2 * moments.scatter)
    return Counts({**counts.parts, "1": scaled})


@given(seed=SEEDS, pull=st.floats(0.5, 0.98))
def test_the_units_of_columns_change_no_leap(seed: int, pull: float) -> None:
    trail, _ = trail_of(seed, pull)
    units = np.array([1e-6, 1.0, 1e6])
    leap, other = extrapolate(trail), extrapolate([in_units(counts, units) for counts in trail])
    assert (leap is None) == (other is None)
    if leap is not None and other is not None:
        mine, theirs = in_units(leap, units).arrays(), other.arrays()
        for name, array in mine.items():
            assert_allclose(theirs[name], array, rtol=1e-6, atol=1e-9 * np.abs(array).max())


def test_no_leap_is_longer_than_sixty_four_steps() -> None:
    # On a path whose steps shrink by a thousandth the end is a thousand steps away.
    path = [Counts({"classes": Sums({"weight": np.array([100.0 - 99.0 * 0.999**i, 1e6])})}) for i in range(3)]
    leap = extrapolate(path)
    assert leap is not None
    start, end = (counts.parts["classes"].arrays()["weight"][0] for counts in (path[0], leap))
    # The second difference enters with the square of the length.
    step, bend = 99.0 * 0.001, -99.0 * 0.001**2
    assert end - start == pytest.approx(2.0 * 64.0 * step + 64.0**2 * bend, rel=1e-6)


@given(seed=SEEDS, pull=st.floats(0.5, 0.98))
def test_leaps_keep_the_number_of_rows_and_the_order_of_ones_and_rows(seed: int, pull: float) -> None:
    trail, n_rows = trail_of(seed, pull)
    leap = extrapolate(trail)
    if leap is None:
        return
    classes: Any = leap.parts["classes"]
    bits: Any = leap.parts["0"]
    assert_allclose(classes["weight"].sum(), n_rows, rtol=1e-9)
    assert (classes["weight"] > 0.0).all()
    assert (bits["sum"] >= 0.0).all()
    assert_allclose(bits["weight"][0], classes["weight"], rtol=1e-9)
    moments: Any = leap.parts["1"]
    assert (moments.scatter >= 0.0).all()
    # The sums over all classes are those of the rows, whatever the responsibilities.
    assert_allclose(bits["sum"].sum(axis=1), trail[0].parts["0"].arrays()["sum"].sum(axis=1), rtol=1e-8)


@given(seed=SEEDS)
def test_a_path_that_has_ended_has_no_leap(seed: int) -> None:
    trail, _ = trail_of(seed, 0.9)
    assert extrapolate([trail[0], trail[0], trail[0]]) is None


def test_a_geometric_path_leaps_to_its_end() -> None:
    def at(value: float) -> Counts:
        return Counts({"classes": Sums({"weight": np.array([value, 10.0 - value])})})

    # 2, 3.6, 4.88, ... comes closer to 10 by a fifth at a time; one leap is there.
    leap = extrapolate([at(9.0), at(8.2), at(7.56)])
    assert leap is not None
    assert_allclose(leap.parts["classes"].arrays()["weight"], [5.0, 5.0], rtol=1e-9)


def test_a_leap_that_would_empty_a_class_is_shortened() -> None:
    def at(value: float) -> Counts:
        return Counts({"classes": Sums({"weight": np.array([value, 10.0 - value])})})

    leap = extrapolate([at(3.0), at(1.5), at(0.6)])
    assert leap is not None
    weight = leap.parts["classes"].arrays()["weight"]
    assert 0.0 < weight[0] < 0.6
    assert weight.sum() == pytest.approx(10.0)


def test_values_that_are_there_are_not_leapt_away() -> None:
    def at(value: float) -> Counts:
        parts = {"classes": Sums({"weight": np.array([5.0, 5.0])}), "0": Sums({"count": np.array([[value, 5.0]])})}
        return Counts(parts)

    leap = extrapolate([at(2.0), at(1.0), at(0.4)])
    assert leap is not None
    assert leap.parts["0"].arrays()["count"][0, 0] > 0.0
