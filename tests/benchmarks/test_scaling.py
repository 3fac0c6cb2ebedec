"""Ladders: the exponent, what does not fit into memory, and the table."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import scaling
from benchmarks.scaling import LADDERS, Climb, Ladder, climb, collected, exponent, main


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_the_exponent_is_the_power_of_the_larger_sizes(power: float) -> None:
    sizes = [10, 100, 1000, 10_000, 100_000]
    seconds = [5.0, 5.0, *(size**power for size in sizes[2:])]
    assert exponent(sizes, seconds) == pytest.approx(power, abs=1e-9)


def test_sizes_without_a_time_do_not_count() -> None:
    assert exponent([1, 10, 100], [1.0, 10.0, None]) == pytest.approx(1.0)
    assert math.isnan(exponent([1, 10], [None, 1.0]))


def test_a_size_that_does_not_fit_into_memory_is_shown_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "free_bytes", lambda: 1000.0)

    def build(size: int) -> Callable[[], Any]:
        assert size < 100
        return lambda: None

    found = climb(Ladder("work", "N", (1, 10, 100), build, lambda size: 10.0 * size), turns=1)
    assert found.seconds[2] is None
    assert found.row()[2].endswith("100: memory")


def test_the_command_writes_what_the_page_reads(tmp_path: Path) -> None:
    assert (
        main(["gaussian-nb-fit", "mixture-rows", "--largest", "1000", "--turns", "1", "--folder", str(tmp_path)]) == 0
    )
    found = collected(tmp_path)
    assert [(one.name, one.sizes) for one in found] == [
        (LADDERS["gaussian-nb-fit"].name, (1000,)),
        (LADDERS["mixture-rows"].name, (1000,)),
    ]
    assert all(isinstance(one, Climb) for one in found)
    with pytest.raises(SystemExit, match="No ladder begins so"):
        main(["nonsense", "--folder", str(tmp_path)])
