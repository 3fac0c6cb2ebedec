r"""Generalized linear models on the one loop: a pass tallies information and score, a solve takes a Newton step.

With :math:`\eta_i = x_i^\top\beta + o_i`, :math:`\mu_i = g^{-1}(\eta_i)`, unit deviance :math:`d` and
variance function :math:`V`, the loop raises minus half the penalized deviance

.. math:: -\tfrac12 \sum_i w_i\, d(y_i, \mu_i)
          - \sum_j \left(\lambda_{1j} |\beta_j| + \tfrac12 \lambda_{2j} \beta_j^2\right)

by Fisher scoring. A pass adds up :math:`G = X^\top W X`, :math:`W_i = w_i (d\mu_i/d\eta_i)^2 / V(\mu_i)`, and
the score :math:`g`; the step solves

.. math:: (G + \Lambda_2)\, \delta = g - \Lambda_2 \beta ,

which is iteratively reweighted least squares, for :math:`X^\top W z = G\beta + g`. With :math:`\lambda_1 > 0`
the step minimizes the same quadratic with the absolute values added (proximal Newton). A step that lowers the
objective, or leaves the region where every mean is one the family can have, is halved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from softcount._types import BoolArray, FloatArray
from softcount.core.counts import Counts
from softcount.core.elastic_net import coordinate_descent
from softcount.core.glm.data import GLMChunk, each_chunk, fitting_scratch
from softcount.core.glm.families import Evaluation, GLMFamily, NegativeBinomialFamily
from softcount.core.glm.families.negative_binomial import LARGEST_THETA, SMALLEST_THETA
from softcount.core.glm.links import Link
from softcount.core.iterate import Step, Stopping
from softcount.core.normal_equations import GramTally
from softcount.core.orthogonal import FactorTally, OrthogonalSystem, TriangularFactor
from softcount.core.symmetric_solve import Factor, factorize
from softcount.families.statistics import Statistics, Sums

__all__ = ["DevianceStopping", "GLMModel", "GLMParams", "Penalty", "Route", "evaluate_rows"]

Route = Literal["gram", "orthogonal"]

# After this many shortenings, the first few of them halvings, the objective has no higher point in that direction.
MAX_HALVINGS = 30
PATIENT_HALVINGS = 8
# A log(theta) further than this from the last one is no Newton step but a guess.
LARGEST_THETA_STEP = 2.0


@dataclass(frozen=True)
class Penalty:
    """Elastic-net penalties per column of the design, on the scale of half the total deviance.

    ``l1`` and ``l2`` have one entry per column; zero for the intercept.
    """

    l1: FloatArray
    l2: FloatArray

    @property
    def is_sparse(self) -> bool:
        """Whether there are absolute values in it."""
        return bool(np.any(self.l1 > 0.0))

    @property
    def is_zero(self) -> bool:
        """Whether there is no penalty."""
        return not self.is_sparse and not np.any(self.l2 > 0.0)

    def scaled(self, factor: float) -> Penalty:
        """The same penalty for data of ``factor`` times the weight."""
        return Penalty(factor * self.l1, factor * self.l2)

    def __call__(self, coef: FloatArray) -> float:
        """The value at ``coef``."""
        return float(self.l1 @ np.abs(coef) + 0.5 * (self.l2 @ (coef * coef)))


@dataclass(frozen=True)
class GLMParams:
    """Coefficients of the shifted columns, the intercept first; theta where it is estimated.

    ``halvings`` counts how often the step that led here was halved; ``stuck`` marks parameters that the loop
    kept because no shorter step was better.
    """

    coef: FloatArray
    theta: float = math.nan
    halvings: int = 0
    stuck: bool = False


@dataclass(frozen=True)
class DevianceStopping(Stopping):
    """Relative to the objective, plus a millionth of the null model's, so that a perfect fit ends as well."""

    null_objective: float = 0.0

    def reached(self, history: Sequence[Step]) -> bool:
        """Whether the last step ends the loop."""
        size = abs(history[-1].objective) + 1e-6 * abs(self.null_objective)
        return Stopping(self.max_iter, self.tol, size, self.look_ahead).reached(history)


