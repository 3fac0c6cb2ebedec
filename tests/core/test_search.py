"""Starts are compared after a few iterations, the best run to the end, and one that fails takes none with it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount._errors import InputError
from softcount.core.chunks import Chunks
from softcount.core.execute import ThreadExecutor
from softcount.core.iterate import Stopping
from softcount.core.mixture import MixtureModel
from softcount.core.patterns import some_rows
from softcount.core.search import Effort, count_reached, search
from softcount.core.start import params_from_resp
from softcount.families import Categorical, CodesBlock, PseudoCounts

EXECUTOR = ThreadExecutor(1)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    z = rng.integers(3, size=400)
    peaks = rng.dirichlet(np.full(3, 0.6), size=(3, 8))
    codes = np.array([[rng.choice(3, p=peaks[k, j]) for j in range(8)] for k in z], dtype=np.int16)
    family = Categorical((3,) * 8)
    model = MixtureModel((family,), (PseudoCounts(np.array(0.1)),), np.arange(3), 3)
    return model, Chunks((CodesBlock(codes, family.offsets),), None, None, rows_per_chunk=1024)


def starts(model, chunks, n):
    def make(seed):
        resp = np.random.default_rng(seed).dirichlet(np.ones(3), chunks.n_rows)
        return lambda: (params_from_resp(model, EXECUTOR, chunks, resp), "")

    return [make(seed) for seed in range(n)]


def fail():
    raise InputError("this start cannot be used")


def test_all_starts_are_run_to_the_end_unless_fewer_are_asked_for(problem):
    model, chunks = problem
    everything = search(model, EXECUTOR, chunks, starts(model, chunks, 6), Effort(Stopping(500, 1e-9)))
    assert len(everything.objectives) == everything.n_tried == 6
    assert everything.best.objective == max(everything.objectives)
    best_two = search(model, EXECUTOR, chunks, starts(model, chunks, 6), Effort(Stopping(500, 1e-9), n_final=2))
    assert (len(best_two.objectives), best_two.n_tried) == (2, 6)
    assert_allclose(best_two.best.objective, everything.best.objective, rtol=1e-7)


def test_more_starts_are_run_to_the_end_until_two_have_reached_the_best_value(problem):
    model, chunks = problem
    ways = starts(model, chunks, 12)
    stopping = Stopping(800, 1e-10)
    objectives = search(model, EXECUTOR, chunks, ways, Effort(stopping)).objectives
    for threads in (1, 3):
        told = []
        effort = Effort(stopping, n_final=1, confirm=True)
        found = search(model, ThreadExecutor(threads), chunks, ways, effort, tell=told.append)
        assert count_reached(found.objectives, max(objectives), 1e-10) == 2
        assert len(found.objectives) >= 2
        # The last one confirmed it: without it there was one.
        assert count_reached(found.objectives[:-1], max(objectives), 1e-10) == 1
        assert "the next 1 are run" in " ".join(told)
    # No two runs of none: all are run.
    rising = Effort(Stopping(3, 0.0), n_final=1, short_iter=1, confirm=True)
    assert len(search(model, EXECUTOR, chunks, ways, rising).objectives) == 12


def test_a_failing_start_is_left_out_and_reported(problem):
    model, chunks = problem
    for n_final in (None, 2):
        mixed = [fail, *starts(model, chunks, 3), fail]
        found = search(model, EXECUTOR, chunks, mixed, Effort(Stopping(200, 1e-8), n_final=n_final))
        assert np.isfinite(found.best.objective)
        assert any("2 of 5 starts failed and were left out (last: this start" in note for note in found.notes)
    with pytest.raises(InputError, match="All 2 starts failed"):
        search(model, EXECUTOR, chunks, [fail, fail], Effort(Stopping(10)))


def test_threads_change_nothing(problem):
    model, chunks = problem
    effort = Effort(Stopping(300, 1e-9), accelerate=True, n_final=3)
    one = search(model, ThreadExecutor(1), chunks, starts(model, chunks, 9), effort)
    four = search(model, ThreadExecutor(4), chunks, starts(model, chunks, 9), effort)
    assert one.objectives == four.objectives
    np.testing.assert_array_equal(one.best.params.log_weights, four.best.params.log_weights)


def test_the_history_runs_through_the_short_run_and_the_long_one(problem):
    model, chunks = problem
    found = search(
        model, EXECUTOR, chunks, starts(model, chunks, 4), Effort(Stopping(200, 1e-9), n_final=1, short_iter=5)
    )
    assert [step.iteration for step in found.best.history] == list(range(found.best.n_iter + 1))
    assert found.best.n_iter > 5
    objectives = [step.objective for step in found.best.history]
    assert (np.diff(objectives) >= -1e-9 * abs(objectives[-1])).all()
    seconds = [step.seconds for step in found.best.history]
    assert seconds == sorted(seconds)


def test_comparing_on_some_rows_ends_at_the_maximum_of_all(problem):
    model, chunks = problem
    sample = some_rows(chunks, 150, np.random.default_rng(0))
    assert sample.n_rows == 150
    few = starts(model, sample, 6)
    found = search(model, EXECUTOR, chunks, few, Effort(Stopping(800, 1e-10), n_final=3), sample=sample)
    whole = search(model, EXECUTOR, chunks, starts(model, chunks, 6), Effort(Stopping(800, 1e-10)))
    assert_allclose(found.best.objective, whole.best.objective, rtol=1e-6)
    assert_allclose(np.exp(found.best.counts.parts["classes"].arrays()["weight"].sum() - 400.0), 1.0)


def test_what_the_search_does_is_told(problem):
    model, chunks = problem
    told = []
    search(model, EXECUTOR, chunks, starts(model, chunks, 5), Effort(Stopping(50), n_final=2), tell=told.append)
    assert "5 starts" in told[0]
    assert "the best 2 are run to the end" in told[0]
    assert told[1].startswith("final objectives")


def test_ctrl_c_in_the_heat_ends_the_search_there(problem):
    model, chunks = problem
    steps = []

    def on_step(step, params):
        steps.append(step)
        if len(steps) == 3:
            raise KeyboardInterrupt

    effort = Effort(Stopping(200, 1e-9), annealing=(4.0, 2.0))
    found = search(model, EXECUTOR, chunks, starts(model, chunks, 2), effort, on_step=on_step)
    assert len(steps) == 3
    assert found.interrupted
    assert found.best.interrupted


def test_a_value_that_the_compared_rows_lack_is_not_given_up():
    # The few rows that starts are compared on never show the last value of the first column.
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (300, 4)).astype(np.int16)
    codes[200:, 0] = 2
    family = Categorical((3,) * 4)
    model = MixtureModel((family,), (PseudoCounts(np.array(0.0)),), np.arange(2), 2)
    chunks, sample = (
        Chunks((CodesBlock(rows, family.offsets),), None, None, rows_per_chunk=1024) for rows in (codes, codes[:200])
    )
    resp = rng.dirichlet(np.ones(2), 300)
    few = [lambda: (params_from_resp(model, EXECUTOR, chunks, resp), "")] * 2
    found = search(model, EXECUTOR, chunks, few, Effort(Stopping(100, 1e-8), n_final=1, short_iter=3), sample=sample)
    assert np.isfinite(found.best.objective)
    shares = np.exp(found.best.params.blocks[0]["log_prob"][2]) @ np.exp(found.best.params.log_weights)
    assert_allclose(shares, 1.0 / 3.0, rtol=1e-6)
