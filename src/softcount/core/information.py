r"""Standard errors of a fitted mixture from its observed information.

With the complete-data score :math:`u_{ik}` of row i under component k, its responsibilities :math:`r_{ik}` and the
score :math:`s_i = \sum_k r_{ik} u_{ik}` of the row, the negative second derivative of the marginal log-likelihood is
(Louis, 1982)

.. math:: \mathcal{I} = \sum_i w_i \sum_k r_{ik}\, \mathcal{I}^c_{ik}
   - \sum_i w_i \Bigl(\sum_k r_{ik} u_{ik} u_{ik}^\top - s_i s_i^\top\Bigr) ,

the complete information less what is missing for not knowing the components. With covariates
:math:`z_i` the weights of a row are :math:`\pi_{ik} \propto e^{z_i^\top\gamma_k}` and their score
:math:`(\delta_{kl} - \pi_{il}) z_i`; without any, :math:`z_i = 1`. Its inverse is the covariance of the
natural parameters, and the delta method carries it over to class sizes, probabilities, means and variances. A fixed
responsibility misses nothing, so the middle term leaves such rows out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray
from softcount.core.chunks import Chunk, Chunks
from softcount.core.components import BOUNDARY
from softcount.core.execute import Executor
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.row_scores import Layout, RowScores, beside, layout_of, scratch_rows
from softcount.families._base import Params

__all__ = ["COVARIANCES", "Uncertainty", "observed_inverse", "uncertainty"]

COVARIANCES = ("observed", "scores", "sandwich", "survey")
#: Directions whose information is less than this share of the largest, all scaled to one, are not determined.
UNDETERMINED = 1e-9
#: A coefficient whose complete information is less than this share of what the covariate could give runs to infinity.
SEPARATED = 1e-7
#: A share of the largest complete information that is none.
NOTHING = 1e-100
#: A larger negative information than this says that the parameters are no maximum.
NEGATIVE = -1e-6
#: A quantity is not determined if more than this share of its gradient lies in such directions.
OUTSIDE = 1e-4
MOST_PARAMETERS = 5000


@dataclass(frozen=True)
class Uncertainty:
    """Standard errors: NaN on the boundary, infinite where the rows do not determine the quantity.

    Attributes
    ----------
    weights : array of shape (n_components,)
        Of the components' weights.
    blocks : tuple of Params
        Of the parameters, in tables of their names and shapes (``log_prob`` holds those of probabilities).
    n_undetermined : int
        Quantities that the rows do not determine.
    is_maximum : bool
        Whether the information is positive, as it is at a maximum.
    """

    weights: FloatArray
    blocks: tuple[Params, ...]
    n_undetermined: int
    is_maximum: bool


@dataclass(frozen=True)
class _Parts:
    """Sums over rows: the missing and the plain products of scores, observed weights, and what the classes add.

    ``classes`` is the complete information of the components' weights, ``slopes`` the derivatives of their sum,
    ``squares`` the sums of squares of the covariates.
    """

    missing: FloatArray
    products: FloatArray
    observed: tuple[FloatArray, ...]
    classes: FloatArray
    slopes: FloatArray
    squares: FloatArray
    size: float

    def __add__(self, other: _Parts) -> _Parts:
        return _Parts(
            self.missing + other.missing,
            self.products + other.products,
            tuple(a + b for a, b in zip(self.observed, other.observed, strict=True)),
            self.classes + other.classes,
            self.slopes + other.slopes,
            self.squares + other.squares,
            self.size + other.size,
        )


def uncertainty(
    model: MixtureModel, params: MixtureParams, executor: Executor, chunks: Chunks, covariance: str = "observed"
) -> Uncertainty:
    """Standard errors of the weights and of all parameters.

    Parameters
    ----------
    model, params
        A fit.
    executor : Executor
    chunks : Chunks
        The rows of the fit, with their weights and labels.
    covariance : {"observed", "scores", "sandwich", "survey"}
        Inverse of the observed information; inverse of the sum of products of scores; both as a sandwich, which holds
        where the model does not; or the sandwich with weights that stand for rows left undrawn instead of repeated.
    """
    layout = layout_of(model, params)
    parts = _tallied(model, params, layout, executor, chunks, squared=covariance == "survey")
    known = _complete(model, params, layout, parts)
    if covariance == "scores":
        nothing = tuple(np.zeros_like(weight) for weight in parts.observed)
        bare = replace(parts, observed=nothing, classes=np.zeros_like(parts.classes))
        information = parts.products + _complete(model, params, layout, bare)
    else:
        information = known - parts.missing
    inverse, null, is_maximum = _inverted(_freed(information, params, layout, parts), np.diag(known))
    if covariance in ("sandwich", "survey"):
        inverse = inverse @ parts.products @ inverse
    given = model.class_prior is not None
    slopes = np.zeros_like(parts.slopes) if given else parts.slopes / parts.size
    return _reported(params, layout, inverse, null, is_maximum=is_maximum, slopes=slopes)


def observed_inverse(
    model: MixtureModel, params: MixtureParams, layout: Layout, executor: Executor, chunks: Chunks
) -> FloatArray:
    """The inverse of the observed information in the coordinates of :class:`RowScores`."""
    parts = _tallied(model, params, layout, executor, chunks, squared=False)
    known = _complete(model, params, layout, parts)
    return _inverted(_freed(known - parts.missing, params, layout, parts), np.diag(known))[0]


def _freed(information: FloatArray, params: MixtureParams, layout: Layout, parts: _Parts) -> FloatArray:
    """The information with nothing about parameters that are held where they are."""
    fixed = _fixed(params, layout) | _separated(parts, layout)
    information[fixed] = information[:, fixed] = 0.0
    return information


def _tallied(
    model: MixtureModel, params: MixtureParams, layout: Layout, executor: Executor, chunks: Chunks, *, squared: bool
) -> _Parts:
    size = layout.size
    if size > MOST_PARAMETERS:
        raise InputError(
            f"Standard errors of {size} parameters take a matrix of {size} by {size} numbers; at most "
            f"{MOST_PARAMETERS} are allowed. Use a bootstrap, or fewer columns."
        )
    if not model.has_single_components:
        raise InputError("Standard errors are for one component per class.")
    rows = Chunks(chunks.blocks, chunks.labels, chunks.weight, rows_per_chunk=scratch_rows(size))
    return executor.reduce(
        lambda lane: _tally(model, params, layout, lane, squared=squared), rows, counts_bytes=16 * size * size
    )


def _tally(
    model: MixtureModel, params: MixtureParams, layout: Layout, lane: Sequence[Chunk], *, squared: bool
) -> _Parts:
    n, head, per_component, size = layout.n_components, layout.head, layout.per_component, layout.size
    missing, products = np.zeros((size, size)), np.zeros((size, size))
    observed = tuple(np.zeros((n, lane[0].blocks[b].n_columns)) for b in layout.blocks)
    classes, slopes, squares = np.zeros((head, head)), np.zeros((n, head)), np.zeros(layout.n_covariates)
    total = 0.0
    for chunk in lane:
        rows = RowScores.of(model, params, layout, chunk)
        share, weight, design, sizes = rows.share, rows.weight, rows.design, rows.sizes
        free = np.where(_keeps_responsibilities(chunk), 0.0, weight)
        total += float(weight.sum())
        squares += weight @ (design * design)
        if model.class_prior is None:
            spread = beside(sizes, design)
            slopes += (sizes * weight[:, None]).T @ -spread
            classes -= (spread * weight[:, None]).T @ spread
            for k in range(n):
                own = slice(k * layout.n_covariates, (k + 1) * layout.n_covariates)
                among = (design * (weight * sizes[:, k])[:, None]).T
                slopes[k, own] += among.sum(axis=1)
                classes[own, own] += among @ design
        score = np.zeros((chunk.n_rows, size))
        for k in range(n):
            own = slice(head + k * per_component, head + (k + 1) * per_component)
            of_weights, complete, cells = rows.of_component(k)
            for place, seen in enumerate(cells):
                observed[place][k] += (weight * share[:, k]) @ seen
            score[:, :head] += share[:, k, None] * of_weights
            score[:, own] = share[:, k, None] * complete
            mine = free * share[:, k]
            missing[own, own] += (complete * mine[:, None]).T @ complete
            cross = (of_weights * mine[:, None]).T @ complete
            missing[:head, own] += cross
            missing[own, :head] += cross.T
            missing[:head, :head] += (of_weights * mine[:, None]).T @ of_weights
        missing -= (score * free[:, None]).T @ score
        products += (score * (weight * weight if squared else weight)[:, None]).T @ score
    return _Parts(missing, products, observed, classes, slopes, squares, total)


def _keeps_responsibilities(chunk: Chunk) -> BoolArray:
    """Which rows have responsibilities that were given and stay as they are."""
    labels = chunk.labels
    if labels is None or not labels.fixed or labels.factor_row is None:
        return np.zeros(chunk.n_rows, dtype=bool)
    return np.asarray(labels.factor_row >= 0)


def _complete(model: MixtureModel, params: MixtureParams, layout: Layout, parts: _Parts) -> FloatArray:
    """The information there would be with all components known, and that of the prior."""
    n, head, size = layout.n_components, layout.head, layout.size
    found = np.zeros((size, size))
    if model.class_prior is None:
        found[:head, :head] = parts.classes
        if model.class_alpha > 0.0:
            weights = np.exp(params.log_weights)
            found[:head, :head] += n * model.class_alpha * (np.diag(weights) - np.outer(weights, weights))
    start = head
    for k in range(n):
        for table, weight in zip(layout.tables, parts.observed, strict=True):
            stop = start + table.width
            found[start:stop, start:stop] = table.information(weight[k], k)
            start = stop
    return found


def _fixed(params: MixtureParams, layout: Layout) -> BoolArray:
    """Parameters held at an edge of what is possible, or of a component without rows."""
    empty = np.exp(params.log_weights) < BOUNDARY
    of_components = [
        np.concatenate([table.is_fixed(k) for table in layout.tables]) | bool(empty[k]) for k in range(empty.shape[0])
    ]
    return np.concatenate([np.repeat(empty, layout.n_covariates), *of_components])


def _separated(parts: _Parts, layout: Layout) -> BoolArray:
    """Coefficients of covariates that tell classes apart without fail, so that no finite value is the best."""
    found = np.zeros(layout.size, dtype=bool)
    if layout.covariates is not None:
        least = SEPARATED * np.tile(parts.squares, layout.n_components)
        found[: layout.head] = np.diagonal(parts.classes) <= least
    return found


def _inverted(information: FloatArray, complete: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """The inverse in the directions the rows determine, the other directions, and whether none is negative.

    Everything is measured by the complete information, so that the eigenvalues are shares of it.
    """
    scale = np.sqrt(np.where(complete > NOTHING * complete.max(initial=0.0), complete, 1.0))
    values, vectors = np.linalg.eigh(information / scale[:, None] / scale)
    most = float(values.max(initial=0.0))
    kept = values > UNDETERMINED * most
    inside = vectors[:, kept] / scale[:, None]
    inverse = (inside / values[kept]) @ inside.T
    null = vectors[:, ~kept] / scale[:, None]
    return inverse, null / np.linalg.norm(null, axis=0), bool(values.min(initial=0.0) >= NEGATIVE * most)


def _reported(
    params: MixtureParams,
    layout: Layout,
    inverse: FloatArray,
    null: FloatArray,
    *,
    is_maximum: bool,
    slopes: FloatArray,
) -> Uncertainty:
    """The delta method, for the weights and block by block."""
    n, head = layout.n_components, layout.head
    empty = np.exp(params.log_weights) < BOUNDARY
    errors = _delta(slopes, slice(0, head), inverse, null)
    if slopes.any():
        errors[empty] = np.nan
    found = [errors]
    blocks: list[Params] = [{} for _ in params.blocks]
    offset = head
    for table, place in zip(layout.tables, layout.blocks, strict=True):
        columns = []
        for k in range(n):
            own = slice(offset + k * layout.per_component, offset + k * layout.per_component + table.width)
            column = _delta(table.gradients(k), own, inverse, null)
            column[table.on_boundary(k)] = np.nan
            columns.append(column)
        found.append(np.stack(columns, axis=1))
        blocks[place] = table.table(found[-1])
        offset += table.width
    if layout.covariates is not None:
        contrasts = np.eye(n) - np.eye(n)[0]
        gradients = np.kron(contrasts, np.eye(layout.n_covariates))
        found.append(_delta(gradients, slice(0, head), inverse, null).reshape(n, -1).T)
        blocks[layout.covariates] = {"coef": found[-1]}
    if not is_maximum:
        found = [np.full_like(part, np.inf) for part in found]
        blocks = [{name: np.full_like(part, np.inf) for name, part in block.items()} for block in blocks]
    lost = sum(int(np.isinf(part).sum()) for part in found)
    return Uncertainty(found[0], tuple(blocks), lost, is_maximum)


def _delta(gradients: FloatArray, own: slice, inverse: FloatArray, null: FloatArray) -> FloatArray:
    """Root of the diagonal of ``G C G'``; infinite where the gradient leaves what the rows determine."""
    variance = np.einsum("qi,ij,qj->q", gradients, inverse[own, own], gradients, optimize=True)
    errors = np.sqrt(np.maximum(variance, 0.0))
    if null.shape[1]:
        outside = np.abs(gradients @ null[own]).max(axis=1)
        errors[outside > OUTSIDE * np.abs(gradients).max(axis=1, initial=0.0)] = np.inf
    return np.asarray(errors)
