"""A look at the labeled rows before anything is fitted: moments of the columns by class, and how much to shrink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._types import FloatArray
from softcount.core.chunks import Chunk, Rows
from softcount.core.covariance_prior import LabeledMoments
from softcount.core.execute import Executor
from softcount.core.mixture import CLASSES, MixtureModel, MixtureParams
from softcount.core.shrinkage import ClassShrinkage, ledoit_wolf_by_class
from softcount.core.start import labeled_resp
from softcount.families.covariance import directions_at_bound
from softcount.families.gaussian import Gaussian

__all__ = ["look_at_labeled_rows", "singular_notes"]


def look_at_labeled_rows(
    model: MixtureModel, executor: Executor, chunks: Rows, *, with_shrinkage: bool
) -> tuple[LabeledMoments, ClassShrinkage | None]:
    """Moments of the labeled rows by class, and with a second pass what Ledoit and Wolf's shrinkage makes of them.

    Rows whose labels name several classes are shared between these. Without any labeled row all rows are shared
    equally, so that every class has the moments of all rows.
    """
    looker = replace(model, families=(Gaussian(),), unlabeled_weight=1.0)

    def look(*, spread: bool) -> LabeledMoments:
        def resp_of(chunk: Chunk) -> FloatArray:
            return labeled_resp(model, chunk, spread=spread)

        # Codes are counted as they are: a table of responsibilities would hold nothing but ones and zeros.
        is_plain = model.has_single_components and chunks.all_known and not chunks.has_fixed_labels
        tally = looker.tally_known if is_plain else lambda lane: looker.tally_given(lane, resp_of)
        counts = executor.reduce(tally, chunks)
        moments: Any = counts.parts["0"]
        return LabeledMoments.from_moments(counts.parts[CLASSES].arrays()["weight"], moments)

    labeled = look(spread=False)
    is_spread = not labeled.class_weight.any()
    if is_spread:
        labeled = look(spread=True)
    if not with_shrinkage:
        return labeled, None
    resp_of = _weighted(model, spread=is_spread)
    return labeled, ledoit_wolf_by_class(chunks, executor, resp_of, labeled.mean, labeled.variance())


def _weighted(model: MixtureModel, *, spread: bool) -> Callable[[Chunk], FloatArray]:
    def resp_of(chunk: Chunk) -> FloatArray:
        resp = labeled_resp(model, chunk, spread=spread)
        return resp if chunk.weight is None else np.asarray(resp * chunk.weight[:, None])

    return resp_of


def singular_notes(
    model: MixtureModel, params: MixtureParams, labeled: LabeledMoments, classes: NDArray[Any]
) -> tuple[str, ...]:
    """Which covariances the rows do not determine, beyond constant columns (which say nothing anyway)."""
    bound, family = model.priors[0].bound, model.families[0]
    if bound is None:
        return ()
    is_spherical, is_shared = bool(getattr(family, "spherical", False)), bool(getattr(family, "shared", False))
    block = params.blocks[0]
    if is_shared and "cov" in block:
        block = {"cov": block["cov"][:1]}
    counts = directions_at_bound(block, bound, is_spherical=is_spherical)
    if not any(counts):
        return ()
    units, is_constant = labeled.units()
    found = [m for m, count in enumerate(counts) if count > int(is_constant.sum())]
    if not found:
        return ()
    names = sorted({int(model.groups[m]) for m in found})[:5]
    whose = "shared by all classes" if is_shared else f"of {classes[names].tolist()}"
    return (
        f"the covariance {whose} is singular: in {max(counts)} of its {units.size} directions the rows hardly vary, "
        f"so the variance there was raised to min_variance={float((bound / units).max()):g}. Probabilities of rows "
        "that do vary there will be extreme; use shrinkage, a shared or diagonal covariance, or leave out columns that "
        "are functions of others",
    )
