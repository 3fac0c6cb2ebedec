"""Decision regions in a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from softcount._optional import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from softcount.explain.boundary import Regions

__all__ = ["draw_regions"]

MARKERS = "os^Dv<>Pp*Xh"


def draw_regions(regions: Regions, ax: Axes | None = None) -> Axes:
    """Shade each class's region by its probability, draw the borders, and put the rows on top."""
    need("matplotlib", "A plot", "'softcount[plot]'")
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    n_classes = len(regions.classes)
    colors = plt.get_cmap("tab10" if n_classes <= 10 else "turbo", max(n_classes, 2))
    palette = np.array([colors(k)[:3] for k in range(n_classes)])
    # From chance (pale) to certainty (strong).
    chance = 1.0 / max(n_classes, 1)
    strength = 0.08 + 0.42 * np.clip((regions.confidence - chance) / max(1.0 - chance, 1e-12), 0.0, 1.0)
    shades = np.concatenate([palette[regions.codes], strength[..., None]], axis=-1)
    first, second = regions.axes
    extent = (float(first[0]), float(first[-1]), float(second[0]), float(second[-1]))
    ax.imshow(shades, origin="lower", extent=extent, aspect="auto", interpolation="nearest")
    for k in range(n_classes):
        inside = (regions.codes == k).astype(np.float64)
        if 0.0 < inside.mean() < 1.0:
            ax.contour(first, second, inside, levels=[0.5], colors="black", linewidths=0.8)
        rows = regions.point_codes == k
        ax.scatter(
            regions.points[rows, 0],
            regions.points[rows, 1],
            color=tuple(palette[k]),
            marker=MARKERS[k % len(MARKERS)],
            edgecolors="white",
            linewidths=0.5,
            s=28,
            label=str(regions.classes[k]).replace("$", r"\$"),
        )
    rest = regions.points[regions.point_codes < 0]
    if len(rest):
        ax.scatter(rest[:, 0], rest[:, 1], color="0.4", marker=".", s=16, label="no label, or another")
    ax.set_xlabel(regions.names[0].replace("$", r"\$"))
    ax.set_ylabel(regions.names[1].replace("$", r"\$"))
    ax.legend(title="class")
    return ax
