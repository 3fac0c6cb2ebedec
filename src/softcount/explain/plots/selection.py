"""Criteria over the number of components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from softcount._errors import InputError
from softcount._optional import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from softcount.select import Selection

__all__ = ["draw_selection"]

MARKERS = "osD^v*P"
NAMES = {"aic": "AIC", "bic": "BIC", "sabic": "sample-size adjusted BIC", "caic": "CAIC", "icl": "ICL"}


def draw_selection(selection: Selection, criteria: Sequence[str], ax: Axes | None = None) -> Axes:
    """One line per criterion, its lowest point filled, and the recommended number marked."""
    need("matplotlib", "A plot", "'softcount[plot]'")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    known = list(vars(selection.candidates[0]))
    unknown = [name for name in criteria if name not in known]
    if unknown or not criteria:
        raise InputError(f"criteria is {list(criteria)}; choose from {', '.join(known[1:-1])}.")
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    sizes = [candidate.n_components for candidate in selection.candidates]
    for name, marker in zip(criteria, MARKERS * len(criteria), strict=False):
        values = [getattr(candidate, name) for candidate in selection.candidates]
        (line,) = ax.plot(sizes, values, marker=marker, markerfacecolor="white", label=NAMES.get(name, name))
        if name in NAMES:
            lowest = min(range(len(sizes)), key=lambda i: values[i])
            ax.plot(sizes[lowest], values[lowest], marker=marker, color=line.get_color(), linestyle="none")
    ax.axvline(selection.best, color="0.6", linewidth=1.0, linestyle=":", label=f"recommended: {selection.best}")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("number of components")
    ax.set_ylabel("criterion (lower is better)")
    ax.legend()
    return ax
