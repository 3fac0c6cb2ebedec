r"""What the chances of every assignment owe to single rows, through the estimates of the mixture that gave them.

With responsibilities :math:`r_{ik}(\theta)`, assignments :math:`a_{is}` and
:math:`R_k = \sum_i w_i r_{ik}`, the chances :math:`D_{ks} = \sum_i w_i r_{ik} a_{is} / R_k` move with one more row i by

.. math:: \psi_{i,ks} = \frac{r_{ik} (a_{is} - D_{ks})}{R_k}
   + \frac{\partial D_{ks}}{\partial\theta}\, \mathcal{I}^{-1} s_i, \qquad
   \frac{\partial r_{ik}}{\partial\theta} = r_{ik} (u_{ik} - s_i)

where :math:`s_i` is the row's score, :math:`u_{ik}` its score under component k and :math:`\mathcal{I}` the observed
information. The rule that assigns rows moves with :math:`\theta` as well, but the correction is right for any rule, so
that is of second order.
"""

from __future__ import annotations

import numpy as np

from softcount._types import FloatArray
from softcount.core.chunks import Chunks
from softcount.core.execute import Executor
from softcount.core.information import observed_inverse
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.row_scores import RowScores, layout_of, scratch_rows

__all__ = ["assignment_moves"]


def assignment_moves(
    model: MixtureModel,
    params: MixtureParams,
    executor: Executor,
    chunks: Chunks,
    *,
    assigned: FloatArray,
    directions: FloatArray,
) -> FloatArray:
    """What one more copy of each row moves the given combinations of the chances of assignment by.

    Parameters
    ----------
    model, params
        A fit.
    executor : Executor
    chunks : Chunks
        The rows of the fit with their weights.
    assigned : array of shape (n_rows, n_components)
        The assignments :math:`a`.
    directions : array of shape (n_quantities, n_components, n_components)
        Derivatives of the quantities by :math:`D`.

    Returns
    -------
    moves : array of shape (n_rows, n_quantities)
    """
    layout = layout_of(model, params)
    inverse = observed_inverse(model, params, layout, executor, chunks)
    n, size, head, width = model.n_components, layout.size, layout.head, layout.per_component
    rows = Chunks(chunks.blocks, chunks.labels, chunks.weight, rows_per_chunk=scratch_rows(size))
    joint, slopes = np.zeros((n, n)), np.zeros((n, n, size))
    for chunk in rows:
        found = RowScores.of(model, params, layout, chunk)
        own = assigned[chunk.start : chunk.start + chunk.n_rows]
        score = found.scores()
        for k in range(n):
            mine = own * (found.weight * found.share[:, k])[:, None]
            joint[k] += mine.sum(axis=0)
            of_weights, complete, _ = found.of_component(k)
            slopes[k] -= mine.T @ score
            slopes[k, :, :head] += mine.T @ of_weights
            slopes[k, :, head + k * width : head + (k + 1) * width] += mine.T @ complete
    total = joint.sum(axis=1)
    chance = joint / total[:, None]
    slopes = (slopes - chance[:, :, None] * slopes.sum(axis=1)[:, None, :]) / total[:, None, None]
    along = inverse @ np.einsum("qks,ksp->pq", directions, slopes)
    base = np.einsum("qks,ks->qk", directions, chance)
    moves = np.empty((assigned.shape[0], directions.shape[0]))
    for chunk in rows:
        found = RowScores.of(model, params, layout, chunk)
        place = slice(chunk.start, chunk.start + chunk.n_rows)
        ratio = found.share / total
        direct = np.einsum("ik,is,qks->iq", ratio, assigned[place], directions, optimize=True) - ratio @ base.T
        moves[place] = direct + found.scores() @ along
    return moves
