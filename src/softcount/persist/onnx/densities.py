r"""Log-densities of rows under every component, as nodes: what the scorers of the families add up.

Zero times minus infinity is zero, as everywhere: a table with entries of minus infinity is a finite one, and one that
says which cells make a component impossible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.families.categorical import Categorical, CategoricalScorer
from softcount.families.gaussian import GaussianScorer
from softcount.families.gaussian_full_rows import FullGaussianScorer
from softcount.families.gaussian_shared import SharedGaussianScorer
from softcount.families.linear import LinearScorer
from softcount.families.multinomial_missing import MultinomialScorer
from softcount.persist.onnx.graph import Graph, Value

__all__ = ["Rows", "linear_scores", "log_densities", "read_rows"]

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Rows:
    """The cells of X.

    Attributes
    ----------
    numbers : Value
        What the family multiplies: thresholded if asked, zero where missing.
    missing : Value
        Where cells are missing.
    refused : Value
        Cells that the estimator refuses.
    """

    numbers: Value
    missing: Value
    refused: Value

    @property
    def observed(self) -> Value:
        """One where a cell is there, zero where it is missing."""
        return (~self.missing).as_numbers()


def read_rows(graph: Graph, estimator: Any) -> Rows:
    """X as the estimator reads it."""
    X, family = graph.X, estimator.model_.families[0]
    missing, refused = graph.node("IsNaN", X), graph.node("IsInf", X)
    numbers = missing.where(0.0, X)
    if family.name == "bernoulli":
        if estimator.binarize is None:
            refused = refused | X.is_below(0.0) | X.is_above(1.0)
        else:
            # A comparison with NaN is false, so a missing cell is a zero here, too.
            numbers = X.is_above(float(estimator.binarize)).as_numbers()
    elif family.name in ("multinomial", "seen_words", "poisson"):
        refused = refused | X.is_below(0.0)
    elif family.name == "multivariate_gaussian":
        refused = refused | missing
    elif isinstance(family, Categorical):
        refused = refused | X.is_below(0.0)
        numbers = graph.node("Floor", numbers)
        if estimator.handle_unknown == "error":
            refused = refused | numbers.reaches(np.array(family.n_values, dtype=np.float64))
    return Rows(numbers, missing, refused)


def log_densities(graph: Graph, estimator: Any, rows: Rows) -> Value:
    """What the model's scorer adds: log-densities up to a number per row, shape (n_rows, n_components)."""
    scorer = estimator.params_.scorers[0]
    for kind, scores in _SCORES.items():
        if type(scorer) is kind:
            return scores(graph, scorer, rows, estimator.model_.families[0])
    raise InputError(
        f"{type(estimator).__name__} cannot be exported to ONNX: there is no graph for the family "
        f"{estimator.model_.families[0].name!r}. Keep it in a file of softcount's own: estimator.save(path)."
    )


def linear_scores(graph: Graph, scorer: LinearScorer, rows: Rows, family: Any = None) -> Value:
    r""":math:`\sum_j x_{ij} t_{jk} + \sum_{j\,\text{observed}} c_{jk}`."""
    impossible = np.isneginf(scorer.slopes)
    scores = rows.numbers @ np.where(impossible, 0.0, scorer.slopes)
    if scorer.constants is not None:
        scores = scores + rows.observed @ scorer.constants
    if impossible.any():
        hits = (~graph.node("Equal", rows.numbers, 0.0)).as_numbers() @ impossible.astype(np.float64)
        scores = hits.is_above(0.0).where(-np.inf, scores)
    if scorer.required is not None:
        ones = rows.numbers @ scorer.required + rows.missing.as_numbers() @ scorer.required
        scores = ones.is_below(scorer.required.sum(axis=0)).where(-np.inf, scores)
    return scores


def _word_scores(graph: Graph, scorer: MultinomialScorer, rows: Rows, family: Any) -> Value:
    r"""Words among those that could be seen: :math:`\sum_t x_{it} \log\theta_{tk} - n_i \log o_{ik}`."""
    seen = rows.observed @ scorer.theta
    hidden = rows.numbers.sum() * seen.is_above(0.0).where(seen, 1.0).log()
    return linear_scores(graph, scorer, rows) - hidden


def _gaussian_scores(graph: Graph, scorer: GaussianScorer, rows: Rows, family: Any) -> Value:
    r""":math:`\sum_j \tfrac12\log\frac{p_{jk}}{2\pi} - \tfrac12 p_{jk}(x_{ij} - m_{jk})^2` over the observed cells."""
    columns = []
    for mean, root in zip(scorer.mean.T, np.sqrt(scorer.precision).T, strict=True):
        distance = rows.missing.where(0.0, graph.X - mean) * root
        columns.append((distance * distance).sum())
    half_log = 0.5 * (np.log(scorer.precision) - LOG_2PI)
    return rows.observed @ half_log - graph.beside(columns) * 0.5


def _full_gaussian_scores(graph: Graph, scorer: FullGaussianScorer, rows: Rows, family: Any) -> Value:
    r""":math:`\log|U_k| - \tfrac{d}{2}\log 2\pi - \tfrac12\lVert(x_i - m_k)U_k\rVert^2`."""
    columns = []
    for mean, factor in zip(scorer.mean, scorer.factors, strict=True):
        turned = (graph.X - mean) @ factor
        columns.append((turned * turned).sum())
    constants: FloatArray = scorer.log_det - 0.5 * scorer.mean.shape[1] * LOG_2PI
    return graph.beside(columns) * -0.5 + constants


def _shared_gaussian_scores(graph: Graph, scorer: SharedGaussianScorer, rows: Rows, family: Any) -> Value:
    r""":math:`-\tfrac12\lVert z_i - m_k\rVert^2` in the span of the means; the rest is the same for all components."""
    turned = (graph.X - scorer.center) @ scorer.span
    columns = []
    for mean in scorer.inside.T:
        distance = turned - mean
        columns.append((distance * distance).sum())
    return graph.beside(columns) * -0.5


def _category_scores(graph: Graph, scorer: CategoricalScorer, rows: Rows, family: Categorical) -> Value:
    """The table's entry for every observed code; unknown codes are left out, or have a row of their own."""
    sizes = np.array(family.n_values, dtype=np.float64)
    nothing = float(scorer.table.shape[0])
    table = np.vstack([scorer.table, np.zeros((1, scorer.table.shape[1]))])
    unseen = family.unseen_rows.astype(np.float64) if family.with_unseen else nothing
    position = rows.numbers.reaches(sizes).where(unseen, rows.numbers + scorer.offsets[:-1].astype(np.float64))
    position = rows.missing.where(nothing, position).as_positions()
    # Of shape (n_rows, n_columns, n_components).
    return graph.node("ReduceSum", graph.look_up(table, position), [1], keepdims=0)


_SCORES: dict[type, Callable[..., Value]] = {
    LinearScorer: linear_scores,
    MultinomialScorer: _word_scores,
    GaussianScorer: _gaussian_scores,
    FullGaussianScorer: _full_gaussian_scores,
    SharedGaussianScorer: _shared_gaussian_scores,
    CategoricalScorer: _category_scores,
}
