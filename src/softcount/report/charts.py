"""Where things go in the page's drawings: numbers only; the template draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from softcount.report.data import Bin, Quality

__all__ = ["AccuracyScale", "Diagram", "Dot", "accuracy_scale", "heat", "reliability_diagram"]

#: The diagram's square, its margins, and the least and greatest radius of a dot.
SIDE, LEFT, BOTTOM, TOP, RIGHT = 300.0, 44.0, 40.0, 24.0, 24.0
DOT = (3.0, 9.0)
#: The accuracy's line, in the same units as the page's drawings.
LINE = (16.0, 296.0)
#: Shades of the confusion matrix.
N_SHADES = 9


@dataclass(frozen=True)
class Dot:
    """One bin: its center, radius, the ends of its interval, and itself."""

    x: float
    y: float
    radius: float
    low: float
    high: float
    bin: Bin


@dataclass(frozen=True)
class Diagram:
    """A reliability diagram: the plot's edges, its ticks and its dots."""

    left: float
    right: float
    top: float
    bottom: float
    ticks: tuple[tuple[float, float, str], ...]
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class AccuracyScale:
    """Places on a line from 0 to 100 %."""

    start: float
    stop: float
    baseline: float
    estimate: float
    low: float
    high: float


def reliability_diagram(bins: Sequence[Bin]) -> Diagram:
    """Stated against observed probability.

    Parameters
    ----------
    bins : sequence of Bin
    """
    left, right, top, bottom = LEFT, SIDE - RIGHT, TOP, SIDE - BOTTOM
    most = max((b.n_rows for b in bins), default=1.0)

    def x(p: float) -> float:
        return _rounded(left + p * (right - left))

    def y(p: float) -> float:
        return _rounded(bottom - p * (bottom - top))

    dots = tuple(
        Dot(
            x(b.stated),
            y(b.observed),
            _rounded(DOT[0] + (DOT[1] - DOT[0]) * math.sqrt(b.n_rows / most)),
            y(b.interval[0]),
            y(b.interval[1]),
            b,
        )
        for b in bins
    )
    ticks = tuple((x(p / 4), y(p / 4), f"{25 * p} %") for p in range(5))
    return Diagram(left, right, top, bottom, ticks, dots)


def accuracy_scale(quality: Quality) -> AccuracyScale:
    """Accuracy, its interval and the commonest class on one line."""
    start, stop = LINE

    def x(p: float) -> float:
        return _rounded(start + p * (stop - start))

    low, high = quality.accuracy_interval
    return AccuracyScale(start, stop, x(quality.accuracy_of_commonest_class), x(quality.accuracy), x(low), x(high))


def heat(matrix: Sequence[Sequence[float]]) -> list[list[int]]:
    """A shade from 0 (none) to 9 for every cell, by its share of its row."""
    shades = []
    for row in matrix:
        total = sum(row)
        shades.append([math.ceil(N_SHADES * value / total) if total > 0.0 else 0 for value in row])
    return shades


def _rounded(value: float) -> float:
    return round(value, 1)
