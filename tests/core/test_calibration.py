"""Calibrators: temperature keeps the answer, isotonic maps frequencies."""

from __future__ import annotations

import numpy as np
import pytest

from softcount.core.calibration import Calibration, fit_isotonic


def overconfident(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-posteriors of three classes whose log-odds are four times what they should be, and the labels."""
    rng = np.random.default_rng(seed)
    honest = rng.normal(0.0, 1.5, (n_rows, 3))
    honest -= np.logaddexp.reduce(honest, axis=1, keepdims=True)
    codes = np.array([rng.choice(3, p=p / p.sum()) for p in np.exp(honest)], dtype=np.int32)
    scores = 4.0 * honest
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True), np.full(n_rows, 31.0), codes


def gap(posterior: np.ndarray, codes: np.ndarray) -> float:
    confidence, hit = posterior.max(axis=1), posterior.argmax(axis=1) == codes
    place = np.minimum((confidence * 10).astype(int), 9)
    return float(np.abs(np.bincount(place, confidence - hit, minlength=10)).sum() / codes.size)


def test_a_temperature_of_the_right_size_makes_probabilities_honest() -> None:
    scores, length, codes = overconfident(4000, 0)
    calibrated = Calibration("temperature", 0.1).apply(scores, length)
    assert gap(np.exp(scores), codes) > 0.15
    assert gap(calibrated, codes) < 0.03
    np.testing.assert_array_equal(calibrated.argmax(axis=1), scores.argmax(axis=1))


def test_isotonic_maps_mend_what_a_temperature_left() -> None:
    scores, length, codes = overconfident(8000, 1)
    maps = fit_isotonic(scores[:4000], length[:4000], codes[:4000], 0.0)
    calibrated = Calibration("isotonic", 0.0, maps).apply(scores[4000:], length[4000:])
    np.testing.assert_allclose(calibrated.sum(axis=1), 1.0)
    assert gap(calibrated, codes[4000:]) < 0.5 * gap(np.exp(scores[4000:]), codes[4000:])


def test_isotonic_maps_never_fall() -> None:
    scores, length, codes = overconfident(500, 2)
    for knots, values in fit_isotonic(scores, length, codes, 0.02):
        assert (np.diff(knots) >= 0.0).all()
        assert (np.diff(values) >= 0.0).all()
        assert values.min() >= 0.0
        assert values.max() <= 1.0


def test_isotonic_maps_reach_over_the_probabilities_as_they_are_cooled() -> None:
    scores, length, codes = overconfident(500, 5)
    cooled = Calibration("temperature", 0.1).apply(scores, length)
    for k, (knots, _) in enumerate(fit_isotonic(scores, length, codes, 0.1)):
        assert (knots[0], knots[-1]) == pytest.approx((cooled[:, k].min(), cooled[:, k].max()))


def test_isotonic_maps_of_one_class_after_another_give_probabilities_that_sum_to_one() -> None:
    scores, length, codes = overconfident(300, 6)
    maps = fit_isotonic(scores, length, codes, 0.0)
    single = np.stack([np.interp(np.exp(scores[:, k]), *maps[k]) for k in range(3)], axis=1)
    assert np.abs(single.sum(axis=1) - 1.0).max() > 0.05
    calibrated = Calibration("isotonic", 0.0, maps).apply(scores, length)
    np.testing.assert_allclose(calibrated, single / single.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)


def test_a_row_that_every_map_calls_impossible_keeps_its_probabilities() -> None:
    flat = (np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    scores = np.log([[0.6, 0.4]])
    np.testing.assert_allclose(Calibration("isotonic", 0.0, (flat, flat)).apply(scores, np.ones(1)), [[0.6, 0.4]])


def test_weights_count_in_isotonic_maps_like_copies() -> None:
    scores, length, codes = overconfident(60, 3)
    weight = np.random.default_rng(0).integers(1, 4, 60)
    again = np.repeat(np.arange(60), weight)
    weighted = fit_isotonic(scores, length, codes, 0.05, weight.astype(float))
    repeated = fit_isotonic(scores[again], length[again], codes[again], 0.05)
    at = np.linspace(0.0, 1.0, 50)
    for mine, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(np.interp(at, *mine), np.interp(at, *other), atol=1e-12)


@pytest.mark.parametrize("kind", ["temperature", "isotonic"])
def test_logarithms_are_those_of_the_probabilities(kind: str) -> None:
    scores, length, codes = overconfident(300, 4)
    maps = fit_isotonic(scores, length, codes, 0.1) if kind == "isotonic" else ()
    calibration = Calibration(kind, 0.1, maps)
    np.testing.assert_allclose(
        np.exp(calibration.apply_log(scores, length)), calibration.apply(scores, length), atol=1e-12
    )
