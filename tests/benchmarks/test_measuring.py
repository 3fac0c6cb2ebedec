"""The benchmarks' harness: wrong answers, absent and slow rivals, slopes, goals, files. No time is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import measuring
from benchmarks.measuring import (
    OURS,
    Absent,
    Contest,
    Contestant,
    Goal,
    Outcome,
    Setting,
    Timing,
    TooSlow,
    hold,
    relative_distance,
    rival,
)
from benchmarks.memory import can_measure, extra_megabytes
from benchmarks.reporting import limit_rows, markdown_table, memory_rows, plain_table, ratio_rows
from benchmarks.results import REPOSITORY, Measured
from benchmarks.workloads import WORKLOADS, chosen


def contestant(name: str, answer: Any = 1.0, *, goal: Goal | None = None) -> Contestant:
    return Contestant(name, lambda: answer, lambda found: abs(found - 1.0), 1e-9, goal=goal)


def test_everybody_who_is_right_is_timed_as_often() -> None:
    outcome = hold(Contest("sum", contestant(OURS), (contestant("other"),)), threads=1, turns=3)
    assert [timing.turns for timing in (outcome.ours, *outcome.rivals)] == [3, 3]
    assert not outcome.failed


@pytest.mark.parametrize("wrong", [1.1, float("nan"), float("inf")])
def test_a_wrong_answer_is_an_error_and_is_not_timed(wrong: float) -> None:
    outcome = hold(Contest("sum", contestant(OURS), (contestant("other", wrong),)), threads=1, turns=2)
    (other,) = outcome.rivals
    assert (other.status, other.seconds, other.turns) == ("disagrees", None, 0)
    assert outcome.failed
    assert [row[-1] for row in ratio_rows(outcome)] == ["ERROR"]


def test_our_own_wrong_answer_leaves_no_ratio() -> None:
    outcome = hold(Contest("sum", contestant(OURS, 2.0), (contestant("other"),)), threads=1, turns=2)
    (row,) = ratio_rows(outcome)
    assert outcome.failed
    assert (row[2], row[4], row[-1]) == ("disagrees", "", "ERROR")


def test_a_rival_that_breaks_down_is_an_error_that_says_what_happened() -> None:
    def breaks() -> None:
        raise ZeroDivisionError("no rows")

    broken = Contestant("other", breaks, lambda _: 0.0, 1.0)
    outcome = hold(Contest("sum", contestant(OURS), (broken,)), threads=1, turns=1)
    assert outcome.failed
    assert outcome.rivals[0].note == "ZeroDivisionError: no rows"
    assert outcome.ours.seconds is not None


def test_a_rival_that_needs_too_long_is_reported_and_no_error() -> None:
    def slow() -> None:
        raise TooSlow("1e-3 from the best objective after 60 s")

    tired = Contestant("other", lambda: 1.0, lambda _: 0.0, 1.0, prepare=slow, goal=Goal(2.0))
    outcome = hold(Contest("sum", contestant(OURS), (tired,)), threads=1, turns=1)
    (row,) = ratio_rows(outcome)
    assert not outcome.failed
    assert row[-1] == "rival too slow"
    assert "60 s" in outcome.rivals[0].note


def test_an_absent_rival_is_reported_with_its_goal_and_the_reason() -> None:
    def build() -> Contestant:
        import no_such_package_anywhere  # type: ignore[import-not-found]  # noqa: F401

        raise AssertionError("the import has to fail")

    absent = rival("Elsewhere", "no-such-package-anywhere", build, Goal(3.0, 4.0))
    assert isinstance(absent, Absent)
    outcome = hold(Contest("sum", contestant(OURS), (absent,)), threads=1, turns=1)
    (row,) = ratio_rows(outcome)
    assert row[1:] == ("Elsewhere", row[2], "absent", "", "3.0", "4.0", "absent")
    assert outcome.rivals[0].note == "no-such-package-anywhere is not installed"


class Clock:
    """A clock that only work moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(measuring.time, "perf_counter", lambda: self.now)

    def work(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_a_time_per_iteration_is_the_slope(clock: Clock) -> None:
    def run(n_iter: int) -> int:
        clock.work(50.0 + 4.0 * n_iter)  # the start takes longer than all iterations together
        return n_iter

    own = Contestant(OURS, run, lambda n_iter: float(n_iter != 5), 0.0, iterations=(1, 6))
    outcome = hold(Contest("work", own), threads=1, turns=3)
    assert outcome.per_iteration
    assert outcome.ours.seconds == 4.0


def test_a_slope_below_zero_is_noise_and_no_time(clock: Clock) -> None:
    durations = iter([1.0, 9.0, 1.0])  # the check, then few iterations that take longer than many
    own = Contestant(OURS, lambda _: clock.work(next(durations)), lambda _: 0.0, 0.0, iterations=(1, 6))
    outcome = hold(Contest("work", own), threads=1, turns=1)
    assert (outcome.ours.status, outcome.ours.seconds) == ("too noisy", None)
    assert [row[-1] for row in ratio_rows(outcome)] == ["too noisy"]
    assert not outcome.failed


def test_the_median_turn_counts_and_a_turn_of_many_calls_gives_the_time_of_one(clock: Clock) -> None:
    durations = iter([1.0, 9.0, 9.0, 2.0, 2.0, 3.0, 3.0])  # the first is the check
    own = Contestant(OURS, lambda: clock.work(next(durations)), lambda _: 0.0, 0.0)
    timing = hold(Contest("work", own, calls=2), threads=1, turns=3, patience=100.0).ours
    assert (timing.seconds, timing.fastest, timing.slowest) == (3.0, 2.0, 9.0)


def test_who_has_no_patience_left_takes_no_further_turn(clock: Clock) -> None:
    slow = Contestant("other", lambda: clock.work(2.0), lambda _: 0.0, 0.0)
    outcome = hold(Contest("work", contestant(OURS), (slow,)), threads=1, turns=5, patience=1.0)
    assert outcome.rivals[0].turns == 1
    assert outcome.ours.turns == 5


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(1.9, "MISSED"), (2.0, "met"), (2.9, "met"), (3.0, "aim met"), (200.0, "aim met")]
)
def test_the_verdict_compares_the_ratio_with_the_goal(ratio: float, verdict: str) -> None:
    rivals = [Timing("other", seconds=ratio, goal=Goal(2.0, 3.0))]
    (row,) = ratio_rows(Outcome("sum", False, Timing(OURS, seconds=1.0), rivals))
    assert row[-1] == verdict


