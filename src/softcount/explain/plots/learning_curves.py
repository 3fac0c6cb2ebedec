"""Learning curves of a pair of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softcount._optional import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from softcount.explain.compare import PairComparison

__all__ = ["draw_comparison"]


def draw_comparison(comparison: PairComparison, ax: Axes | None = None) -> Axes:
    """Mean test errors over the number of training rows, their 95% intervals, and where they cross."""
    need("matplotlib", "A plot", "'softcount[plot]'")
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    # The lines differ in dash and marker as well as in color.
    for i, (name, style, marker) in enumerate(zip(comparison.names, ("-", "--"), ("o", "s"), strict=True)):
        (line,) = ax.plot(
            comparison.sizes, comparison.mean_errors[i], linestyle=style, marker=marker, label=name.replace("$", r"\$")
        )
        low, high = comparison.intervals[i].T
        ax.fill_between(comparison.sizes, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    if comparison.crossing is not None:
        crossing = comparison.crossing
        ax.axvline(crossing.size, color="0.3", linestyle=":", label=f"crossing at {crossing.size:.0f} rows")
        if crossing.lower < crossing.upper:
            ax.axvspan(crossing.lower, crossing.upper, color="0.5", alpha=0.12, linewidth=0)
    ax.set_xscale("log")
    ax.set_xlabel("training rows")
    ax.set_ylabel("test error")
    ax.legend()
    return ax
