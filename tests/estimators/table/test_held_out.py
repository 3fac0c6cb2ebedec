"""What is said of held-out rows is not flattered by the calibration."""

import numpy as np

from softcount.core.calibration import Calibration, fit_isotonic
from softcount.core.crossfit import HeldOut
from softcount.estimators.table.held_out import held_out_answers


def noise(n_rows: int) -> HeldOut:
    """Scores that say nothing about the labels."""
    rng = np.random.default_rng(0)
    odds = rng.normal(0.0, 2.0, n_rows)
    scores = np.stack([-np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds)], axis=1)
    codes = rng.integers(0, 2, n_rows).astype(np.int32)
    return HeldOut(np.arange(n_rows), codes, np.ones(n_rows), np.ones(n_rows), {"x": scores})


def test_isotonic_maps_do_not_find_the_labels_they_are_judged_by() -> None:
    held = noise(60)
    maps = fit_isotonic(held.log_posterior["x"], held.length, held.codes, 0.0)
    calibration = Calibration("isotonic", 0.0, maps)
    flattered = (calibration.apply(held.log_posterior["x"], held.length).argmax(axis=1) == held.codes).mean()
    honest, answers = held_out_answers(held, "x", calibration, None)
    assert honest is not None
    assert answers is not None
    assert honest.accuracy < flattered
    assert honest.after.error > 0.05


def test_two_rows_are_enough_to_say_something() -> None:
    held = noise(2)
    maps = fit_isotonic(held.log_posterior["x"], held.length, held.codes, 0.0)
    found, _ = held_out_answers(held, "x", Calibration("isotonic", 0.0, maps), None)
    assert found is not None
    assert np.isfinite(found.log_loss)
