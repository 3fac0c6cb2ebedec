r"""Standard errors of a fitted mixture from its observed information.

With the complete-data score :math:`u_{ik}` of row i under component k, its responsibilities :math:`r_{ik}` and the
score :math:`s_i = \sum_k r_{ik} u_{ik}` of the row, the negative second derivative of the marginal log-likelihood is
(Louis, 1982)

.. math:: \mathcal{I} = \sum_i w_i \sum_k r_{ik}\, \mathcal{I}^c_{ik}
   - \sum_i w_i \Bigl(\sum_k r_{ik} u_{ik} u_{ik}^\top - s_i s_i^\top\Bigr) ,

the complete information less what is missing for not knowing the components. Its inverse is the covariance of the
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
from softcount.core.score_tables import ScoreTable, score_table
from softcount.families._base import Params

__all__ = ["COVARIANCES", "Uncertainty", "uncertainty"]

COVARIANCES = ("observed", "scores", "sandwich", "survey")
#: Directions whose information is less than this share of the largest, all scaled to one, are not determined.
UNDETERMINED = 1e-9
#: A larger negative information than this says that the parameters are no maximum.
NEGATIVE = -1e-6
#: A quantity is not determined if more than this share of its gradient lies in such directions.
OUTSIDE = 1e-4
MOST_PARAMETERS = 5000
SCRATCH_NUMBERS = 2**20


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
    """Sums over rows: the missing and the plain products of scores, and observed weights."""

    missing: FloatArray
    products: FloatArray
    observed: tuple[FloatArray, ...]
    size: float

    def __add__(self, other: _Parts) -> _Parts:
        observed = tuple(a + b for a, b in zip(self.observed, other.observed, strict=True))
        return _Parts(self.missing + other.missing, self.products + other.products, observed, self.size + other.size)


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
    tables = [score_table(f, p, q) for f, p, q in zip(model.families, params.blocks, model.priors, strict=True)]
    n, widths = model.n_components, [table.width for table in tables]
    per_component = sum(widths)
    size = n * (1 + per_component)
    if size > MOST_PARAMETERS:
        raise InputError(
            f"Standard errors of {size} parameters take a matrix of {size} by {size} numbers; at most "
            f"{MOST_PARAMETERS} are allowed. Use a bootstrap, or fewer columns."
        )
    if not model.has_single_components:
        raise InputError("Standard errors are for one component per class.")
    rows = Chunks(chunks.blocks, chunks.labels, chunks.weight, rows_per_chunk=max(256, SCRATCH_NUMBERS // (1 + size)))
    squared = covariance == "survey"
    parts = executor.reduce(
        lambda lane: _tally(model, params, tables, lane, squared=squared), rows, counts_bytes=16 * size * size
    )
    known = _complete(model, params, tables, parts)
    if covariance == "scores":
        nothing = tuple(np.zeros_like(weight) for weight in parts.observed)
        information = parts.products + _complete(model, params, tables, replace(parts, observed=nothing, size=0.0))
    else:
        information = known - parts.missing
    fixed = _fixed(params, tables)
    information[fixed] = information[:, fixed] = 0.0
    inverse, null, is_maximum = _inverted(information, np.diag(known))
    if covariance in ("sandwich", "survey"):
        inverse = inverse @ parts.products @ inverse
    return _reported(params, tables, inverse, null, is_maximum=is_maximum, given=model.class_prior is not None)


def _tally(
    model: MixtureModel, params: MixtureParams, tables: Sequence[ScoreTable], lane: Sequence[Chunk], *, squared: bool
) -> _Parts:
    n, widths = model.n_components, [table.width for table in tables]
    per_component = sum(widths)
    size = n * (1 + per_component)
    missing, products = np.zeros((size, size)), np.zeros((size, size))
    observed = tuple(np.zeros((n, block.n_columns)) for block in lane[0].blocks)
    total = 0.0
    weights = np.exp(params.log_weights)
    for chunk in lane:
        resp = model.log_joint(params, chunk, fitting=True)
        model.assign(resp, chunk, params.log_weights)
        weight = resp.sum(axis=1)
        share = resp / np.where(weight > 0.0, weight, 1.0)[:, None]
        free = np.where(_keeps_responsibilities(chunk), 0.0, weight)
        total += float(weight.sum())
        score = np.empty((chunk.n_rows, size))
        score[:, :n] = 0.0 if model.class_prior is not None else share - weights
        for k in range(n):
            own = slice(n + k * per_component, n + (k + 1) * per_component)
            parts = [table.scores(block, k) for table, block in zip(tables, chunk.blocks, strict=True)]
            for place, (_, cells) in enumerate(parts):
                observed[place][k] += resp[:, k] @ cells
            complete = np.concatenate([values for values, _ in parts], axis=1)
            score[:, own] = share[:, k, None] * complete
            mine = free * share[:, k]
            # The score of the weights, given component k, is the same for all rows.
            of_weights = np.zeros(n) if model.class_prior is not None else np.eye(n)[k] - weights
            missing[own, own] += (complete * mine[:, None]).T @ complete
            cross = np.outer(of_weights, mine @ complete)
            missing[:n, own] += cross
            missing[own, :n] += cross.T
            missing[:n, :n] += mine.sum() * np.outer(of_weights, of_weights)
        missing -= (score * free[:, None]).T @ score
        products += (score * (weight * weight if squared else weight)[:, None]).T @ score
    return _Parts(missing, products, observed, total)


def _keeps_responsibilities(chunk: Chunk) -> BoolArray:
    """Which rows have responsibilities that were given and stay as they are."""
    labels = chunk.labels
    if labels is None or not labels.fixed or labels.factor_row is None:
        return np.zeros(chunk.n_rows, dtype=bool)
    return np.asarray(labels.factor_row >= 0)


def _complete(model: MixtureModel, params: MixtureParams, tables: Sequence[ScoreTable], parts: _Parts) -> FloatArray:
    """The information there would be with all components known, and that of the prior."""
    n, size = model.n_components, parts.missing.shape[0]
    found = np.zeros((size, size))
    if model.class_prior is None:
        weights = np.exp(params.log_weights)
        total = parts.size + n * model.class_alpha
        found[:n, :n] = total * (np.diag(weights) - np.outer(weights, weights))
    start = n
    for k in range(n):
        for table, weight in zip(tables, parts.observed, strict=True):
            stop = start + table.width
            found[start:stop, start:stop] = table.information(weight[k], k)
            start = stop
    return found


def _fixed(params: MixtureParams, tables: Sequence[ScoreTable]) -> BoolArray:
    """Parameters held at an edge of what is possible, or of a component without rows."""
    empty = np.exp(params.log_weights) < BOUNDARY
    of_components = [
        np.concatenate([table.is_fixed(k) for table in tables]) | bool(empty[k]) for k in range(empty.shape[0])
    ]
    return np.concatenate([empty, *of_components])


def _inverted(information: FloatArray, complete: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """The inverse in the directions the rows determine, the other directions, and whether none is negative.

    Everything is measured by the complete information, so that the eigenvalues are shares of it.
    """
    scale = np.sqrt(np.where(complete > 0.0, complete, 1.0))
    values, vectors = np.linalg.eigh(information / scale[:, None] / scale)
    most = float(values.max(initial=0.0))
    kept = values > UNDETERMINED * most
    inside = vectors[:, kept] / scale[:, None]
    inverse = (inside / values[kept]) @ inside.T
    null = vectors[:, ~kept] / scale[:, None]
    return inverse, null / np.linalg.norm(null, axis=0), bool(values.min(initial=0.0) >= NEGATIVE * most)


def _reported(
    params: MixtureParams,
    tables: Sequence[ScoreTable],
    inverse: FloatArray,
    null: FloatArray,
    *,
    is_maximum: bool,
    given: bool,
) -> Uncertainty:
    """The delta method, for the weights and block by block."""
    weights = np.exp(params.log_weights)
    n = weights.shape[0]
    slopes = np.diag(weights) - np.outer(weights, weights)
    errors = _delta(slopes, slice(0, n), inverse, null)
    errors[weights < BOUNDARY] = np.nan
    if given:
        errors = np.zeros(n)
    found = [errors]
    blocks: list[Params] = []
    per_component = sum(table.width for table in tables)
    offset = n
    for table in tables:
        columns = []
        for k in range(n):
            own = slice(offset + k * per_component, offset + k * per_component + table.width)
            column = _delta(table.gradients(k), own, inverse, null)
            column[table.on_boundary(k)] = np.nan
            columns.append(column)
        found.append(np.stack(columns, axis=1))
        blocks.append(table.table(found[-1]))
        offset += table.width
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
