"""Compiled kernels beside NumPy's: each in a process that uses what the table says."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.measuring import OURS, Setting
from benchmarks.workloads import WORKLOADS, numpy_kernels


class Told:
    """A worker that says which kernels it was given."""

    def __init__(self, workload: str, setting: Setting, _: Any, environment: dict[str, str]) -> None:
        self.seconds = {"native": 1.0, "numpy": 2.0}[environment["SOFTCOUNT_KERNELS"]]
        assert not setting.with_rivals
        self.hello = {"contests": [{"name": f"{workload} {setting.scale}", "status": "ok"}] * 3}

    def turn(self, _: int) -> float:
        return self.seconds


def test_each_contest_is_done_with_both_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_kernels, "Worker", Told)
    found = WORKLOADS["numpy-kernels"](Setting(scale=0.5))
    assert len(found) == sum(numpy_kernels.CHOSEN.values())
    for contest in found:
        (rival,) = contest.rivals
        assert contest.name.endswith(str(0.5 * numpy_kernels.SHARE))
        assert (contest.ours.name, contest.ours.run(), contest.ours.distance(1.0)) == (OURS, 1.0, 0.0)
        assert (rival.name, rival.run()) == ("softcount, NumPy kernels", 2.0)


def test_a_wrong_answer_in_the_other_process_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*given: Any) -> Told:
        worker = Told(*given)
        worker.hello["contests"][0] = {"name": "work", "status": "disagrees"}
        return worker

    monkeypatch.setattr(numpy_kernels, "Worker", wrong)
    first = WORKLOADS["numpy-kernels"](Setting())[0]
    assert first.ours.distance(1.0) > first.ours.tolerance
