r"""What a fitted generalized linear model says beyond its coefficients.

With :math:`A = X^\top W X + \Lambda_2` at the fit, the covariance of the coefficients is

.. math:: \phi A^{-1} \qquad\text{or, as a sandwich,}\qquad
          A^{-1} \Bigl(\sum_i f_i s_i s_i^\top\Bigr) A^{-1}, \qquad
          s_i = w_i \frac{y_i - \mu_i}{V(\mu_i)} \frac{d\mu_i}{d\eta_i} x_i ,

with frequency weights :math:`f_i` and precision weights :math:`w_i`. With a quadratic penalty the first is
the posterior covariance under the normal prior that the penalty is. In few rows the residuals in the middle
are smaller than the errors they stand for. HC1 multiplies the whole by :math:`n / (n - k)`; HC2 and HC3 divide
:math:`s_i` by :math:`\sqrt{1 - h_i}` and :math:`1 - h_i` (MacKinnon and White 1985), with the leverage

.. math:: h_i = w_i \frac{(d\mu_i/d\eta_i)^2}{V(\mu_i)}\, x_i^\top A^{-1} x_i .

The effective number of coefficients is
:math:`\operatorname{tr}(A^{-1} X^\top W X)`, the plain number of columns without a penalty, and

.. math:: \hat\phi = \frac{1}{\sum_i f_i - \text{effective number}} \sum_i f_i w_i \frac{(y_i - \mu_i)^2}{V(\mu_i)} .
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from softcount._types import FloatArray
from softcount.core.execute import Executor
from softcount.core.glm.data import GLMChunk, GLMData, RowWeights, each_chunk, fitting_scratch
from softcount.core.glm.distant import distant_likelihood
from softcount.core.glm.families import GLMFamily, TweedieFamily
from softcount.core.glm.fit import GLMFit
from softcount.core.glm.links import Link
from softcount.core.glm.model import evaluate_rows
from softcount.core.normal_equations import Design, GramTally, row_slices
from softcount.families.statistics import Sums

__all__ = ["COVARIANCES", "CovarianceKind", "DispersionKind", "GLMInference", "RowWeights", "infer"]

CovarianceKind = Literal["model", "sandwich", "HC0", "HC1", "HC2", "HC3"]
COVARIANCES = ("model", "sandwich", "HC0", "HC1", "HC2", "HC3")
DispersionKind = Literal["pearson", "deviance"]

BLOCK_ROWS = 65_536
#: Powers of ``1 - h`` that the scores of the variants are divided by.
LEVERAGE_POWER = {"HC2": 0.5, "HC3": 1.0}
#: A row that determines a coefficient alone has leverage 1 and residual 0, both up to rounding.
SMALLEST_SHARE = 1e-12


@dataclass(frozen=True)
class GLMInference:
    """Estimates around a fit.

    ``covariance`` belongs to the coefficients of the columns as they are, ``shifted_covariance`` to those of
    the columns as the design shifts them; both are None where no matrix of the columns was formed, and then the
    effective number of coefficients is not a number unless the penalty chose them.
    """

    covariance: FloatArray | None
    shifted_covariance: FloatArray | None
    dispersion: float
    likelihood_dispersion: float
    log_likelihood: float
    effective_coefficients: float
    n_observations: float

    @property
    def df_residual(self) -> float:
        """Observations beyond the effective number of coefficients."""
        return self.n_observations - self.effective_coefficients


def infer(
    found: GLMFit,
    data: GLMData,
    executor: Executor,
    *,
    covariance: CovarianceKind = "model",
    dispersion: DispersionKind | float | None = None,
) -> GLMInference:
    """Dispersion, covariance and likelihood at a fit.

    Parameters
    ----------
    found : GLMFit
        The fit.
    data : GLMData
        The rows it was fitted to.
    executor : Executor
        Who runs the pass of the sandwich.
    covariance : {"model", "sandwich", "HC0", "HC1", "HC2", "HC3"}
        Which covariance; ``"sandwich"`` is HC0.
    dispersion : {"pearson", "deviance"}, float or None
        How the dispersion is estimated, or its value; None means the family's own, or else Pearson's
        estimate.
    """
    family = found.model.family_at(found.fit.params)
    inverse: FloatArray | None = None
    effective = math.nan
    if found.model.penalty.is_sparse:
        # Columns that the penalty dropped were chosen by looking at the data; no covariance accounts for
        # that.
        effective = float(np.count_nonzero(found.fit.params.coef))
        if found.has_information:
            inverse = np.full((data.design.n_columns, data.design.n_columns), np.nan)
    elif found.has_information:
        inverse = found.factor().inverse()
        effective = float(np.sum(inverse * found.information()))
        if found.model.penalty.is_zero:
            effective = float(np.count_nonzero(found.model.kept))
    rows: Any = data
    n_observations = data.n_observations
    phi = _dispersion(found, family, n_observations - effective, dispersion)
    if not data.is_distant:
        at, log_likelihood = likelihood(family, data.target, data.parts, found.deviance, pearson=phi)
    elif _has_density(family):
        at, log_likelihood = distant_likelihood(
            family, rows, found.deviance, executor, pearson=phi, block_rows=BLOCK_ROWS
        )
    else:
        at = log_likelihood = math.nan
    if inverse is None:
        return GLMInference(None, None, phi, at, log_likelihood, effective, n_observations)
    if covariance == "model":
        spread = phi * inverse
    else:
        shrinkage = Shrinkage(inverse, LEVERAGE_POWER[covariance]) if covariance in LEVERAGE_POWER else None
        middle = _score_products(found, data, executor, shrinkage)
        spread = inverse @ middle @ inverse
    if covariance == "HC1":
        left = n_observations - effective
        spread = spread * (n_observations / left if left > 0.0 else math.nan)
    back = data.design.uncentering()
    return GLMInference(back @ spread @ back.T, spread, phi, at, log_likelihood, effective, n_observations)


def likelihood(
    family: GLMFamily,
    target: FloatArray,
    weights: RowWeights,
    deviance: float,
    *,
    pearson: float = math.nan,
    dispersion: float | None = None,
) -> tuple[float, float]:
    """The dispersion the likelihood is stated at, and the log-likelihood; not a number where there is none."""
    if not _has_density(family):
        return math.nan, math.nan
    ones = np.ones(target.size)
    frequency = ones if weights.frequency is None else weights.frequency
    precision = ones if weights.precision is None else weights.precision
    multiplicity = frequency if weights.multiplicity is None else frequency * weights.multiplicity
    weighted = precision * multiplicity > 0.0
    if not weighted.all():
        target, precision = target[weighted], precision[weighted]
        frequency, multiplicity = frequency[weighted], multiplicity[weighted]
    if dispersion is None:
        dispersion = family.fixed_dispersion
    if dispersion is None:
        dispersion = family.likelihood_dispersion(deviance, pearson, precision, frequency)
    if not dispersion > 0.0:  # a perfect fit, or no observation left to estimate from
        return dispersion, math.inf if dispersion == 0.0 else math.nan
    total = 0.0
    for rows in row_slices(target.size, BLOCK_ROWS):
        terms = family.saturated_log_likelihood(target[rows], precision[rows], dispersion)
        total += float(multiplicity[rows] @ terms)
    return dispersion, total - 0.5 * deviance / dispersion


def _has_density(family: GLMFamily) -> bool:
    return family.has_likelihood and not (isinstance(family, TweedieFamily) and not family.is_compound)


def _dispersion(
    found: GLMFit, family: GLMFamily, df_residual: float, dispersion: DispersionKind | float | None
) -> float:
    if isinstance(dispersion, int | float):
        return float(dispersion)
    if dispersion is None and family.fixed_dispersion is not None:
        return family.fixed_dispersion
    if not df_residual > 0.0:
        return math.nan
    statistic = found.deviance if dispersion == "deviance" else found.pearson
    return statistic / df_residual


@dataclass(frozen=True)
class Shrinkage:
    """By how much residuals are smaller than errors: ``(1 - h)**power``.

    Attributes
    ----------
    inverse : array of shape (n_columns, n_columns)
        ``A^-1`` for the shifted columns.
    power : float
    """

    inverse: FloatArray
    power: float

    def undone(self, score: FloatArray, information: FloatArray, design: Design, rows: slice) -> FloatArray:
        """The scores of some rows divided by it; ``information`` is that of a row by itself."""
        design = replace(design, unpack=True)
        scratch, length = design.scratch(), np.empty(score.shape)
        for start in range(rows.start, rows.stop, len(scratch)):
            piece = slice(start, min(start + len(scratch), rows.stop))
            ones = np.ones(piece.stop - piece.start)
            inner = design.load(piece, scratch).weighted(ones, ones)[:, :-1]
            inside = slice(piece.start - rows.start, piece.stop - rows.start)
            length[inside] = np.einsum("ij,ij->i", inner @ self.inverse, inner)
        share = 1.0 - information * length
        is_free = share > SMALLEST_SHARE
        return np.where(is_free, score, 0.0) / np.where(is_free, share, 1.0) ** self.power


def _score_products(found: GLMFit, data: GLMData, executor: Executor, shrinkage: Shrinkage | None) -> FloatArray:
    """``sum_i f_i s_i s_i'`` for the shifted columns."""
    family = found.model.family_at(found.fit.params)
    link, params = found.model.link, found.fit.params
    n_columns = data.design.n_columns

    def tally(lane: Sequence[GLMChunk]) -> Sums:
        sums = GramTally(n_columns)
        scratch: FloatArray | None = None
        for chunk in each_chunk(lane):
            scratch = fitting_scratch(scratch, chunk)
            _add_scores(sums, chunk, scratch, Fitted(family, link, params.coef, shrinkage))
        return sums.counts()

    return executor.reduce(tally, data.chunks, counts_bytes=GramTally.nbytes(n_columns))["gram"]


