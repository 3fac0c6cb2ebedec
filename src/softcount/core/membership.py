r"""Covariates of the classes: sizes that differ from row to row by a multinomial logit (latent class regression).

With the covariates :math:`z_i` (the first is 1) the size of class k for row i is

.. math:: \pi_{ik} = \frac{e^{z_i^\top\gamma_k}}{\sum_l e^{z_i^\top\gamma_l}}, \qquad \gamma_1 = 0 .

The covariates are a block beside the items. Its score :math:`\log\pi_{ik} - \log\bar\pi_k` adds to the logarithm of the
overall size :math:`\bar\pi_k`, the share of the expected rows. The M-step is one step of Newton's method, and what it
needs is additive:

.. math:: H_{kl} = \sum_i w_i \pi_{ik}(\delta_{kl} - \pi_{il}) z_i z_i^\top, \qquad
   b = H\gamma + \sum_i (w_i r_{ik} - w_i \pi_{ik}) z_i, \qquad \gamma' = H^{-1} b .
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import CodesArray, FloatArray, IntArray
from softcount.families._base import Params
from softcount.families.columns import PseudoCounts, one_hot
from softcount.families.statistics import Sums

__all__ = ["Membership", "MembershipCounts", "class_logits", "covariates", "design_of", "row_shares"]

#: Directions whose curvature is less than this share of the largest are left alone by a step.
UNDETERMINED = 1e-10
SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class MembershipCounts(Sums):
    """``target`` (n_columns, n_classes), ``weight`` (1, n_classes), ``curvature`` with two axes of each."""

    def take(self, classes: IntArray) -> Self:
        """The statistics of the given classes, in that order."""
        found = {name: value[..., classes] for name, value in self.values.items()}
        found["curvature"] = found["curvature"][..., classes, :]
        return replace(self, values=found)

    def pooled(self) -> Self:
        """The same sums with all classes taken together."""
        found = {name: value.sum(axis=-1, keepdims=True) for name, value in self.values.items()}
        found["curvature"] = found["curvature"].sum(axis=-2, keepdims=True)
        return replace(self, values=found)


def class_logits(coef: FloatArray, design: FloatArray) -> FloatArray:
    """Logarithms of the classes' sizes for each row, shape (n_rows, n_classes)."""
    logits = design @ coef
    logits -= logits.max(axis=1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))


def covariates(model: Any) -> int | None:
    """Which of a model's blocks holds covariates, if one does."""
    return next((b for b, family in enumerate(model.families) if isinstance(family, Membership)), None)


def row_shares(model: Any, params: Any, chunk: Any) -> FloatArray | None:
    """The classes' sizes for each row of a chunk (or of all), or None where they are the same for all rows."""
    place = covariates(model)
    if place is None:
        return None
    return np.exp(class_logits(params.blocks[place]["coef"], design_of(chunk.blocks[place])))


def design_of(block: Any) -> FloatArray:
    """The covariates of a block's rows, the first of them 1."""
    return np.asarray(block.values, dtype=np.float64)


class _Shares:
    """Scores of the covariates."""

    def __init__(self, params: Params) -> None:
        self.coef, self.log_share = params["coef"], params["log_share"]

    def add(self, block: Any, out: FloatArray) -> None:
        out += class_logits(self.coef, design_of(block)) - np.maximum(self.log_share, np.log(SMALLEST))


class _Tally:
    """The sums of one step, at the coefficients that gave the responsibilities."""

    def __init__(self, n_columns: int, n_classes: int, coef: FloatArray) -> None:
        self.coef = coef
        self.target = np.zeros((n_columns, n_classes))
        self.weight = np.zeros((1, n_classes))
        self.curvature = np.zeros((n_columns, n_columns, n_classes, n_classes))

    def add(self, block: Any, resp: FloatArray) -> None:
        design = design_of(block)
        n_columns, n_classes = self.target.shape
        weight = resp.sum(axis=1)
        share = np.exp(class_logits(self.coef, design))
        expected = weight[:, None] * share
        spread = (design[:, :, None] * share[:, None, :]).reshape(design.shape[0], -1)
        joint = (spread.T @ (spread * weight[:, None])).reshape(n_columns, n_classes, n_columns, n_classes)
        curvature = -joint.transpose(0, 2, 1, 3)
        for k in range(n_classes):
            curvature[:, :, k, k] += design.T @ (design * expected[:, k, None])
        self.curvature += curvature
        self.weight += resp.sum(axis=0)
        self.target += design.T @ (resp - expected) + np.einsum("pqkl,ql->pk", curvature, self.coef)

    def add_known(self, block: Any, codes: CodesArray, weight: FloatArray | None) -> None:
        self.add(block, one_hot(codes, weight, self.weight.shape[1]))

    def statistics(self) -> MembershipCounts:
        found = {"target": self.target, "weight": self.weight, "curvature": self.curvature}
        return MembershipCounts(found, frozenset({"target", "curvature"}))


