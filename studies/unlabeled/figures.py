"""Accuracy against the number of labels, as small SVG files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.unlabeled.draws import METHODS, Result
from studies.unlabeled.plan import CURVES, TITLES

__all__ = ["draw_curves"]

COLORS = {
    "labeled": "#4c72b0",
    "plain": "#c44e52",
    "default": "#1a7f37",
    "self_training": "#8c6d31",
    "spreading": "#8172b3",
}


def draw_curves(results: list[Result], folder: Path) -> list[Path]:
    """One figure per data set with curves: means, and bands from the 10th to the 90th percentile of the draws."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "softcount"
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, sizes in CURVES.items():
        draws = [r for r in results if r.name == name and r.n_labels in sizes]
        if not draws:
            continue
        figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        for method, title in METHODS.items():
            values = {n: [r.accuracy[method] for r in draws if r.n_labels == n and method in r.accuracy] for n in sizes}
            at = [n for n in sizes if values[n]]
            if not at:
                continue
            low, high = (np.array([np.quantile(values[n], q) for n in at]) for q in (0.1, 0.9))
            width = 2.2 if method == "default" else 1.3
            axes.fill_between(at, low, high, color=COLORS[method], alpha=0.15, linewidth=0)
            mean = [float(np.mean(values[n])) for n in at]
            axes.plot(at, mean, marker="o", markersize=3, color=COLORS[method], linewidth=width, label=title)
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
        axes.minorticks_off()
        axes.set_xlabel("labels per class" if name.startswith("newsgroups") else "labels")
        axes.set_ylabel("accuracy on the test part")
        axes.set_title(TITLES[name])
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        path = folder / f"unlabeled-{name.replace('_', '-')}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
        written.append(path)
    return written