class Fitted(NamedTuple):
    """What the scores of rows depend on."""

    family: GLMFamily
    link: Link
    coef: FloatArray
    shrinkage: Shrinkage | None


def _add_scores(sums: GramTally, chunk: GLMChunk, scratch: FloatArray, fitted: Fitted) -> None:
    """Add the products of a chunk's scores."""
    often = chunk.often
    rows = chunk.design.load(chunk.rows, scratch)
    predictor = rows.predictor(fitted.coef)
    if chunk.offset is not None:
        predictor = predictor + chunk.offset
    evaluation = evaluate_rows(fitted.family, fitted.link, chunk.target, chunk.weight, predictor)
    assert evaluation is not None  # the fit ended at parameters with means
    # Each of f copies has the weight of one; the weight of the chunk is that of all of them.
    weight = np.ones(predictor.shape) if chunk.weight is None else chunk.weight
    if often is not None:
        weight = np.divide(weight, often, out=np.zeros_like(weight), where=often > 0.0)
    score = weight * evaluation.root_information * evaluation.pearson
    if fitted.shrinkage is not None:
        information = weight * evaluation.root_information**2
        score = fitted.shrinkage.undone(score, information, chunk.design, chunk.rows)
    if often is not None:
        score = score * np.sqrt(often)
    rows.add_to(sums, score, np.zeros(score.shape))