def test_who_tells_the_time_is_believed_and_held_against_the_limit() -> None:
    told = iter([9.0, 0.2, 0.3, 0.4])  # the first is the check
    own = Contestant(OURS, lambda: next(told), lambda _: 0.0, 0.0, tells_time=True)
    outcome = hold(Contest("start", own, seconds_limit=0.25), threads=1, turns=3)
    assert outcome.ours.seconds == 0.3
    assert list(limit_rows(outcome)) == [("start", "300 ms", "250 ms", "MISSED")]
    assert Outcome.from_dict(outcome.as_dict()) == outcome


def test_memory_above_the_limit_is_shown_as_missed() -> None:
    outcome = Outcome("fit", False, Timing(OURS, extra_mb=65.0), [Timing("other", extra_mb=300.0)], 64.0)
    assert list(memory_rows(outcome)) == [("fit", "65", "64", "MISSED", "other 300")]


@pytest.mark.skipif(not can_measure(), reason="memory is read from /proc")
def test_extra_memory_is_that_of_the_largest_moment() -> None:
    program = (
        "import numpy as np; from benchmarks.memory import extra_megabytes\n"
        "def work():\n    a = np.ones(2**23); del a\n    return np.ones(2**21)\n"
        "work(); print(extra_megabytes(work))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert float(run.stdout) == pytest.approx(64.0, abs=8.0)
    assert extra_megabytes(lambda: None) < 8.0


def test_distances_are_relative_and_infinite_between_shapes() -> None:
    assert relative_distance([100.0, 1.0], [100.0, 2.0]) == 0.01
    assert np.isinf(relative_distance([1.0], [1.0, 2.0]))
    assert np.isnan(relative_distance([np.nan], [1.0]))


def test_tables_hold_every_cell() -> None:
    rows = [("a", "1"), ("a", "22"), ("b|c", "3")]
    assert markdown_table(("x", "y"), rows).splitlines()[-1] == "| b\\|c | 3 |"
    assert plain_table(("x", "y"), rows).splitlines() == ["x    y", "a    1", "     22", "b|c  3"]


def test_results_survive_their_file(tmp_path: Path) -> None:
    outcome = hold(Contest("sum", contestant(OURS), (contestant("other", goal=Goal(1.0, 2.0)),)), threads=1, turns=1)
    Measured("sums", {"scale": 1.0, "threads": 2}, [outcome], machine={"cores": 2}).save(tmp_path)
    read = Measured.load(tmp_path / "sums.json")
    assert read.outcomes == [outcome]
    assert read.machine == {"cores": 2}


def test_a_pattern_that_fits_no_workload_is_refused() -> None:
    assert chosen(["gaussian-nb", "sparse-em"])[-1] == "gaussian-nb"
    assert chosen([]) == list(WORKLOADS)
    with pytest.raises(SystemExit, match="No workload begins with 'nonsense'"):
        chosen(["nonsense"])


@pytest.mark.parametrize(
    "workload", ["sparse-em-multinomial-20", "latent-classes-missing", "gaussian-nb", "text-ascii"]
)
def test_answers_of_a_workload_agree_on_little_data(workload: str) -> None:
    for contest in WORKLOADS[workload](Setting(scale=0.002, threads=1, with_rivals=False)):
        outcome = hold(contest, threads=1, turns=1)
        assert not outcome.failed, outcome
        assert outcome.ours.turns == 1


def test_the_command_writes_tables_and_fails_for_a_workload_that_breaks_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["gaussian-nb", "--scale", "0.001", "--turns", "1", "--no-memory", "--folder", str(tmp_path)]
    assert command.main(asked) == 0
    assert "| GaussianNB fit, 1,000 x 32, K=5 | scikit-learn |" in (tmp_path / "table.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))[0]["workload"] == "gaussian-nb"
    monkeypatch.setattr(command, "call_worker", lambda *_: (None, "exit status -9: killed"))
    assert command.main(asked) == 1
    assert "broke down: exit status -9: killed" in capsys.readouterr().out
