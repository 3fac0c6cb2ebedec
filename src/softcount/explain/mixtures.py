"""Pictures of a fitted mixture: profiles of the components, item probabilities, posterior memberships."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.membership import Membership
from softcount.families.bernoulli import Bernoulli
from softcount.families.categorical import Categorical
from softcount.families.gaussian import Gaussian
from softcount.families.gaussian_full import MultivariateGaussian
from softcount.families.multinomial import Multinomial
from softcount.families.poisson import Poisson
from softcount.inputs.weights import read_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Profiles",
    "plot_item_probabilities",
    "plot_posteriors",
    "plot_profiles",
    "plot_ternary",
    "profiles",
]

#: Draws that stand for the moments of a family without closed ones here.
DRAWS = 4000


@dataclass(frozen=True)
class Profiles:
    """Where the components lie in each column.

    Attributes
    ----------
    columns : list of str
    components : list of str
    means, variances : arrays of shape (n_columns, n_components)
        Of the column's number; of categories, of the position of the value between 0 (first) and 1 (last).
    weights : array of shape (n_components,)
    are_shares : bool
        Whether every column lies between 0 and 1.
    """

    columns: list[str]
    components: list[str]
    means: FloatArray
    variances: FloatArray
    weights: FloatArray
    are_shares: bool

    @property
    def standardized(self) -> FloatArray:
        """Component means in standard deviations of the column from its overall mean."""
        overall = self.means @ self.weights
        spread = self.variances @ self.weights + ((self.means - overall[:, None]) ** 2) @ self.weights
        return (self.means - overall[:, None]) / np.sqrt(np.where(spread > 0.0, spread, 1.0))[:, None]


def profiles(model: Any) -> Profiles:
    """Mean and variance of every column in every component of a fitted mixture."""
    check_is_fitted(model, "params_")
    means, variances, shares = [], [], True
    for family, params in zip(model.model_.families, model.params_.blocks, strict=True):
        if isinstance(family, Membership):
            continue
        mean, variance, bounded = _moments(family, params)
        means.append(mean)
        variances.append(variance)
        shares = shares and bounded
    joined = np.concatenate(means)
    # Covariates, which the components do not explain, come behind the columns.
    return Profiles(
        model._block_feature_names()[: joined.shape[0]],
        [str(label) for label in model._class_labels()],
        joined,
        np.concatenate(variances),
        np.exp(model.params_.log_weights),
        shares,
    )


def _moments(family: Any, params: Any) -> tuple[FloatArray, FloatArray, bool]:
    """Mean and variance per column and component, and whether the columns lie between 0 and 1."""
    if isinstance(family, Categorical):
        table = np.exp(params["log_prob"])
        mean, square = [], []
        for offset, size in zip(family.offsets[:-1], family.n_values, strict=True):
            place = np.linspace(0.0, 1.0, size) if size > 1 else np.zeros(1)
            part = table[offset : offset + size]
            mean.append(place @ part)
            square.append(place**2 @ part)
        return np.array(mean), np.array(square) - np.array(mean) ** 2, True
    if isinstance(family, (Bernoulli, Multinomial)):
        prob = np.exp(params["log_prob"])
        return prob, prob * (1.0 - prob), True
    if isinstance(family, Poisson):
        return params["rate"], params["rate"], False
    if isinstance(family, MultivariateGaussian):
        return params["mean"], np.diagonal(params["cov"], axis1=1, axis2=2).T, False
    if isinstance(family, Gaussian):
        return params["mean"], params["var"], False
    rng, n = np.random.default_rng(0), int(next(iter(params.values())).shape[-1])
    drawn = [np.asarray(family.draw(params, np.full(DRAWS, k), rng), dtype=np.float64) for k in range(n)]
    return np.stack([d.mean(axis=0) for d in drawn], axis=1), np.stack([d.var(axis=0) for d in drawn], axis=1), False


def plot_profiles(model: Any, *, standardize: bool | None = None, ax: Axes | None = None) -> Axes:
    """Draw a line for each component through its means of the columns (needs matplotlib).

    Parameters
    ----------
    model : fitted mixture
    standardize : bool, optional
        Draw standard deviations from the column's overall mean instead of the means; by default unless every column
        lies between 0 and 1 (probabilities, and positions of categories between the first value and the last).
    ax : Axes, optional
        Where to draw.
    """
    from softcount.explain.plots.mixtures import draw_profiles

    found = profiles(model)
    return draw_profiles(found, standardize=not found.are_shares if standardize is None else standardize, ax=ax)


def plot_item_probabilities(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the probability of every value of the categorical and yes/no columns as a heat map (needs matplotlib).

    Parameters
    ----------
    model : fitted mixture
    ax : Axes, optional
        Where to draw.
    """
    from softcount.explain.plots.mixtures import draw_heat_map

    check_is_fitted(model, "params_")
    rows = [row for row in model._parameter_rows() if row.quantity == "probability"]
    if not rows:
        raise InputError(
            f"{type(model).__name__} has no categorical or yes/no column, so there are no probabilities to draw. Use "
            "plot_profiles."
        )
    labels = [row.column if row.category is None else f"{row.column} = {row.category}" for row in rows]
    names = [str(label) for label in model._class_labels()]
    return draw_heat_map(np.stack([row.values for row in rows]), labels, names, np.exp(model.params_.log_weights), ax)


def plot_posteriors(model: Any, X: Any, *, sample_weight: Any = None, ax: Axes | None = None) -> Axes:
    """Draw how certain the rows' assignments are: a histogram of the highest posterior (needs matplotlib).

    Parameters
    ----------
    model : fitted mixture
    X : table
        Rows.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row, as in the fit.
    ax : Axes, optional
        Where to draw.
    """
    from softcount.explain.plots.mixtures import draw_posteriors

    proba = model.predict_proba(X)
    names = [str(label) for label in model._class_labels()]
    weight = read_weights(sample_weight, proba.shape[0])
    counted = np.ones(proba.shape[0]) if weight is None else weight
    return draw_posteriors(proba.max(axis=1), proba.argmax(axis=1), counted, names, ax)


def plot_ternary(model: Any, X: Any, components: Sequence[Any] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw each row in a triangle whose corners are three components, by its posterior (needs matplotlib).

    Parameters
    ----------
    model : fitted mixture with at least three components
    X : table
        Rows.
    components : sequence of three names, optional
        The corners; by default the three largest. The posterior is that among these three.
    ax : Axes, optional
        Where to draw.
    """
    from softcount.explain.plots.mixtures import draw_ternary

    proba, labels = model.predict_proba(X), model._class_labels()
    if components is None:
        chosen = sorted(np.argsort(-np.exp(model.params_.log_weights), kind="stable")[:3].tolist())
    else:
        unknown = [name for name in components if name not in labels]
        if unknown:
            raise InputError(f"components names {unknown}; the model has {labels}.")
        chosen = [labels.index(name) for name in components]
    if len(chosen) != 3 or len(set(chosen)) != 3:
        raise InputError(
            f"A triangle has three corners, but {len(set(chosen))} components were found or given. Use plot_posteriors "
            "for mixtures of two."
        )
    part = proba[:, chosen]
    total = part.sum(axis=1)
    inside = total > 0.5
    share = part[inside] / total[inside, None]
    return draw_ternary(share, [str(labels[k]) for k in chosen], int((~inside).sum()), ax)
