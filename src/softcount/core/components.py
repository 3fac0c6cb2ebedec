"""Components after a fit: which are empty or have shrunk onto a few rows, and in which order they are named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.core.counts import Counts
from softcount.core.iterate import Fit
from softcount.core.membership import Membership
from softcount.core.mixture import CLASSES, MixtureModel, MixtureParams
from softcount.families.bernoulli import Bernoulli
from softcount.families.categorical import Categorical
from softcount.families.multinomial import Multinomial
from softcount.families.statistics import Moments

__all__ = [
    "boundary_probabilities",
    "component_notes",
    "component_weight",
    "is_degenerate",
    "order_by_column",
    "order_by_size",
    "reordered",
]

#: A component with less weight than this, in rows and as a share of all rows, is empty.
EMPTY_ROWS = 1.0
EMPTY_SHARE = 1e-3
#: A variance this close to its floor, where the column's own is far above, belongs to a spike.
NEAR_FLOOR = 3.0
FAR_FROM_FLOOR = 1e3
#: Without a floor: a variance that is this share of the column's own.
SPIKE = 1e-8
#: A probability below this is zero.
BOUNDARY = 1e-6


def component_weight(fit: Fit[MixtureParams]) -> FloatArray:
    """Expected weight of the rows of each component."""
    return np.asarray(fit.counts.parts[CLASSES].arrays()["weight"])


def empty_components(fit: Fit[MixtureParams]) -> IntArray:
    """Components that next to no row belongs to."""
    weight = component_weight(fit)
    return np.flatnonzero(weight < min(EMPTY_ROWS, EMPTY_SHARE * float(weight.sum())))


def spikes(model: MixtureModel, fit: Fit[MixtureParams]) -> list[tuple[int, int]]:
    """Components, with the block, whose covariance has collapsed although the data's has not."""
    found = []
    for b, (params, prior) in enumerate(zip(fit.params.blocks, model.priors, strict=True)):
        part = fit.counts.parts[str(b)]
        if not isinstance(part, Moments):
            continue
        pooled: Any = part.pooled()
        least = _least_variance(prior, pooled.weight.shape[0])
        if "cov" in params:
            narrow = _collapsed_full(params["cov"], pooled, least)
        else:
            narrow = _collapsed_diagonal(params["var"], pooled, least[:, None])
        if not narrow.all():
            found += [(int(m), b) for m in np.flatnonzero(narrow)]
    return found


def _least_variance(prior: Any, n_columns: int) -> FloatArray:
    """The smallest variance the prior allows each column."""
    floor, bound = float(getattr(prior, "floor", None) or 0.0), getattr(prior, "bound", None)
    return np.full(n_columns, floor) if bound is None else np.maximum(bound, floor)


def _collapsed_diagonal(var: FloatArray, pooled: Moments, least: FloatArray) -> FloatArray:
    overall = pooled.scatter / np.where(pooled.weight > 0.0, pooled.weight, 1.0)
    spread = overall > FAR_FROM_FLOOR * least
    return np.asarray((spread & ((var <= NEAR_FLOOR * least) | (var < SPIKE * overall))).any(axis=0))


def _collapsed_full(cov: FloatArray, pooled: Moments, least: FloatArray) -> FloatArray:
    """Covariances with a direction at the floor, or thinner than any the data has."""
    overall = pooled.scatter[0] / max(float(pooled.weight[0, 0]), 1e-300)
    values = np.diagonal(overall)
    scale = np.sqrt(np.where(values > 0.0, values, 1.0))
    shape = scale[:, None] * scale
    thinnest = float(np.linalg.eigvalsh(overall / shape)[0])
    narrow = np.linalg.eigvalsh(cov / shape)[:, 0] < SPIKE * max(thinnest, SPIKE)
    if (least > 0.0).all():
        units = np.sqrt(least[:, None] * least)
        if float(np.linalg.eigvalsh(overall / units)[0]) > FAR_FROM_FLOOR:
            narrow |= np.linalg.eigvalsh(cov / units)[:, 0] <= NEAR_FLOOR
    return np.asarray(narrow)


def is_degenerate(model: MixtureModel, fit: Fit[MixtureParams]) -> bool:
    """Whether some component has shrunk onto a few rows, where the likelihood has no maximum."""
    return bool(spikes(model, fit))


def component_notes(model: MixtureModel, fit: Fit[MixtureParams], names: list[Any]) -> list[str]:
    """What to tell the user about components that are empty or have shrunk onto a few rows."""
    notes = []
    weight = component_weight(fit)
    for m in empty_components(fit):
        notes.append(
            f"component {names[m]!r} is empty: its expected weight is {weight[m]:.3g} of {weight.sum():.6g} rows. Its "
            "parameters are those of the prior and mean nothing; use fewer components, or other starts"
        )
    for m in dict.fromkeys(component for component, _ in spikes(model, fit)):
        notes.append(
            f"component {names[m]!r} has shrunk onto {weight[m]:.3g} rows: its variance is at the floor that keeps the "
            "likelihood finite. Use fewer components, a larger floor (reg_covar), or a tied or diagonal covariance"
        )
    return notes


def reordered(model: MixtureModel, fit: Fit[MixtureParams], order: IntArray) -> tuple[MixtureModel, Fit[MixtureParams]]:
    """The same fit with its components in the given order (one component per class)."""
    if np.array_equal(order, np.arange(model.n_components)):
        return model, fit
    priors = tuple(prior.take(order) for prior in model.priors)
    class_prior = None if model.class_prior is None else model.class_prior[order]
    model = replace(model, priors=priors, class_prior=class_prior)
    blocks = tuple(f.take(p, order) for f, p in zip(model.families, fit.params.blocks, strict=True))
    params = model.make_params(fit.params.log_weights[order], blocks)
    parts: dict[str, Any] = dict(fit.counts.parts)
    counts = Counts({name: part.take(order) for name, part in parts.items()}, fit.counts.objective)
    return model, replace(fit, params=params, counts=counts)


def order_by_size(fit: Fit[MixtureParams]) -> IntArray:
    """Components from the largest to the smallest."""
    return np.argsort(-fit.params.log_weights, kind="stable")


def order_by_column(model: MixtureModel, params: MixtureParams, block: int, column: int) -> IntArray:
    """Components by the expected value of a column, increasing (for categories: of their codes)."""
    family, values = model.families[block], params.blocks[block]
    mean: FloatArray
    if isinstance(family, Categorical):
        table = np.exp(values["log_prob"][family.offsets[column] : family.offsets[column + 1]])
        mean = np.arange(table.shape[0], dtype=np.float64) @ table
    elif "mean" in values:
        mean = values["mean"][column]
    elif isinstance(family, Multinomial):
        mean = values["log_prob"][column]
    elif isinstance(family, Membership):
        mean = values["coef"][column]
    else:
        mean = family.mean_stats(values)[column, ..., 0]
    return np.argsort(mean, kind="stable")


def boundary_probabilities(model: MixtureModel, params: MixtureParams) -> int:
    """How many probabilities of categories and yes/no columns are 0 or 1 to within rounding.

    There the likelihood has its maximum on the edge of what is possible, and standard errors do not exist.
    """
    found = 0
    for family, values in zip(model.families, params.blocks, strict=True):
        if isinstance(family, Categorical):
            table = np.delete(values["log_prob"], family.unseen_rows, axis=0)
            found += int(np.sum(np.exp(table) < BOUNDARY))
        elif isinstance(family, Bernoulli):
            found += int(np.sum(np.exp(np.minimum(values["log_prob"], values["log_not"])) < BOUNDARY))
    return found
