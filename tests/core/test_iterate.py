"""The one loop: it climbs, stops when it should, and says what happened."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcount.core.counts import Counts
from softcount.core.execute import ThreadExecutor
from softcount.core.iterate import Step, Stopping, iterate
from softcount.families.statistics import Sums


@dataclass
class Climb:
    """A model of one number; the objective and the way up are given."""

    objective: Callable[[float], float]
    better: Callable[[float], float]
    shorter: Callable[[float, float], float | None] = lambda previous, proposal: None

    def tally(self, params: float, chunks: Sequence[Any]) -> Counts:
        parts = {"classes": Sums({"weight": np.array([params + 10.0])})}
        return Counts(parts, self.objective(params) / 2.0 * len(chunks))

    def solve(self, counts: Counts, previous: float | None) -> float:
        return self.better(float(counts.parts["classes"].arrays()["weight"][0]) / 2.0 - 10.0)

    def log_prior(self, params: float) -> float:
        return 0.0

    def retreat(self, previous: float, proposal: float) -> float | None:
        return self.shorter(previous, proposal)

    def counts_bytes(self) -> int:
        return 0

    def prepared(self, params: float) -> float:
        return params

    def lean(self, params: float, counts: Counts) -> float:
        return params

    def bare(self, params: float) -> float:
        return params


TWO_CHUNKS = [1, 2]


def climb(model: Climb, start: float, stopping: Stopping, **settings: Any) -> Any:
    return iterate(model, ThreadExecutor(1), TWO_CHUNKS, start, stopping, **settings)


def halfway(rate: float = 0.5) -> Climb:
    """Every step goes part of the way to the maximum at 1, where the objective is -1."""
    return Climb(lambda p: -1.0 - (p - 1.0) ** 2, lambda p: p + rate * (1.0 - p))


def test_every_recorded_objective_is_that_of_the_parameters_at_the_end_of_its_iteration() -> None:
    seen: list[tuple[Step, float]] = []
    fit = climb(halfway(), 5.0, Stopping(4, 0.0), on_step=lambda step, params: seen.append((step, params)))
    assert [step.iteration for step in fit.history] == [0, 1, 2, 3, 4]
    assert fit.history[0].objective == pytest.approx(-17.0)
    assert math.isnan(fit.history[0].change)
    for step, params in seen:
        assert step.objective == pytest.approx(-1.0 - (params - 1.0) ** 2)
    assert seen[-1][1] == fit.params
    assert fit.objective == fit.history[-1].objective
    assert fit.counts.objective == pytest.approx(fit.objective)


def test_tolerance_zero_runs_exactly_the_most_iterations() -> None:
    fit = climb(halfway(1.0), 5.0, Stopping(7, 0.0))
    assert fit.n_iter == 7
    assert not fit.converged


def test_no_iterations_leave_the_start() -> None:
    fit = climb(halfway(), 5.0, Stopping(0, 1e-6))
    assert (fit.params, fit.n_iter, fit.converged) == (5.0, 0, False)


@given(rate=st.floats(0.01, 0.9), tol=st.sampled_from([1e-3, 1e-5, 1e-7]))
def test_slow_climbs_do_not_stop_before_what_is_left_is_small_too(rate: float, tol: float) -> None:
    fit = climb(halfway(rate), 5.0, Stopping(10_000, tol))
    assert fit.converged
    assert -1.0 - fit.objective <= 2.5 * tol
    hasty = climb(halfway(rate), 5.0, Stopping(10_000, tol, look_ahead=False))
    assert hasty.n_iter <= fit.n_iter


@given(rate=st.floats(0.01, 0.9), tol=st.sampled_from([1e-3, 1e-5, 1e-7]))
def test_climbs_stop_as_soon_as_the_gains_to_come_are_known_to_be_small(rate: float, tol: float) -> None:
    fit = climb(halfway(rate), 5.0, Stopping(10_000, tol))
    # The gains fall off geometrically, so that their sum is known: it is all that is left.
    before = fit.history[-2]
    left = -1.0 - before.objective
    assert max(left, before.change) > 0.99 * tol or fit.n_iter == 2


def test_the_tolerance_can_be_relative_to_a_given_scale() -> None:
    loose = climb(halfway(), 5.0, Stopping(100, 1e-3, scale=1000.0))
    tight = climb(halfway(), 5.0, Stopping(100, 1e-3))
    assert loose.n_iter < tight.n_iter


@pytest.mark.parametrize("after", [-50.0, math.nan])
def test_a_fall_of_the_objective_is_reported_as_a_fault_and_undone(after: float) -> None:
    falls = Climb(lambda p: -1.0 if p > 0.0 else after, lambda p: p - 1.0)
    with pytest.warns(RuntimeWarning, match="fell from -1.0 .* in iteration 2, which must not happen"):
        fit = climb(falls, 1.5, Stopping(10, 0.0))
    assert fit.params == 0.5
    assert fit.n_iter == 1
    assert not fit.converged


def test_a_fall_within_rounding_is_none() -> None:
    model = Climb(lambda p: -1e6 - 1e-5 * p, lambda p: p + 1.0)
    fit = climb(model, 0.0, Stopping(5, 0.0))
    assert fit.n_iter == 5


def test_a_step_too_long_is_shortened_where_the_model_can() -> None:
    model = Climb(
        lambda p: -((p - 1.0) ** 2) - 1.0,
        lambda p: p + 6.0 * (1.0 - p),
        lambda previous, proposal: previous + 0.5 * (proposal - previous),
    )
    fit = climb(model, 0.0, Stopping(3, 0.0))
    objectives = [step.objective for step in fit.history]
    assert objectives == sorted(objectives)
    assert fit.n_iter == 3
    assert fit.objective > -1.1


def test_an_impossible_start_may_become_possible() -> None:
    model = Climb(lambda p: -math.inf if p > 3.0 else -1.0 - (p - 1.0) ** 2, lambda p: p + 0.5 * (1.0 - p))
    fit = climb(model, 9.0, Stopping(60, 1e-9))
    assert fit.converged
    assert math.isfinite(fit.objective)
    assert fit.history[0].objective == -math.inf


def test_ctrl_c_keeps_the_last_finished_iteration() -> None:
    def stop(step: Step, params: float) -> None:
        if step.iteration == 3:
            raise KeyboardInterrupt

    fit = climb(halfway(), 5.0, Stopping(100, 1e-12), on_step=stop)
    assert fit.interrupted
    assert fit.n_iter == 3
    assert fit.params == pytest.approx(1.0 + 4.0 * 0.5**3)


def test_a_climb_that_is_taken_up_counts_on_from_what_was_spent() -> None:
    kept: list[Any] = []
    journal: Any = SimpleNamespace(recall=lambda: None, keep=lambda record, **_: kept.append(record()))
    climb(halfway(), 5.0, Stopping(2, 0.0), journal=journal)
    history = kept[1]["history"].copy()
    history[:, 3] = [1e6, 2e6, 3e6]
    journal.recall = lambda: {**kept[1], "history": history}
    fit = climb(halfway(), 5.0, Stopping(5, 0.0), journal=journal)
    assert [step.iteration for step in fit.history] == [0, 1, 2, 3, 4, 5]
    seconds = [step.seconds for step in fit.history]
    assert seconds == sorted(seconds)


def test_leaps_are_taken_again_and_again_and_never_lower_the_objective() -> None:
    plain = climb(halfway(0.02), 5.0, Stopping(10_000, 1e-10))
    fast = climb(halfway(0.02), 5.0, Stopping(10_000, 1e-10), accelerate=True)
    objectives = [step.objective for step in fast.history]
    assert objectives == sorted(objectives)
    assert fast.converged
    assert fast.n_iter < plain.n_iter / 5
    assert fast.objective == pytest.approx(-1.0, abs=1e-8)


@pytest.mark.parametrize("lower_by", [1e-11, 0.5, 1e6, math.nan], ids=["rounding", "a little", "much", "no number"])
def test_a_leap_to_a_lower_objective_is_undone_and_the_climb_goes_on(
    monkeypatch: pytest.MonkeyPatch, lower_by: float
) -> None:
    model = halfway(0.1)
    undone = 0

    def astray(trail: Sequence[Counts]) -> Counts:
        nonlocal undone
        undone += 1
        at = float(trail[-1].parts["classes"].arrays()["weight"][0]) / 2.0 - 10.0
        # From here the next step ends so much below the objective that was reached.
        there = 1.0 + math.sqrt((at - 1.0) ** 2 + lower_by) / 0.9
        return Counts({"classes": Sums({"weight": np.array([2.0 * (there + 10.0)])})}, 0.0)

    monkeypatch.setattr("softcount.core.iterate.extrapolate", astray)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = climb(model, 5.0, Stopping(12, 0.0), accelerate=True)
    plain = climb(model, 5.0, Stopping(12, 0.0))
    assert undone > 3
    assert [step.objective for step in fit.history] == [step.objective for step in plain.history]
    assert fit.params == plain.params


def test_a_leap_that_gains_nothing_is_no_sign_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # The leap goes back to the parameters at hand.
    monkeypatch.setattr("softcount.core.iterate.extrapolate", lambda trail: trail[-2])
    fit = climb(halfway(0.1), 5.0, Stopping(1000, 1e-6), accelerate=True)
    assert [step.change for step in fit.history].count(0.0) > 5
    assert fit.converged
    assert fit.objective == pytest.approx(-1.0, abs=1e-5)