@dataclass(frozen=True)
class Membership:
    """A block of covariates that say which class a row is in, in place of columns that the classes explain."""

    name = "membership"
    event_ndim = 0
    #: Newton's steps have to be repeated even where every class is known.
    closed_form_with_missing = False
    has_closed_form = False
    counts_incomplete_rows = True
    counts_repetitions = False
    prior_class = PseudoCounts

    # ---- rows
    def scorer(self, params: Params) -> _Shares:
        """The rows' log-sizes less the overall ones."""
        return _Shares(params)

    def row_base(self, block: Any) -> None:
        """Nothing: covariates have no density."""

    def scorer_alone(self, scorer: Any, statistics: Any) -> None:
        """None: the coefficients are needed for counting."""

    def tally(self, block: Any, n_classes: int, params: Params | None = None) -> _Tally:
        """An empty tally; ``params`` gave the responsibilities, if anything did."""
        coef = (params or {}).get("coef", np.zeros((block.n_columns, n_classes)))
        return _Tally(block.n_columns, n_classes, coef)

    def column_scores(self, params: Params, block: Any, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""Evidence per covariate, :math:`\sum_k a_{ik} z_{ij}\gamma_{jk}`, and per row that of the overall sizes."""
        cells = design_of(block) * (weights @ params["coef"].T)
        return cells, np.asarray(-weights @ params["log_share"][0])

    # ---- parameters
    def solve(self, statistics: Any, prior: Any, previous: Params | None = None) -> Params:
        """Coefficients after Newton's step; those of the first class are zero."""
        n_columns, n_classes = statistics["target"].shape
        coef = np.zeros((n_columns, n_classes))
        weight = statistics["weight"]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_share = np.log(weight) - np.log(weight.sum())
        if n_classes > 1:
            size = n_columns * (n_classes - 1)
            curvature = statistics["curvature"][:, :, 1:, 1:].transpose(0, 2, 1, 3).reshape(size, size)
            target = statistics["target"][:, 1:].reshape(size)
            scale = np.sqrt(np.maximum(np.diagonal(curvature), 0.0))
            scale[scale == 0.0] = 1.0
            step = np.linalg.lstsq(curvature / scale[:, None] / scale, target / scale, rcond=UNDETERMINED)[0]
            coef[:, 1:] = (step / scale).reshape(n_columns, n_classes - 1)
        return {"coef": coef, "log_share": np.where(weight > 0.0, log_share, -np.inf)}

    def between(self, previous: Params, proposal: Params) -> Params:
        """Half a step: Newton's may go too far."""
        return {**proposal, "coef": 0.5 * (previous["coef"] + proposal["coef"])}

    def needs_anchor(self, prior: Any) -> bool:
        """False: there is no prior."""
        return False

    def anchored(self, prior: Any, pooled: Any) -> Any:
        """The prior as it is."""
        return prior

    def centered(self, prior: Any, pooled: Any) -> Any:
        """The prior as it is."""
        return prior

    def log_prior(self, params: Params, prior: Any) -> float:
        """Zero: the coefficients are by maximum likelihood."""
        return 0.0

    def penalty(self, params: Params, prior: Any) -> FloatArray | None:
        """Nothing: no coefficient is kept from anywhere."""
        return None

    def n_parameters(self, params: Params) -> int:
        """Coefficients of all classes but one, less the intercepts, which stand for the classes' weights."""
        n_columns, n_classes = params["coef"].shape
        return int((n_columns - 1) * (n_classes - 1))

    def take(self, params: Params, classes: IntArray) -> Params:
        """Parameters of the given classes, in that order; the first of them has the coefficients zero."""
        coef = params["coef"][:, classes]
        return {"coef": coef - coef[:, :1], "log_share": params["log_share"][:, classes]}

    # ---- answers
    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        """Zeros: classes do not explain covariates."""
        return np.zeros_like(params["coef"])

    def linear_form(self, params: Params) -> tuple[FloatArray, FloatArray]:
        """The coefficients, and what the overall sizes take back."""
        return params["coef"], -params["log_share"][0]

    def draw(self, params: Params, codes: CodesArray, rng: np.random.Generator) -> NDArray[Any]:
        """Refuse: covariates are given, not drawn."""
        raise InputError(
            "The model has covariates, which are given and not drawn, so it draws no rows of its own. Leave covariates "
            "out, or use simulations for given rows."
        )
