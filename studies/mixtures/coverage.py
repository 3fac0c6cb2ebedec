"""How often 95 % intervals of classes and other variables hold the truth, in tables drawn from a known model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from softcount import LatentClass, class_effects, class_outcomes

__all__ = ["coverage"]

#: Two classes, six items; how the class follows from a covariate; the outcome's mean in each class.
SHARES = np.array([[0.9, 0.8, 0.85, 0.7, 0.9, 0.75], [0.2, 0.3, 0.15, 0.25, 0.2, 0.3]])
INTERCEPT, SLOPE, LEVELS = -0.5, 1.0, np.array([1.0, 3.0])
#: Rows, and how far the shares are from one half: classes that are clear, and that are hard to tell apart.
WORLDS = ((1000, 1.0), (1000, 0.7), (500, 0.6))
TWO_SIDED = 1.959964


def coverage(n_draws: int) -> Iterator[str]:
    """A line for every quantity and way."""
    yield "| rows | relative entropy | quantity | coverage | mean error | spread of the estimates | standard error |"
    yield "|---|---|---|---|---|---|---|"
    for n_rows, clear in WORLDS:
        found: dict[str, list[tuple[float, float]]] = defaultdict(list)
        entropy = [_draw(seed, n_rows, clear, found) for seed in range(n_draws)]
        for name, pairs in found.items():
            error, spread = np.array(pairs).T
            inside = np.mean(np.abs(error) <= TWO_SIDED * spread)
            yield (
                f"| {n_rows} | {np.mean(entropy):.2f} | {name} | {inside:.3f} | {error.mean():+.3f} "
                f"| {error.std():.3f} | {spread.mean():.3f} |"
            )


def _draw(seed: int, n_rows: int, clear: float, found: dict[str, list[tuple[float, float]]]) -> float:
    rng = np.random.default_rng(seed)
    shares = 0.5 + (SHARES - 0.5) * clear
    z = rng.normal(size=n_rows)
    kind = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-INTERCEPT - SLOPE * z))).astype(int)
    X = pd.DataFrame((rng.random((n_rows, 6)) < shares[kind]).astype(int), columns=list("abcdef"))
    outcome = rng.normal(LEVELS[kind], 1.0)
    model = LatentClass(2, random_state=0, n_init=4).fit(X)
    # Classes in the order of the truth.
    place = np.argsort(-model.item_probabilities_["a"][:, 1])
    sign = 1.0 if place[0] == 0 else -1.0
    _items(model, X, shares, place, found)
    for classes in ("estimated", "known"):
        means = class_outcomes(model, X, outcome, classes=classes)
        for k in range(2):
            pair = (means.estimates[place[k], 0] - LEVELS[k], means.errors[place[k], 0])
            found[f"mean of an outcome, BCH, classes {classes}"].append(pair)
        for method in ("ml", "bch"):
            slope = class_effects(model, X, z, method=method, classes=classes)
            pair = (sign * slope.coefficients[1, 1] - SLOPE, slope.errors[1, 1])
            found[f"slope, three steps, {method.upper()}, classes {classes}"].append(pair)
    naive = class_effects(model, X, z, method="naive")
    found["slope, three steps, naive"].append((sign * naive.coefficients[1, 1] - SLOPE, naive.errors[1, 1]))
    rows = X.assign(z=z)
    joint = LatentClass(2, random_state=0, n_init=4, covariates="z").fit(rows)
    sign = 1.0 if joint.item_probabilities_["a"][0, 1] > joint.item_probabilities_["a"][1, 1] else -1.0
    errors = joint.standard_errors(rows)
    value, error = next((row.values[1], error.values[1]) for row, error in errors.rows if row.column == "z")
    found["slope, one step"].append((sign * value - SLOPE, error))
    return float(model.classification_.relative_entropy)


def _items(model: Any, X: pd.DataFrame, shares: Any, place: Any, found: dict[str, list[tuple[float, float]]]) -> None:
    for row, error in model.standard_errors(X).rows:
        if row.category == 1:
            for k in range(2):
                truth = shares[k, list(X.columns).index(row.column)]
                if np.isfinite(error.values[place[k]]):
                    found["item probability"].append((row.values[place[k]] - truth, error.values[place[k]]))
