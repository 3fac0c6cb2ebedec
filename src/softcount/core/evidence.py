"""What a fitted generative model says about rows, features and boundaries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import diags_array, hstack, issparse, vstack

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import Chunk
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.families.categorical import Categorical

__all__ = [
    "Contributions",
    "LinearForm",
    "class_scores",
    "contributions",
    "linear_form",
    "side_by_side",
    "stacked",
    "strongest_features",
    "telling_features",
]


@dataclass(frozen=True)
class LinearForm:
    """A linear boundary: class scores ``X @ coef.T + intercept``.

    For two classes there is one row, the log-odds of the second class, as in scikit-learn; for more classes the rows
    are the classes' scores, whose softmax is the posterior.

    A categorical column stands for one column per value, one where the cell has that value and zero elsewhere (as
    scikit-learn's ``OneHotEncoder`` makes them); a missing cell is zero in all of them.

    Attributes
    ----------
    coef : array of shape (1, n_columns) or (n_classes, n_columns)
    intercept : array of shape (1,) or (n_classes,)
    features : tuple of str
        Names of the columns: those of X, and ``name=value`` for the values of a categorical one.
    """

    coef: FloatArray
    intercept: FloatArray
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contributions:
    """Evidence for one class against another, row by row.

    ``baseline + values.sum(axis=1)`` is exactly ``log P(positive | x) - log P(negative | x)``; where the posteriors are
    cooled by calibration, so is the evidence (before the map of isotonic calibration, which no sum over cells gives).
    A cell that one class calls impossible is infinite; one that both call impossible speaks for neither and is zero.

    Attributes
    ----------
    baseline : array of shape (n_rows,)
        The class priors, and what belongs to no single cell (absent words of a sparse row, log-determinants).
    values : array of shape (n_rows, n_features), sparse for sparse input
    feature_names : list of str
    positive, negative : label
    prior : float, or array of shape (n_rows,)
        The log-odds of the class prior, which is all that is left to a row with evidence against both classes.
    """

    baseline: FloatArray
    values: Any
    feature_names: list[str]
    positive: Any
    negative: Any
    prior: float | FloatArray = 0.0

    def __repr__(self) -> str:
        n_rows, n_features = self.values.shape
        return f"Contributions({self.positive!r} against {self.negative!r}: {n_rows:,} rows, {n_features:,} features)"

    def total(self) -> FloatArray:
        """The log-odds of ``positive`` against ``negative``."""
        with np.errstate(invalid="ignore"):
            total = self.baseline + np.asarray(self.values.sum(axis=1)).ravel()
        return np.where(np.isnan(total), self.prior, total)

    def divided(self, divisor: FloatArray) -> Contributions:
        """The evidence of every row divided by a number of its own, shape (n_rows,)."""
        scale: Any = diags_array(1.0 / divisor)
        values = scale @ self.values if issparse(self.values) else self.values / divisor[:, None]
        return replace(self, baseline=self.baseline / divisor, values=values, prior=self.prior / divisor)

    def top(self, row: int, k: int = 10) -> list[tuple[str, float]]:
        """The ``k`` cells of a row that speak loudest for either class."""
        cells = self.values[[row], :]
        cells = np.asarray(cells.todense() if hasattr(cells, "todense") else cells).ravel()
        order = np.argsort(-np.abs(cells), kind="stable")[:k]
        return [(self.feature_names[j], float(cells[j])) for j in order if cells[j] != 0.0]


def strongest_features(
    scores: FloatArray, names: list[str], labels: list[Any], k: Any
) -> dict[Any, list[tuple[str, float]]]:
    """The ``k`` features with the largest scores, shape (n_features, n_classes), for each class."""
    if not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k is {k!r}; ask for a whole number of features, 1 or more.")
    result = {}
    for column, label in zip(scores.T, labels, strict=True):
        # Presence and high values first, then absence and low ones, each the most telling first.
        order = np.lexsort((-np.abs(column), column < 0.0))[:k]
        result[label] = [(names[j], float(column[j])) for j in order if column[j] != 0.0]
    return result


def class_scores(model: MixtureModel, scores: FloatArray) -> FloatArray:
    """Joint log-density per class from that per component."""
    if model.has_single_components:
        return scores
    by_class = [np.logaddexp.reduce(scores[:, model.groups == k], axis=1) for k in range(model.n_classes)]
    return np.stack(by_class, axis=1)


def contributions(
    model: MixtureModel, params: MixtureParams, chunk: Chunk, positive: int, negative: int
) -> tuple[FloatArray, list[Any]]:
    """Baseline and cells (block by block) of the evidence for class ``positive`` against ``negative``.

    With several components per class the cells are those of the components in proportion to their responsibility
    within the class, and the baseline takes up the rest, so that the sum stays exact.
    """
    scores = model.log_joint(params, chunk)
    by_class = class_scores(model, scores)
    weights = np.zeros_like(scores)
    for k, sign in ((positive, 1.0), (negative, -1.0)):
        members = np.flatnonzero(model.groups == k)
        with np.errstate(invalid="ignore"):
            within = np.exp(scores[:, members] - by_class[:, [k]])
        weights[:, members] += sign * np.where(np.isfinite(within), within, 1.0 / members.size)
    cells: list[Any] = []
    rest, cell_sum = np.zeros(chunk.n_rows), np.zeros(chunk.n_rows)
    # An impossible value is minus infinity, and one that is impossible under both classes infinity less infinity.
    with np.errstate(invalid="ignore"):
        for family, block, p in zip(model.families, chunk.blocks, params.blocks, strict=True):
            part, row_part = family.column_scores(p, block, weights)
            _silence(part)
            cells.append(part)
            rest += row_part
            cell_sum += np.asarray(part.sum(axis=1)).ravel()
        log_odds = by_class[:, positive] - by_class[:, negative]
        log_prior = class_scores(model, params.log_weights[None, :])[0]
        # Where both classes are impossible the posterior is the class prior.
        prior = np.nan_to_num(log_prior[positive] - log_prior[negative], posinf=np.inf, neginf=-np.inf)
        baseline = np.where(np.isnan(log_odds), prior, log_odds) - cell_sum
        if model.has_single_components:
            plain = rest + (params.log_weights[positive] - params.log_weights[negative])
            baseline = np.where(np.isfinite(log_odds), plain, baseline)
    # Infinite evidence of the cells is all there is to say.
    return np.where(np.isnan(baseline), 0.0, baseline), cells


def _silence(cells: Any) -> None:
    """Set to zero the cells that speak for neither class."""
    values = cells if isinstance(cells, np.ndarray) else cells.data
    values[np.isnan(values)] = 0.0


def linear_form(
    model: MixtureModel,
    params: MixtureParams,
    names: list[str],
    categories: list[list[Any] | None],
    order: NDArray[Any] | None,
) -> LinearForm:
    """The exact linear form of a model whose log-odds are linear in the features.

    Parameters
    ----------
    model, params
        The fitted model.
    names, categories : list
        Of every block column its name, and its values where it is categorical.
    order : array or None
        Position in the table of every block column, where that differs.
    """
    if not model.has_single_components:
        raise InputError("The boundary is not linear: classes have several components. Use n_components_per_class=1.")
    slopes: list[FloatArray] = []
    sizes: list[int] = []
    intercept = params.log_weights.copy()
    for family, p in zip(model.families, params.blocks, strict=True):
        form = family.linear_form(p)
        if form is None:
            raise InputError(f"The boundary is not linear: {_why_not_linear(family)}")
        slopes.append(form[0])
        sizes.extend(np.diff(family.offsets).tolist() if isinstance(family, Categorical) else [1] * form[0].shape[0])
        intercept = intercept + form[1]
    coef = np.concatenate(slopes, axis=0).T
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise InputError(
            "The boundary has no finite weights: some class or some value of a feature has probability zero. Use "
            "alpha above 0 (and class probabilities above 0)."
        )
    columns, features = _design_columns(sizes, names, categories, order)
    coef = coef[:, columns]
    if model.n_classes == 2:
        return LinearForm(coef[1:] - coef[:1], intercept[1:] - intercept[:1], features)
    return LinearForm(np.ascontiguousarray(coef), intercept, features)


def _why_not_linear(family: Any) -> str:
    """Which term of the log-odds is not linear in the columns, and the way out."""
    if "gaussian" in family.name and "inverse" not in family.name:
        return (
            f"{family.name} columns have variances (or covariances) of their own in each class, which makes it "
            "quadratic. Share them between classes for a linear boundary."
        )
    return (
        f"the log-odds of {family.name} columns contain other functions of the values than the values themselves. "
        "Use a model with bernoulli, categorical, multinomial, poisson, geometric, exponential or shared "
        "gaussian columns, or give such functions (a logarithm, a reciprocal) as columns."
    )


def _design_columns(
    sizes: list[int], names: list[str], categories: list[list[Any] | None], order: NDArray[Any] | None
) -> tuple[list[int], tuple[str, ...]]:
    """Which rows of the joined slopes are the columns of the linear form, in the table's order, and their names."""
    starts = np.cumsum([0, *sizes])
    columns: list[int] = []
    features: list[str] = []
    for place in range(len(sizes)) if order is None else np.argsort(order).tolist():
        name, values = names[place], categories[place]
        columns.extend(range(starts[place], starts[place + 1]))
        own = [name] if values is None else [f"{name}={value}" for value in values]
        features.extend(own + [f"{name}=(unseen)"] * (sizes[place] - len(own)))
    return columns, tuple(features)


def telling_features(model: MixtureModel, params: MixtureParams) -> FloatArray:
    """How much each feature speaks for each class, blocks one after the other: (n_features, n_classes)."""
    weight = np.exp(params.log_weights)
    parts = [family.telling(p, weight) for family, p in zip(model.families, params.blocks, strict=True)]
    scores = np.concatenate(parts, axis=0)
    if model.has_single_components:
        return scores
    per_class = np.zeros((scores.shape[0], model.n_classes))
    for k in range(model.n_classes):
        members = np.flatnonzero(model.groups == k)
        total = weight[members].sum()
        share = weight[members] / total if total > 0.0 else np.full(members.size, 1.0 / members.size)
        per_class[:, k] = scores[:, members] @ share
    return per_class


def entropy_of(resp: FloatArray) -> FloatArray:
    r"""Entropy of each row, :math:`-\sum_k r_{ik}\log r_{ik}`."""
    return np.asarray(-special.xlogy(resp, resp).sum(axis=1))


def draw_components(log_weights: FloatArray, n: int, rng: np.random.Generator) -> NDArray[Any]:
    """Components drawn by weight; evenly where none has any."""
    top = log_weights.max()
    prob = np.exp(log_weights - top) if np.isfinite(top) else np.ones_like(log_weights)
    return rng.choice(log_weights.shape[0], size=n, p=prob / prob.sum()).astype(np.int32)


def side_by_side(parts: list[Any], order: NDArray[Any] | None) -> Any:
    """The cells of all blocks as columns of one array, in the order of X."""
    if len(parts) == 1:
        joined = parts[0]
    elif all(isinstance(part, np.ndarray) for part in parts):
        joined = np.concatenate(parts, axis=1)
    else:
        joined = hstack(parts, format="csr")
    if order is None:
        return joined
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    return joined[:, back]


def stacked(parts: list[Any]) -> Any:
    """The cells of all chunks as rows of one array."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return parts[0] if len(parts) == 1 else vstack(parts, format="csr")
