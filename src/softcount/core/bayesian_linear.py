r"""Bayesian linear regression from one pass: the counts are weight, means and scatter of ``(X, y)``.

With noise variance :math:`\sigma^2`, prior :math:`w \sim N(m_0, \Lambda_0^{-1})` and a flat prior on the
intercept, the posterior of the coefficients is normal with

.. math:: A = \sigma^{-2} S_{xx} + \Lambda_0, \qquad
          m = m_0 + A^{-1} \sigma^{-2} (S_{xy} - S_{xx} m_0), \qquad \operatorname{Cov} = A^{-1} ,

where :math:`S` are scatters about the weighted means (about zero without an intercept). Integrating the
coefficients and the intercept out leaves the evidence, with :math:`\nu = \sum_i w_i - 1` (:math:`\sum_i w_i`
without an intercept),

.. math:: \log p(y) = -\tfrac{\nu}{2} \log 2\pi\sigma^2 - \tfrac12 \log \textstyle\sum_i w_i
          + \tfrac12 \log\frac{|\Lambda_0|}{|A|}
          - \tfrac12 \left( \sigma^{-2} \mathrm{RSS}(m) + (m - m_0)^\top \Lambda_0 (m - m_0) \right) .

In the basis where :math:`\Lambda_0 = \alpha I` and :math:`S_{xx}` is diagonal with entries :math:`d_i`,
everything is a sum over coordinates, and the evidence is maximal where (MacKay, 1992)

.. math:: \alpha \lVert m - m_0 \rVert^2 = \gamma, \qquad \sigma^2 = \frac{\mathrm{RSS}}{\nu - \gamma}, \qquad
          \gamma = \sum_i \frac{d_i}{d_i + \alpha\sigma^2} .
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import brentq
from scipy.special import gammaln

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.bayesian_spectrum import LinearPrior, Problem, Spectrum
from softcount.core.chunks import Chunk, DistantRows
from softcount.core.column_moments import column_means
from softcount.core.execute import Executor
from softcount.core.linear_chunks import SERIAL, DesignForm, RowColumns
from softcount.core.normal_equations import Design, GramTally
from softcount.core.symmetric_solve import factorize
from softcount.families.statistics import Moments, Sums

__all__ = [
    "LinearPrior",
    "NoisePrior",
    "Posterior",
    "conjugate_posterior",
    "evidence_posterior",
    "tally_distant_moments",
    "tally_moments",
]

LOG_RANGE = 30.0
GRID = 121


@dataclass(frozen=True)
class NoisePrior:
    """Inverse-gamma prior of the noise variance: ``p(s) ~ s**(-shape - 1) exp(-rate / s)``."""

    shape: float
    rate: float


@dataclass(frozen=True)
class Posterior:
    """Posterior of the coefficients, given the noise variance or with it integrated out.

    Attributes
    ----------
    mean : array of shape (n_features,)
        Posterior mean.
    scale : array of shape (n_features, n_features)
        Covariance given the noise variance; for a conjugate posterior the scale matrix of the t distribution.
    noise_variance : float
        Given or estimated; for a conjugate posterior ``rate / shape``.
    prior_precision : float
        The factor of the prior's precision matrix that the evidence chose; 1 where none was chosen.
    log_evidence : float
        Log-probability of the targets.
    shape : float
        Shape of the noise's posterior; infinite where the noise variance is not a random variable.
    effective_coefficients : float
        ``gamma``: how many coefficients the data determined.
    """

    mean: FloatArray
    scale: FloatArray
    noise_variance: float
    prior_precision: float
    log_evidence: float
    shape: float
    effective_coefficients: float

    @property
    def df(self) -> float:
        """Degrees of freedom of the predictive distribution; infinite for the normal."""
        return 2.0 * self.shape


def tally_moments(design: Design, target: FloatArray, weight: FloatArray | None, executor: Executor) -> Moments:
    """Weight, means and scatter of ``(X, y)``, one pass after the one that finds the means to shift by."""
    center = np.zeros(design.table.shape[1])
    if not design.is_sparse:
        center = column_means(design, executor)
        design = replace(design, center=center)
    middle = float(target.mean())
    total = _products(design, target, weight, middle, executor)["total"]
    return _moments_of(total, center, middle)


def tally_distant_moments(rows: DistantRows, form: DesignForm, middle: float, executor: Executor) -> Moments:
    """The same of rows that are not in memory, whose second block holds the targets.

    Parameters
    ----------
    rows : DistantRows
    form : DesignForm
        With the columns' means as their center, where they are dense.
    middle : float
        What the targets are shifted by.
    executor : Executor
    """

    def tally(lane: Iterable[Chunk]) -> Sums:
        total: Sums | None = None
        for chunk in lane:
            part = _products(form.of(chunk.blocks[0]), RowColumns().of(chunk, "target"), chunk.weight, middle, SERIAL)
            total = part if total is None else total + part
        assert total is not None  # lanes are not empty
        return total

    n_columns = form.n_features + 1
    found = executor.reduce(tally, rows, counts_bytes=GramTally.nbytes(n_columns))
    center = np.zeros(form.n_features) if form.center is None else form.center
    return _moments_of(found["total"], center, middle)


def _products(design: Design, target: FloatArray, weight: FloatArray | None, middle: float, executor: Executor) -> Sums:
    """Products of the shifted columns, the intercept first and the shifted targets last."""

    def tally(lane: Sequence[slice]) -> Sums:
        sums = GramTally(design.n_columns)
        scratch = design.scratch()
        for rows in lane:
            part = target[rows] - middle
            root = np.ones(part.shape) if weight is None else np.sqrt(weight[rows])
            design.load(rows, scratch).add_to(sums, root, root * part)
        return Sums({"total": sums.total})

    return executor.reduce(tally, design.slices(), counts_bytes=GramTally.nbytes(design.n_columns))


def _moments_of(total: FloatArray, center: FloatArray, middle: float) -> Moments:
    """Weight, means and scatter from the products of shifted columns."""
    mass = float(total[0, 0])
    shift = total[1:, 0] / mass if mass > 0.0 else np.zeros(total.shape[0] - 1)
    size = shift.size
    scatter = total[1:, 1:] - mass * np.outer(shift, shift)
    mean = np.append(center, middle) + shift
    return Moments(np.full((size, 1), mass), mean[:, None], scatter[None])


def evidence_posterior(
    moments: Moments,
    prior: LinearPrior,
    *,
    noise_variance: float | None,
    scales_prior: bool,
    fit_intercept: bool,
) -> Posterior:
    """Posterior for a noise variance given, or chosen by the evidence where it is None.

    With ``scales_prior`` the evidence also chooses a factor of the prior's precision.
    """
    problem = Problem.of(moments, prior, fit_intercept=fit_intercept)
    spectrum = Spectrum.of(problem)
    everything_given = noise_variance is not None and not scales_prior
    if spectrum.dof < 0.0 or (spectrum.dof == 0.0 and not everything_given):
        raise InputError(
            f"The rows have a total weight of {spectrum.total_weight:g}, which leaves nothing to estimate noise or the "
            "prior's precision from: one sample fixes the intercept. Fit to more rows, give both, or use "
            "fit_intercept=False."
        )
    alpha, noise = _hyperparameters(spectrum, noise_variance, scales_prior=scales_prior)
    ridge = alpha * noise
    mean, scale = _mean_and_scale(problem, spectrum, ridge)
    return Posterior(
        mean,
        noise * scale,
        noise,
        alpha,
        spectrum.log_evidence(alpha, noise),
        math.inf,
        spectrum.effective(ridge),
    )


def conjugate_posterior(
    moments: Moments,
    prior: LinearPrior,
    noise_prior: NoisePrior,
    *,
    scales_prior: bool,
    fit_intercept: bool,
) -> Posterior:
    r"""Posterior under the Normal-inverse-gamma prior :math:`w \mid \sigma^2 \sim N(m_0, \sigma^2 \Lambda_0^{-1})`.

    The coefficients and predictions follow t distributions with :math:`2 a_n` degrees of freedom,

    .. math:: a_n = a_0 + \nu / 2, \qquad
              b_n = b_0 + \tfrac12 \left(\mathrm{RSS}(m) + (m - m_0)^\top \Lambda_0 (m - m_0)\right) .
    """
    problem = Problem.of(moments, prior, fit_intercept=fit_intercept)
    spectrum = Spectrum.of(problem)
    if spectrum.dof < 0.0:
        raise InputError("The rows have a total weight below 1, which does not determine the intercept.")
    shape = noise_prior.shape + 0.5 * spectrum.dof

    def rate_at(ridge: float) -> float:
        spread = ridge * float((spectrum.shifts(ridge) ** 2).sum())
        return noise_prior.rate + 0.5 * (spectrum.residual(ridge) + spread)

    def log_evidence(ridge: float) -> float:
        return (
            float(gammaln(shape) - gammaln(noise_prior.shape))
            + noise_prior.shape * math.log(noise_prior.rate)
            - shape * math.log(rate_at(ridge))
            - 0.5 * spectrum.dof * math.log(2.0 * math.pi)
            - (0.5 * math.log(spectrum.total_weight) if fit_intercept else 0.0)
            - 0.5 * float(np.log1p(spectrum.values / ridge).sum())
        )

    ridge = 1.0
    if scales_prior:

        def slope(log_ridge: float) -> float:
            at = math.exp(log_ridge)
            spread = at * float((spectrum.shifts(at) ** 2).sum())
            return spectrum.effective(at) - shape * spread / rate_at(at)

        ridge = _best(lambda log_ridge: log_evidence(math.exp(log_ridge)), slope, _scale_of(spectrum))
    noise = rate_at(ridge) / shape
    mean, scale = _mean_and_scale(problem, spectrum, ridge)
    return Posterior(mean, noise * scale, noise, ridge, log_evidence(ridge), shape, spectrum.effective(ridge))


def _mean_and_scale(problem: Problem, spectrum: Spectrum, ridge: float) -> tuple[FloatArray, FloatArray]:
    """Posterior mean, and the inverse of ``S_xx + ridge * precision``."""
    root = problem.prior.root_precision
    if spectrum.values.size == root.shape[0]:
        # On the scale of its own diagonal, which the units of the columns do not touch.
        factor = factorize(problem.sxx + ridge * problem.prior.precision, tolerance=0.0)
        return problem.prior.mean + factor.solve(problem.gap), factor.inverse()
    # In directions the rows say nothing of there is the prior alone, free of the scatter's rounding errors.
    vectors = spectrum.vectors
    back = solve_triangular(root, vectors, lower=True, trans="T")
    prior_root = solve_triangular(root, np.eye(root.shape[0]) - vectors @ vectors.T, lower=True, trans="T")
    scale = (back / (spectrum.values + ridge)) @ back.T + prior_root @ prior_root.T / ridge
    return problem.prior.mean + back @ spectrum.shifts(ridge), scale


def _hyperparameters(spectrum: Spectrum, noise_variance: float | None, *, scales_prior: bool) -> tuple[float, float]:
    """Prior factor and noise variance, those not given chosen by the evidence."""
    if noise_variance is not None and not scales_prior:
        return 1.0, noise_variance
    if noise_variance is not None:

        def of_prior(log_alpha: float) -> float:
            return spectrum.log_evidence(math.exp(log_alpha), noise_variance)

        def prior_slope(log_alpha: float) -> float:
            ridge = math.exp(log_alpha) * noise_variance
            return spectrum.effective(ridge) - math.exp(log_alpha) * float((spectrum.shifts(ridge) ** 2).sum())

        return _best(of_prior, prior_slope, _scale_of(spectrum) / noise_variance), noise_variance
    floor = _smallest_noise(spectrum)
    if scales_prior:

        def of_ratio(log_ridge: float) -> float:
            noise = max(spectrum.profiled_noise(math.exp(log_ridge)), floor)
            return spectrum.log_evidence(math.exp(log_ridge) / noise, noise)

        def ratio_slope(log_ridge: float) -> float:
            ridge = math.exp(log_ridge)
            noise = max(spectrum.profiled_noise(ridge), floor)
            return spectrum.effective(ridge) - ridge / noise * float((spectrum.shifts(ridge) ** 2).sum())

        ridge = _best(of_ratio, ratio_slope, _scale_of(spectrum))
        noise = max(spectrum.profiled_noise(ridge), floor)
        return ridge / noise, noise

    def of_noise(log_noise: float) -> float:
        return spectrum.log_evidence(1.0, math.exp(log_noise))

    def noise_slope(log_noise: float) -> float:
        noise = math.exp(log_noise)
        return spectrum.residual(noise) / noise - (spectrum.dof - spectrum.effective(noise))

    start = max(spectrum.profiled_noise(1.0), floor)
    return 1.0, max(_best(of_noise, noise_slope, start), floor)


def _scale_of(spectrum: Spectrum) -> float:
    """A typical eigenvalue, around which ratios of precisions are looked for."""
    return float(np.exp(np.log(spectrum.values).mean())) if spectrum.values.size else 1.0


def _smallest_noise(spectrum: Spectrum) -> float:
    """Noise below this is rounding of a perfect fit."""
    explained = (spectrum.pull**2 / spectrum.values).sum()
    return max(1e-20 * (spectrum.least + float(explained)) / spectrum.dof, 1e-280)


def _best(value: Callable[[float], float], slope: Callable[[float], float], middle: float) -> float:
    """Where a function of a logarithm is largest: the best of a grid around ``middle``, refined to a zero slope."""
    grid = math.log(middle) + np.linspace(-LOG_RANGE, LOG_RANGE, GRID)
    best = int(np.argmax([value(float(point)) for point in grid]))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID - 1)])
    if slope(low) * slope(high) < 0.0:
        return math.exp(brentq(slope, low, high, xtol=1e-13, rtol=1e-14))
    return math.exp(float(grid[best]))