@dataclass(frozen=True)
class GLMModel:
    """A family, a link, a penalty, and how the steps are solved.

    Attributes
    ----------
    family, link
        The model of a row.
    penalty : Penalty
        Elastic net.
    kept : bool array of shape (n_columns,)
        Columns that take part; the coefficients of the others stay zero.
    route : {"gram", "orthogonal"}
        Normal equations, or orthogonal factorization for ill-conditioned designs.
    estimates_theta : bool
        Whether theta of a negative binomial family is estimated along with the coefficients.
    floor : float
        Subtracted from the objective: a trifle that keeps "relative to the objective" meaningful at a perfect
        fit.
    """

    family: GLMFamily
    link: Link
    penalty: Penalty
    kept: BoolArray
    route: Route = "gram"
    estimates_theta: bool = False
    floor: float = 0.0

    @property
    def n_columns(self) -> int:
        """Columns of the design, the intercept's included."""
        return int(self.kept.size)

    def family_at(self, params: GLMParams) -> GLMFamily:
        """The family with the theta of ``params``."""
        if self.estimates_theta:
            return NegativeBinomialFamily(params.theta)
        return self.family

    def tally(self, params: GLMParams, chunks: Sequence[GLMChunk]) -> Counts:
        """Information, score and deviance of some chunks; the objective is minus half the deviance."""
        family = self.family_at(params)
        sums = GramTally(self.n_columns) if self.route == "gram" else FactorTally(self.n_columns)
        scratch: FloatArray | None = None
        deviance = saturated = 0.0
        theta_sums = np.zeros(2)
        for chunk in each_chunk(chunks):
            scratch = fitting_scratch(scratch, chunk)
            added = self._add(params, family, chunk, scratch, sums=sums, theta_sums=theta_sums)
            deviance, saturated = deviance + added[0], saturated + added[1]
            if math.isinf(deviance):
                break
        parts: dict[str, Statistics] = {
            "normal": sums.counts(),
            "deviance": Sums({"deviance": np.array([deviance])}),
            "theta": Sums({"theta": theta_sums}),
        }
        objective = saturated - 0.5 * deviance
        return Counts(parts, objective if math.isfinite(objective) else -math.inf)

    def _add(
        self,
        params: GLMParams,
        family: GLMFamily,
        chunk: GLMChunk,
        scratch: FloatArray,
        *,
        sums: GramTally | FactorTally,
        theta_sums: FloatArray,
    ) -> tuple[float, float]:
        """Add a chunk to the sums; its deviance (infinite outside the family's means), and saturated likelihood."""
        rows = chunk.design.load(chunk.rows, scratch)
        predictor = rows.predictor(params.coef)
        if chunk.offset is not None:
            predictor = predictor + chunk.offset
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite deviance is a step to retreat from
            found = evaluate_rows(family, self.link, chunk.target, chunk.weight, predictor)
        if found is None:
            return math.inf, 0.0
        root, pearson, unit_deviance = found
        if chunk.weight is None:
            deviance = float(unit_deviance.sum())
        else:
            deviance = float(chunk.weight @ unit_deviance)
            root_weight = np.sqrt(chunk.weight)
            root, pearson = root_weight * root, root_weight * pearson
        saturated = 0.0
        if self.estimates_theta:
            saturated = self._tally_theta(family, chunk, predictor, theta_sums)
        if isinstance(sums, GramTally):
            rows.add_to(sums, root, pearson)
        else:
            sums.add(rows, root, pearson)
        return deviance, saturated

    def _tally_theta(self, family: GLMFamily, chunk: GLMChunk, predictor: FloatArray, sums: FloatArray) -> float:
        """Add the derivatives by log(theta) to ``sums``; the rows' saturated log-likelihood is returned."""
        assert isinstance(family, NegativeBinomialFamily)  # no other family has a theta
        mean, _ = self.link.inverse(predictor)
        weight = np.ones(chunk.target.shape) if chunk.weight is None else chunk.weight
        saturated, score, information = family.theta_terms(chunk.target, mean, weight)
        sums += (score, information)
        return saturated

    def system(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        """``G`` and ``g`` of all columns, without the penalty."""
        normal = counts["normal"]
        if isinstance(normal, TriangularFactor):
            gram = normal.gram
            return gram[:-1, :-1], gram[:-1, -1]
        arrays = normal.arrays()
        return arrays["gram"], arrays["score"]

    def solve(self, counts: Counts, previous: GLMParams | None) -> GLMParams:
        """One Fisher scoring step from ``previous``."""
        assert previous is not None  # a Newton step starts somewhere
        coef = previous.coef
        if self.penalty.is_sparse:
            gram, score = self.system(counts)
            kept = self.kept
            stepped = np.zeros(self.n_columns)
            gram = gram[np.ix_(kept, kept)]
            stepped[kept] = coordinate_descent(
                gram,
                score[kept] + gram @ coef[kept],
                coef[kept],
                self.penalty.l1[kept],
                self.penalty.l2[kept],
            )
        elif self.route == "orthogonal":
            stepped = coef + self.orthogonal_system(counts, coef).solve()
        else:
            _, score = self.system(counts)
            stepped = coef + self.factor(counts).solve(np.where(self.kept, score - self.penalty.l2 * coef, 0.0))
        theta = previous.theta
        if self.estimates_theta:
            score_theta, information = counts["theta"].arrays()["theta"]
            theta = next_theta(theta, float(score_theta), float(information))
        return GLMParams(stepped, theta)

    def factor(self, counts: Counts) -> Factor:
        """``G + L2`` of the kept columns, factored."""
        gram, _ = self.system(counts)
        matrix = np.where(self.kept[:, None] & self.kept, gram, 0.0)
        return factorize(matrix + np.diag(np.where(self.kept, self.penalty.l2, 0.0)))

    def orthogonal_system(self, counts: Counts, coef: FloatArray) -> OrthogonalSystem:
        """The least-squares problem of the step, the penalty as rows of its own."""
        normal = counts["normal"]
        assert isinstance(normal, TriangularFactor)  # the route says so
        prior_rows = None
        if not self.penalty.is_zero:
            root = np.sqrt(self.penalty.l2)
            prior_rows = np.column_stack([np.diag(root), -root * coef])
        return OrthogonalSystem.of(normal, self.kept, prior_rows)

    def log_prior(self, params: GLMParams) -> float:
        """Minus the penalty, and minus the floor."""
        return -self.penalty(params.coef) - self.floor

    def retreat(self, previous: GLMParams, proposal: GLMParams) -> GLMParams | None:
        """Half the step; after many halvings the previous parameters themselves, marked as stuck."""
        if proposal.halvings >= MAX_HALVINGS:
            return replace(previous, stuck=True)
        # Where large offsets make all rows certain, a step may be too long by any number of powers of two.
        share = 0.5 if proposal.halvings < PATIENT_HALVINGS else 0.0625
        coef = (1.0 - share) * previous.coef + share * proposal.coef
        theta = previous.theta ** (1.0 - share) * proposal.theta**share if self.estimates_theta else math.nan
        return GLMParams(coef, theta, proposal.halvings + 1)

    def prepared(self, params: GLMParams) -> GLMParams:
        """The parameters themselves."""
        return params

    def lean(self, params: GLMParams, counts: Counts) -> GLMParams:
        """The parameters themselves."""
        return params

    def bare(self, params: GLMParams) -> GLMParams:
        """The parameters themselves."""
        return params

    def counts_bytes(self) -> int:
        """Size of one lane's counts."""
        return GramTally.nbytes(self.n_columns)


def evaluate_rows(
    family: GLMFamily, link: Link, target: FloatArray, weight: FloatArray | None, predictor: FloatArray
) -> Evaluation | None:
    """Some rows, or None when a row with a weight has a mean the family cannot have."""
    inside = family.contains(link, predictor)
    idle = None if weight is None else weight == 0.0
    if idle is None or not idle.any():
        return family.evaluate(link, target, predictor) if inside.all() else None
    if not np.all(inside | idle):
        return None
    # Rows without weight cannot lead astray: they take part in name only.
    answer = [np.zeros(predictor.shape) for _ in range(3)]
    used = ~idle
    for part, values in zip(answer, family.evaluate(link, target[used], predictor[used]), strict=True):
        part[used] = values
    return Evaluation(*answer)


def next_theta(theta: float, score: float, information: float) -> float:
    """A Newton step for log(theta), uphill even where the likelihood is not concave."""
    step = score / information if information > 0.0 else math.copysign(LARGEST_THETA_STEP, score)
    step = min(max(step, -LARGEST_THETA_STEP), LARGEST_THETA_STEP)
    return min(max(theta * math.exp(step), SMALLEST_THETA), LARGEST_THETA)
