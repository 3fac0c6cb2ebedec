"""Drawings of mixtures; what is drawn is prepared in :mod:`softcount.explain.mixtures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softcount._optional import need
from softcount._types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from softcount.explain.mixtures import Profiles

__all__ = ["draw_heat_map", "draw_posteriors", "draw_profiles", "draw_ternary"]

MARKERS = "osD^v*Phx"
#: Cells of a heat map that carry their number.
MOST_NUMBERS = 400
MOST_POINTS = 5000


def _axes(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    need("matplotlib", "A plot", "'softcount[plot]'")
    import matplotlib.pyplot as plt

    if ax is not None:
        return ax
    figure: Any = plt.figure(figsize=size, layout="constrained")
    made: Axes = figure.add_subplot()
    return made


def _plain(text: str) -> str:
    """A name that may hold a dollar sign, which matplotlib would read as mathematics."""
    return text.replace("$", r"\$")


def draw_profiles(profiles: Profiles, *, standardize: bool, ax: Axes | None = None) -> Axes:
    """One line per component over the columns."""
    ax = _axes(ax)
    values = profiles.standardized if standardize else profiles.means
    places = np.arange(len(profiles.columns))
    for k, name in enumerate(profiles.components):
        label = f"{_plain(name)} ({100.0 * profiles.weights[k]:.1f} %)"
        ax.plot(places, values[:, k], marker=MARKERS[k % len(MARKERS)], label=label)
    ax.set_xticks(places, [_plain(name) for name in profiles.columns], rotation=45, ha="right")
    if standardize:
        ax.axhline(0.0, color="0.7", linewidth=0.8)
        ax.set_ylabel("mean, in standard deviations from the overall mean")
    elif profiles.are_shares:
        ax.set_ylim(-0.03, 1.03)
        ax.set_ylabel("probability, or position between first and last value")
    else:
        ax.set_ylabel("mean")
    ax.legend(title="component", loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    return ax


def draw_heat_map(
    table: FloatArray, rows: Sequence[str], columns: Sequence[str], weights: FloatArray, ax: Axes | None = None
) -> Axes:
    """Probabilities as shades, with their numbers where there is room."""
    ax = _axes(ax, (2.5 + 0.9 * len(columns), 1.2 + 0.26 * len(rows)))
    image = ax.imshow(table, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
    ax.set_yticks(np.arange(len(rows)), [_plain(name) for name in rows])
    heads = [f"{_plain(name)}\n{100.0 * w:.1f} %" for name, w in zip(columns, weights, strict=True)]
    ax.set_xticks(np.arange(len(columns)), heads)
    ax.set_xlabel("component")
    if table.size <= MOST_NUMBERS:
        for i, j in np.ndindex(*table.shape):
            color = "white" if table[i, j] > 0.6 else "black"
            ax.text(j, i, f"{table[i, j]:.2f}", ha="center", va="center", color=color, fontsize="small")
    if ax.figure is not None:
        ax.figure.colorbar(image, ax=ax, label="probability")
    return ax


def draw_posteriors(
    certainty: FloatArray,
    assigned: NDArray[np.intp],
    weight: FloatArray,
    names: Sequence[str],
    ax: Axes | None = None,
) -> Axes:
    """A stacked histogram of the rows' highest posterior."""
    ax = _axes(ax)
    lowest = 1.0 / max(len(names), 1)
    edges = np.linspace(min(lowest, 0.99), 1.0, 26)
    groups = [np.clip(certainty[assigned == k], edges[0], 1.0) for k in range(len(names))]
    weights = [weight[assigned == k] for k in range(len(names))]
    labels = [f"{_plain(name)}: {part.sum():g}" for name, part in zip(names, weights, strict=True)]
    ax.hist(groups, bins=list(edges), weights=weights, stacked=True, label=labels)
    ax.set_xlabel("posterior probability of the assigned component")
    ax.set_ylabel("rows")
    ax.legend(title="component: rows")
    return ax


def draw_ternary(share: FloatArray, names: Sequence[str], n_left_out: int, ax: Axes | None = None) -> Axes:
    """Rows as points of a triangle; the lines are where two components are equally probable."""
    ax = _axes(ax, (6.0, 5.4))
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    outline = np.vstack([corners, corners[:1]])
    ax.plot(outline[:, 0], outline[:, 1], color="black", linewidth=1.0)
    middle = corners.mean(axis=0)
    for first, second in ((0, 1), (1, 2), (0, 2)):
        edge = (corners[first] + corners[second]) / 2.0
        ax.plot([middle[0], edge[0]], [middle[1], edge[1]], color="0.7", linewidth=0.8, linestyle="--")
    shown = share
    if share.shape[0] > MOST_POINTS:
        shown = share[np.random.default_rng(0).choice(share.shape[0], MOST_POINTS, replace=False)]
    points = shown @ corners
    for k, name in enumerate(names):
        rows = shown.argmax(axis=1) == k
        ax.scatter(points[rows, 0], points[rows, 1], s=14, alpha=0.5, marker=MARKERS[k], label=_plain(name))
    offsets = ((-0.03, -0.03, "right", "top"), (0.03, -0.03, "left", "top"), (0.0, 0.03, "center", "bottom"))
    for corner, name, (dx, dy, ha, va) in zip(corners, names, offsets, strict=True):
        ax.text(corner[0] + dx, corner[1] + dy, _plain(name), ha=ha, va=va)
    if n_left_out:
        ax.set_title(f"{n_left_out} rows belong to other components", fontsize="small")
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax
