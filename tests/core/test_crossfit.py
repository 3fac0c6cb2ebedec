"""Folds, scores of held-out posteriors, and cooling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from softcount.core.crossfit import (
    HeldOut,
    brier,
    cool,
    cool_log,
    finite_log_posterior,
    fit_cooling,
    folds,
    hits,
    log_loss,
)

CODES = st.lists(st.integers(-1, 3), min_size=1, max_size=40).map(lambda v: np.array(v, dtype=np.int32))


@given(CODES, st.integers(0, 5))
def test_every_row_of_a_class_with_two_is_held_out_once_per_repeat(codes: np.ndarray, seed: int) -> None:
    size = np.bincount(codes[codes >= 0], minlength=4)
    expected = np.flatnonzero((codes >= 0) & (size[codes] >= 2))
    repeats = list(folds(codes, 5, 2, np.random.default_rng(seed)))
    assert len(repeats) == 2
    for parts in repeats:
        held = np.concatenate([np.empty(0, dtype=np.int64), *parts])
        assert sorted(held.tolist()) == expected.tolist()


@given(CODES, st.integers(0, 5))
def test_no_fold_takes_all_rows_of_a_class(codes: np.ndarray, seed: int) -> None:
    for parts in folds(codes, 5, 2, np.random.default_rng(seed)):
        for held in parts:
            left = np.delete(codes, held)
            for k in np.unique(codes[held]):
                assert (left == k).any()


@given(CODES, st.integers(0, 5))
def test_the_rows_of_a_class_are_spread_as_evenly_as_can_be(codes: np.ndarray, seed: int) -> None:
    for parts in folds(codes, 5, 1, np.random.default_rng(seed)):
        for k in range(4):
            size = int((codes == k).sum())
            if size >= 2:
                counts = [int((codes[held] == k).sum()) for held in parts]
                assert max(counts) <= -(-size // 5)


@given(CODES, st.integers(0, 5))
def test_folds_are_of_one_size_but_for_a_row(codes: np.ndarray, seed: int) -> None:
    for parts in folds(codes, 5, 1, np.random.default_rng(seed)):
        sizes = [held.size for held in parts] + [0] * (5 - len(parts))
        assert max(sizes) - min(sizes) <= 1


def test_folds_depend_on_the_seed_alone() -> None:
    codes = np.repeat([0, 1, 2], 7)

    def drawn(seed: int) -> list[list[int]]:
        return [held.tolist() for parts in folds(codes, 5, 2, np.random.default_rng(seed)) for held in parts]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


LOG_POSTERIORS = arrays.arrays(np.float64, (6, 3), elements=st.floats(-300.0, 0.0))
LENGTHS = arrays.arrays(np.float64, 6, elements=st.floats(0.0, 500.0))


@given(LOG_POSTERIORS, LENGTHS, st.floats(0.0, 1.0))
def test_cooling_never_changes_which_class_is_most_probable(scores: np.ndarray, length: np.ndarray, rho: float) -> None:
    cooled = cool(scores, length, rho)
    np.testing.assert_allclose(cooled.sum(axis=1), 1.0)
    best = scores.argmax(axis=1)
    np.testing.assert_array_equal(cooled[np.arange(6), best], cooled.max(axis=1))


@given(LOG_POSTERIORS, LENGTHS, st.floats(0.0, 1.0))
def test_cooled_logarithms_are_those_of_the_cooled_posteriors_and_finite(
    scores: np.ndarray, length: np.ndarray, rho: float
) -> None:
    logs = cool_log(scores, length, rho)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs), cool(scores, length, rho), rtol=1e-9, atol=1e-300)


def test_log_odds_are_divided_by_the_design_effect_of_the_row() -> None:
    cooled = cool_log(np.array([[0.0, -12.0]]), np.array([21.0]), 0.05)
    assert cooled[0, 0] - cooled[0, 1] == pytest.approx(12.0 / (1.0 + 20.0 * 0.05))


def test_rows_of_a_single_word_are_never_cooled() -> None:
    scores = np.log([[0.9, 0.1], [0.3, 0.7]])
    np.testing.assert_allclose(cool(scores, np.array([1.0, 0.0]), 1.0), np.exp(scores))


def test_scores_are_what_their_names_say() -> None:
    posterior, codes = np.array([[0.7, 0.2, 0.1], [0.5, 0.0, 0.5]]), np.array([0, 1], dtype=np.int32)
    np.testing.assert_allclose(brier(posterior, codes), [0.09 + 0.04 + 0.01, 0.25 + 1.0 + 0.25])
    np.testing.assert_allclose(log_loss(posterior, codes), [-np.log(0.7), -np.log(1e-15)])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(hits(np.log(posterior), codes), [1.0, 0.0])


def test_the_fitted_cooling_has_the_best_brier_score_of_a_fine_grid() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 3000).astype(np.int32)
    length = rng.integers(20, 60, 3000).astype(float)
    odds = rng.normal(1.0, 1.0, 3000) * np.where(codes == 1, 1.0, -1.0)
    # Log-odds that are right, blown up by the design effect of rho = 0.05.
    overdone = odds * (1.0 + (length - 1.0) * 0.05)
    scores = np.stack([np.zeros(3000), 2.0 * overdone], axis=1)
    scores -= np.logaddexp.reduce(scores, axis=1, keepdims=True)
    rho = fit_cooling(scores, length, codes)
    grid = np.geomspace(1e-3, 1.0, 200)
    best = grid[np.argmin([brier(cool(scores, length, c), codes).mean() for c in grid])]
    assert rho == pytest.approx(best, rel=0.4)
    assert rho == pytest.approx(0.05, rel=0.4)


def test_weights_of_rows_count_in_the_fitted_cooling() -> None:
    rng = np.random.default_rng(2)
    scores = np.log(rng.dirichlet(np.full(3, 0.1), 40))
    codes, length = rng.integers(0, 3, 40).astype(np.int32), np.full(40, 30.0)
    weight = rng.integers(0, 3, 40).astype(float)
    again = np.repeat(np.arange(40), weight.astype(int))
    alone = fit_cooling(scores[again], length[again], codes[again])
    assert fit_cooling(scores, length, codes, weight) == alone
    assert alone > 0.0


def test_nothing_held_out_means_no_cooling() -> None:
    assert fit_cooling(np.empty((0, 2)), np.empty(0), np.empty(0, dtype=np.int32)) == 0.0


def test_impossible_rows_get_the_prior_and_impossible_classes_a_floor() -> None:
    joint = np.array([[-np.inf, -np.inf], [-3.0, -np.inf]])
    found = finite_log_posterior(joint, np.log([0.25, 0.75]))
    np.testing.assert_allclose(np.exp(found[0]), [0.25, 0.75])
    assert found[1, 0] == 0.0
    assert found[1, 1] == -1e6


def test_repeats_of_a_row_are_averaged_and_its_weight_kept() -> None:
    held = HeldOut(np.array([2, 0, 2]), np.zeros(3, dtype=np.int32), np.ones(3), np.array([5.0, 1.0, 5.0]), {})
    mean, weight = held.by_row(np.array([1.0, 4.0, 0.0]))
    assert mean.tolist() == [4.0, 0.5]
    assert weight.tolist() == [1.0, 5.0]
    assert len(held) == 3
