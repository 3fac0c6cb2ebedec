r"""The rows of a generalized linear model for methods that never form a matrix of its columns.

The objective is minus half the deviance. A row's curvature is its Fisher information,

.. math:: c_i = w_i \frac{(d\mu_i / d\eta_i)^2}{V(\mu_i)} ,

so a step that solves :math:`X^\top C X \delta = g` by products alone is the step of Fisher scoring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from softcount._types import FloatArray
from softcount.core.counts import Counts
from softcount.core.glm.data import GLMData
from softcount.core.glm.families import Evaluation, GLMFamily
from softcount.core.glm.links import Link
from softcount.core.glm.model import evaluate_rows
from softcount.core.logistic.curved_rows import CurvedRows, WeightedInformation
from softcount.core.logistic.products import Products, product_slices, products_of
from softcount.core.normal_equations import Design
from softcount.families.statistics import Sums

__all__ = ["GLMRows"]


@dataclass(frozen=True)
class GLMRows(CurvedRows):
    """All rows of a generalized linear model, and the passes over them.

    Attributes
    ----------
    family, link
        The model of a row.
    design : Design
        The columns.
    target : array of shape (n_samples,)
    weight : array of shape (n_samples,) or None
    offset : array of shape (n_samples,) or None
    careful : bool
        Whether columns are shifted before they are multiplied.

    Examples
    --------
    >>> import numpy as np
    >>> from softcount.core.glm.families import resolve_family
    >>> from softcount.core.glm.links import LINKS
    >>> rows = GLMRows(resolve_family("gaussian"), LINKS["identity"], Design(np.eye(2)), np.array([1.0, 3.0]))
    >>> rows.tally_score(np.zeros((1, 3)), rows.slices)["score"].arrays()["score"]
    array([[4., 1., 3.]])
    """

    family: GLMFamily
    link: Link
    design: Design
    target: FloatArray
    weight: FloatArray | None = None
    offset: FloatArray | None = None
    careful: bool = False

    @classmethod
    def of(cls, family: GLMFamily, link: Link, data: GLMData) -> GLMRows:
        """The rows of ``data``."""
        careful = data.design.center is not None
        return cls(family, link, data.design, data.target, data.weight, data.offset, careful)

    @property
    def n_outputs(self) -> int:
        """One linear predictor."""
        return 1

    @cached_property
    def slices(self) -> list[slice]:
        """Chunks of rows; they depend on the shapes alone."""
        return product_slices(self.design, 2)

    def every(self, stride: int) -> GLMRows:
        """Every ``stride``-th row."""
        if stride == 1:
            return self
        part = GLMData(self.design, self.target, self.weight, self.offset).every(stride)
        return replace(self, design=part.design, target=part.target, weight=part.weight, offset=part.offset)

    def with_design(self, design: Design) -> GLMRows:
        """The same rows with other columns."""
        return replace(self, design=design)

    def tally_score(self, coef: FloatArray, lane: Sequence[slice]) -> Counts:
        """Minus half the deviance, and the score, of some chunks; also the deviance and Pearson's statistic."""
        return self._tally(coef, lane, None)

    def tally_information(self, coef: FloatArray, lane: Sequence[slice]) -> Counts:
        """The same and the information."""
        return self._tally(coef, lane, WeightedInformation(self.design))

    def fill_state(self, coef: FloatArray, out: FloatArray, rows: slice) -> None:
        """Write the information of one chunk's rows, weights apart, into ``out``, shape (1, n_samples)."""
        found = self._evaluate(products_of(self.design, coef, careful=self.careful), rows)
        out[0, rows] = 0.0 if found is None else found.root_information**2

    def curvature(self, state: FloatArray, rows: slice) -> FloatArray:
        """``w`` times the information of a row."""
        return state.copy() if self.weight is None else state * self.weight[rows]

    def _tally(self, coef: FloatArray, lane: Sequence[slice], matrix: WeightedInformation | None) -> Counts:
        products = products_of(self.design, coef, careful=self.careful)
        deviance = pearson = 0.0
        for rows in lane:
            found = self._evaluate(products, rows)
            if found is None:
                deviance = math.inf  # outside the family's means: a step to retreat from
                break
            weight = np.ones(found.pearson.shape) if self.weight is None else self.weight[rows]
            deviance += float(weight @ found.unit_deviance)
            pearson += float(weight @ found.pearson**2)
            products.add(rows, (weight * found.root_information * found.pearson)[None])
            if matrix is not None:
                matrix.add(rows, weight * found.root_information**2)
        parts = {
            "score": Sums({"score": products.total()}),
            "deviance": Sums({"deviance": np.array([deviance])}),
            "pearson": Sums({"pearson": np.array([pearson])}),
        }
        if matrix is not None:
            parts["information"] = Sums({"information": matrix.total()})
        return Counts(parts, -0.5 * deviance if math.isfinite(deviance) else -math.inf)

    def _evaluate(self, products: Products, rows: slice) -> Evaluation | None:
        """The rows of a chunk, or None when one with a weight has a mean the family cannot have."""
        predictor = products.predictor(rows)[0]
        if self.offset is not None:
            predictor += self.offset[rows]
        weight = None if self.weight is None else self.weight[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            return evaluate_rows(self.family, self.link, self.target[rows], weight, predictor)
